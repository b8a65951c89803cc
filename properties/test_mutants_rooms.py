"""What mutants of the rooms and of the build showed to be promised and not yet held.

The forms state W1 to W4, M1, M2 and P11 once more, as a table: what each key of each object holds, whether it
may be missing, and which objects refuse keys that they do not know. From it every fault is made, one at a
time, and told by hand.
"""

import enum
import hashlib
import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias, TypeVar, cast, final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jingwei.build import BuildInputs, build, missing_content
from jingwei.codec import DecodeFailed, DecodeReason, RecordProblem, problem_at
from jingwei.events.failures import WriteReason, WriteRefused
from jingwei.events.records import (
    ActionContext,
    AssistantDelta,
    AssistantReply,
    CustomEvent,
    DoneEvent,
    DoneStatus,
    ErrorEvent,
    EventKind,
    GenerationLimits,
    GenerationMode,
    GenerationPartial,
    ModeDecided,
    ModelFailed,
    ModelFailureCategory,
    ModelRequest,
    ModelRequestEvent,
    ModelRequestOptions,
    ModelResult,
    ModelResultEvent,
    ModelSucceeded,
    OperationEffect,
    OperationRetry,
    PlanReady,
    ReviewOutcome,
    SessionEvent,
    SessionLog,
    StageProgress,
    StageStatus,
    TaskRunReported,
    ToolCall,
    ToolCallEvent,
    ToolFailureCategory,
    ToolOperation,
    ToolResult,
    ToolResultEvent,
    ToolSucceeded,
    UserMessageEvent,
)
from jingwei.events.recovery import Closing
from jingwei.events.turns import REFUSED, TURN_TABLE, MalformedReason, TurnState, step
from jingwei.events.wire import (
    decode_log,
    decode_within,
    encode_event,
    event_text,
    event_value,
    log_bytes,
    read_event,
    session_log,
)
from jingwei.events.writer import EarlierTurns, SessionWriter, TurnSoFar
from jingwei.ids import EventId, MessageId, ModelCallId, ProviderCallId, SessionId, ToolCallId, TurnId
from jingwei.items.budget import TokenBudget
from jingwei.items.records import Tier
from jingwei.items.worth import TurnWorth, Weights
from jingwei.jsontext import Json, JsonValue
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.records import (
    AssistantMessage,
    AutoChoice,
    Finished,
    FinishKind,
    GenerationConstraint,
    GenerationRequest,
    GenerationResponse,
    JsonSchemaConstraint,
    ModelMessage,
    ModelToolCall,
    NamedChoice,
    NativeToolsConstraint,
    RequiredChoice,
    SystemMessage,
    TextConstraint,
    TokenUsage,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.wire import decode_request, decode_response, encode_request, encode_response
from jingwei.outcome import Failure, Outcome, Success
from jingwei.persistent import vector
from jingwei.projection.admit import admit_projection
from jingwei.projection.advance import Advanced, Emitted, ProjectionState, _Closed
from jingwei.projection.diagnose import WayOut, diagnose
from jingwei.projection.failures import AdmissionReason, InvalidConfigReason, NotAdmitted, Unconfirmed
from jingwei.projection.project import project
from jingwei.projection.records import (
    DamagedTurns,
    ForeignGroup,
    ForeignProjection,
    ForeignTurn,
    Group,
    GroupKind,
    LegacyReplies,
    Omission,
    OmissionReason,
    ProjectedState,
    ProjectedTurn,
    Projection,
    ProjectionConfig,
    TurnSources,
)
from jingwei.projection.turn import Pairs, RunningTurn
from jingwei.projection.view import ProjectionView
from jingwei.projection.wire import decode_projection, flattened, read_config
from jingwei.report.failures import CounterFailed
from jingwei.report.records import Attempt, BuildReport, MessageRole, SentMessage, TurnLedger
from jingwei.request.counting import (
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    CountRefused,
    FramingAllowance,
    JsonFactor,
    Normalization,
    RenderedByteBoundCounter,
    RenderedPrompt,
)
from jingwei.request.records import (
    BudgetMode,
    BuildLimits,
    ContextBudget,
    ContextTarget,
    TokenBoundEvidence,
    TokenBreakdown,
    TokenCount,
)
from jingwei.request.remembering import RememberingCounter
from jingwei.request.tool_views import GroupedToolSelector, ToolViewLimits
from jingwei.results.failures import ContradictionReason, InvalidResultReason, ResultPolicyProblem
from jingwei.results.records import (
    ResultPolicy,
    ResultView,
    ShownFailure,
    ViewFallback,
    ViewForm,
    ViewRendition,
)
from jingwei.results.rendering import Rendering
from jingwei.results.wire import RecordedViews
from jingwei.selection.by_value import ByValue, TurnWorthReason
from jingwei.selection.choose import Option, OptionReason, Quota, QuotaReason, Quotas
from jingwei.selection.condense_then_drop import CondenseThenDrop, PolicyProblem
from jingwei.selection.packing import Packed
from jingwei.selection.records import (
    ChoiceReason,
    CondenseExchange,
    CondenseTurn,
    InvalidPlan,
    InvalidPlanReason,
    Plan,
    PreviewPolicy,
    Room,
)
from jingwei.selection.search import (
    Accepted,
    CountNext,
    Exhausted,
    Move,
    Phase,
    Search,
    SearchState,
    next_move,
    told,
)
from jingwei.selection.stable_prefix import Fold
from jingwei.selection.views import Candidates, EachDropped, Spared
from jingwei.testing import strategies
from properties import room_words
from properties.build_models import (
    SCHEMES,
    TARGET,
    PerMessage,
    Scheme,
    answer_of,
    constraint_object,
    history_of,
    inputs_of,
    json_bytes,
    message_object,
    naive_candidates,
    naive_plan,
    naive_request,
    report_of,
)

_R = DecodeReason

# --- words ------------------------------------------------------------------------------------------

WORDS: Final[Mapping[type[enum.Enum], str]] = {
    OperationEffect: "unknown read_only idempotent non_idempotent",
    ReviewOutcome: "not_executed completed uncertain",
    ToolFailureCategory: "unavailable invalid_arguments denied guard_fault approval_unavailable "
    "approval_denied approval_fault timeout cancelled body_failure body_panic output_limit budget",
    GenerationMode: "complete stream",
    ModelFailureCategory: "upstream timeout stream_parse protocol cancelled adapter internal budget",
    StageStatus: "started completed failed",
    DoneStatus: "completed waiting_for_input checkpointed cancelled",
    TurnState: "empty working replied closed",
    MalformedReason: "blank_turn_id turn_not_contiguous blank_event_id after_terminal work_after_reply "
    "second_user_message reply_without_message_id blank_message_id repeated_message_id second_reply "
    "blank_call_id blank_call_name repeated_call_id orphan_tool_result second_tool_result "
    "blank_model_call_id repeated_model_call_id orphan_model_result second_model_result work_before_user",
    FinishKind: "stop tool_calls length content_filtered unknown",
    LegacyReplies: "reject omit",
    GroupKind: "user assistant tool_exchange",
    ProjectedState: "completed waiting_for_input checkpointed failed cancelled open quarantined",
    OmissionReason: "audit model_audit stream_delta unsuccessful_reply quarantined",
    InvalidConfigReason: "blank_session_id zero_max_events zero_max_input_bytes zero_max_messages",
    AdmissionReason: "unsupported_projection_version blank_turn_id duplicate_turn unknown_group_turn "
    "group_out_of_order group_without_sources group_shape",
    Normalization: "none nfc",
    OptionReason: "repeated_key negative_cost negative_worth",
    QuotaReason: "repeated_kind negative_floor negative_ceiling floor_over_ceiling",
    TurnWorthReason: "repeated_turn out_of_range",
    ChoiceReason: "required pinned floor value single_best room_for_all ceiling no_room sticky full_count",
    TokenBoundEvidence: "estimate verified_upper_bound",
    BudgetMode: "soft hard",
    Search: "linear bisect auto",
    InvalidPlanReason: "unknown_candidate pinned repeated already_condensed nothing_to_condense not_smaller",
    WriteReason: "blank_session_id repeated_event_id turn_not_terminated open_calls missing_reply unreadable",
    PolicyProblem: "zero_preview preview_over_inline negative_keep zero_batch",
    DamagedTurns: "reject quarantine",
    WayOut: "configuration close_abandoned close_then_configuration",
    EarlierTurns: "reject keep",
    ResultPolicyProblem: "zero_inline negative_preview preview_over_inline inline_over_shown",
    InvalidResultReason: "blank_source blank_name seq_out_of_range lone_surrogate",
    ContradictionReason: "source_event call name outcome total_bytes text",
    ViewForm: "whole prefix condensed",
    ViewFallback: "over_limit negative_prefix blank_condensed not_smaller lone_surrogate",
    ViewRendition: "native json",
    **room_words.WORDS,
}
"""Every closed list of these rooms in the words of the specification, each word named by its member."""

MIB16: Final = 16_777_216
DEFAULTS: Final[Mapping[type[object], Mapping[str, object]]] = {
    ActionContext: {"provider_call_id": None},
    OperationRetry: {"review": None},
    ToolOperation: {"retry": None},
    ToolCall: {"operation": None, "action": None},
    ModelRequestOptions: {"context": None, "max_tokens": None, "timeout": None},
    GenerationPartial: {"content": None, "tool_calls": ()},
    ModelFailed: {"upstream_status": None, "partial": GenerationPartial(content=None, tool_calls=())},
    StageProgress: {"message": None},
    DoneEvent: {"artifact": None},
    SessionEvent: {"generation_id": None, "message_id": None},
    AssistantMessage: {"content": None, "tool_calls": ()},
    NativeToolsConstraint: {"choice": AutoChoice()},
    GenerationRequest: {"constraint": TextConstraint()},
    TokenBudget: {
        "reserved_tool_schema": 0,
        "reserved_system": 0,
        "reserved_retry": 0,
        "safety_margin": 0,
    },
    Weights: {
        "priority": Fraction(1, 1000),
        "relevance": Fraction(1),
        "freshness": Fraction(1),
        "trust": Fraction(1),
    },
    TurnWorth: {
        "tier": Tier.P3,
        "priority": 0,
        "relevance": Fraction(0),
        "freshness": Fraction(0),
        "trust": Fraction(0),
    },
    Option: {"rank": 0, "kept": False},
    Quota: {"floor": 0, "ceiling": None},
    Quotas: {"rows": ()},
    Packed: {"single": None},
    ByValue: {
        "weights": Weights(
            priority=Fraction(1, 1000), relevance=Fraction(1), freshness=Fraction(1), trust=Fraction(1)
        ),
        "quotas": Quotas(rows=()),
        "turn_worths": (),
        "previous": None,
        "moves": 0,
        "policy": PreviewPolicy(inline_bytes=4096, preview_bytes=512),
        "max_tokens": None,
    },
    TokenUsage: {"input_tokens": None, "output_tokens": None, "total_tokens": None},
    GenerationResponse: {
        "content": None,
        "tool_calls": (),
        "incomplete_tool_calls": (),
        "finish_reason": Finished(kind=FinishKind.UNKNOWN),
        "usage": TokenUsage(input_tokens=None, output_tokens=None, total_tokens=None),
    },
    ProjectionConfig: {
        "legacy_replies": LegacyReplies.REJECT,
        "damaged_turns": DamagedTurns.REJECT,
        "max_events": 100_000,
        "max_input_bytes": MIB16,
        "max_messages": 50_000,
    },
    ByteHeuristicCounter: {"template_tokens": 32},
    Allowance: {"bytes": 0, "specials": 0},
    JsonFactor: {"numerator": 1, "denominator": 1},
    ByteBoundCounter: {
        "normalization": Normalization.NONE,
        "json_factor": JsonFactor(numerator=1, denominator=1),
    },
    RenderedByteBoundCounter: {"normalization": Normalization.NONE},
    ContextBudget: {
        "output_evidence": TokenBoundEvidence.ESTIMATE,
        "safety_margin": 0,
        "mode": BudgetMode.SOFT,
    },
    BuildLimits: {
        "max_input_bytes": MIB16,
        "max_groups": 4096,
        "max_turns": 4096,
        "max_messages": 8192,
        "max_count_calls": 128,
    },
    ToolViewLimits: {"max_authorised": 1024, "max_visible": 64, "max_bytes": 4_194_304},
    GroupedToolSelector: {"names": None, "groups": (), "active_groups": ()},
    ResultPolicy: {"inline_bytes": 4096, "preview_bytes": 512, "max_shown_bytes": 16_384},
    ShownFailure: {"code_bytes": None},
    ResultView: {"fallback": None, "reference": None},
    Rendering: {
        "views": RecordedViews(),
        "policy": ResultPolicy(inline_bytes=4096, preview_bytes=512, max_shown_bytes=16_384),
    },
    WriteRefused: {"open_tool_calls": (), "open_model_calls": (), "unreadable": None, "path": None},
    SessionLog: {"measured": False},
    Closing: {"turn_id": None, "events": (), "tool_calls": (), "model_calls": ()},
    CondenseThenDrop: {
        "costs": None,
        "keep_newest": 2,
        "batch_turns": 8,
        "policy": PreviewPolicy(inline_bytes=4096, preview_bytes=512),
    },
    CondenseExchange: {"policy": PreviewPolicy(inline_bytes=4096, preview_bytes=512)},
    CondenseTurn: {"policy": PreviewPolicy(inline_bytes=4096, preview_bytes=512)},
    InvalidPlan: {"exchange": None, "item_id": None, "summary_id": None},
    PreviewPolicy: {"inline_bytes": 4096, "preview_bytes": 512},
    Room: {
        "session_id": "",
        "turns": (),
        "exchanges": (),
        "items": (),
        "summaries": (),
        "required": (),
        "constraint": TextConstraint(),
        "costs": None,
    },
    Plan: {"base": (), "steps": (), "marks": None, "selection": None},
    SearchState: {
        "guess": 0,
        "trusted": False,
        "too_few": -1,
        "enough": None,
        "counted": None,
        "anchored": None,
        "halving": False,
        "stride": 1,
        "counts": 0,
    },
    BuildInputs: {
        "system": (),
        "constraint": TextConstraint(),
        "pinned_turns": (),
        "state_version": None,
        "limits": BuildLimits(),
        "reduce_current": False,
        "previous": None,
        "items": (),
        "summaries": (),
        "rendering": None,
    },
    **room_words.DEFAULTS,
}
"""What a host that says nothing has said (M2, P1, C2, C3, B1)."""

ROOMS: Final = ("events", "messages", "projection", "request", "results", "selection", *room_words.ROOMS)

# --- every key of the wire --------------------------------------------------------------------------

Told: TypeAlias = tuple[DecodeReason, str, str, str]
"""Reason, path, what was expected, what was met."""

BEGIN_EMPTY: Final = frozenset[type[object]](
    {
        *(SessionWriter, TurnSoFar, ProjectionState, ProjectionView, RunningTurn, Pairs, Advanced, Emitted),
        *(_Closed, Fold, Candidates, EachDropped, Spared, RecordedViews),
    }
)
"""What a growing log or plan begins with: nothing; P13, L3 and R2 hold them by what they lead to."""


class Need(enum.Enum):
    """What a key that is missing, or null, means (W1)."""

    MUST = "it must be there"
    LEFT_OUT = "the record has none, and is written without it"
    NULL = "the record has none, and is written with null"
    DEFAULT = "the record has the default, which is written"


@final
@attrs.frozen
class Leaf:
    """A value that is no object.

    Attributes:
        expects: what is asked for where another type is met; empty for free JSON, which takes all.
        good: values that are read and written as they are; the first stands in the whole document.
        bad: values of the right type, with the reason and what is asked for.
    """

    expects: str
    good: tuple[JsonValue, ...]
    bad: tuple[tuple[JsonValue, DecodeReason, str], ...] = ()


@final
@attrs.frozen
class Form:
    """An object.

    Attributes:
        keys: each with its need, what it holds, and its default; in the order in which they are written.
        closed: a key that is not listed is refused.
        tag: key, word, and all words that the key may hold; empty where nothing tells the object apart.
        version: a version of 1 is demanded.
    """

    keys: Mapping[str, tuple["Need", "Node", JsonValue]]
    closed: bool = False
    tag: tuple[str, str, str] | None = None
    version: bool = False


@final
@attrs.frozen
class Many:
    """An array: one value of each of these forms stands in the whole document, and it may be empty."""

    of: tuple["Form | Leaf", ...]


Node: TypeAlias = "Leaf | Form | Many"
_MUST, _LEFT_OUT, _NULL = Need.MUST, Need.LEFT_OUT, Need.NULL
_ABSENT: Final = object()


def _number(below: int = 2**64) -> Leaf:
    asked = "[0, 2^64)" if below == 2**64 else f"[0, {below})"
    return Leaf(
        "an integer",
        (7, 0, below - 1),
        (
            (below, _R.OUT_OF_RANGE, f"an integer in {asked}"),
            (-1, _R.OUT_OF_RANGE, "an integer in [0, 2^64)"),
            (2**64, _R.OUT_OF_RANGE, "an integer in [0, 2^64)"),
            (1.0, _R.WRONG_TYPE, "an integer"),
            ("1", _R.WRONG_TYPE, "an integer"),
            (True, _R.WRONG_TYPE, "an integer"),
        ),
    )


def _words(cls: type[enum.Enum]) -> Leaf:
    words = WORDS[cls].split()
    known = f"one of: {', '.join(words)}"
    bad = [(word, _R.UNKNOWN_ENUM, known) for word in ("other", words[0].upper(), "")]
    return Leaf("a string", tuple(words), (*bad, (5, _R.WRONG_TYPE, "a string")))


def _must(**keys: "Node") -> dict[str, tuple["Need", "Node", JsonValue]]:
    return {key: (_MUST, node, None) for key, node in keys.items()}


_TEXT: Final = Leaf(
    "a string", ("x", "", " "), ((5, _R.WRONG_TYPE, "a string"), ([], _R.WRONG_TYPE, "a string"))
)
_ID: Final = Leaf(
    "a string",
    ("x", " x"),
    (
        ("", _R.OUT_OF_RANGE, "a string that is not blank"),
        (" \n", _R.OUT_OF_RANGE, "a string that is not blank"),
        (5, _R.WRONG_TYPE, "a string"),
    ),
)
_FLAG: Final = Leaf(
    "true or false",
    (True, False),
    ((1, _R.WRONG_TYPE, "true or false"), ("true", _R.WRONG_TYPE, "true or false")),
)
_FREE: Final = Leaf("", ({"a": [1, {"b": None}]}, None, 5, 1.5, "x", [], {}, True, 10**30))
_REPORT: Final = Leaf(
    "an object",
    ({"version": 1, "b": [{"version": 2}]}, {"a": 1, "version": 1}),
    ((5, _R.WRONG_TYPE, "an object"), ([1], _R.WRONG_TYPE, "an object")),
)

_CALL: Final = Form(_must(id=_ID, name=_TEXT, arguments=_FREE), closed=True)
_ROLES: Final = "system, user, assistant, tool"
_MESSAGES: Final = Many(
    (
        Form(_must(content=_TEXT), closed=True, tag=("role", "system", _ROLES)),
        Form(_must(content=_TEXT), closed=True, tag=("role", "user", _ROLES)),
        Form(
            {"content": (_NULL, _TEXT, None), "tool_calls": (_LEFT_OUT, Many((_CALL, _CALL)), None)},
            closed=True,
            tag=("role", "assistant", _ROLES),
        ),
        Form(_must(call_id=_ID, content=_TEXT), closed=True, tag=("role", "tool", _ROLES)),
    )
)
_MODES: Final = "text, native_tools, json_schema"
_CHOICES: Final = "auto, required, named"
_TOOL: Final = Form(_must(name=_TEXT, description=_TEXT, parameters=_FREE), closed=True)
_AS_TEXT: Final = Form({}, closed=True, tag=("mode", "text", _MODES))
_AS_SCHEMA: Final = Form(_must(name=_TEXT, schema=_FREE), closed=True, tag=("mode", "json_schema", _MODES))


def _with_tools(choice: Form) -> Form:
    keys: dict[str, tuple[Need, Node, JsonValue]] = {
        "tools": (_MUST, Many((_TOOL, _TOOL)), None),
        "choice": (Need.DEFAULT, choice, {"kind": "auto"}),
    }
    return Form(keys, closed=True, tag=("mode", "native_tools", _MODES))


def _request(constraint: Form) -> Form:
    keys: dict[str, tuple[Need, Node, JsonValue]] = {
        "messages": (_MUST, _MESSAGES, None),
        "constraint": (Need.DEFAULT, constraint, {"mode": "text"}),
    }
    return Form(keys, closed=True)


_AUTO: Final = Form({}, closed=True, tag=("kind", "auto", _CHOICES))
_REQUIRED: Final = Form({}, closed=True, tag=("kind", "required", _CHOICES))
_NAMED: Final = Form(_must(name=_TEXT), closed=True, tag=("kind", "named", _CHOICES))
_FINISHES: Final = "stop, tool_calls, length, content_filtered, unknown, other"
_INDEX: Final = _number(2**32)


def _response(finish: Form) -> Form:
    fragment = Form(_must(index=_INDEX, id=_TEXT, name=_TEXT, arguments=_TEXT), closed=True)
    usage: dict[str, tuple[Need, Node, JsonValue]] = {
        key: (_LEFT_OUT, _number(), None) for key in ("input_tokens", "output_tokens", "total_tokens")
    }
    return Form(
        {
            "content": (_LEFT_OUT, _TEXT, None),
            "tool_calls": (Need.DEFAULT, Many((_CALL,)), []),
            "incomplete_tool_calls": (Need.DEFAULT, Many((fragment,)), []),
            "finish_reason": (Need.DEFAULT, finish, {"kind": "unknown"}),
            "usage": (Need.DEFAULT, Form(usage, closed=True), {}),
        },
        closed=True,
    )


def _finished(word: str) -> Form:
    return Form({}, closed=True, tag=("kind", word, _FINISHES))


_DECISION: Final = Form(_must(task_id=_TEXT, step_id=_TEXT), closed=True)
_OPERATION: Final = Form(
    {
        **_must(
            task_id=_TEXT,
            key=_TEXT,
            contract=Form(_must(effect=_words(OperationEffect), revision=_TEXT), closed=True),
        ),
        "retry": (
            _NULL,
            Form(
                {
                    **_must(call_id=_TEXT, event_id=_TEXT),
                    "review": (
                        _NULL,
                        Form(
                            _must(actor=_TEXT, evidence=_TEXT, outcome=_words(ReviewOutcome)),
                            closed=True,
                        ),
                        None,
                    ),
                },
                closed=True,
            ),
            None,
        ),
    },
    closed=True,
)
_ACTION: Final = Form(
    {
        **_must(decision=_DECISION, action_index=_INDEX),
        "provider_call_id": (_NULL, _TEXT, None),
    },
    closed=True,
)
_OPTIONS: Final = Form(
    {
        "context": (_LEFT_OUT, _DECISION, None),
        "max_tokens": (_NULL, _INDEX, None),
        "timeout": (_NULL, Form(_must(secs=_number(), nanos=_number(10**9))), None),
        **_must(limits=Form(_must(max_output_bytes=_number(), max_tool_calls=_number()))),
    }
)
_PARTIAL: Final = Form(
    {
        "content": (_NULL, _TEXT, None),
        "tool_calls": (
            Need.DEFAULT,
            Many((Form(_must(index=_INDEX, id=_TEXT, name=_TEXT, arguments=_TEXT)),)),
            [],
        ),
    }
)
_OUTCOMES: Final = "succeeded, failed"
_FAILED_MODEL: Final = Form(
    {
        **_must(category=_words(ModelFailureCategory), code=_TEXT, message=_TEXT, retryable=_FLAG),
        "upstream_status": (_NULL, _number(2**16), None),
        "partial": (Need.DEFAULT, _PARTIAL, {"content": None, "tool_calls": []}),
    },
    tag=("status", "failed", _OUTCOMES),
)
_FAILED_TOOL: Final = Form(
    _must(category=_words(ToolFailureCategory), code=_TEXT, message=_TEXT, retryable=_FLAG),
    tag=("status", "failed", _OUTCOMES),
)
_TYPES: Final = (
    "user_message, assistant_delta, assistant_message, model_request, model_result, tool_call, tool_result, "
    "task_run_report, stage_progress, mode, plan_ready, done, error, custom"
)


def _event(word: str, *, version: bool = False, **keys: Node) -> Form:
    return _event_of(word, _must(**keys), version=version)


def _event_of(word: str, keys: Mapping[str, tuple[Need, Node, JsonValue]], *, version: bool = False) -> Form:
    return Form(
        {
            **_must(event_id=_TEXT, session_id=_TEXT, turn_id=_TEXT),
            "generation_id": (_LEFT_OUT, _TEXT, None),
            "message_id": (_LEFT_OUT, _TEXT, None),
            **_must(seq=_number(), kind=Form(keys, tag=("type", word, _TYPES), version=version)),
        }
    )


def _asked(request: Form) -> Form:
    keys = _must(call_id=_TEXT, mode=_words(GenerationMode), input=request, options=_OPTIONS)
    return _event("model_request", request=Form(keys, version=True))


def _answered(outcome: Form) -> Form:
    return _event("model_result", result=Form(_must(call_id=_TEXT, outcome=outcome), version=True))


def _ended(outcome: Form) -> Form:
    return _event("tool_result", result=Form(_must(call_id=_TEXT, outcome=outcome)))


_SUCCEEDED_MODEL: Final = Form(
    _must(response=_response(_finished("length"))), tag=("status", "succeeded", _OUTCOMES)
)
_SUCCEEDED_TOOL: Final = Form(_must(output=_TEXT), tag=("status", "succeeded", _OUTCOMES))

EVENT_FORMS: Final = (
    _event("user_message", text=_TEXT),
    _event("assistant_delta", text=_TEXT),
    _event("assistant_message", version=True, text=_TEXT),
    _asked(_request(_AS_SCHEMA)),
    _asked(_request(_with_tools(_NAMED))),
    _answered(_SUCCEEDED_MODEL),
    _answered(_FAILED_MODEL),
    _event(
        "tool_call",
        call=Form(
            {
                "operation": (_LEFT_OUT, _OPERATION, None),
                "action": (_LEFT_OUT, _ACTION, None),
                **_must(id=_TEXT, name=_TEXT, arguments=_FREE),
            }
        ),
    ),
    _ended(_SUCCEEDED_TOOL),
    _ended(_FAILED_TOOL),
    _event("task_run_report", report=_REPORT),
    _event_of(
        "stage_progress",
        {**_must(stage=_TEXT, status=_words(StageStatus)), "message": (_LEFT_OUT, _TEXT, None)},
    ),
    _event("mode", mode=_TEXT, decided_by=_TEXT, reason=_TEXT),
    _event("plan_ready", plan=_FREE),
    _event_of("done", {**_must(status=_words(DoneStatus)), "artifact": (_LEFT_OUT, _FREE, None)}),
    _event("error", code=_TEXT, message=_TEXT, retryable=_FLAG),
    _event("custom", plugin=_TEXT, kind=_TEXT, payload=_FREE),
)
"""Every kind of event, with every kind of what stands in it."""

REQUEST_FORMS: Final = tuple(
    _request(one)
    for one in (_AS_TEXT, _AS_SCHEMA, _with_tools(_AUTO), _with_tools(_REQUIRED), _with_tools(_NAMED))
)
RESPONSE_FORMS: Final = (
    *(_response(_finished(word)) for word in WORDS[FinishKind].split()),
    _response(Form(_must(code=_TEXT), closed=True, tag=("kind", "other", _FINISHES))),
)
_CONFIG: Final = Form(
    {
        "legacy_replies": (Need.DEFAULT, _words(LegacyReplies), "reject"),
        "damaged_turns": (Need.DEFAULT, _words(DamagedTurns), "reject"),
        "max_events": (Need.DEFAULT, _number(), 100_000),
        "max_input_bytes": (Need.DEFAULT, _number(), MIB16),
        "max_messages": (Need.DEFAULT, _number(), 50_000),
    },
    closed=True,
)
_EVENT_OR_NULL: Final = Leaf("", ("x", None), ((5, _R.WRONG_TYPE, "a string"),))
PROJECTION_FORM: Final = Form(
    _must(
        algorithm_version=_number(),
        session_id=_TEXT,
        source_event_count=_number(),
        source_tail=_EVENT_OR_NULL,
        config=_CONFIG,
        groups=Many(
            (
                Form(
                    _must(
                        turn_id=_TEXT,
                        kind=_words(GroupKind),
                        source_events=Many((_TEXT, _TEXT)),
                        messages=_MESSAGES,
                    ),
                    closed=True,
                ),
            )
        ),
        turns=Many(
            (
                Form(
                    _must(
                        turn_id=_TEXT,
                        state=_words(ProjectedState),
                        terminal_event=_EVENT_OR_NULL,
                        missing_complete_reply=_FLAG,
                    ),
                    closed=True,
                ),
            )
        ),
        omitted=Many(
            (Form(_must(event_id=_TEXT, seq=_number(), reason=_words(OmissionReason)), closed=True),)
        ),
    ),
    closed=True,
)
"""A projection from outside, and in it a configuration."""


def _whole(node: Node) -> JsonValue:
    """The document with every key."""
    if isinstance(node, Leaf):
        return node.good[0]
    if isinstance(node, Many):
        return [_whole(one) for one in node.of]
    tag = {} if node.tag is None else {node.tag[0]: node.tag[1]}
    version = {"version": 1} if node.version else {}
    return {**tag, **version, **{key: _whole(held) for key, (_, held, _) in node.keys.items()}}


@final
@attrs.frozen
class Change:
    """One change of the whole document: another value at a place, or none.

    Attributes:
        place: keys and indexes.
        value: what stands there then; `_ABSENT` for nothing.
        answer: what is told; or what reads as if it stood there, `_ABSENT` for nothing.
    """

    place: tuple[str | int, ...]
    value: object
    answer: object


def _changes(node: Node, place: tuple[str | int, ...] = ()) -> Iterator[Change]:
    """Every single fault below a place, and every other value that is no fault."""
    path = "".join(f"/{step}" for step in place)
    if isinstance(node, Leaf):
        yield from (Change(place, value, value) for value in node.good)
        yield from (
            Change(place, value, (reason, path, expected, _shown(value)))
            for value, reason, expected in node.bad
        )
    elif isinstance(node, Many):
        yield Change(place, [], [])
        yield Change(place, {}, (_R.WRONG_TYPE, path, "an array", "{}"))
        for index, one in enumerate(node.of):
            yield from _changes(one, (*place, index))
    else:
        yield from _changes_of_object(node, place, path)


def _changes_of_object(form: Form, place: tuple[str | int, ...], path: str) -> Iterator[Change]:
    known = ", ".join(sorted([*form.keys, *(form.tag or ())[:1], *(["version"] if form.version else [])]))
    strange = (_R.UNKNOWN_KEY, f"{path}/zz", f"one of: {known}", "'zz'")
    yield Change((*place, "zz"), 5, strange if form.closed else _ABSENT)
    if form.tag is not None:
        key, _, words = form.tag
        at = f"{path}/{key}"
        yield Change((*place, key), _ABSENT, (_R.MISSING_KEY, at, words, "nothing"))
        yield Change((*place, key), "other!", (_R.UNKNOWN_TAG, at, words, '"other!"'))
        yield Change((*place, key), 5, (_R.WRONG_TYPE, at, "a string", "5"))
        yield Change((*place, key), None, (_R.WRONG_TYPE, at, "a string", "null"))
    if form.version:
        at = f"{path}/version"
        yield Change((*place, "version"), _ABSENT, (_R.MISSING_KEY, at, "version 1", "nothing"))
        yield Change((*place, "version"), 2, (_R.UNSUPPORTED_VERSION, at, "the number 1", "2"))
        yield Change((*place, "version"), "1", (_R.WRONG_TYPE, at, "the number 1", '"1"'))
        yield Change((*place, "version"), True, (_R.WRONG_TYPE, at, "the number 1", "true"))
    for key, (need, held, default) in form.keys.items():
        there, at = (*place, key), f"{path}/{key}"
        expects = (
            "an object" if isinstance(held, Form) else "an array" if isinstance(held, Many) else held.expects
        )
        missing: dict[Need, object] = {
            Need.MUST: (_R.MISSING_KEY, at, f"a key {key!r}", "nothing"),
            Need.LEFT_OUT: _ABSENT,
            Need.NULL: None,
            Need.DEFAULT: default,
        }
        null: dict[Need, object] = {**missing, Need.DEFAULT: (_R.WRONG_TYPE, at, expects, "null")}
        null[Need.MUST] = (_R.WRONG_TYPE, at, expects, "null") if expects else None
        if need is Need.LEFT_OUT and isinstance(held, Many):
            yield Change(there, [], _ABSENT)
        yield Change(there, _ABSENT, missing[need])
        yield Change(there, None, null[need])
        if isinstance(held, Form):
            yield Change(there, [], (_R.WRONG_TYPE, at, "an object", "[]"))
        if need is Need.LEFT_OUT:
            yield from (change for change in _changes(held, there) if change.value not in (None, []))
        else:
            yield from _changes(held, there)


def _changed(document: JsonValue, place: tuple[str | int, ...], value: object) -> JsonValue:
    copy = json.loads(json.dumps(document))
    at = copy
    for key in place[:-1]:
        at = at[key]
    if value is _ABSENT:
        at.pop(place[-1], None)
    else:
        at[place[-1]] = value
    return cast(JsonValue, copy)


def _shown(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(record: object) -> JsonValue:
    """A record of a projection as plain values, key by key."""
    if isinstance(record, SystemMessage | UserMessage | AssistantMessage | ToolMessage):
        return cast(JsonValue, message_object(record))
    if isinstance(record, enum.Enum):
        return cast(JsonValue, record.value)
    if isinstance(record, tuple):
        return [_plain(one) for one in cast("tuple[object, ...]", record)]
    cls: type[object] = type(record)
    if attrs.has(cls):
        return {f.name: _plain(getattr(record, f.name)) for f in attrs.fields(cls)}
    return cast(JsonValue, record)


_Record = TypeVar("_Record")
Door: TypeAlias = Callable[[bytes], Outcome[bytes, DecodeFailed]]
"""Reads a document and writes it again."""


def _written(
    read: Outcome[_Record, DecodeFailed], write: Callable[[_Record], bytes]
) -> Outcome[bytes, DecodeFailed]:
    return Success(write(read.unwrap())) if isinstance(read, Success) else read


def _strange(node: Node, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], bool]]:
    """The place of every object and whether it is closed, those inside before those around them."""
    if isinstance(node, Many):
        for index, one in enumerate(node.of):
            yield from _strange(one, (*place, index))
    if isinstance(node, Form):
        for key, (_, held, _) in node.keys.items():
            yield from _strange(held, (*place, key))
        yield place, node.closed


