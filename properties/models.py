"""The second, naive implementation: written from the rules, slow, plain, and never imported by jingwei.

It knows jingwei's records, to take them apart, and none of its functions but those at the end of the file,
which make logs for both and put the code's answers into the model's words.

It works on plain JSON values (`Plain`): an event is the dict that its line holds, a projection or a
failure the dict that the rules describe. Everything is recomputed wherever it is needed. Where model and
code differ, one of them misreads a rule.
"""

import enum
import itertools
import json
import math
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs

from jingwei.events import records as r
from jingwei.events.wire import session_log
from jingwei.ids import MessageId, ModelCallId, SessionId, ToolCallId
from jingwei.jsontext import Json, JsonProblem, JsonValue
from jingwei.messages import records as m
from jingwei.outcome import Failure
from jingwei.projection import project as projecting
from jingwei.projection.records import ProjectionConfig
from jingwei.projection.wire import projection_value
from jingwei.testing.strategies import Step, placed

Plain: TypeAlias = dict[str, Any]
"""A JSON object as Python has it."""

# --- W8 and the wire of events, by hand -----------------------------------------------------------


def plain_text(value: Any) -> str:
    """Canonical text, by the standard library's own encoder."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def plain_bytes(value: Any) -> int:
    return len(plain_text(value).encode("utf-8", "surrogatepass"))


def _present(**members: Any) -> Plain:
    """The members that are not None: optional keys are left out (W1)."""
    return {key: value for key, value in members.items() if value is not None}


def _free(value: Json) -> Any:
    return json.loads(value.text)


def plain_event(event: r.SessionEvent) -> Plain:
    """One event as its line holds it (W1 to W4), keys in order."""
    return _present(
        event_id=event.event_id,
        session_id=event.session_id,
        turn_id=event.turn_id,
        generation_id=event.generation_id,
        message_id=event.message_id,
        seq=event.seq,
        kind=plain_kind(event.kind),
    )


def plain_kind(kind: r.EventKind) -> Plain:
    match kind:
        case r.UserMessageEvent():
            return {"type": "user_message", "text": kind.text}
        case r.AssistantDelta():
            return {"type": "assistant_delta", "text": kind.text}
        case r.AssistantReply():
            return {"type": "assistant_message", "version": 1, "text": kind.text}
        case r.ModelRequestEvent():
            return {"type": "model_request", "request": _model_request(kind.request)}
        case r.ModelResultEvent():
            return {"type": "model_result", "result": _model_result(kind.result)}
        case r.ToolCallEvent():
            return {"type": "tool_call", "call": _tool_call(kind.call)}
        case r.ToolResultEvent():
            result = {"call_id": kind.result.call_id, "outcome": plain_outcome(kind.result.outcome)}
            return {"type": "tool_result", "result": result}
        case r.TaskRunReported():
            return {"type": "task_run_report", "report": _free(kind.report)}
        case r.StageProgress():
            progress = {"stage": kind.stage, "status": kind.status.value}
            return {"type": "stage_progress", **progress, **_present(message=kind.message)}
        case r.ModeDecided():
            return {"type": "mode", "mode": kind.mode, "decided_by": kind.decided_by, "reason": kind.reason}
        case r.PlanReady():
            return {"type": "plan_ready", "plan": _free(kind.plan)}
        case r.DoneEvent():
            artifact = {} if kind.artifact is None else {"artifact": _free(kind.artifact)}
            return {"type": "done", "status": kind.status.value, **artifact}
        case r.ErrorEvent():
            return {"type": "error", "code": kind.code, "message": kind.message, "retryable": kind.retryable}
        case r.CustomEvent():
            custom = {"plugin": kind.plugin, "kind": kind.kind, "payload": _free(kind.payload)}
            return {"type": "custom", **custom}


def _decision(decision: r.DecisionContext) -> Plain:
    return {"task_id": decision.task_id, "step_id": decision.step_id}


def _tool_call(call: r.ToolCall) -> Plain:
    out: Plain = {}
    if call.operation is not None:
        operation = call.operation
        contract = {"effect": operation.contract.effect.value, "revision": operation.contract.revision}
        retry = None if operation.retry is None else _retry(operation.retry)
        out["operation"] = {
            "task_id": operation.task_id,
            "key": operation.key,
            "contract": contract,
            "retry": retry,
        }
    if call.action is not None:
        out["action"] = {
            "decision": _decision(call.action.decision),
            "action_index": call.action.action_index,
            "provider_call_id": call.action.provider_call_id,
        }
    return {**out, "id": call.id, "name": call.name, "arguments": _free(call.arguments)}


def _retry(retry: r.OperationRetry) -> Plain:
    review: Plain | None = None
    if retry.review is not None:
        found = retry.review
        review = {"actor": found.actor, "evidence": found.evidence, "outcome": found.outcome.value}
    return {"call_id": retry.call_id, "event_id": retry.event_id, "review": review}


def plain_outcome(outcome: r.ToolOutcome) -> Plain:
    if isinstance(outcome, r.ToolSucceeded):
        return {"status": "succeeded", "output": outcome.output}
    return {
        "status": "failed",
        "category": outcome.category.value,
        "code": outcome.code,
        "message": outcome.message,
        "retryable": outcome.retryable,
    }


def _model_request(request: r.ModelRequest) -> Plain:
    options = request.options
    timeout = options.timeout
    limits = options.limits
    return {
        "version": 1,
        "call_id": request.call_id,
        "mode": request.mode.value,
        "input": plain_request(request.input),
        "options": {
            **_present(context=None if options.context is None else _decision(options.context)),
            "max_tokens": options.max_tokens,
            "timeout": None if timeout is None else {"secs": timeout.secs, "nanos": timeout.nanos},
            "limits": {
                "max_output_bytes": limits.max_output_bytes,
                "max_tool_calls": limits.max_tool_calls,
            },
        },
    }


def _model_result(result: r.ModelResult) -> Plain:
    outcome = result.outcome
    if isinstance(outcome, r.ModelSucceeded):
        said: Plain = {"status": "succeeded", "response": plain_response(outcome.response)}
    else:
        said = {
            "status": "failed",
            "category": outcome.category.value,
            "code": outcome.code,
            "message": outcome.message,
            "retryable": outcome.retryable,
            "upstream_status": outcome.upstream_status,
            "partial": {
                "content": outcome.partial.content,
                "tool_calls": [_piece(piece) for piece in outcome.partial.tool_calls],
            },
        }
    return {"version": 1, "call_id": result.call_id, "outcome": said}


def _piece(piece: r.PartialToolCall | m.ToolCallFragment) -> Plain:
    return {"index": piece.index, "id": piece.id, "name": piece.name, "arguments": piece.arguments}


def _called(call: m.ModelToolCall) -> Plain:
    return {"id": call.id, "name": call.name, "arguments": _free(call.arguments)}


def plain_message(message: m.ModelMessage) -> Plain:
    match message:
        case m.SystemMessage():
            return {"role": "system", "content": message.content}
        case m.UserMessage():
            return {"role": "user", "content": message.content}
        case m.ToolMessage():
            return {"role": "tool", "call_id": message.call_id, "content": message.content}
        case m.AssistantMessage():
            calls = [_called(call) for call in message.tool_calls]
            return {
                "role": "assistant",
                "content": message.content,
                **({"tool_calls": calls} if calls else {}),
            }


def plain_constraint(constraint: m.GenerationConstraint) -> Plain:
    match constraint:
        case m.TextConstraint():
            return {"mode": "text"}
        case m.JsonSchemaConstraint():
            return {"mode": "json_schema", "name": constraint.name, "schema": _free(constraint.schema)}
        case m.NativeToolsConstraint(choice=choice):
            if isinstance(choice, m.NamedChoice):
                chosen = {"kind": "named", "name": choice.name}
            else:
                chosen = {"kind": "auto" if isinstance(choice, m.AutoChoice) else "required"}
            tools = [
                {"name": t.name, "description": t.description, "parameters": _free(t.parameters)}
                for t in constraint.tools
            ]
            return {"mode": "native_tools", "tools": tools, "choice": chosen}


def plain_request(request: m.GenerationRequest) -> Plain:
    return {
        "messages": [plain_message(message) for message in request.messages],
        "constraint": plain_constraint(request.constraint),
    }


def plain_response(response: m.GenerationResponse) -> Plain:
    reason, usage = response.finish_reason, response.usage
    if isinstance(reason, m.Finished):
        finished = {"kind": reason.kind.value}
    else:
        finished = {"kind": "other", "code": reason.code}
    return {
        **_present(content=response.content),
        "tool_calls": [_called(call) for call in response.tool_calls],
        "incomplete_tool_calls": [_piece(piece) for piece in response.incomplete_tool_calls],
        "finish_reason": finished,
        "usage": _present(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.total_tokens,
        ),
    }


def plain_config(config: ProjectionConfig) -> Plain:
    quarantine = config.damaged_turns.value != "reject"
    return {
        "legacy_replies": config.legacy_replies.value,
        **({"damaged_turns": config.damaged_turns.value} if quarantine else {}),
        "max_events": config.max_events,
        "max_input_bytes": config.max_input_bytes,
        "max_messages": config.max_messages,
    }


def plain_failure(failure: Any) -> Plain:
    """Any failure record as `{"kind": its name, facts}`, enums by value."""
    return {"kind": type(failure).__name__, **{k: _fact(v) for k, v in _facts(failure)}}


def _facts(record: Any) -> list[tuple[str, Any]]:
    return [(field.name, getattr(record, field.name)) for field in attrs.fields(type(record))]


def _fact(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


# --- L1 -------------------------------------------------------------------------------------------


def model_check(session_id: str, events: Sequence[Plain]) -> Plain | None:
    """The first violation of the physical order, or None."""
    for index, event in enumerate(events):
        if event["session_id"] != session_id:
            return _physical("WrongSession", index, session_id, event["session_id"])
        if event["seq"] != index:
            return _physical("WrongSequence", index, index, event["seq"])
        if event["event_id"] in [earlier["event_id"] for earlier in events[:index]]:
            return {"kind": "DuplicateEventId", "physical_index": index, "event_id": event["event_id"]}
    return None


def _physical(kind: str, index: int, expected: Any, actual: Any) -> Plain:
    return {"kind": kind, "physical_index": index, "expected": expected, "actual": actual}


# --- P1 to P11 ------------------------------------------------------------------------------------

DEFAULTS: Plain = {
    "legacy_replies": "reject",
    "max_events": 100_000,
    "max_input_bytes": 16 * 1024 * 1024,
    "max_messages": 50_000,
}

SUCCESSFUL = ("completed", "waiting_for_input", "checkpointed")
WORK = ("user_message", "assistant_delta", "model_request", "model_result", "tool_call", "tool_result")
NEEDS_USER = ("assistant_message", "assistant_delta", "tool_call", "model_request")


def blank(text: str) -> bool:
    return text.strip() == ""


def model_project(session_id: str, events: Sequence[Plain], config: Plain = DEFAULTS) -> Plain:
    """`{"ok": projection}` or `{"failure": record}`."""
    failure = _before_the_turns(session_id, events, config)
    if failure is not None:
        return {"failure": failure}
    runs = [list(run) for _, run in itertools.groupby(events, key=lambda event: event["turn_id"])]
    groups: list[Plain] = []
    turns: list[Plain] = []
    omitted: list[Plain] = []
    stands: list[Plain] = []
    for position, run in enumerate(runs):
        earlier = [event for some in runs[:position] for event in some]
        is_last = position == len(runs) - 1
        failure = turn_failure(run, earlier, stands, is_last, config)
        if failure is not None and left_out(run, failure, is_last, config):
            turns.append(_row(run, "quarantined", None, False))
            omitted += [_omission(event, "quarantined") for event in run]
            continue
        if failure is not None:
            return {"failure": failure}
        stands += run
        for group in turn_groups(run):
            groups.append(group)
            emitted = sum(len(some["messages"]) for some in groups)
            if emitted > config["max_messages"]:
                return {"failure": _limit("messages", config["max_messages"], emitted)}
        turns.append(turn_row(run))
        omitted += turn_omissions(run)
    return {
        "ok": {
            "algorithm_version": 1,
            "session_id": session_id,
            "source_event_count": len(events),
            "source_tail": events[-1]["event_id"] if events else None,
            "config": config,
            "groups": groups,
            "turns": turns,
            "omitted": omitted,
        }
    }


def _before_the_turns(session_id: str, events: Sequence[Plain], config: Plain) -> Plain | None:
    """P2, in its order."""
    if blank(session_id):
        return {"kind": "InvalidConfig", "reason": "blank_session_id"}
    for bound in ("max_events", "max_input_bytes", "max_messages"):
        if config[bound] <= 0:
            return {"kind": "InvalidConfig", "reason": f"zero_{bound}"}
    if len(events) > config["max_events"]:
        return _limit("events", config["max_events"], len(events))
    size = sum(plain_bytes(event) for event in events)
    if size > config["max_input_bytes"]:
        return _limit("input_bytes", config["max_input_bytes"], size)
    return model_check(session_id, events)


def _limit(what: str, limit: int, actual: int) -> Plain:
    return {"kind": "LimitExceeded", "what": what, "limit": limit, "actual": actual}


def turn_failure(
    run: list[Plain], earlier: list[Plain], stands: list[Plain], is_last: bool, config: Plain
) -> Plain | None:
    """P3, P4, P5, P6 for one turn; `stands` are those of the earlier events that no quarantine took."""
    turn_id = run[0]["turn_id"]
    if blank(turn_id):
        return _malformed(run[0], "blank_turn_id")
    if turn_id in [event["turn_id"] for event in earlier]:
        return _malformed(run[0], "turn_not_contiguous")
    for index, event in enumerate(run):
        reason = event_reason(event, run[:index], stands)
        if reason is not None:
            return _malformed(event, reason)
    return _unconfirmed(run, is_last) or _missing_reply(run, config)


def left_out(run: list[Plain], failure: Plain, is_last: bool, config: Plain) -> bool:
    """P14: whether a turn that fails so is put in quarantine."""
    if config.get("damaged_turns") != "quarantine":
        return False
    if failure["kind"] == "Malformed":
        return failure["reason"] not in ("blank_turn_id", "turn_not_contiguous")
    may_go_on = failure["kind"] == "Unconfirmed" and is_last and not of_type(run, "done", "error")
    return not may_go_on


def _malformed(event: Plain, reason: str) -> Plain:
    facts = {"event_id": event["event_id"], "seq": event["seq"], "turn_id": event["turn_id"]}
    return {"kind": "Malformed", **facts, "reason": reason}


def of_type(events: Sequence[Plain], *types: str) -> list[Plain]:
    return [event for event in events if event["kind"]["type"] in types]


def event_reason(event: Plain, before: list[Plain], earlier: list[Plain]) -> str | None:
    """P4 for one event: `before` it in its turn, `earlier` in the session's other turns."""
    kind = event["kind"]
    name = kind["type"]
    if blank(event["event_id"]):
        return "blank_event_id"
    if of_type(before, "done", "error"):
        return "after_terminal"
    if name in WORK and of_type(before, "assistant_message"):
        return "work_after_reply"
    reason = _reason_of_kind(event, before, earlier)
    if reason is not None:
        return reason
    if name in NEEDS_USER and not of_type(before, "user_message"):
        return "work_before_user"
    return None


