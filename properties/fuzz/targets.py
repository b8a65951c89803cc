"""What is fuzzed: each target takes any bytes and raises where a promise does not hold of them.

A target compares doors with each other and with the naive readers and writers of `properties.models`; it
never expects a certain answer. An exception of any kind is a finding.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from jingwei.batch import serve
from jingwei.codec import DecodeFailed, DecodeReason, Line, RecordProblem, lines_of, parse_line, problem_at
from jingwei.events.records import SessionEvent, SessionLog
from jingwei.events.wire import (
    decode_events,
    decode_log,
    decode_within,
    encode_log,
    event_bytes,
    event_text,
    log_bytes,
    read_event,
)
from jingwei.ids import SessionId
from jingwei.jsontext import (
    JsonValue,
    NotCanonical,
    canonical,
    parse,
    parse_canonical,
    parse_pairs,
    scan,
    value_of_pairs,
)
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.wire import decode_request, decode_response, encode_request, encode_response
from jingwei.outcome import Failure, Success
from jingwei.projection.admit import admit_projection
from jingwei.projection.project import project
from jingwei.projection.wire import decode_projection, encode_projection
from jingwei.providers.openai_chat import (
    ImportedConversation,
    ImportOptions,
    RefusedConversation,
    describe,
    import_transcript,
    lenient_options,
    remedies,
)
from jingwei.report.wire import decode_report, encode_report
from properties.models import (
    Plain,
    Slip,
    bracket_depth,
    has_surrogate,
    is_problem,
    plain_event,
    plain_text,
    read_by_hand,
    same_json,
    strict_by_hooks,
)

Target: TypeAlias = Callable[[bytes], None]

# --- logs -----------------------------------------------------------------------------------------


def log(data: bytes) -> None:
    """Every way to read a log gives the same events and the same first failure (W1, W6, W7)."""
    at_once = decode_log(data)
    one_by_one = list(decode_events([data]))
    slowly = list(read_slowly(data))

    assert slowly == one_by_one, "the fast door and the slow one"
    for size in (1, 61):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]

        assert one_by_one == list(decode_events(pieces)), f"in pieces of {size}"

    failures = [one.failure() for one in one_by_one if isinstance(one, Failure)]
    match at_once:
        case Failure(why):
            assert why == failures[0]
            assert Failure(why) == decode_within([data], len(data) + 1, len(data) + 1)
            stands_where_it_says(why, data)
        case Success(found):
            assert [] == failures
            assert found.events == tuple(one.unwrap() for one in one_by_one)
            comes_back(found)
            bounded_exactly(found, data)


def read_slowly(data: bytes) -> Iterator[Success[SessionEvent] | Failure[DecodeFailed]]:
    """Line by line through the strict parser and the record reader: the fast door is left out."""
    for line in lines_of((data,)):
        read = line if isinstance(line, DecodeFailed) else _line_slowly(line)
        yield Failure(read) if isinstance(read, DecodeFailed) else Success(read)


def _line_slowly(line: Line) -> SessionEvent | DecodeFailed:
    found = parse_line(line)
    if isinstance(found, DecodeFailed):
        return found
    event = read_event(found)
    return problem_at(line, event) if isinstance(event, RecordProblem) else event


def stands_where_it_says(why: DecodeFailed, data: bytes) -> None:
    """The line starts at the offset, and the lines before it decode."""
    assert why.line is not None
    assert why.byte_offset is not None
    before = data[: why.byte_offset]

    assert why.line - 1 == before.count(b"\n")
    assert before[-1:] in {b"", b"\n"}
    assert isinstance(decode_log(before), Success)
    assert (why.whole_bytes is None) == (why.reason is not DecodeReason.TORN_LAST_LINE)


def comes_back(found: SessionLog) -> None:
    """W7, W8: what is written is what the naive writer writes, and reads as the same."""
    written = encode_log(found.events).unwrap()
    again = decode_log(written).unwrap()

    assert found.events == again.events
    assert written == encode_log(again.events).unwrap()
    assert log_bytes(found) == again.bytes_at_most == len(written) - len(found.events)
    assert log_bytes(found) <= found.bytes_at_most
    for event in found.events:
        assert plain_text(plain_event(event)) == event_text(event)


def bounded_exactly(found: SessionLog, data: bytes) -> None:
    """P2: at its own size a log is taken, below it is refused with the number that was met."""
    count, size = len(found.events), log_bytes(found)

    assert found.events == decode_within([data], count, size).unwrap().events
    if found.events:
        too_many = LimitExceeded(what=Bound.EVENTS, limit=count - 1, actual=count)
        too_large = LimitExceeded(what=Bound.INPUT_BYTES, limit=size - 1, actual=size)

        assert Failure(too_many) == decode_within([data], count - 1, size)
        assert Failure(too_large) == decode_within([data], count, size - 1)
        assert size >= event_bytes(found.events[0])


# --- JSON -----------------------------------------------------------------------------------------


def json_text(data: bytes) -> None:
    """The passes of the JSON reader, the standard library under hooks and a reader by hand agree (W6, W7).

    Bytes that are not UTF-8 become half surrogate pairs in the text, which only code could make.
    """
    text = data.decode("utf-8", "surrogateescape")
    expected, actual = scan(text), parse(text)

    assert expected == actual
    assert is_problem(expected) or same_json(expected, actual)

    strict, by_hand = strict_by_hooks(text), read_by_hand(text)
    if is_problem(expected):
        assert is_problem(strict)
        assert isinstance(by_hand, Slip)
        assert by_hand.reason == expected.reason  # type: ignore[union-attr]
    else:
        assert same_json(expected, strict)
        assert same_json(expected, by_hand)
        written_once(expected)  # type: ignore[arg-type]
    if not has_surrogate(text):
        short_ways(text, expected)


def written_once(value: JsonValue) -> None:
    """W8: canonical text is that of the standard encoder, and reads as the same value."""
    text = canonical(value)

    assert plain_text(value) == text
    assert same_json(value, scan(text))
    assert same_json(value, parse_canonical(text))


def short_ways(text: str, expected: object) -> None:
    """The doors that may give up accept nothing that the definition does not."""
    shortcut = parse_canonical(text)
    if not isinstance(shortcut, NotCanonical):
        assert same_json(expected, shortcut)
        assert text == canonical(shortcut)
    pairs = parse_pairs(text)
    if isinstance(pairs, NotCanonical):
        return
    value = value_of_pairs(pairs)
    if not isinstance(value, NotCanonical):
        assert same_json(expected, value)


# --- documents ------------------------------------------------------------------------------------

DOORS: Final[tuple[tuple[Callable[[bytes], Any], Callable[[Any], Any]], ...]] = (
    (decode_request, encode_request),
    (decode_response, encode_response),
    (decode_report, encode_report),
)


def document(data: bytes) -> None:
    """Requests, responses, reports and projections: any bytes give an answer, and what is read comes back."""
    for decode, encode in DOORS:
        read = decode(data)
        if isinstance(read, Failure):
            has_no_lines(read.failure())
        else:
            record = read.unwrap()
            written = encode(record).unwrap()

            assert record == decode(written).unwrap()
            assert written == encode(decode(written).unwrap()).unwrap()
    foreign = decode_projection(data)
    if isinstance(foreign, Failure):
        has_no_lines(foreign.failure())
        return
    admitted = admit_projection(foreign.unwrap())
    if isinstance(admitted, Success):
        assert foreign == decode_projection(encode_projection(admitted.unwrap()).unwrap())


def has_no_lines(why: DecodeFailed) -> None:
    """A document is no log: its failures tell no line."""
    assert why.line is why.byte_offset is why.whole_bytes is None


# --- transcripts ------------------------------------------------------------------------------------

SESSION: Final = SessionId("s")


def transcript(data: bytes) -> None:
    """Any bytes are imported or refused in words; what is imported projects, and comes back from its bytes.

    Where every leniency is taken, no refusal names another.
    """
    for options in (ImportOptions(session_id=SESSION), lenient_options(SESSION)):
        read = import_transcript(data, options)
        if isinstance(read, Failure):
            assert describe(read.failure())
            continue
        for one in read.unwrap().conversations:
            match one:
                case ImportedConversation(log=found):
                    assert isinstance(project(SESSION, found), Success)
                    assert found.events == decode_log(encode_log(found.events).unwrap()).unwrap().events
                case RefusedConversation(failures=failures):
                    assert all(map(describe, failures))
                    assert failures
                    assert options == ImportOptions(session_id=SESSION) or not any(map(remedies, failures))


# --- batch ----------------------------------------------------------------------------------------


def batch(data: bytes) -> None:
    """A line in, a canonical line out, with the id that was given; operations agree with each other."""
    answer = serve(data)
    told = json.loads(answer)

    assert answer == serve(data)
    assert "\n" not in answer
    assert answer == plain_text(told)
    assert answer.encode()
    assert list(told) in (["id", "ok"], ["id", "failure"])

    asked = parsed(data)
    if asked is None:
        assert told["id"] is None
        assert told["failure"]["kind"] == "BadRequest"
        return

    assert same_json(asked.get("id"), told["id"])
    assert answer == serve(json.dumps(asked, indent=1).encode()), "with spaces and escapes"
    if told.get("failure", {}).get("kind") != "BadRequest":  # which tells of the first fault in the line
        assert answer == serve(plain_text(dict(reversed(asked.items()))).encode()), "keys the other way round"
    operation = asked.get("op")
    if isinstance(operation, str) and operation in FOLLOW_UPS:
        FOLLOW_UPS[operation](asked, told)


def parsed(data: bytes) -> Plain | None:
    """The request that a line holds, by the naive reader; None where it holds none."""
    try:
        value = strict_by_hooks(data.decode()) if not data.startswith(b"\xef\xbb\xbf") else None
    except UnicodeDecodeError:
        return None
    return value if isinstance(value, dict) else None


def ask(**request: Any) -> Plain:
    told: Plain = json.loads(serve(plain_text(request).encode()))
    return told


def decoded(asked: Plain, told: Plain) -> None:
    """What was decoded is decoded from its own text; without its events nothing was."""
    if "ok" in told:
        text = "".join(plain_text(event) + "\n" for event in told["ok"]["events"])

        assert told["ok"] == ask(op="decode", text=text)["ok"]
    elif told["failure"]["kind"] != "BadRequest":
        assert "DecodeFailed" == told["failure"]["kind"]
        assert "index" not in told["failure"]


def projected(asked: Plain, told: Plain) -> None:
    """`diagnose` tells first of what `project` fails with (B10), and of nothing where it does not fail."""
    if "config" in asked or told.get("failure", {}).get("kind") == "BadRequest":
        return
    diagnosis = ask(op="diagnose", session_id=asked["session_id"], events=asked["events"])
    if told.get("failure", {}).get("kind") == "DecodeFailed":
        assert told["failure"] == diagnosis["failure"]
        return
    violations = [one for one in diagnosis["ok"]["violations"] if one["reason"] != "warning"]
    first = [(one["kind"], one["reason"]) for one in violations[:1]]
    failure = told.get("failure", {})

    assert first == ([(failure["kind"], failure.get("reason", failure.get("what")))] if failure else [])


def built(asked: Plain, told: Plain) -> None:
    """The same from the projection as from its events; what is accepted fits, and is well shaped."""
    if "ok" in told:
        budget, attempt = told["ok"]["report"]["budget"], told["ok"]["report"]["attempts"][-1]

        assert attempt["total_reserved"] <= budget["window_tokens"]
        assert {} == ask(op="shape", **told["ok"]["request"])["ok"]
    if "projection" in asked or told.get("failure", {}).get("kind") == "BadRequest":
        return
    history = {key: asked[key] for key in ("session_id", "events", "config") if key in asked}
    projection = ask(op="project", **history)
    if "ok" not in projection:
        assert projection["failure"] == told["failure"]
        return
    rest = {key: value for key, value in asked.items() if key not in history}
    if bracket_depth(plain_text(projection["ok"])) < 128:  # else no line can hold it
        assert told == ask(**rest, projection=projection["ok"])


def selected(asked: Plain, told: Plain) -> None:
    """What was chosen is a part of what was given, and no dearer than it may be."""
    if "ok" in told:
        assert set(told["ok"]["items"]) <= {item["item_id"] for item in asked["items"]}
        assert told["ok"]["used"] <= asked["max_tokens"]


def planned(asked: Plain, told: Plain) -> None:
    """A planned step can be interpreted; what was not planned fails there in the same words."""
    step = {**asked, "op": "interpret", "response": LAST_WORDS}
    if "ok" in told:
        digest = told["ok"]["request_digest"]
        request = ask(op="shape", **told["ok"]["request"])

        assert {} == request["ok"]
        assert 0 < told["ok"]["max_tokens"] <= asked["budget"]["output_reserve"]
        same = ask(**{**step, "request_digest": digest})
        assert "OtherRequest" != same.get("failure", {}).get("kind")
        other = ask(**{**step, "request_digest": digest[1:]})
        assert {"kind": "OtherRequest", "expected": digest, "actual": digest[1:]} == other["failure"]
    elif told["failure"]["kind"] != "BadRequest":
        assert told == ask(**{**step, "request_digest": ""})


def interpreted(asked: Plain, told: Plain) -> None:
    """One action and its events, or a failure with what came back; a call that ran can be completed."""
    if "ok" not in told:
        return
    first, *rest = told["ok"]["events"]

    assert "model_result" == first["type"]
    if told["ok"]["action"]["kind"] != "call_tool":
        assert ["assistant_message", "done"] == [kind["type"] for kind in rest]
        return
    (call,) = rest
    if bracket_depth(plain_text(call)) > 120:  # no line holds it
        return
    execution = {
        "session_id": asked["session_id"],
        "turn_id": "t",
        "call": call["call"],
        "call_event_id": "a",
        "call_seq": 0,
        "outcome": {"status": "succeeded", "output": "x"},
        "result_event_id": "b",
        "result_seq": 1,
    }
    done = ask(**{**asked, "op": "complete", "execution": execution})

    assert "tool_completed" == done["ok"]["end"]
    assert [*asked["current"], *done["ok"]["next_current"][-2:]] == done["ok"]["next_current"]


def completed(asked: Plain, told: Plain) -> None:
    """The tool has run: each failure says what ran, and that it must not run again."""
    if "ok" not in told and told["failure"]["kind"] != "BadRequest":
        assert ["kind", "execution", "why", "replay_forbidden"] == list(told["failure"])
        assert told["failure"]["replay_forbidden"] is True
        assert told == ask(**{**asked, "execution": told["failure"]["execution"]})


def shown(asked: Plain, told: Plain) -> None:
    """A view says how the tool ended; a failure says so too, and forbids to run it again."""
    if "ok" in told:
        assert asked["outcome"]["status"] == told["ok"]["view"]["outcome"]["status"]
        assert told["ok"]["view"]["stored"] or told["ok"]["to_store"] is None
    elif told["failure"]["kind"] != "BadRequest":
        assert told["failure"]["replay_forbidden"] is True
        assert asked["outcome"]["status"] == told["failure"]["outcome"]["status"]


LAST_WORDS: Final[Plain] = {"content": "x", "finish_reason": {"kind": "stop"}, "usage": {}}

FOLLOW_UPS: Final[dict[str, Callable[[Plain, Plain], None]]] = {
    "decode": decoded,
    "project": projected,
    "build": built,
    "select": selected,
    "result_view": shown,
    "plan_step": planned,
    "interpret": interpreted,
    "complete": completed,
}

TARGETS: Final[dict[str, Target]] = {
    "log": log,
    "json_text": json_text,
    "document": document,
    "transcript": transcript,
    "batch": batch,
}
"""By the names of the command and of the folders in `corpus/`."""