def _held(form: Form, door: Door, **place: int) -> None:
    """Every change of the document is told, or read as it should be; and a strange key in every object."""
    document = _whole(form)
    objects = list(_strange(form))
    everywhere = document
    for at, _ in objects:
        everywhere = _changed(everywhere, (*at, "zz"), 5)
    closed = ["".join(f"/{step}" for step in (*at, "zz")) for at, is_closed in objects if is_closed]
    answer = door(_shown(everywhere).encode())

    assert Success(_shown(document).encode()) == answer if not closed else closed[0] == answer.failure().path
    for change in _changes(form):
        raw = _shown(_changed(document, change.place, change.value)).encode()
        answer = door(raw)
        if isinstance(change.answer, tuple):
            reason, path, expected, actual = change.answer
            told = DecodeFailed(reason=reason, path=path, expected=expected, actual=actual, **place)

            assert Failure(told) == answer, raw
        else:
            assert Success(_shown(_changed(document, change.place, change.answer)).encode()) == answer, raw


def _records() -> Iterator[type[object]]:
    """Every class that is defined in the rooms or in `build`."""
    names = ["jingwei.build"]
    for room in ROOMS:
        package = importlib.import_module(f"jingwei.{room}")
        names += [f"jingwei.{room}.{found.name}" for found in pkgutil.iter_modules(package.__path__)]
    for name in names:
        for found in vars(importlib.import_module(name)).values():
            if isinstance(found, type) and found.__module__ == name:
                yield found