def _reason_of_kind(event: Plain, before: list[Plain], earlier: list[Plain]) -> str | None:
    kind = event["kind"]
    match kind["type"]:
        case "user_message":
            return "second_user_message" if of_type(before, "user_message") else None
        case "assistant_message":
            return _reply_reason(event.get("message_id"), before, earlier)
        case "tool_call":
            call = kind["call"]
            if blank(call["id"]):
                return "blank_call_id"
            if blank(call["name"]):
                return "blank_call_name"
            return "repeated_call_id" if call["id"] in called(before) else None
        case "tool_result":
            call_id = kind["result"]["call_id"]
            if call_id not in called(before):
                return "orphan_tool_result"
            return "second_tool_result" if call_id in answered(before) else None
        case "model_request":
            call_id = kind["request"]["call_id"]
            if blank(call_id):
                return "blank_model_call_id"
            return "repeated_model_call_id" if call_id in asked(before) else None
        case "model_result":
            call_id = kind["result"]["call_id"]
            if call_id not in asked(before):
                return "orphan_model_result"
            return "second_model_result" if call_id in replied(before) else None
        case _:
            return None


def _reply_reason(message_id: str | None, before: list[Plain], earlier: list[Plain]) -> str | None:
    if message_id is None:
        return "reply_without_message_id"
    if blank(message_id):
        return "blank_message_id"
    if message_id in [reply["message_id"] for reply in of_type([*earlier, *before], "assistant_message")]:
        return "repeated_message_id"
    return "second_reply" if of_type(before, "assistant_message") else None


