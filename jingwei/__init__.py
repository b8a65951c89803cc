"""jingwei turns an agent's append-only session log into the exact request a model should see.

    bytes -> events -> checked log -> projection -> candidates -> plan -> fit -> request + report
            decode_log  check_log      project                            build

Every arrow is one pure function; every failure is a record in a closed union, never an exception:

    match jingwei.build(history, inputs, jingwei.ByteHeuristicCounter()):
        case jingwei.Success(built):
            send(built.request)
        case jingwei.Failure(why):
            explain(why)

The rooms hold more than this face shows: `jingwei.events`, `messages`, `projection`, `request`,
`selection`, `report`; `jingwei.testing` has the laws that a host runs on its own counter or
strategy, `jingwei.providers` reads other systems' transcripts.
"""

from jingwei.build import (
    BuildInputs,
    BuiltContext,
    ContextBuilder,
    build,
    build_foreign,
)
from jingwei.codec import DecodeFailed, DecodeReason, EncodeFailed
from jingwei.events.failures import DuplicateEventId, LogFailure, WrongSequence, WrongSession
from jingwei.events.log import check_log
from jingwei.events.records import CheckedLog, EventKind, SessionEvent, SessionLog
from jingwei.events.turns import MalformedReason
from jingwei.events.wire import decode_events, decode_log, encode_event, encode_log, session_log
from jingwei.ids import EventId, MessageId, ModelCallId, ProviderCallId, SessionId, ToolCallId, TurnId
from jingwei.jsontext import Json, json_of, parse_json
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import ShapeFailure
from jingwei.messages.records import (
    AssistantMessage,
    AutoChoice,
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
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from jingwei.messages.shape import check_shape
from jingwei.messages.wire import decode_request, decode_response, encode_request, encode_response
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.admit import admit_projection
from jingwei.projection.diagnose import Diagnosis, Violation, diagnose
from jingwei.projection.failures import (
    InvalidConfig,
    Malformed,
    MissingReply,
    NotAdmitted,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.projection.project import ConversationProjector, project
from jingwei.projection.records import (
    ForeignProjection,
    Group,
    GroupKind,
    LegacyReplies,
    Omission,
    OmissionReason,
    ProjectedState,
    ProjectedTurn,
    Projection,
    ProjectionConfig,
)
from jingwei.projection.split import SplitProjection, split_open_turn
from jingwei.projection.wire import decode_projection, encode_projection
from jingwei.recount import Reverified, Verdict, reverify
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    Overflow,
    ShapeInvalid,
    SurvivalBroken,
    UnverifiedCount,
)
from jingwei.report.records import BuildReport
from jingwei.report.wire import decode_report, encode_report
from jingwei.request.counting import (
    AdditiveCounter,
    Allowance,
    ByteBoundCounter,
    ByteHeuristicCounter,
    CountRefused,
    FramingAllowance,
    JsonFactor,
    Normalization,
    RenderedByteBoundCounter,
    RenderedPrompt,
    TokenCounter,
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
from jingwei.selection.records import (
    DropTurn,
    InvalidPlan,
    Plan,
    PlanStep,
    Reduction,
    Room,
    TurnCandidate,
)
from jingwei.selection.search import Search
from jingwei.selection.strategies import OldestTurnFirst, Strategy

__all__ = [
    "AdditiveCounter",
    "Allowance",
    "AssistantMessage",
    "AutoChoice",
    "Bound",
    "BudgetMode",
    "BuildFailure",
    "BuildInputs",
    "BuildLimits",
    "BuildReport",
    "BuiltContext",
    "ByteBoundCounter",
    "ByteHeuristicCounter",
    "CheckedLog",
    "ContextBudget",
    "ContextBuilder",
    "ContextTarget",
    "ConversationProjector",
    "CountLimit",
    "CountRefused",
    "CounterFailed",
    "DecodeFailed",
    "DecodeReason",
    "Diagnosis",
    "DoesNotFit",
    "DropTurn",
    "DuplicateEventId",
    "EncodeFailed",
    "EventId",
    "EventKind",
    "Failure",
    "ForeignProjection",
    "FramingAllowance",
    "GenerationConstraint",
    "GenerationRequest",
    "GenerationResponse",
    "Group",
    "GroupKind",
    "InvalidConfig",
    "InvalidInput",
    "InvalidInputReason",
    "InvalidPlan",
    "Json",
    "JsonFactor",
    "JsonSchemaConstraint",
    "LegacyReplies",
    "LimitExceeded",
    "LogFailure",
    "Malformed",
    "MalformedReason",
    "MessageId",
    "MissingReply",
    "ModelCallId",
    "ModelMessage",
    "ModelToolCall",
    "NamedChoice",
    "NativeToolsConstraint",
    "Normalization",
    "NotAdmitted",
    "OldestTurnFirst",
    "Omission",
    "OmissionReason",
    "Outcome",
    "Overflow",
    "Plan",
    "PlanStep",
    "ProjectedState",
    "ProjectedTurn",
    "Projection",
    "ProjectionConfig",
    "ProjectionFailure",
    "ProviderCallId",
    "Reduction",
    "RenderedByteBoundCounter",
    "RenderedPrompt",
    "RequiredChoice",
    "Reverified",
    "Room",
    "Search",
    "SessionEvent",
    "SessionId",
    "SessionLog",
    "ShapeFailure",
    "ShapeInvalid",
    "SplitProjection",
    "Strategy",
    "Success",
    "SurvivalBroken",
    "SystemMessage",
    "TextConstraint",
    "TokenBoundEvidence",
    "TokenBreakdown",
    "TokenCount",
    "TokenCounter",
    "ToolCallId",
    "ToolDefinition",
    "ToolMessage",
    "TurnCandidate",
    "TurnId",
    "Unconfirmed",
    "UnverifiedCount",
    "UserMessage",
    "Verdict",
    "Violation",
    "WrongSequence",
    "WrongSession",
    "admit_projection",
    "build",
    "build_foreign",
    "check_log",
    "check_shape",
    "decode_events",
    "decode_log",
    "decode_projection",
    "decode_report",
    "decode_request",
    "decode_response",
    "diagnose",
    "encode_event",
    "encode_log",
    "encode_projection",
    "encode_report",
    "encode_request",
    "encode_response",
    "json_of",
    "parse_json",
    "project",
    "reverify",
    "session_log",
    "split_open_turn",
]