def _defaults(cls: type[object]) -> dict[str, object]:
    fields = attrs.fields(cls)  # type: ignore[arg-type]  # only asked of attrs classes
    return {f.name: f.default for f in fields if f.default is not attrs.NOTHING}


class TestMutantsOfRooms:
    """Consequences for words, defaults and keys that the other classes leave open."""

    def test_w3_every_closed_list_is_spelled_as_the_specification_spells_it(self) -> None:
        """W3, W4, P4, B2, R1: a member says its own name in small letters, in the order of its rule."""
        lists = {
            cls for cls in _records() if issubclass(cls, enum.Enum) and cls.__module__ != "jingwei.codec"
        }

        assert set(WORDS) == {cls for cls in lists if cls.__name__ != "Phase"}
        for cls, words in WORDS.items():
            assert [(word.upper(), word) for word in words.split()] == [(m.name, m.value) for m in cls]

    def test_b1_what_is_left_out_has_the_value_that_the_rules_name(self) -> None:
        """M2, P1, C2, C3, B1: of every record, and no record has a default besides."""
        for cls in {*_records(), *DEFAULTS} - BEGIN_EMPTY:
            found = _defaults(cls) if attrs.has(cls) else {}
            expected = DEFAULTS.get(cls, {})

            assert {k: (type(v), v) for k, v in expected.items()} == {
                k: (type(v), v) for k, v in found.items()
            }, cls

    @pytest.mark.parametrize("form", EVENT_FORMS, ids=range(len(EVENT_FORMS)))
    def test_w2_each_key_of_an_event_is_as_the_rules_say(self, form: Form) -> None:
        """W1 to W5: present, absent, null, of another type, out of range, beside a key that is unknown."""

        def door(raw: bytes) -> Outcome[bytes, DecodeFailed]:
            read = decode_log(raw + b"\n")
            if isinstance(read, Failure):
                return read
            log = read.unwrap()
            (event,) = log.events

            assert event == read_event(json.loads(raw))
            assert log_bytes(log) <= log.bytes_at_most
            return Success(encode_event(event).unwrap()[:-1])

        _held(form, door, line=1, byte_offset=0)

    def test_w2_an_artifact_of_null_is_written_as_none(self) -> None:
        """W1, W2: since it would be read as none; a plan and a payload of null are written."""
        null = Json("null")
        kinds: list[tuple[EventKind, str]] = [
            (DoneEvent(status=DoneStatus.COMPLETED, artifact=null), '{"type":"done","status":"completed"}'),
            (PlanReady(plan=null), '{"type":"plan_ready","plan":null}'),
            (
                CustomEvent(plugin="p", kind="k", payload=null),
                '{"type":"custom","plugin":"p","kind":"k","payload":null}',
            ),
        ]
        for kind, text in kinds:
            (event,) = _log(kind).events

            assert f'{{"event_id":"e0","session_id":"s","turn_id":"t","seq":0,"kind":{text}}}' == event_text(
                event
            )

    @pytest.mark.parametrize("form", REQUEST_FORMS, ids=range(len(REQUEST_FORMS)))
    def test_m2_each_key_of_a_request_is_as_the_rules_say(self, form: Form) -> None:
        """M1, M2, W1: nothing unknown passes, and what may be missing has its default."""
        _held(form, lambda raw: _written(decode_request(raw), lambda read: encode_request(read).unwrap()))

    @pytest.mark.parametrize("form", RESPONSE_FORMS, ids=range(len(RESPONSE_FORMS)))
    def test_m2_each_key_of_a_response_is_as_the_rules_say(self, form: Form) -> None:
        """M2, W1: nothing unknown passes, and what may be missing has its default."""
        _held(form, lambda raw: _written(decode_response(raw), lambda read: encode_response(read).unwrap()))

    def test_p11_each_key_of_a_projection_is_as_the_rules_say(self) -> None:
        """P11, B2: read as it stands, before anything of it is believed."""
        _held(
            PROJECTION_FORM,
            lambda raw: _written(decode_projection(raw), lambda read: _shown(_plain(read)).encode()),
        )

    def test_p1_each_key_of_a_configuration_is_as_the_rules_say(self) -> None:
        """P1, W5: from plain values."""

        def door(raw: bytes) -> Outcome[bytes, DecodeFailed]:
            read = read_config(json.loads(raw))
            if isinstance(read, RecordProblem):
                return Failure(problem_at(None, read))
            return Success(_shown(_plain(read)).encode())

        _held(_CONFIG, door)