def called(events: list[Plain]) -> list[str]:
    return [event["kind"]["call"]["id"] for event in of_type(events, "tool_call")]


def answered(events: list[Plain]) -> list[str]:
    return [event["kind"]["result"]["call_id"] for event in of_type(events, "tool_result")]


def asked(events: list[Plain]) -> list[str]:
    return [event["kind"]["request"]["call_id"] for event in of_type(events, "model_request")]


def replied(events: list[Plain]) -> list[str]:
    return [event["kind"]["result"]["call_id"] for event in of_type(events, "model_result")]


def turn_state(run: list[Plain]) -> str:
    for event in of_type(run, "done", "error"):
        return "failed" if event["kind"]["type"] == "error" else str(event["kind"]["status"])
    return "open"


def _unconfirmed(run: list[Plain], is_last: bool) -> Plain | None:
    open_tools = [call_id for call_id in called(run) if call_id not in answered(run)]
    open_models = [call_id for call_id in asked(run) if call_id not in replied(run)]
    is_open = turn_state(run) == "open"
    only_user = len(of_type(run, "user_message")) == len(run)
    unterminated = is_open and not (only_user and is_last)
    if not open_tools and not open_models and not unterminated:
        return None
    return {
        "kind": "Unconfirmed",
        "turn_id": run[0]["turn_id"],
        "open_tool_calls": open_tools,
        "open_model_calls": open_models,
        "unterminated": unterminated,
    }


def lacks_reply(run: list[Plain]) -> bool:
    return turn_state(run) in SUCCESSFUL and not of_type(run, "assistant_message")


def _missing_reply(run: list[Plain], config: Plain) -> Plain | None:
    if lacks_reply(run) and config["legacy_replies"] == "reject":
        return {"kind": "MissingReply", "turn_id": run[0]["turn_id"]}
    return None


def turn_groups(run: list[Plain]) -> list[Plain]:
    """P7 and P8."""
    groups = []
    for event in of_type(run, "user_message"):
        message = {"role": "user", "content": event["kind"]["text"]}
        groups.append(_group(run, "user", [event], [message]))
    for event in of_type(run, "tool_call"):
        groups.append(_exchange(run, event))
    for event in of_type(run, "assistant_message"):
        if turn_state(run) in SUCCESSFUL:
            message = {"role": "assistant", "content": event["kind"]["text"]}
            groups.append(_group(run, "assistant", [event], [message]))
    return groups


def _group(run: list[Plain], kind: str, sources: list[Plain], messages: list[Plain]) -> Plain:
    return {
        "turn_id": run[0]["turn_id"],
        "kind": kind,
        "source_events": [event["event_id"] for event in sources],
        "messages": messages,
    }


def _exchange(run: list[Plain], event: Plain) -> Plain:
    call = event["kind"]["call"]
    (result,) = [
        some for some in of_type(run, "tool_result") if some["kind"]["result"]["call_id"] == call["id"]
    ]
    synthetic = f"jw_tool_{event['seq']}"
    shown = {"id": synthetic, "name": call["name"], "arguments": call["arguments"]}
    said = plain_text(result["kind"]["result"]["outcome"])
    messages: list[Plain] = [
        {"role": "assistant", "content": None, "tool_calls": [shown]},
        {"role": "tool", "call_id": synthetic, "content": said},
    ]
    return _group(run, "tool_exchange", [event, result], messages)