# --- projections and the turn table -----------------------------------------------------------------

SESSION: Final = strategies.SESSION
_CALLED: Final = ToolCallEvent(call=ToolCall(id=ToolCallId("c"), name="n", arguments=Json('{"a":1}')))
_RETURNED: Final = ToolResultEvent(
    result=ToolResult(call_id=ToolCallId("c"), outcome=ToolSucceeded(output="y"))
)
_MODEL_ASKED: Final = ModelRequestEvent(
    request=ModelRequest(
        call_id=ModelCallId("q"),
        mode=GenerationMode.COMPLETE,
        input=GenerationRequest(messages=(UserMessage(content="p"),)),
        options=ModelRequestOptions(limits=GenerationLimits(max_output_bytes=1, max_tool_calls=1)),
    )
)
_MODEL_ANSWERED: Final = ModelResultEvent(
    result=ModelResult(
        call_id=ModelCallId("q"), outcome=ModelSucceeded(response=GenerationResponse(content="w"))
    )
)
_USER: Final = UserMessageEvent(text="u")
_DELTA: Final = AssistantDelta(text="d")
_REPLY: Final = AssistantReply(text="r")
_AUDITS: Final[tuple[EventKind, ...]] = (
    TaskRunReported(report=Json('{"version":1}')),
    StageProgress(stage="s", status=StageStatus.STARTED),
    ModeDecided(mode="m", decided_by="d", reason="r"),
    PlanReady(plan=Json("1")),
    CustomEvent(plugin="p", kind="k", payload=Json("1")),
)
_DONE: Final = DoneEvent(status=DoneStatus.COMPLETED)
_ERROR: Final = ErrorEvent(code="c", message="m", retryable=False)
_WORK: Final[tuple[EventKind, ...]] = (_USER, _DELTA, _MODEL_ASKED, _MODEL_ANSWERED, _CALLED, _RETURNED)