def turn_row(run: list[Plain]) -> Plain:
    terminals = of_type(run, "done", "error")
    return _row(run, turn_state(run), terminals[0]["event_id"] if terminals else None, lacks_reply(run))


def _row(run: list[Plain], state: str, terminal: str | None, lacks: bool) -> Plain:
    return {
        "turn_id": run[0]["turn_id"],
        "state": state,
        "terminal_event": terminal,
        "missing_complete_reply": lacks,
    }


def turn_omissions(run: list[Plain]) -> list[Plain]:
    """P9: whatever is in no group, and why."""
    shown = [event_id for group in turn_groups(run) for event_id in group["source_events"]]
    reasons = {
        "assistant_delta": "stream_delta",
        "model_request": "model_audit",
        "model_result": "model_audit",
        "assistant_message": "unsuccessful_reply",
    }
    return [
        _omission(event, reasons.get(event["kind"]["type"], "audit"))
        for event in run
        if event["event_id"] not in shown
    ]


def _omission(event: Plain, reason: str) -> Plain:
    return {"event_id": event["event_id"], "seq": event["seq"], "reason": reason}


# --- B10 ------------------------------------------------------------------------------------------


def model_violations(session_id: str, events: Sequence[Plain], config: Plain = DEFAULTS) -> list[Plain]:
    """Every violation, as `diagnose` words them; an offending event takes no part in what follows.

    `max_messages` is left out: once a turn is unsound, what a log would have emitted has no meaning.
    """
    found: list[Plain] = []
    if blank(session_id):
        found.append({**_nowhere("P2"), "failure": {"kind": "InvalidConfig", "reason": "blank_session_id"}})
    sound: list[Plain] = []
    for index, event in enumerate(events):
        violation = _physical_reason(session_id, index, event, sound)
        if violation is None:
            sound.append(event)
        else:
            found.append(_at(event, "L1", violation))
    runs = [list(run) for _, run in itertools.groupby(sound, key=lambda event: event["turn_id"])]
    turns: list[list[Plain]] = []
    for position, run in enumerate(runs):
        accepted = [event for turn in turns for event in turn]
        if blank(run[0]["turn_id"]):
            found.append(_at(run[0], "P3", _malformed(run[0], "blank_turn_id")))
        elif run[0]["turn_id"] in [some[0]["turn_id"] for some in runs[:position]]:
            found.append(_at(run[0], "P3", _malformed(run[0], "turn_not_contiguous")))
        else:
            kept: list[Plain] = []
            for event in run:
                reason = event_reason(event, kept, accepted)
                if reason is None:
                    kept.append(event)
                else:
                    found.append(_at(event, "P4", _malformed(event, reason)))
            if kept:
                found += _end_violations(kept, position == len(runs) - 1, config)
                turns.append(kept)
    return found