@final
@attrs.frozen
class Ids:
    """The ids that a turn knows."""

    tool_calls: frozenset[str] = frozenset()
    tool_results: frozenset[str] = frozenset()
    model_calls: frozenset[str] = frozenset()
    model_results: frozenset[str] = frozenset()
    message_ids: frozenset[str] = frozenset()


_NO_IDS: Final = Ids()
_ALL_IDS: Final = Ids(*[frozenset({"c", "q", "m"})] * 5)
_OPEN_IDS: Final = Ids(tool_calls=frozenset({"c"}), model_calls=frozenset({"q"}))
_M: Final = MalformedReason

_StepTold: TypeAlias = tuple[TurnState, Ids, Sequence[EventKind], TurnState | MalformedReason]

STEPS: Final[tuple[_StepTold, ...]] = (
    *(
        (TurnState.CLOSED, ids, (*_WORK, _REPLY, *_AUDITS, _DONE, _ERROR), _M.AFTER_TERMINAL)
        for ids in (_NO_IDS, _ALL_IDS)
    ),
    *((TurnState.REPLIED, ids, _WORK, _M.WORK_AFTER_REPLY) for ids in (_NO_IDS, _ALL_IDS)),
    (TurnState.REPLIED, _NO_IDS, (_REPLY,), _M.SECOND_REPLY),
    (TurnState.REPLIED, _ALL_IDS, (_REPLY,), _M.REPEATED_MESSAGE_ID),
    (TurnState.WORKING, _NO_IDS, (_USER,), _M.SECOND_USER_MESSAGE),
    (TurnState.WORKING, _NO_IDS, (_DELTA, _MODEL_ASKED, _CALLED), TurnState.WORKING),
    (TurnState.WORKING, _OPEN_IDS, (_MODEL_ANSWERED, _RETURNED), TurnState.WORKING),
    (TurnState.WORKING, _ALL_IDS, (_MODEL_ANSWERED,), _M.SECOND_MODEL_RESULT),
    (TurnState.WORKING, _ALL_IDS, (_RETURNED,), _M.SECOND_TOOL_RESULT),
    (TurnState.WORKING, _NO_IDS, (_MODEL_ANSWERED,), _M.ORPHAN_MODEL_RESULT),
    (TurnState.WORKING, _NO_IDS, (_RETURNED,), _M.ORPHAN_TOOL_RESULT),
    (TurnState.WORKING, _ALL_IDS, (_CALLED,), _M.REPEATED_CALL_ID),
    (TurnState.WORKING, _ALL_IDS, (_MODEL_ASKED,), _M.REPEATED_MODEL_CALL_ID),
    (TurnState.WORKING, _NO_IDS, (_REPLY,), TurnState.REPLIED),
    (TurnState.WORKING, _ALL_IDS, (_REPLY,), _M.REPEATED_MESSAGE_ID),
    (TurnState.EMPTY, _NO_IDS, (_USER,), TurnState.WORKING),
    (TurnState.EMPTY, _NO_IDS, (_DELTA, _MODEL_ASKED, _CALLED, _REPLY), _M.WORK_BEFORE_USER),
    (TurnState.EMPTY, _NO_IDS, (_MODEL_ANSWERED,), _M.ORPHAN_MODEL_RESULT),
    (TurnState.EMPTY, _NO_IDS, (_RETURNED,), _M.ORPHAN_TOOL_RESULT),
    (TurnState.EMPTY, _ALL_IDS, (_CALLED,), _M.REPEATED_CALL_ID),
    (TurnState.EMPTY, _ALL_IDS, (_MODEL_ASKED,), _M.REPEATED_MODEL_CALL_ID),
    (TurnState.EMPTY, _ALL_IDS, (_REPLY,), _M.REPEATED_MESSAGE_ID),
    *(
        (state, ids, _AUDITS, state)
        for state in (TurnState.EMPTY, TurnState.WORKING, TurnState.REPLIED)
        for ids in (_NO_IDS, _ALL_IDS)
    ),
    *(
        (state, ids, (_DONE, _ERROR), TurnState.CLOSED)
        for state in (TurnState.EMPTY, TurnState.WORKING, TurnState.REPLIED)
        for ids in (_NO_IDS, _ALL_IDS)
    ),
)
"""P4 in rows: in which state, beside which ids, what each of these events leads to."""

_NOWHERE: Final = ForeignGroup(
    turn_id=TurnId("t0"),
    kind=GroupKind.USER,
    source_events=(EventId("e"),),
    messages=(UserMessage(content="x"),),
)
_TURN: Final = ForeignTurn(
    turn_id=TurnId("t0"),
    state=ProjectedState.COMPLETED,
    terminal_event=EventId("e"),
    missing_complete_reply=False,
)


def _foreign(turns: Sequence[ForeignTurn], groups: Sequence[ForeignGroup] = ()) -> ForeignProjection:
    return ForeignProjection(
        algorithm_version=1,
        session_id=SESSION,
        source_event_count=0,
        source_tail=None,
        config=ProjectionConfig(),
        groups=tuple(groups),
        turns=tuple(turns),
        omitted=(),
    )


_A: Final = AdmissionReason
FOREIGN: Final[tuple[tuple[ForeignProjection, AdmissionReason, str], ...]] = (
    (
        attrs.evolve(_foreign([]), algorithm_version=0),
        _A.UNSUPPORTED_PROJECTION_VERSION,
        "/algorithm_version",
    ),
    (_foreign([_TURN, attrs.evolve(_TURN, turn_id=TurnId(" "))]), _A.BLANK_TURN_ID, "/turns/1/turn_id"),
    (_foreign([_TURN, _TURN]), _A.DUPLICATE_TURN, "/turns/1/turn_id"),
    (_foreign([], [_NOWHERE]), _A.UNKNOWN_GROUP_TURN, "/groups/0/turn_id"),
    (
        _foreign(
            [_TURN, attrs.evolve(_TURN, turn_id=TurnId("t1"))],
            [attrs.evolve(_NOWHERE, turn_id=TurnId("t1")), _NOWHERE],
        ),
        _A.GROUP_OUT_OF_ORDER,
        "/groups/1/turn_id",
    ),
    (
        _foreign([_TURN], [_NOWHERE, attrs.evolve(_NOWHERE, source_events=())]),
        _A.GROUP_WITHOUT_SOURCES,
        "/groups/1/source_events",
    ),
    (_foreign([_TURN], [attrs.evolve(_NOWHERE, messages=())]), _A.GROUP_SHAPE, "/groups/0/messages"),
    (
        _foreign([_TURN], [attrs.evolve(_NOWHERE, kind=GroupKind.ASSISTANT)]),
        _A.GROUP_SHAPE,
        "/groups/0/messages",
    ),
)
"""Projections from outside with one fault each, and what is told."""


def _log(*kinds: EventKind, turn: str = "t") -> SessionLog:
    """A log of one turn."""
    steps = [
        strategies.Step(kind, MessageId("m") if isinstance(kind, AssistantReply) else None) for kind in kinds
    ]
    return session_log(strategies.placed([(turn, one) for one in steps]))


UNCONFIRMED: Final[tuple[tuple[tuple[EventKind, ...], tuple[str, ...], tuple[str, ...], bool], ...]] = (
    ((_USER, _CALLED, _DONE), ("c",), (), False),
    ((_USER, _CALLED, _ERROR), ("c",), (), False),
    ((_USER, _MODEL_ASKED, _DONE), (), ("q",), False),
    ((_USER, _MODEL_ASKED, _CALLED, _ERROR), ("c",), ("q",), False),
    ((_USER, _MODEL_ASKED, _MODEL_ANSWERED, _CALLED, _DONE), ("c",), (), False),
    ((_USER, _CALLED, _RETURNED, _MODEL_ASKED, _DONE), (), ("q",), False),
    ((_USER, _CALLED), ("c",), (), True),
    ((_USER, _DELTA), (), (), True),
    ((_USER, _REPLY), (), (), True),
    ((_AUDITS[0],), (), (), True),
)
"""Events of one turn; open tool calls, open model calls, and whether the terminal is missing (P5)."""


class TestMutantsOfTurns:
    """Consequences for turns and projections that the other classes leave open."""

    @pytest.mark.parametrize(("state", "ids", "kinds", "after"), STEPS, ids=range(len(STEPS)))
    def test_p4_what_may_follow_what(
        self, state: TurnState, ids: Ids, kinds: Sequence[EventKind], after: TurnState | MalformedReason
    ) -> None:
        """P4: given the ids of a turn, the answer is one of a closed table; a blank id of its own wins."""
        for kind in kinds:
            event = SessionEvent(
                event_id=EventId("e"),
                session_id=SESSION,
                turn_id=TurnId("t"),
                message_id=MessageId("m"),
                seq=0,
                kind=kind,
            )
            blank = attrs.evolve(event, event_id=EventId(" "))

            assert after is step(state, ids, event), kind
            assert MalformedReason.BLANK_EVENT_ID is step(state, ids, blank), kind

    def test_p4_the_tables_say_which_pairs_are_refused_before_their_ids_are_looked_at(self) -> None:
        """P4: the page of states is printed from them; each pair stands in one of the two."""
        early = {MalformedReason.AFTER_TERMINAL, MalformedReason.WORK_AFTER_REPLY}
        allowed, refused = dict(TURN_TABLE), dict(REFUSED)
        expected_allowed, expected_refused = dict[object, object](), dict[object, object]()
        for state, ids, kinds, after in STEPS:
            for kind in kinds if ids is _NO_IDS or state is TurnState.WORKING else ():
                pair = (state, type(kind))
                if isinstance(after, TurnState):
                    expected_allowed[pair] = after
                elif pair not in expected_allowed and ids is _NO_IDS:
                    expected_refused[pair] = (after, after in early)

        assert expected_allowed == allowed
        assert {pair: told for pair, told in expected_refused.items() if pair not in allowed} == {
            pair: (refusal.reason, refusal.first) for pair, refusal in refused.items()
        }
        assert {bool} == {type(refusal.first) for refusal in refused.values()}

    @pytest.mark.parametrize(("foreign", "reason", "path"), FOREIGN, ids=range(len(FOREIGN)))
    def test_b2_each_fault_of_a_projection_from_outside_is_told_alone(
        self, foreign: ForeignProjection, reason: AdmissionReason, path: str
    ) -> None:
        """B2: also where there is nothing else in it."""
        assert Failure(NotAdmitted(reason=reason, path=path)) == admit_projection(foreign)

    @pytest.mark.parametrize(
        ("kinds", "tools", "models", "unterminated"), UNCONFIRMED, ids=range(len(UNCONFIRMED))
    )
    def test_p5_one_open_end_is_enough(
        self,
        kinds: tuple[EventKind, ...],
        tools: tuple[str, ...],
        models: tuple[str, ...],
        unterminated: bool,
    ) -> None:
        """P5: calls, model requests or the terminal."""
        failure = Unconfirmed(
            turn_id=TurnId("t"),
            open_tool_calls=tuple(ToolCallId(one) for one in tools),
            open_model_calls=tuple(ModelCallId(one) for one in models),
            unterminated=unterminated,
        )

        assert Failure(failure) == project(SESSION, _log(*kinds))

    def test_p11_a_small_log_projects_to_this(self) -> None:
        """P7 to P11: everything that a projection holds, by hand."""
        log = _log(
            _USER, _DELTA, _MODEL_ASKED, _MODEL_ANSWERED, _CALLED, _RETURNED, _AUDITS[2], _REPLY, _DONE
        )
        call = ModelToolCall(id=ProviderCallId("jw_tool_4"), name="n", arguments=Json('{"a":1}'))
        result = ToolMessage(
            call_id=ProviderCallId("jw_tool_4"), content='{"status":"succeeded","output":"y"}'
        )
        messages: list[tuple[GroupKind, tuple[int, ...], tuple[ModelMessage, ...]]] = [
            (GroupKind.USER, (0,), (UserMessage(content="u"),)),
            (GroupKind.TOOL_EXCHANGE, (4, 5), (AssistantMessage(content=None, tool_calls=(call,)), result)),
            (GroupKind.ASSISTANT, (7,), (AssistantMessage(content="r"),)),
        ]
        groups = tuple(
            Group(
                turn_id=TurnId("t"),
                kind=kind,
                source_events=tuple(EventId(f"e{seq}") for seq in sources),
                messages=held,
                message_bytes=tuple(json_bytes(message_object(one)) for one in held),
            )
            for kind, sources, held in messages
        )
        size = sum(sum(group.message_bytes) for group in groups)
        sources = TurnSources(
            turn_id=TurnId("t"), source_events=tuple(EventId(f"e{seq}") for seq in (0, 4, 5, 7))
        )
        turn = ProjectedTurn(
            sources=sources,
            state=ProjectedState.COMPLETED,
            terminal_event=EventId("e8"),
            missing_complete_reply=False,
            groups=groups,
            message_count=4,
            canonical_bytes=size,
        )
        omitted = ((1, "stream_delta"), (2, "model_audit"), (3, "model_audit"), (6, "audit"), (8, "audit"))
        expected = Projection(
            algorithm_version=1,
            session_id=SESSION,
            config=ProjectionConfig(max_messages=4),
            source_event_count=9,
            source_tail=EventId("e8"),
            turns=vector((turn,)),
            sources=vector((sources,)),
            omitted=vector(
                Omission(event_id=EventId(f"e{seq}"), seq=seq, reason=OmissionReason(reason))
                for seq, reason in omitted
            ),
            group_count=3,
            message_count=4,
            canonical_bytes=size,
            shape_failure=None,
            open_turn=None,
            silent=vector(),
        )

        assert Success(expected) == project(SESSION, log, ProjectionConfig(max_messages=4))
        assert Success(expected) == admit_projection(flattened(expected))

    def test_p2_a_log_at_its_limit_projects_however_it_was_written(self) -> None:
        """P2: spaces between tokens make no log too large."""
        log = _log(_USER, _REPLY, _DONE)
        values = [event_value(event) for event in log.events]
        spaced = decode_log(
            "".join(f"{json.dumps(value, indent=None)}\n" for value in values).encode()
        ).unwrap()
        size = sum(map(json_bytes, values))
        at, below = ProjectionConfig(max_input_bytes=size), ProjectionConfig(max_input_bytes=size - 1)
        told = LimitExceeded(what=Bound.INPUT_BYTES, limit=size - 1, actual=size)
        for one in (
            log,
            spaced,
            attrs.evolve(log, bytes_at_most=10**9, measured=False),
            attrs.evolve(log, bytes_at_most=size),
        ):
            assert isinstance(project(SESSION, one, at), Success)
            assert diagnose(SESSION, one, at).violations == ()
        for one in (log, spaced, attrs.evolve(log, bytes_at_most=10**9, measured=False)):
            assert Failure(told) == project(SESSION, one, below)

    @pytest.mark.parametrize("spaces", [0, 1, 1000])
    def test_p2_reading_is_given_up_where_the_canonical_sizes_pass_the_bound(self, spaces: int) -> None:
        """P2: event by event, however many spaces each line holds besides."""
        log = _log(_USER, _DELTA, _DELTA, _REPLY, _DONE)
        texts = [_shown(event_value(event)) for event in log.events]
        lines = [text.replace("{", "{" + " " * spaces).encode() + b"\n" for text in texts]
        sums = [sum(len(text) for text in texts[:count]) for count in range(1, 6)]
        for bound in (one + more for one in sums for more in (-1, 0, 1)):
            read = decode_within(lines, 5, bound)
            passed = next((one for one in sums if one > bound), None)
            told = LimitExceeded(what=Bound.INPUT_BYTES, limit=bound, actual=0 if passed is None else passed)

            assert (Success(log) if passed is None else Failure(told)) == read, bound

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_p2_as_many_events_and_messages_as_allowed(self, count: int) -> None:
        """P2, P10: equality is allowed, one more is not."""
        kinds: tuple[EventKind, ...] = (_USER, _REPLY, _DONE)
        events = project(SESSION, _log(*kinds), ProjectionConfig(max_events=count))
        messages = project(SESSION, _log(*kinds), ProjectionConfig(max_messages=count))

        assert (count >= 3) == isinstance(events, Success)
        assert (count >= 2) == isinstance(messages, Success)