def _physical_reason(session_id: str, index: int, event: Plain, sound: list[Plain]) -> Plain | None:
    if event["session_id"] != session_id:
        return _physical("WrongSession", index, session_id, event["session_id"])
    if event["seq"] != index:
        return _physical("WrongSequence", index, index, event["seq"])
    if event["event_id"] in [earlier["event_id"] for earlier in sound]:
        return {"kind": "DuplicateEventId", "physical_index": index, "event_id": event["event_id"]}
    return None


def _end_violations(kept: list[Plain], is_last: bool, config: Plain) -> list[Plain]:
    unconfirmed = _unconfirmed(kept, is_last)
    missing = _missing_reply(kept, config)
    found = [("P5", unconfirmed), ("P6", missing)]
    return [_at(kept[-1], rule, failure) for rule, failure in found if failure is not None]


def _nowhere(rule: str) -> Plain:
    return {"rule": rule, "seq": None, "event_id": None, "turn_id": None}


def _at(event: Plain, rule: str, failure: Plain) -> Plain:
    return {
        "rule": rule,
        "seq": event["seq"],
        "event_id": event["event_id"],
        "turn_id": event["turn_id"],
        "failure": failure,
    }


# --- W6, W7: strict JSON twice more ---------------------------------------------------------------


class NotStrict(ValueError):
    """Raised by the hooks of `strict_by_hooks`."""


def strict_by_hooks(text: str) -> JsonValue | NotStrict:
    """The standard parser with a hook for each thing that it forgives; depth is counted on the text."""
    try:
        _refuse_if(bracket_depth(text) > 128)
        value = json.loads(
            text,
            object_pairs_hook=_no_twins,
            parse_float=_no_overflow,
            parse_int=_no_giants,
            parse_constant=_refuse,
        )
        _refuse_if(any(map(has_surrogate, _strings(value))))
    except ValueError as error:
        return NotStrict(str(error))
    out: JsonValue = value
    return out


def _refuse(what: object) -> None:
    raise NotStrict(str(what))


def _refuse_if(condition: bool) -> None:
    if condition:
        _refuse("refused")


def _no_twins(pairs: list[tuple[str, Any]]) -> Plain:
    keys = [key for key, _ in pairs]
    _refuse_if(len(set(keys)) < len(keys))
    return dict(pairs)


def _no_overflow(token: str) -> float:
    _refuse_if(math.isinf(float(token)))
    return float(token)


def _no_giants(token: str) -> int:
    _refuse_if(len(token.lstrip("-")) > 4300)
    number = 0
    for digit in token.lstrip("-"):
        number = number * 10 + "0123456789".index(digit)
    return -number if token.startswith("-") else number


def has_surrogate(text: str) -> bool:
    return any(0xD800 <= ord(character) <= 0xDFFF for character in text)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [*value, *[text for child in value.values() for text in _strings(child)]]
    return [text for child in value for text in _strings(child)] if isinstance(value, list) else []


def bracket_depth(text: str) -> int:
    """Deepest nesting of brackets outside strings."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"?', "", text, flags=re.DOTALL)
    depth = deepest = 0
    for character in outside:
        depth += (character in "{[") - (character in "}]")
        deepest = max(deepest, depth)
    return deepest


class Slip(Exception):
    """What the character reader met first: the reason and, where it is not `invalid_json`, the path."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


def read_by_hand(text: str) -> JsonValue | Slip:
    """Read one JSON text one character at a time, by the grammar; the first problem wins."""
    try:
        value, at = _read(text, _skip(text, 0), "", 1)
        if _skip(text, at) != len(text):
            raise Slip("invalid_json", "")
    except Slip as slip:
        return slip
    return value


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    return at


def _expect(text: str, at: int, what: str) -> int:
    if not text.startswith(what, at):
        raise Slip("invalid_json", "")
    return at + len(what)


def _read(text: str, at: int, path: str, depth: int) -> tuple[JsonValue, int]:
    if at == len(text):
        raise Slip("invalid_json", path)
    if text[at] in "{[" and depth > 128:
        raise Slip("too_deep", path)
    if text[at] == "{":
        return _read_object(text, at + 1, path, depth)
    if text[at] == "[":
        return _read_array(text, at + 1, path, depth)
    if text[at] == '"':
        return _read_string(text, at, path)
    for word, value in (("true", True), ("false", False), ("null", None)):
        if text.startswith(word, at):
            return value, at + len(word)
    if any(text.startswith(word, at) for word in ("NaN", "Infinity", "-Infinity")):
        raise Slip("non_finite", path)
    return _read_number(text, at, path)


def _read_object(text: str, at: int, path: str, depth: int) -> tuple[JsonValue, int]:
    out: dict[str, JsonValue] = {}
    at = _skip(text, at)
    if text.startswith("}", at):
        return out, at + 1
    while True:
        at = _skip(text, at)
        _expect(text, at, '"')
        key, after = _read_string(text, at, path)
        below = path + "/" + key.replace("~", "~0").replace("/", "~1")
        if key in out:
            raise Slip("duplicate_key", below)
        at = _expect(text, _skip(text, after), ":")
        out[key], at = _read(text, _skip(text, at), below, depth + 1)
        at = _skip(text, at)
        if text.startswith("}", at):
            return out, at + 1
        at = _expect(text, at, ",")


def _read_array(text: str, at: int, path: str, depth: int) -> tuple[JsonValue, int]:
    out: list[JsonValue] = []
    at = _skip(text, at)
    if text.startswith("]", at):
        return out, at + 1
    while True:
        value, at = _read(text, _skip(text, at), f"{path}/{len(out)}", depth + 1)
        out.append(value)
        at = _skip(text, at)
        if text.startswith("]", at):
            return out, at + 1
        at = _expect(text, at, ",")


def _read_string(text: str, at: int, path: str) -> tuple[str, int]:
    at = _expect(text, at, '"')
    out = ""
    while not text.startswith('"', at):
        if at == len(text) or text[at] < " ":
            raise Slip("invalid_json", path)
        if text[at] != "\\":
            if has_surrogate(text[at]):
                raise Slip("lone_surrogate", path)
            out, at = out + text[at], at + 1
            continue
        if text[at + 1 : at + 2] in ('"', "\\", "/"):
            out, at = out + text[at + 1], at + 2
        elif text[at + 1 : at + 2] in ("b", "f", "n", "r", "t"):
            out, at = out + "\b\f\n\r\t"["bfnrt".index(text[at + 1])], at + 2
        else:
            unit = _unit(text, at)
            if unit is None:
                raise Slip("invalid_json", path)
            at += 6
            if 0xD800 <= unit <= 0xDFFF:
                low = _unit(text, at)
                if unit >= 0xDC00 or low is None or not 0xDC00 <= low <= 0xDFFF:
                    raise Slip("lone_surrogate", path)
                unit, at = 0x10000 + (unit - 0xD800) * 0x400 + (low - 0xDC00), at + 6
            out += chr(unit)
    return out, at + 1