# --- builds, counters and searches ------------------------------------------------------------------


@final
@attrs.frozen
class _Priced:
    """An additive counter whose costs are not what they should be."""

    cost: int

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return answer_of(target, 1)

    def message_cost(self, message: ModelMessage) -> int:
        return self.cost

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return 1


@final
@attrs.frozen
class _PerBytes:
    """So many tokens for so many canonical bytes of the whole request, rounded up; not additive."""

    tokens: int
    bytes: int

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return answer_of(target, self.total(_size(request)))

    def total(self, size: int) -> int:
        return -(-size * self.tokens // self.bytes)


@final
@attrs.frozen
class _Silent:
    """Refuses everything."""

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return Failure(CountRefused(reason="no word"))


def _size(request: GenerationRequest) -> int:
    messages = sum(json_bytes(message_object(message)) for message in request.messages)
    return messages + json_bytes(constraint_object(request.constraint))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _walked(state: SearchState, hint: int, cut: int) -> list[int]:
    """What a search counts where k steps fit from `cut` on, and that it closes there."""
    asked = list[int]()
    while True:
        move = next_move(state, hint)
        if not isinstance(move, CountNext):
            break
        asked.append(move.steps)
        state = told(state, move, fits=move.steps >= cut)

    assert (Accepted(steps=cut) if cut <= state.last else Exhausted()) == move
    return asked


def _bisect(last: int, guess: int, *, trusted: bool = False) -> SearchState:
    return SearchState(search=Search.BISECT, last=last, guess=guess, trusted=trusted)


def _knows(
    *,
    search: Search = Search.BISECT,
    too_few: int = -1,
    enough: int | None = None,
    counted: int | None = None,
    anchored: bool | None = None,
    halving: bool = False,
    counts: int = 0,
) -> SearchState:
    return SearchState(
        search=search,
        last=9,
        guess=4,
        too_few=too_few,
        enough=enough,
        counted=counted,
        anchored=anchored,
        halving=halving,
        counts=counts,
    )


WALKS: Final[tuple[tuple[SearchState, int, int, list[int]], ...]] = (
    (_bisect(100, 10), 50, 70, [10, 100, 50, 51, 53, 57, 65, 81, 73, 69, 71, 70]),
    (_bisect(100, 60), 50, 33, [60, 50, 49, 47, 43, 35, 19, 27, 31, 33, 32, 33]),
    (_bisect(8, 0), 1, 5, [0, 8, 1, 2, 4, 6, 5]),
    (_bisect(10, 5), 99, 8, [5, 10, 9, 8, 6, 7, 8]),
    (_bisect(10, 5), -1, 6, [5, 10, 6]),
    (_bisect(10, 5), 7, 11, [5, 10]),
    (_bisect(10, 3, trusted=True), 0, 4, [3, 4]),
    (_bisect(10, 3, trusted=True), 0, 6, [3, 4, 6, 5, 6]),
    (_bisect(10, 3, trusted=True), 0, 1, [3, 2, 0, 1]),
    (_bisect(10, 0, trusted=True), 0, 0, [0]),
    (_bisect(10, 10, trusted=True), 0, 11, [10]),
)
"""A search, its hint, the smallest k that fits, and every k that is counted."""

MOVES: Final[tuple[tuple[SearchState, int, Move], ...]] = (
    (SearchState(search=Search.LINEAR, last=3), 2, CountNext(steps=0, phase=Phase.WALK)),
    (_knows(too_few=0, counted=0, search=Search.LINEAR), 2, CountNext(steps=1, phase=Phase.WALK)),
    (_knows(), 6, CountNext(steps=4, phase=Phase.GUESS)),
    (_knows(too_few=4, counted=4, counts=1), 6, CountNext(steps=9, phase=Phase.PROBE)),
    (_knows(too_few=4, enough=9, counted=9, counts=2), 6, CountNext(steps=6, phase=Phase.HINT)),
    (_knows(too_few=6, enough=9, counted=6, anchored=False), 6, CountNext(steps=7, phase=Phase.GALLOP)),
    (_knows(too_few=4, enough=7, counted=7, anchored=True), 6, CountNext(steps=6, phase=Phase.GALLOP)),
    (_knows(too_few=2, enough=9, counted=2, halving=True), 6, CountNext(steps=5, phase=Phase.HALVE)),
    (_knows(too_few=3, enough=4, counted=3), 6, CountNext(steps=4, phase=Phase.RECOUNT)),
    (_knows(too_few=3, enough=4, counted=4), 6, Accepted(steps=4)),
    (_knows(too_few=9, counted=3), 6, CountNext(steps=9, phase=Phase.RECOUNT)),
    (_knows(too_few=9, counted=9), 6, Exhausted()),
)
"""What a search knows, its hint, and what it does next."""

_P: Final = (2, 30, 500, 7_000)
_FRAMED: Final = FramingAllowance(
    message=Allowance(bytes=_P[0], specials=1),
    call=Allowance(bytes=_P[1], specials=1),
    tool=Allowance(bytes=_P[2], specials=1),
    request=Allowance(bytes=_P[3], specials=1),
)
_BOUND: Final = ByteBoundCounter(
    model="m", template_revision="r1", json_factor=JsonFactor(numerator=3, denominator=2), allowance=_FRAMED
)
_TOOL_CALL: Final = ModelToolCall(id=ProviderCallId("id"), name="tool", arguments=Json('{"a":"é"}'))
COSTS: Final[tuple[tuple[ModelMessage, int], ...]] = (
    (SystemMessage(content=""), 3),
    (UserMessage(content="é"), 3 + 2),
    (ToolMessage(call_id=ProviderCallId("four"), content="[1]"), 3 + 4 + 5),
    (AssistantMessage(content=None, tool_calls=(_TOOL_CALL,)), 3 + 31 + 2 + 4 + 15),
    (AssistantMessage(content="said", tool_calls=(_TOOL_CALL, _TOOL_CALL)), 3 + 4 + 2 * (31 + 2 + 4 + 15)),
    (AssistantMessage(content=""), 3),
)
"""Messages, and what `_BOUND` says: framing, texts, and JSON at one and a half."""

_TOOLS: Final = tuple(
    ToolDefinition(name=name, description="what", parameters=Json("true")) for name in ("a", "bc")
)
FIXED: Final[tuple[tuple[GenerationConstraint, int], ...]] = (
    (TextConstraint(), 0),
    (JsonSchemaConstraint(name="abc", schema=Json("{}")), 501 + 3 + 3),
    (NativeToolsConstraint(tools=_TOOLS), 2 * 501 + 1 + 2 + 2 * 4 + 2 * 6),
    (NativeToolsConstraint(tools=_TOOLS[:1], choice=NamedChoice(name="abcde")), 501 + 1 + 4 + 6 + 5),
    (NativeToolsConstraint(tools=_TOOLS[:1], choice=RequiredChoice()), 501 + 1 + 4 + 6),
)
"""Constraints, and what `_BOUND` says of each besides the request's own 7001."""


class TestMutantsOfBuilds:
    """Consequences for builds, counters and searches that the other classes leave open."""

    def test_b6_a_report_says_this(self) -> None:
        """B6: field by field, by hand."""
        history = attrs.evolve(
            history_of("tt"),
            session_id=SessionId("whose"),
            source_tail=EventId("tail"),
            source_event_count=77,
        )
        inputs = attrs.evolve(
            inputs_of(1000, reserve=7, margin=3, pinned=("t1",)), state_version="label", system=("rules",)
        )
        messages = naive_request(history, inputs, []).messages
        texts = [_shown(cast(JsonValue, message_object(message))) for message in messages]
        costs = [-(-len(text.encode()) // 4) for text in texts]
        tokens = TokenBreakdown(system=costs[0], messages=sum(costs[1:]), constraint=4, template=32)
        count = TokenCount(
            target=TARGET,
            method="serialized-utf8-ceil-div4-v1",
            evidence=TokenBoundEvidence.ESTIMATE,
            tokens=tokens,
        )
        attempt = Attempt(removed_turns=0, plan_steps=0, count=count, total_reserved=sum(costs) + 36 + 10)
        roles = ["system", "user", "assistant", "user", "assistant", "user"]
        expected = BuildReport(
            algorithm_version=1,
            projection_version=1,
            strategy="oldest_turn_first",
            search=Search.BISECT,
            session_id=SessionId("whose"),
            source_tail=EventId("tail"),
            source_event_count=77,
            state_version="label",
            target=TARGET,
            budget=inputs.budget,
            limits=inputs.limits,
            system_messages=1,
            current_messages=1,
            turns=TurnLedger(sources=history.sources, pinned=(TurnId("t1"),), reductions=()),
            attempts=(attempt,),
            sent=tuple(
                SentMessage(role=MessageRole(role), digest=_sha(text), cost=cost)
                for role, text, cost in zip(roles, texts, costs, strict=True)
            ),
            constraint_digest=_sha('{"mode":"text"}'),
            summary_digest=None,
            items_digest=None,
        )
        none = attrs.evolve(expected, attempts=(), sent=(), search=Search.LINEAR)

        assert expected == build(history, inputs, ByteHeuristicCounter()).unwrap().report
        assert Failure(CounterFailed(reason="no word", report=none)) == build(history, inputs, _Silent())

    @pytest.mark.parametrize("cost", [-1, 0, 1, 2**64 - 1, 2**64])
    def test_b6_a_cost_that_is_no_number_of_tokens_is_not_reported(self, cost: int) -> None:
        """B6, C1: [0, 2^64) and nothing else."""
        report = build(history_of("t"), inputs_of(10), _Priced(cost)).unwrap().report

        assert {cost if 0 <= cost < 2**64 else None} == {sent.cost for sent in report.sent}

    @pytest.mark.parametrize("what", ["groups", "turns", "input_bytes", "messages"])
    def test_b2_as_much_as_allowed_is_built(self, what: str) -> None:
        """B2: a value that equals its limit is allowed, one more is not."""
        history, inputs = history_of("txp"), inputs_of(10**6)
        whole = naive_request(history, inputs, [])
        size = {
            "groups": sum(len(turn.groups) for turn in history.turns),
            "turns": 3,
            "input_bytes": _size(whole),
            "messages": len(whole.messages),
        }[what]
        for limit in (size - 1, size, size + 1):
            limits = attrs.evolve(inputs.limits, **{f"max_{what}": limit})
            answer = build(history, attrs.evolve(inputs, limits=limits), ByteHeuristicCounter())
            refused = Failure(LimitExceeded(what=Bound(what), limit=limit, actual=size))

            assert (limit < size) == (refused == answer)
            assert (limit >= size) == isinstance(answer, Success)

    def test_b8_one_message_does_not_stand_for_two(self) -> None:
        """B8: neither a pinned one for a current one, nor one of them for itself."""
        said = UserMessage(content="x")
        history = admit_projection(_foreign([_TURN], [_NOWHERE])).unwrap()
        inputs = attrs.evolve(inputs_of(1000, pinned=("t0",)), current=(said,), system=())
        for count, missing in ((0, ("/pinned_turns/t0", "/current/0")), (1, ("/current/0",)), (2, ())):
            request = GenerationRequest(messages=(said,) * count)

            assert missing == missing_content(request, history, inputs)
        twice = attrs.evolve(inputs, current=(said, said), pinned_turns=())
        for count, missing in ((0, ("/current/0", "/current/1")), (1, ("/current/0",)), (2, ())):
            assert missing == missing_content(GenerationRequest(messages=(said,) * count), history, twice)

    @given(st.text("txpf", max_size=12), st.sampled_from(SCHEMES), st.integers(0, 60), st.data())
    def test_b5_exact_costs_lead_to_the_answer_in_two_counts(
        self, shapes: str, scheme: Scheme, size: int, data: st.DataObject
    ) -> None:
        """B5, C6: the last k that is too little, and the one that fits; all steps where none does."""
        history, inputs, counter = history_of(shapes, "x" * size), inputs_of(1), PerMessage(fixed=5, each=2)
        plan = naive_plan(scheme, naive_candidates(history, inputs))
        dropped = [
            [*plan.base, *(turn for one in plan.steps[:k] for turn in one)]
            for k in range(len(plan.steps) + 1)
        ]
        totals = [5 + 2 * (_size(naive_request(history, inputs, one)) - 15) for one in dropped]
        window = data.draw(st.sampled_from([total + delta for total in totals for delta in (0, 1, 2)]))
        budget = attrs.evolve(inputs.budget, window_tokens=window)
        answer = build(
            history, attrs.evolve(inputs, budget=budget), counter, strategy=scheme, search=Search.BISECT
        )
        report = answer.unwrap().report if isinstance(answer, Success) else report_of(answer.failure())
        assert report is not None
        needed = next((k for k, total in enumerate(totals) if total < window), None)
        counts = [len(plan.steps)] if needed is None else [0] if needed == 0 else [needed - 1, needed]

        assert counts == [attempt.plan_steps for attempt in report.attempts]
        assert [totals[k] for k in counts] == [attempt.count.tokens.total for attempt in report.attempts]

    @given(st.text("txpf", min_size=1, max_size=12), st.integers(0, 60), st.integers(1, 9), st.data())
    def test_b5_sizes_in_bytes_say_where_a_search_begins_and_goes_on(
        self, shapes: str, size: int, ratio: int, data: st.DataObject
    ) -> None:
        """B5: at four bytes a token, then everything, then at the ratio of the last count."""
        history, inputs, counter = history_of(shapes, "x" * size), inputs_of(1), _PerBytes(ratio, 8)
        names = naive_candidates(history, inputs)
        sizes = [_size(naive_request(history, inputs, names[:k])) for k in range(len(names) + 1)]
        window = counter.total(data.draw(st.sampled_from(sizes))) + data.draw(st.integers(0, 3))
        budget = attrs.evolve(inputs.budget, window_tokens=window)
        answer = build(history, attrs.evolve(inputs, budget=budget), counter, search=Search.BISECT)
        report = answer.unwrap().report if isinstance(answer, Success) else report_of(answer.failure())
        assert report is not None
        counts = [attempt.plan_steps for attempt in report.attempts]

        def smallest(tokens: int, of: int) -> int:
            fitting = [k for k, one in enumerate(sizes) if one <= (window - 1) * of // tokens]
            return fitting[0] if fitting else len(names)

        guess = smallest(1, 4)
        fits = [counter.total(one) < window for one in sizes]
        known = [guess]
        if not fits[guess] and guess < len(names):
            known.append(len(names))
        low = 0 if fits[guess] else guess + 1
        high = guess - 1 if fits[guess] else len(names) - 1
        if fits[known[-1]] and low <= high:
            last = known[-1]
            known.append(max(low, min(smallest(counter.total(sizes[last]), sizes[last]), high)))

        assert known == counts[: len(known)]

    @pytest.mark.parametrize(("state", "hint", "cut", "asked"), WALKS, ids=range(len(WALKS)))
    def test_r1_a_bisecting_search_walks_so(
        self, state: SearchState, hint: int, cut: int, asked: list[int]
    ) -> None:
        """R1, B5: guess, everything, hint, a gallop that doubles, then halves of what is left."""
        assert asked == _walked(state, hint, cut)

    @pytest.mark.parametrize(("state", "hint", "move"), MOVES, ids=range(len(MOVES)))
    def test_r1_a_search_goes_on_from_what_it_knows_and_closes_on_its_last_count(
        self, state: SearchState, hint: int, move: Move
    ) -> None:
        """R1, B5: what it counts next, and why; from any state, also where no walk leads."""
        assert move == next_move(state, hint)

    @pytest.mark.parametrize(("steps", "enough"), [(3, 3), (4, 4), (6, 4)])
    def test_r1_what_fits_is_remembered_by_its_fewest_steps(self, steps: int, enough: int) -> None:
        """R1: a count of more steps takes nothing back."""
        state = _knows(too_few=2, enough=4, counted=4)
        after = told(state, CountNext(steps=steps, phase=Phase.HALVE), fits=True)

        assert attrs.evolve(state, enough=enough, counted=steps, counts=1) == after

    @pytest.mark.parametrize(("message", "cost"), COSTS, ids=range(len(COSTS)))
    def test_c3_a_message_is_bounded_by_its_parts(self, message: ModelMessage, cost: int) -> None:
        """C3: framing, ids, names and texts by their bytes, JSON by the factor, rounded up."""
        assert cost == _BOUND.message_cost(message)

    @pytest.mark.parametrize(("constraint", "cost"), FIXED, ids=range(len(FIXED)))
    def test_c3_a_constraint_is_bounded_by_its_parts(
        self, constraint: GenerationConstraint, cost: int
    ) -> None:
        """C3: each tool with its framing, and the name that was chosen."""
        request = GenerationRequest(messages=tuple(message for message, _ in COSTS), constraint=constraint)
        tokens = TokenBreakdown(
            system=3, messages=sum(cost for _, cost in COSTS) - 3, constraint=cost, template=7001
        )
        count = TokenCount(
            target=TARGET,
            method="utf8-byte-bound-v1",
            evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND,
            tokens=tokens,
        )

        assert cost + 7001 == _BOUND.fixed_cost(constraint)
        assert Success(count) == _BOUND.count(TARGET, request)

    def test_c3_no_framing_and_no_growth_is_a_declaration_too(self) -> None:
        """C3: allowances of nothing and a factor of one are taken at their word."""
        nothing = Allowance()
        counter = ByteBoundCounter(
            model="m",
            template_revision="r1",
            allowance=FramingAllowance(message=nothing, call=nothing, tool=nothing, request=nothing),
        )
        request = GenerationRequest(messages=(UserMessage(content="abc"),))

        assert 3 == counter.count(TARGET, request).unwrap().tokens.total

    def test_c3_a_rendered_prompt_is_bounded_for_its_own_target_alone(self) -> None:
        """C3, C5: text under messages, special tokens under template; another target by name."""
        counter = RenderedByteBoundCounter(
            model="m",
            template_revision="r1",
            normalization=Normalization.NFC,
            render=lambda request: Success(
                RenderedPrompt(text="e\u0301" * len(request.messages), special_tokens=4)
            ),
        )
        request = GenerationRequest(messages=(UserMessage(content="x"),) * 3)
        tokens = TokenBreakdown(system=0, messages=6, constraint=0, template=4)
        count = TokenCount(
            target=TARGET,
            method="rendered-utf8-byte-bound-v1",
            evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND,
            tokens=tokens,
        )
        refused = CountRefused(reason="declared for 'm' with template 'r1'")

        assert Success(count) == counter.count(TARGET, request)
        for other in ({"model": "n"}, {"template_revision": "r2"}):
            assert Failure(refused) == counter.count(attrs.evolve(TARGET, **other), request)

    def test_c4_the_memory_holds_a_message_of_half_its_bound(self) -> None:
        """C4: by default 16 MiB of characters; one more is not remembered."""
        for size, remembered in ((2**24 - 256, 1), (2**24 - 255, 0)):
            counter = RememberingCounter(_Priced(1))
            counter.message_cost(UserMessage(content="x" * size))

            assert remembered == counter.remembered

    @given(strategies.requests())
    def test_c4_what_is_remembered_is_counted_for_the_target_that_asks(
        self, request: GenerationRequest
    ) -> None:
        """C4: whole requests too, part by part."""
        counter = RememberingCounter(_BOUND)

        assert _BOUND.count(TARGET, request) == counter.count(TARGET, request)
        assert _BOUND.fixed_cost(request.constraint) == counter.fixed_cost(request.constraint)