def _unit(text: str, at: int) -> int | None:
    found = re.compile(r"\\u([0-9a-fA-F]{4})").match(text, at)
    return None if found is None else int(found.group(1), 16)


def _read_number(text: str, at: int, path: str) -> tuple[JsonValue, int]:
    start, at = at, at + text.startswith("-", at)
    end = _digits(text, at)
    if end == at:
        raise Slip("invalid_json", path)
    at = at + 1 if text[at] == "0" else end
    whole = at
    if text.startswith(".", at) and _digits(text, at + 1) > at + 1:
        at = _digits(text, at + 1)
    if text[at : at + 1] in ("e", "E"):
        sign = text[at + 1 : at + 2] in ("+", "-")
        if _digits(text, at + 1 + sign) > at + 1 + sign:
            at = _digits(text, at + 1 + sign)
    token = text[start:at]
    if at != whole:
        if math.isinf(float(token)):
            raise Slip("non_finite", path)
        return float(token), at
    if len(token.lstrip("-")) > 4300:
        raise Slip("integer_too_long", path)
    return _no_giants(token), at


def _digits(text: str, at: int) -> int:
    while at < len(text) and text[at] in "0123456789":
        at += 1
    return at


def same_json(one: object, other: object) -> bool:
    """Equal in value, type, key order and sign of zero."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.copysign(1, one) == math.copysign(1, other) and one == other
    return one == other


def is_problem(value: object) -> bool:
    return isinstance(value, JsonProblem | NotStrict | Slip)


# --- logs as tables -------------------------------------------------------------------------------


def written(*rows: str) -> r.SessionLog:
    """A log from rows of `turn word id`: see `step_of` for the words."""
    return session_log(placed([(row.split()[0], step_of(*row.split()[1:])) for row in rows]))


def step_of(word: str, id_: str = "") -> Step:
    """One event from a word; `_` stands for a blank id, `-` for no message id."""
    id_ = "" if id_ == "_" else id_
    match word:
        case "user":
            return Step(r.UserMessageEvent(text="hi"))
        case "delta":
            return Step(r.AssistantDelta(text="pie"))
        case "reply":
            message_id = None if id_ == "-" else MessageId(id_)
            return Step(r.AssistantReply(text=f"said {id_}"), message_id)
        case "call" | "nameless":
            name = "grep" if word == "call" else " "
            return Step(
                r.ToolCallEvent(call=r.ToolCall(id=ToolCallId(id_), name=name, arguments=Json('{"x":1.0}')))
            )
        case "result":
            succeeded = r.ToolSucceeded(output=f"of {id_}")
            return Step(r.ToolResultEvent(result=r.ToolResult(call_id=ToolCallId(id_), outcome=succeeded)))
        case "ask":
            return Step(_asking(id_))
        case "answer":
            said = r.ModelSucceeded(response=m.GenerationResponse(content="proposal"))
            return Step(r.ModelResultEvent(result=r.ModelResult(call_id=ModelCallId(id_), outcome=said)))
        case "note":
            return Step(r.ModeDecided(mode="a", decided_by="b", reason="c"))
        case "error":
            return Step(r.ErrorEvent(code="a", message="b", retryable=False))
        case _:
            return Step(r.DoneEvent(status=r.DoneStatus(word)))


def _asking(call_id: str) -> r.ModelRequestEvent:
    limits = r.GenerationLimits(max_output_bytes=1, max_tool_calls=1)
    return r.ModelRequestEvent(
        request=r.ModelRequest(
            call_id=ModelCallId(call_id),
            mode=r.GenerationMode.COMPLETE,
            input=m.GenerationRequest(messages=()),
            options=r.ModelRequestOptions(limits=limits),
        )
    )


def plain_outcome_of(session_id: str, log: r.SessionLog, config: ProjectionConfig) -> Plain:
    """What `project` answers, in the model's words."""
    outcome = projecting.project(SessionId(session_id), log, config)
    if isinstance(outcome, Failure):
        return {"failure": plain_failure(outcome.failure())}
    return {"ok": projection_value(outcome.unwrap())}


def model_outcome_of(session_id: str, log: r.SessionLog, config: ProjectionConfig) -> Plain:
    """What the model answers for the same."""
    return model_project(session_id, [plain_event(event) for event in log.events], plain_config(config))
