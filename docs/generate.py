"""Write the generated pages: docs/states.md from the turn table, docs/failures.md from the failure unions.

    python -m docs.generate

What a failure means is said once, on its class; what to do about it is said here, in `ADVICE` and
`REASONS`. Both must cover every member of every union: `tests/test_docs.py` fails where one is missing,
and where a page on disk is stale.
"""

import enum
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias, get_args

import attrs

from jingwei.action.failures import (
    ArgumentsNoObject,
    BlankQuestion,
    BlankText,
    CompleteFailure,
    CutOff,
    EvidencePart,
    Filtered,
    HoldsFragments,
    InterpretFailure,
    InvalidArguments,
    InvalidSchema,
    InvalidStep,
    InvalidStepReason,
    MultipleActions,
    NoAction,
    NotAnAction,
    NotRecorded,
    OtherReference,
    RecordStage,
    RepeatedKey,
    ReservedToolName,
    SchemaReason,
    ToolEvidenceMismatch,
    UnknownFinish,
    UnreadableAnswer,
    UnrecordedResult,
)
from jingwei.codec import DecodeFailed, DecodeReason, EncodeFailed, EncodeReason
from jingwei.compose.observe import UnknownItem
from jingwei.compose.pipeline import StateOfAnotherSession, UnknownSource
from jingwei.compose.task_state import InvalidTaskState
from jingwei.compose.triggers import InvalidTriggerReason, InvalidTriggers
from jingwei.condensers.failures import (
    AlreadyCondensed,
    CondenseFailure,
    InvalidCondensation,
    InvalidCondensationReason,
    InvalidCondenseLimit,
    NotSmaller,
    NotThisKind,
    TextTooLarge,
)
from jingwei.events.failures import (
    DuplicateEventId,
    LogFailure,
    WriteFailure,
    WriteReason,
    WriteRefused,
    WrongSequence,
    WrongSession,
)
from jingwei.events.records import (
    AssistantReply,
    ModelRequestEvent,
    ModelResultEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from jingwei.events.turns import ALL_KINDS, REFUSED, TURN_TABLE, KindClass, MalformedReason, TurnState
from jingwei.events.wire import EVENT_TYPES
from jingwei.items.budget import InvalidTokenBudget, TokenBudgetReason
from jingwei.items.failures import InvalidItem, InvalidItemReason
from jingwei.items.worth import InvalidWeights, WeightReason
from jingwei.jsontext import JsonProblem, NotJson
from jingwei.limits import Bound, LimitExceeded
from jingwei.messages.failures import (
    ArgumentsNotObject,
    DuplicateToolCallId,
    DuplicateToolName,
    EmptyMessages,
    EmptyName,
    EmptyToolSet,
    InterruptedToolGroup,
    InvalidSchemaShape,
    MissingAssistantContent,
    MissingToolResults,
    ShapeFailure,
    ToolNotVisible,
    UnmatchedToolResult,
)
from jingwei.ops.requests import BadRequest
from jingwei.ops.stepping import NotACall, OtherRequest
from jingwei.ops.tools import ResultNotShown
from jingwei.ports import (
    BadCursor,
    BadCursorReason,
    ClockWentBack,
    Conflict,
    ConflictReason,
    InvalidScope,
    InvalidScopeReason,
    InvalidSource,
    InvalidSourceReason,
    InvalidStoreConfig,
    InvalidStoreConfigReason,
    InvalidText,
    InvalidTime,
    PageLimit,
    StorageFailed,
    StorageReason,
    StoreFailure,
    StoreFull,
    StoreFullOf,
    TooLarge,
    Unavailable,
    UnavailableReason,
)
from jingwei.projection.failures import (
    AdmissionReason,
    InvalidConfig,
    InvalidConfigReason,
    Malformed,
    MissingReply,
    NotAdmitted,
    ProjectionFailure,
    Unconfirmed,
)
from jingwei.providers.openai_chat.failures import (
    AmbiguousResult,
    BadField,
    BlankSessionId,
    ConversationFailure,
    DocumentFailure,
    NoConversation,
    NotAConversation,
    NoUserMessage,
    RepeatedCallId,
    SoftFailure,
    UnknownRole,
    UnusableResponse,
    remedies,
)
from jingwei.report.failures import (
    BuildFailure,
    CounterFailed,
    CountLimit,
    DoesNotFit,
    InvalidInput,
    InvalidInputReason,
    Overflow,
    OverflowWhat,
    ShapeInvalid,
    SurvivalBroken,
    UnverifiedCount,
    UnverifiedReason,
)
from jingwei.request.counting import CountRefused
from jingwei.request.tool_views import (
    CatalogInvalid,
    DuplicateSelection,
    SelectorRefused,
    ToolBytesExceeded,
    ToolViewFailure,
    TooManyTools,
    TooManyVisible,
    UnknownGroup,
    UnknownTool,
    ZeroToolLimit,
)
from jingwei.results.failures import (
    ConflictingViews,
    ContradictionReason,
    InvalidResult,
    InvalidResultPolicy,
    InvalidResultReason,
    MalformedView,
    RecordedViewFailure,
    ReferenceMismatch,
    ResultPolicyProblem,
    ViewContradiction,
)
from jingwei.selection.by_value import InvalidTurnWorth, TurnWorthReason
from jingwei.selection.choose import (
    InvalidOption,
    InvalidQuota,
    OptionReason,
    QuotaReason,
    RequiredExceed,
)
from jingwei.selection.condense_then_drop import InvalidPolicy, PolicyProblem
from jingwei.selection.records import InvalidPlan, InvalidPlanReason
from jingwei.selection.select import NoCandidates
from jingwei.selection.stable_prefix import InvalidMarks
from jingwei.stores.read_tool import ReadReason, ReadRefused
from jingwei.summaries.failures import (
    ChunkNotCounted,
    MalformedSummary,
    NotCountedReason,
    SourcesReason,
    SourcesRefused,
    SummaryPlanReason,
    SummaryPlanRefused,
    SummaryReason,
    SummaryRefused,
    SummarySetBroken,
    SummarySetReason,
    TurnTooLarge,
)

DOCS: Final = Path(__file__).resolve().parent

Told: TypeAlias = tuple[str, str]
"""When a reason is given, and what to do."""

ADVICE: Final[Mapping[type[object], str]] = {
    DecodeFailed: "Look at `line` and `path`; the table below says what each reason asks for. Never skip the "
    "line: what follows may depend on it.",
    EncodeFailed: "Find where the text came from: it was cut inside a character, or decoded with "
    "`surrogatepass`. Replace the half pair before the record is made.",
    JsonProblem: "The text is not strict JSON: mend it at `offset`, or keep it as a string.",
    NotJson: "Turn the value at `path` into JSON types before you hand it over: text keys, finite numbers, "
    "no bytes or dates.",
    WrongSession: "Two logs were mixed, or the wrong session was asked for. Split the log by session where "
    "it is written.",
    WrongSequence: "A line is missing, doubled or moved. Restore the log from its store; do not renumber it.",
    DuplicateEventId: "The writer appended an event twice, or made its ids badly. If both lines are equal, a "
    "retry was not idempotent: mend the writer.",
    WriteRefused: "Nothing was written, and the writer is as it was: offer another event. The table below "
    "and that of [Malformed](#malformed) say what each reason asks for. From `resume_writer` or "
    "`close_abandoned` it says that the log is damaged: `diagnose` lists what is wrong and the way out.",
    InvalidConfig: "Correct the call; the table below says which value.",
    LimitExceeded: "Raise the limit in `ProjectionConfig` or `BuildLimits` to `actual` if the machine can "
    "carry it, or split the work. Nothing was cut to make it fit.",
    Malformed: "Look at the event `event_id`; the table below says which rule it breaks. Mend the writer; "
    "`diagnose` lists all such events of the log. Where the log must be used as it is, "
    "`DamagedTurns.QUARANTINE` leaves the turn out whole.",
    Unconfirmed: "In a last turn that still runs, find out what became of the open calls and append their "
    "results (or a failed outcome that says what is known), then the terminal event; `close_abandoned` "
    "writes them where a crash cut the last turn off. Until then the side effects are unknown, so the log "
    "has no projection. A turn in the middle, and one that has its terminal, cannot be closed any more: "
    "`DamagedTurns.QUARANTINE` leaves it out whole. `diagnose` names the way out.",
    MissingReply: "Append the complete reply before the terminal event. For old logs that never recorded "
    "it, choose `LegacyReplies.OMIT`: the turn is kept without assistant text.",
    NotAdmitted: "The projection was not made by a version 1 projector, or was changed since. Project the "
    "log again.",
    EmptyMessages: "Give at least one message.",
    UnmatchedToolResult: "Put the assistant message with the call in front, or remove the result.",
    InterruptedToolGroup: "Move the message behind the last result of the group.",
    MissingAssistantContent: "Give the message its text (the empty string will do) or its calls.",
    EmptyName: "Name the tool, the schema or the called tool.",
    ArgumentsNotObject: "A provider takes objects only. If the log recorded other arguments, no build can "
    "send them: `diagnose` warns of such calls. Leave that part of the history out of the projection's log.",
    DuplicateToolCallId: "Give each call of one message its own id.",
    MissingToolResults: "Append the results of `call_ids` before you build.",
    InvalidSchemaShape: "Give an object or a boolean at the root of the schema.",
    EmptyToolSet: "Offer a tool, or use `TextConstraint`.",
    DuplicateToolName: "Rename or remove one of the two.",
    ToolNotVisible: "List the tool, or choose another.",
    InvalidInput: "Correct the input at `path`; the table below says what is wrong.",
    UnverifiedCount: "See the table below: another counter, another mode, or evidence for the reserve.",
    ShapeInvalid: "Read `error`: its row stands under *Shape*. The fault is in the input, not in what was "
    "trimmed.",
    Overflow: "A number is beyond 64 bits or negative: correct the budget, or the counter.",
    InvalidPlan: "Mend the strategy: it may name each given candidate once, and nothing else.",
    CounterFailed: "Read `reason`. Take a counter that is declared for this target.",
    DoesNotFit: "Read `report.attempts[-1]`: what must stay is larger than the window. Unpin turns, shorten "
    "system or current, lower the reserve, or take a larger window. With `exhaustive` false another search "
    "may still find a fit: try `Search.LINEAR` with enough counts.",
    CountLimit: "Raise `max_count_calls`, or use `Search.BISECT`, or a counter that is additive.",
    SurvivalBroken: "A bug of this library: please report `missing` and `report`. Do not send a request.",
    CountRefused: "The counter does not know the target, or its declaration gives no bound: see `reason`. "
    "A build says this as `CounterFailed`.",
    ZeroToolLimit: "Set the limit above zero.",
    TooManyTools: "Authorise fewer tools for this step, or raise `max_authorised`.",
    ToolBytesExceeded: "Shorten descriptions and schemas, or raise `max_bytes`.",
    CatalogInvalid: "Read `error`: its row stands under *Shape*. Name each tool once, with a schema that is "
    "an object or a boolean.",
    UnknownGroup: "Declare the group, or do not activate it.",
    SelectorRefused: "Read `reason`: the words are those of the host's selector.",
    TooManyVisible: "Select fewer tools, or raise `max_visible`.",
    UnknownTool: "Authorise the tool, or do not select it. Never run a tool because it was selected.",
    DuplicateSelection: "Let the selector say each name once.",
    InvalidResultPolicy: "Correct the size; see the table below.",
    InvalidResult: "The result could not be recorded either: mend what made it, as the table below says.",
    ReferenceMismatch: "The store is at fault. Show the view without a handle (`without_handle`): the tool "
    "has run, and must not run again.",
    MalformedView: "Mend the writer of the event. What was shown is not known, so that the bytes of earlier "
    "requests cannot be made again from this log.",
    ConflictingViews: "Find out who recorded a second view: a view is recorded once, when it is first shown.",
    ViewContradiction: "The log says what happened; the view does not. Look at the event `recorded_by` and "
    "mend its writer.",
    InvalidStep: "Correct the input at `path`; see the table below.",
    ReservedToolName: "Rename the tool, or do not show it.",
    InvalidSchema: "Mend the schema at `where`; the table below says what is wrong. The model has not been "
    "asked, or its arguments could not be checked; nothing has run.",
    MultipleActions: "Ask again; most providers can be told to make no parallel calls. None of them is run.",
    HoldsFragments: "Ask again, or with a larger output reserve.",
    CutOff: "Ask again with a larger output reserve, or for less.",
    Filtered: "The provider withheld the answer: ask for something else, or close the turn.",
    UnknownFinish: "Let the adapter say why the answer ended; `stop` and `tool_calls` are whole answers.",
    NoAction: "Ask again, or close the turn.",
    NotAnAction: "Say in the next request what stands at `path` and what was expected, or close the turn.",
    RepeatedKey: "Ask again: two readers could read two actions.",
    ArgumentsNoObject: "Ask again; arguments are an object with the names of the schema.",
    InvalidArguments: "Show the model `violations`, which hold nothing of what it wrote, and ask again.",
    BlankText: "Ask again, or close the turn.",
    BlankQuestion: "Ask again, or close the turn.",
    UnreadableAnswer: "Look at `path`: the adapter should give each call an id, and refuse numbers and texts "
    "that are none. The answer has been recorded as failed (`model_result`); ask again, or close the turn.",
    ToolEvidenceMismatch: "Find out what really ran; the table below says what differs. Do not run the tool "
    "again.",
    OtherReference: "The store is at fault. Show the view without a handle (`unstored`): the tool has run, "
    "and must not run again.",
    CompleteFailure: "Keep `execution`, and never run the tool again. Read `why`: mend it and call "
    "`complete` with this execution once more, or show the result with `unstored`.",
    NotRecorded: "Mend the log. What stands behind this event in the order of a step has not happened.",
    UnrecordedResult: "Append the result when the log takes events again, or let `close_abandoned` close the "
    "turn. Never run the tool again.",
    InvalidItem: "Correct `field` of the item `item_id`; the table below says what each reason asks for.",
    InvalidTaskState: "Say whose the task is: a state without tenant, user or session could be shown "
    "anybody's memories.",
    StateOfAnotherSession: "Compose with the state and the history of one session.",
    UnknownSource: "Give the item the ids of events of this log, or none; or hand over the events in which "
    "it stands.",
    UnknownItem: "Ask for an id of the report; a memory that was filtered is `memory:` and its id.",
    InvalidTriggers: "Correct the number; see the table below.",
    InvalidPolicy: "Correct the size; see the table below.",
    InvalidMarks: "Choose marks with 0 < `low` <= `high`.",
    InvalidTokenBudget: "Correct the number in `field`; see the table below.",
    InvalidWeights: "Correct the weight; see the table below.",
    InvalidQuota: "Correct the quota of this kind; see the table below.",
    InvalidOption: "Only for hosts that call `choose` with options of their own: correct the option.",
    InvalidTurnWorth: "Correct what is said of this turn; see the table below.",
    NoCandidates: "Look at what was gathered: there is nothing to choose from.",
    RequiredExceed: "Require less, shorten what `rows` lists first, or give more tokens. Nothing that is "
    "required is ever left out silently.",
    NotThisKind: "Ask another condenser; `condense_text` does, and `LINES` reads every text.",
    NotSmaller: "Send the text as it is.",
    AlreadyCondensed: "Send it as it is; what it leaves out is found by its references.",
    TextTooLarge: "Raise `max_input_bytes` if the machine can carry it, or show a preview.",
    InvalidCondenseLimit: "Set it to 1 or more.",
    InvalidCondensation: "Mend the condenser; the table below says what it did. From those of jingwei only "
    "the reasons that name a length come: raise that limit.",
    InvalidStoreConfig: "Correct the limits; the table below says which.",
    InvalidTime: "Give milliseconds since 1970; seconds with a fraction, or microseconds, are often meant.",
    ClockWentBack: "Look at the clock of the machine. If a wrong time far ahead was told once, the store "
    "believes it until then: make a new store.",
    InvalidScope: "Correct the scope; the table below says what is wrong. Texts are put while the task runs, "
    "with the time of now and not of before the tool ran.",
    InvalidSource: "Give the id of the event as it stands in the log.",
    InvalidText: "Replace the half pair before the text is stored; a log cannot hold it either.",
    TooLarge: "Raise `max_content_bytes`, or show the result without a reference.",
    StoreFull: "Call `purge_expired` (a `put` has done so already), raise the quota, or let texts live less "
    "long. The result can be shown without a reference.",
    Conflict: "Each event has one text. With the reason `expiry` alone, call `renew` with `held`.",
    Unavailable: "Read by the reference that `put` or `renew` gave last, under its own scope. Renew it while "
    "it lives; put the text again when it has expired.",
    PageLimit: "Ask for 1 to `limit` bytes.",
    BadCursor: "Begin at 0 or at the `next_offset` of a page, and let a page have at least 4 bytes.",
    StorageFailed: "The table below says what to look at. Nothing was changed, so that the call may be made "
    "again.",
    ReadRefused: "Tell the model with `answer_text`, which says no more than it may know. `foreign` is a "
    "mistake of the host: it granted a reference of another task.",
    BadRequest: "Correct the line; the next line is served all the same.",
    OtherRequest: "Send the keys of `plan_step` as they were, and the digest that it gave with them. If they "
    "have changed, the answer is none to this step: plan and ask again.",
    NotACall: "Close the turn with what `interpret` gave. An execution beside such an answer was of another "
    "step.",
    ResultNotShown: "Keep the result, and never run the tool again. Read `why`: mend it and ask once more, "
    "or show the preview alone (`preview_alone`).",
    AmbiguousResult: "Give the result the id of its call.",
    RepeatedCallId: "Give each call of one message its own id.",
    UnknownRole: "Rename the role, if you know what was meant.",
    BadField: "Mend the transcript at `path` of message `index`.",
    UnusableResponse: "Keep the one response that was used; join streamed pieces before you import.",
    NoUserMessage: "Nothing can be imported: a log is made of what users asked for.",
    NotAConversation: "Remove the item, or import the others.",
    NoConversation: "Check that the file is a Chat Completions transcript; see [importing](importing.md).",
    BlankSessionId: "Name the session.",
    SourcesRefused: "Give the log that the projection was made of, as it was then or grown since; project "
    "it again otherwise.",
    SummaryPlanRefused: "Correct the call; the table below says what.",
    ChunkNotCounted: "Give a counter that knows the summariser's target, and verified bounds in hard mode.",
    TurnTooLarge: "Give a summariser with a larger window, pin the turn, or leave it to a build to condense. "
    "It is never split.",
    SummarySetBroken: "The summaries come from two hands, or were changed. Read those of the log again "
    "(`summaries_in`), and keep what `accept_summary` accepted.",
    SummaryRefused: "The turns stand as they did. Ask again, or leave the summary: `summary_refusals` lists "
    "everything that is wrong with it.",
    MalformedSummary: "Mend the writer; the other summaries of the log are read all the same.",
}
"""What to do about each failure; those of an import that an option admits say so themselves (`remedies`)."""

DECODE_REASONS: Final[Mapping[DecodeReason, Told]] = {
    DecodeReason.INVALID_UTF8: (
        "The line holds bytes that are no UTF-8.",
        "Find the writer with another encoding; restore the line.",
    ),
    DecodeReason.BOM: ("The input starts with a byte order mark.", "Remove the three bytes EF BB BF."),
    DecodeReason.INVALID_JSON: ("The line is no JSON.", "Restore the line; `actual` shows the spot."),
    DecodeReason.LONE_SURROGATE: (
        "A string holds half of a surrogate pair.",
        "The writer cut inside a character: mend it, replace the half by U+FFFD.",
    ),
    DecodeReason.NON_FINITE: (
        "`NaN`, `Infinity`, or a number that overflows to it.",
        "Write null, or the number as a string.",
    ),
    DecodeReason.DUPLICATE_KEY: (
        "An object has a key twice.",
        "Decide which one was meant where it is written.",
    ),
    DecodeReason.TOO_DEEP: ("More than 128 containers inside each other.", "Flatten the payload."),
    DecodeReason.BLANK_LINE: (
        "A line is empty or white space.",
        "Remove it, if the writer cannot have lost one.",
    ),
    DecodeReason.TORN_LAST_LINE: (
        "The last line has no newline: a write was interrupted.",
        "Cut the file to `whole_bytes` and let the writer append the event again, if it was never confirmed.",
    ),
    DecodeReason.NOT_AN_OBJECT: ("The line is JSON, but no object.", "Restore the line."),
    DecodeReason.INTEGER_TOO_LONG: ("An integer of more than 4,300 digits.", "Write it as a string."),
    DecodeReason.MISSING_KEY: ("A key that must be there is not.", "Add the key at `path`."),
    DecodeReason.UNKNOWN_KEY: (
        "A key that is not known, where unknown keys could change a meaning.",
        "Remove it, or read with the version of jingwei that knows it.",
    ),
    DecodeReason.WRONG_TYPE: (
        "A value has another type; nothing is coerced.",
        "Write the type in `expected`.",
    ),
    DecodeReason.OUT_OF_RANGE: (
        "A number outside its range, or an id that is blank where it must not be.",
        "Write a value in `expected`.",
    ),
    DecodeReason.UNKNOWN_TAG: (
        "The tag of a union is not known.",
        "Read with a version that knows it, or mend it.",
    ),
    DecodeReason.UNKNOWN_ENUM: ("A word outside a closed list.", "Write one of `expected`."),
    DecodeReason.UNSUPPORTED_VERSION: (
        "A version other than 1.",
        "Read with a version of jingwei that supports it. Do not change the number.",
    ),
}

MALFORMED_REASONS: Final[Mapping[MalformedReason, Told]] = {
    MalformedReason.BLANK_TURN_ID: ("A run of events has a blank turn id.", "Give the turn an id."),
    MalformedReason.TURN_NOT_CONTIGUOUS: (
        "A turn id comes back after another turn.",
        "Give the later run an id of its own, or do not let turns interleave.",
    ),
    MalformedReason.BLANK_EVENT_ID: ("The event's id is blank.", "Give it an id."),
    MalformedReason.AFTER_TERMINAL: ("An event after `done` or `error`.", "Write the terminal last."),
    MalformedReason.WORK_AFTER_REPLY: (
        "Conversation work after the complete reply.",
        "Write the reply when the work is over, or begin a new turn.",
    ),
    MalformedReason.SECOND_USER_MESSAGE: ("The turn has a user message.", "Begin a new turn."),
    MalformedReason.REPLY_WITHOUT_MESSAGE_ID: ("A complete reply without `message_id`.", "Write the id."),
    MalformedReason.BLANK_MESSAGE_ID: ("The reply's message id is blank.", "Write an id."),
    MalformedReason.REPEATED_MESSAGE_ID: (
        "A reply anywhere earlier in the session has this message id.",
        "Make message ids unique in the session.",
    ),
    MalformedReason.SECOND_REPLY: ("The turn has its complete reply.", "Write one reply a turn."),
    MalformedReason.BLANK_CALL_ID: ("The tool call's id is blank.", "Write an id."),
    MalformedReason.BLANK_CALL_NAME: ("The tool call's name is blank.", "Write the tool's name."),
    MalformedReason.REPEATED_CALL_ID: ("A call of this turn has this id.", "Make call ids unique in a turn."),
    MalformedReason.ORPHAN_TOOL_RESULT: (
        "No call of this turn has this id.",
        "Write the call first, in the same turn.",
    ),
    MalformedReason.SECOND_TOOL_RESULT: (
        "The call has its result.",
        "Write one result a call; interim states are `custom` events.",
    ),
    MalformedReason.BLANK_MODEL_CALL_ID: ("The model request's id is blank.", "Write an id."),
    MalformedReason.REPEATED_MODEL_CALL_ID: (
        "A model request of this turn has this id.",
        "Make these ids unique in a turn.",
    ),
    MalformedReason.ORPHAN_MODEL_RESULT: (
        "No model request of this turn has this id.",
        "Write the request first, in the same turn.",
    ),
    MalformedReason.SECOND_MODEL_RESULT: ("The model request has its result.", "Write one result a request."),
    MalformedReason.WORK_BEFORE_USER: (
        "A delta, reply, tool call or model request before the user message.",
        "Write the user message first.",
    ),
}

WRITE_REASONS: Final[Mapping[WriteReason, Told]] = {
    WriteReason.BLANK_SESSION_ID: ("The session of the writer is blank.", "Name the session."),
    WriteReason.REPEATED_EVENT_ID: (
        "The source of ids gave an id that an earlier event has.",
        "Mend the source, or let it begin its ids otherwise.",
    ),
    WriteReason.TURN_NOT_TERMINATED: (
        "The event would begin a turn, and the last one has no end.",
        "Write `done` or `error` of that turn first; `close_abandoned` does where it was cut off.",
    ),
    WriteReason.OPEN_CALLS: (
        "A reply or an end, while a call or model request of the turn has no result.",
        "Write the results first, or outcomes that say how the calls failed.",
    ),
    WriteReason.MISSING_REPLY: (
        "The turn would end in success without a complete reply.",
        "Write the reply first, or end the turn as cancelled or with an error.",
    ),
    WriteReason.UNREADABLE: (
        "The event's line could not be read back; `unreadable` says why, in the words of "
        "[DecodeFailed](#decodefailed), and `path` where.",
        "Mend the value at `path`: one such line would make the whole log unreadable. Of a model's answer "
        "`model_result` makes an event that can be read.",
    ),
}

CONFIG_REASONS: Final[Mapping[InvalidConfigReason, Told]] = {
    InvalidConfigReason.BLANK_SESSION_ID: ("The session asked for is blank.", "Name the session."),
    InvalidConfigReason.ZERO_MAX_EVENTS: ("`max_events` is zero or below.", "Set it above zero."),
    InvalidConfigReason.ZERO_MAX_INPUT_BYTES: ("`max_input_bytes` is zero or below.", "Set it above zero."),
    InvalidConfigReason.ZERO_MAX_MESSAGES: ("`max_messages` is zero or below.", "Set it above zero."),
}

ADMISSION_REASONS: Final[Mapping[AdmissionReason, Told]] = {
    AdmissionReason.UNSUPPORTED_PROJECTION_VERSION: (
        "The version is not 1.",
        "Project the log with this version.",
    ),
    AdmissionReason.BLANK_TURN_ID: ("A turn's id is blank.", "Project the log again."),
    AdmissionReason.DUPLICATE_TURN: ("Two turns have one id.", "Project the log again."),
    AdmissionReason.UNKNOWN_GROUP_TURN: (
        "A group names a turn that is not listed.",
        "Project the log again.",
    ),
    AdmissionReason.GROUP_OUT_OF_ORDER: (
        "Groups do not follow the order of turns.",
        "Project the log again.",
    ),
    AdmissionReason.GROUP_WITHOUT_SOURCES: ("A group names no source event.", "Project the log again."),
    AdmissionReason.GROUP_SHAPE: (
        "A group's messages are not those of its kind, or its turn is in quarantine, which has none.",
        "Project the log again.",
    ),
}

INPUT_REASONS: Final[Mapping[InvalidInputReason, Told]] = {
    InvalidInputReason.ZERO_LIMIT: ("A limit is zero or below.", "Set it above zero."),
    InvalidInputReason.ZERO_WINDOW: ("The window is zero or below.", "Say what the model can hold."),
    InvalidInputReason.ZERO_OUTPUT_RESERVE: ("Nothing is kept free for the answer.", "Reserve some tokens."),
    InvalidInputReason.BLANK_MODEL: ("The target names no model.", "Name it."),
    InvalidInputReason.BLANK_TEMPLATE_REVISION: ("The target names no template.", "Name its revision."),
    InvalidInputReason.UNSUPPORTED_PROJECTION_VERSION: ("The history's version is not 1.", "Project again."),
    InvalidInputReason.CURRENT_EMPTY: ("There is no current message.", "Give what the user just said."),
    InvalidInputReason.CURRENT_NOT_USER_FIRST: (
        "Current does not start with a user message.",
        "Start it with the message that opened the running turn.",
    ),
    InvalidInputReason.CURRENT_HAS_SYSTEM: ("Current holds a system message.", "Put it into `system`."),
    InvalidInputReason.BLANK_TURN_ID: ("A turn of the history has a blank id.", "Project the log again."),
    InvalidInputReason.DUPLICATE_TURN: ("Two turns of the history have one id.", "Project the log again."),
    InvalidInputReason.OPEN_TURN: (
        "The history holds a turn that is still open.",
        "Take it off with `split_open_turn` and build it as `current`.",
    ),
    InvalidInputReason.DUPLICATE_PIN: ("A turn is pinned twice.", "Name it once."),
    InvalidInputReason.UNKNOWN_PIN: ("A pinned turn is not in the history.", "Unpin it, or bring it back."),
    InvalidInputReason.QUARANTINED_PIN: (
        "A pinned turn is damaged and was left out whole, so that it cannot be sent.",
        "Unpin it; `diagnose` says what is wrong with it.",
    ),
    InvalidInputReason.UNKNOWN_GROUP_TURN: (
        "A group names a turn that is not listed.",
        "Project the log again.",
    ),
    InvalidInputReason.GROUP_OUT_OF_ORDER: (
        "Groups do not follow the order of turns.",
        "Project the log again.",
    ),
    InvalidInputReason.GROUP_WITHOUT_SOURCES: ("A group names no source event.", "Project the log again."),
    InvalidInputReason.GROUP_SHAPE: (
        "A group's messages are not those of its kind, or its turn is in quarantine, which has none.",
        "Project the log again.",
    ),
    InvalidInputReason.SUMMARY_OF_ANOTHER_SESSION: (
        "A summary is of another session.",
        "Give summaries of the session of the history.",
    ),
    InvalidInputReason.SUMMARY_NOT_ACTIVE: (
        "A summary is not accepted, or another one of these supersedes it or covers a turn of it.",
        "Give what `active_summaries` gives.",
    ),
    InvalidInputReason.SUMMARY_OF_UNKNOWN_TURN: (
        "The turns of a summary are not a run of turns of the history.",
        "Leave the summary out, or build with the history that it was made from.",
    ),
    InvalidInputReason.ZERO_COUNT: ("The counter says that the request costs nothing.", "Mend the counter."),
}

UNVERIFIED_REASONS: Final[Mapping[UnverifiedReason, Told]] = {
    UnverifiedReason.OUTPUT_EVIDENCE: (
        "Hard mode, and nothing says that the model keeps to the reserve.",
        "Bound the output at the provider and say `VERIFIED_UPPER_BOUND`, or use soft mode.",
    ),
    UnverifiedReason.EVIDENCE: (
        "Hard mode, and the counter estimates.",
        "Take a counter with a bound (`ByteBoundCounter`), or use soft mode.",
    ),
    UnverifiedReason.TARGET: ("The counter echoed another target.", "Mend the counter."),
    UnverifiedReason.BLANK_METHOD: ("The counter does not name its method.", "Mend the counter."),
}

ENCODE_REASONS: Final[Mapping[EncodeReason, Told]] = {
    EncodeReason.LONE_SURROGATE: (
        "A text holds half a surrogate pair.",
        "Find where it was cut inside a character.",
    ),
    EncodeReason.TOO_DEEP: (
        "Free JSON stands more than 128 levels down, counted from the record's own object.",
        "Keep such a value as text.",
    ),
}

OVERFLOW_WHATS: Final[Mapping[OverflowWhat, Told]] = {
    OverflowWhat.WINDOW: ("The window is 2^64 tokens or more.", "Correct the budget."),
    OverflowWhat.RESERVED: ("Reserve plus margin leaves [0, 2^64).", "Correct the budget."),
    OverflowWhat.COUNT: ("A part is negative, or their sum is 2^64 or more.", "Mend the counter."),
    OverflowWhat.TOTAL: ("Count plus reserve plus margin is 2^64 or more.", "Correct budget or counter."),
}

CONDENSATION_REASONS: Final[Mapping[InvalidCondensationReason, Told]] = {
    InvalidCondensationReason.BLANK_METHOD: ("The method is blank.", "Name it, with its version."),
    InvalidCondensationReason.WRONG_TOTAL: (
        "`total_bytes` is not the size of the text.",
        "Count UTF-8 bytes of the whole original.",
    ),
    InvalidCondensationReason.NOT_TRUNCATED: ("`truncated` is false.", "Set it: something is left out."),
    InvalidCondensationReason.BLANK_SUMMARY: ("The summary is blank.", "Say what the text is."),
    InvalidCondensationReason.SUMMARY_TOO_LONG: (
        "The summary is longer than `max_summary_bytes`.",
        "Shorten it, or raise the limit.",
    ),
    InvalidCondensationReason.TOO_MANY_FACTS: (
        "There are more facts than `max_facts`.",
        "Leave the least telling ones out.",
    ),
    InvalidCondensationReason.BLANK_NAME: ("A fact's name is blank.", "Name it."),
    InvalidCondensationReason.EMPTY_VALUE: ("A fact's value is empty.", "Leave the fact out."),
    InvalidCondensationReason.VALUE_TOO_LONG: (
        "A value is longer than `max_value_bytes`.",
        "Quote a smaller part.",
    ),
    InvalidCondensationReason.INVALID_REPEATS: (
        "`repeats` is below 1, or has more than 64 bits.",
        "Count the first time, too.",
    ),
    InvalidCondensationReason.RANGE_OUTSIDE: (
        "A range of bytes is empty, reversed, or not in the text.",
        "Count bytes of UTF-8 from 0; `end` stands behind the last one.",
    ),
    InvalidCondensationReason.NOT_ON_BOUNDARY: (
        "A range begins or ends inside a character.",
        "Move it to the character's edge.",
    ),
    InvalidCondensationReason.LINES_DISAGREE: (
        "The lines are not those of the bytes.",
        "Count lines from 1, by `\\n` alone.",
    ),
    InvalidCondensationReason.OTHER_SOURCE: (
        "Two sources are named for one text.",
        "Name one, or none.",
    ),
    InvalidCondensationReason.VALUE_NOT_THERE: (
        "The value does not stand in the text of its evidence.",
        "Quote; say what you make of it in the summary.",
    ),
    InvalidCondensationReason.REFERENCE_MISSING: (
        "The evidence of a fact is not among `evidence_refs`.",
        "Add it.",
    ),
    InvalidCondensationReason.REFERENCE_REPEATED: (
        "A reference stands in `evidence_refs` twice.",
        "Name each place once.",
    ),
    InvalidCondensationReason.RENDERED_TOO_LONG: (
        "What the model would see is longer than `max_rendered_bytes`.",
        "Leave facts out, or raise the limit.",
    ),
}

PLAN_REASONS: Final[Mapping[InvalidPlanReason, Told]] = {
    InvalidPlanReason.UNKNOWN_CANDIDATE: ("It names what is no candidate.", "Name given candidates only."),
    InvalidPlanReason.PINNED: ("It names a pinned turn.", "Plan with the candidates, not with the history."),
    InvalidPlanReason.REPEATED: (
        "It names a candidate twice.",
        "Name each once, over base and steps together; it may be condensed before it is dropped.",
    ),
    InvalidPlanReason.ALREADY_CONDENSED: ("It condenses a candidate twice.", "Condense each once."),
    InvalidPlanReason.NOTHING_TO_CONDENSE: (
        "It condenses a candidate without a large result.",
        "Ask `condensed_turn` or `condensed_exchange` first.",
    ),
    InvalidPlanReason.NOT_SMALLER: (
        "What would stand instead costs no less.",
        "Ask `is_smaller` with `Room.costs` first, as the build does.",
    ),
}

BOUNDS: Final[Mapping[Bound, Told]] = {
    Bound.EVENTS: ("Events of the log (`project`).", "Raise `max_events`."),
    Bound.INPUT_BYTES: ("Canonical bytes (`project`, `build`).", "Raise `max_input_bytes`."),
    Bound.MESSAGES: ("Messages (`project`, `build`).", "Raise `max_messages`."),
    Bound.GROUPS: ("Groups of the history (`build`).", "Raise `max_groups`."),
    Bound.TURNS: ("Turns of the history (`build`).", "Raise `max_turns`."),
}

ITEM_REASONS: Final[Mapping[InvalidItemReason, Told]] = {
    InvalidItemReason.BLANK_ID: ("The id is blank.", "Give the item a name."),
    InvalidItemReason.BLANK_CONTENT: ("The text, or the shorter one, is blank.", "Leave the item away."),
    InvalidItemReason.BLANK_SUBJECT: ("The subject is blank.", "Give none where it contradicts nothing."),
    InvalidItemReason.LONE_SURROGATE: (
        "A text holds half of a surrogate pair.",
        "Replace the half by U+FFFD, or find out where the text was cut.",
    ),
    InvalidItemReason.NOT_A_NUMBER: ("It is NaN or infinite.", "Give a number in [0, 1]."),
    InvalidItemReason.OUT_OF_RANGE: (
        "A share is not in [0, 1] or finer than a float, a priority not in [0, 1000], a cost or `seq` not in "
        "[0, 2^64), or it is no number at all.",
        "Scale it to its range.",
    ),
    InvalidItemReason.DUPLICATE_ID: (
        "Two items have one id; among items before duplicates are dropped, with two texts or subjects.",
        "Give each its own.",
    ),
    InvalidItemReason.UNTRUSTED_SYSTEM: (
        "A system text that the host did not write.",
        "Give it another kind: it is sent as data.",
    ),
    InvalidItemReason.SYSTEM_IN_ENVELOPE: (
        "A system text among the items of a build.",
        "Hand it in as a system text.",
    ),
}

TOKEN_BUDGET_REASONS: Final[Mapping[TokenBudgetReason, Told]] = {
    TokenBudgetReason.OUT_OF_RANGE: ("A number is not in [0, 2^64).", "Correct it."),
    TokenBudgetReason.ZERO_WINDOW: ("The window is zero.", "Give the model's window."),
    TokenBudgetReason.OVERDRAWN: ("More is set aside than there is.", "Set less aside."),
}

WEIGHT_REASONS: Final[Mapping[WeightReason, Told]] = {
    WeightReason.NOT_A_NUMBER: ("It is NaN.", "Give a number."),
    WeightReason.INFINITE: ("It is infinite.", "Use tiers for what must always win."),
    WeightReason.NEGATIVE: ("It is below zero.", "Give zero to leave a number out of account."),
    WeightReason.TOO_LARGE: ("It is 2^64 or more.", "Only the ratio of weights counts: scale all down."),
    WeightReason.TOO_FINE: ("Its denominator is above 2^1074.", "Round it to what a float can hold."),
    WeightReason.ALL_ZERO: ("All four are zero, so that nothing is worth anything.", "Raise one."),
}

QUOTA_REASONS: Final[Mapping[QuotaReason, Told]] = {
    QuotaReason.REPEATED_KIND: ("Two quotas are for one kind.", "Give one."),
    QuotaReason.NEGATIVE_FLOOR: ("The floor is below zero.", "Give zero for none."),
    QuotaReason.NEGATIVE_CEILING: ("The ceiling is below zero.", "Give none for no ceiling."),
    QuotaReason.FLOOR_OVER_CEILING: ("The floor is above the ceiling.", "Lower the one or raise the other."),
}

OPTION_REASONS: Final[Mapping[OptionReason, Told]] = {
    OptionReason.REPEATED_KEY: ("Two options have one key.", "Give each its own."),
    OptionReason.NEGATIVE_COST: ("The cost is below zero.", "Give zero or more."),
    OptionReason.NEGATIVE_WORTH: ("The worth is below zero.", "Leave the option away, or give zero."),
}

TURN_WORTH_REASONS: Final[Mapping[TurnWorthReason, Told]] = {
    TurnWorthReason.REPEATED_TURN: ("The turn is spoken of twice.", "Say one thing of it."),
    TurnWorthReason.OUT_OF_RANGE: (
        "A priority is not in [0, 1000], or another number not in [0, 1].",
        "Correct it.",
    ),
}

POLICY_PROBLEMS: Final[Mapping[PolicyProblem, Told]] = {
    PolicyProblem.ZERO_PREVIEW: ("`preview_bytes` is zero or below.", "Show something."),
    PolicyProblem.PREVIEW_OVER_INLINE: (
        "`preview_bytes` is above `inline_bytes`.",
        "Show no more of a large text than of a small one.",
    ),
    PolicyProblem.NEGATIVE_KEEP: ("`keep_newest` is below zero.", "Set it to zero or more."),
    PolicyProblem.ZERO_BATCH: ("`batch_turns` is zero or below.", "Set it above zero."),
}

TRIGGER_REASONS: Final[Mapping[InvalidTriggerReason, Told]] = {
    InvalidTriggerReason.THRESHOLD_OUT_OF_RANGE: (
        "`threshold` is not above 0 and at most 1.",
        "Give the share of the window.",
    ),
    InvalidTriggerReason.CAP_OUT_OF_RANGE: ("`result_cap_bytes` is below 1.", "Set it to 1 or more."),
    InvalidTriggerReason.STALE_OUT_OF_RANGE: ("`stale_turns` is below 1.", "Set it to 1 or more."),
    InvalidTriggerReason.NEGATIVE_TURNS: (
        "An item was not referred to for less than no turn.",
        "Count turns from 0.",
    ),
}

RESULT_POLICY_PROBLEMS: Final[Mapping[ResultPolicyProblem, Told]] = {
    ResultPolicyProblem.ZERO_INLINE: ("`inline_bytes` is below one.", "Set it to one or more."),
    ResultPolicyProblem.NEGATIVE_PREVIEW: (
        "`preview_bytes` is negative.",
        "Set it to zero, which shows nothing, or more.",
    ),
    ResultPolicyProblem.PREVIEW_OVER_INLINE: (
        "A preview would show more than what is shown whole.",
        "Set `preview_bytes` to `inline_bytes` at most.",
    ),
    ResultPolicyProblem.INLINE_OVER_SHOWN: (
        "What is shown whole would be more than may be shown.",
        "Set `max_shown_bytes` to `inline_bytes` at least.",
    ),
}

RESULT_REASONS: Final[Mapping[InvalidResultReason, Told]] = {
    InvalidResultReason.BLANK_SOURCE: ("The event of the result has a blank id.", "Give it an id."),
    InvalidResultReason.BLANK_NAME: ("The tool has a blank name.", "Name the tool."),
    InvalidResultReason.SEQ_OUT_OF_RANGE: (
        "The place of the call is not in [0, 2^64).",
        "Give the `seq` of the call's event.",
    ),
    InvalidResultReason.LONE_SURROGATE: (
        "A text holds half of a surrogate pair.",
        "Replace the half by U+FFFD before the result is recorded.",
    ),
}

CONTRADICTION_REASONS: Final[Mapping[ContradictionReason, Told]] = {
    ContradictionReason.SOURCE_EVENT: (
        "The view names this call, and the event of another result.",
        "Record the id of the result's event.",
    ),
    ContradictionReason.CALL: (
        "The view names this result, and the place of another call.",
        "Record the `seq` of the call's event.",
    ),
    ContradictionReason.NAME: ("Another tool was called.", "Record the name that was called."),
    ContradictionReason.OUTCOME: ("The tool ended in another way.", "Record how it ended."),
    ContradictionReason.TOTAL_BYTES: ("The text has another size.", "Record the size of the whole text."),
    ContradictionReason.TEXT: (
        "The text shown is not the text, nor its beginning.",
        "Record what was shown; a text in other words has the form `condensed`.",
    ),
}

STEP_REASONS: Final[Mapping[InvalidStepReason, Told]] = {
    InvalidStepReason.BLANK_TASK_ID: ("The task of the decision is blank.", "Name the task."),
    InvalidStepReason.BLANK_STEP_ID: ("The step of the decision is blank.", "Name the step."),
    InvalidStepReason.OTHER_TASK: ("The scope is that of another task.", "Give the scope of this task."),
    InvalidStepReason.OTHER_SESSION: (
        "The scope is that of another session than the history.",
        "Give the scope of this session.",
    ),
    InvalidStepReason.SCOPE_EXPIRED: (
        "Nothing could be stored under the scope any more.",
        "Give a scope that expires later, for all steps of the task.",
    ),
    InvalidStepReason.OUTPUT_RESERVE_OUT_OF_RANGE: (
        "The output reserve is not in [1, 2^32).",
        "Reserve what an answer may take.",
    ),
    InvalidStepReason.MAX_TOKENS_OUT_OF_RANGE: (
        "`max_tokens` is zero or below.",
        "Give a number above zero, or none.",
    ),
    InvalidStepReason.CONSTRAINT_GIVEN: (
        "The build's inputs hold a constraint, which is the protocol's to make.",
        "Leave it as free text.",
    ),
    InvalidStepReason.NATIVE_FIELDS: (
        "A message uses a provider's tool fields under the JSON protocol.",
        "Render history and current with `ViewRendition.JSON`.",
    ),
}

SCHEMA_REASONS: Final[Mapping[SchemaReason, Told]] = {
    SchemaReason.NO_SCHEMA: (
        "It is no schema of 2020-12, or a pattern in it is none of Python's.",
        "Correct the place; `definitions` and `prefixItems` are often meant.",
    ),
    SchemaReason.REFERENCE: (
        "A reference leads out of the schema, or to nothing in it.",
        "Copy what it refers to into `$defs`.",
    ),
    SchemaReason.LOOP: ("References lead in a circle without taking a step into the value.", "Break it."),
    SchemaReason.TOO_DEEP: ("It nests deeper than can be sent or read.", "Flatten it, or use `$defs`."),
    SchemaReason.SHARED_ID: (
        "Another visible tool's schema has this `$id` (JSON protocol).",
        "Give each its own, or none.",
    ),
    SchemaReason.UNCHECKABLE: (
        "The check of these arguments came to no end.",
        "Simplify the schema; ask the model again.",
    ),
}

RECORD_STAGES: Final[Mapping[RecordStage, Told]] = {
    RecordStage.MODEL_REQUEST: ("The request.", "The model was not asked; plan the step again."),
    RecordStage.MODEL_RESULT: (
        "What the model answered.",
        "Nothing was run; append the answer when the log takes events again, or close the turn.",
    ),
    RecordStage.TOOL_CALL: ("The call.", "The tool was not run; close the turn, or plan the step again."),
    RecordStage.RESULT_VIEW: (
        "What the model will be shown.",
        "The tool has run: append `view_event` when the log takes events again, before the next request.",
    ),
}

EVIDENCE_PARTS: Final[Mapping[EvidencePart, Told]] = {
    EvidencePart.NAME: ("Another tool was called.", "Record the call with `tool_call`."),
    EvidencePart.ARGUMENTS: ("It was called with other arguments.", "Record the call with `tool_call`."),
    EvidencePart.ACTION: ("The call has another decision behind it.", "Record the call with `tool_call`."),
    EvidencePart.SESSION: ("The events are those of another session.", "Give those of this session."),
    EvidencePart.ORDER: ("The result does not stand behind the call.", "Give the places in the log."),
    EvidencePart.EVENT_ID: ("An event's id is blank, or both are the same.", "Give the events' ids."),
    EvidencePart.CALL_ID: ("The recorded call has a blank id.", "Record the call with `tool_call`."),
}

STORE_CONFIG_REASONS: Final[Mapping[InvalidStoreConfigReason, Told]] = {
    InvalidStoreConfigReason.BAD_STORE_ID: (
        "The id is not 1 to 64 ASCII letters, digits, `-` and `_`.",
        "Name the store so.",
    ),
    InvalidStoreConfigReason.OUT_OF_RANGE: (
        "A limit of zero or below (the skew: below zero), or of 2^53 or more.",
        "Give one within.",
    ),
    InvalidStoreConfigReason.PAGE_BELOW_CHARACTER: (
        "A page has fewer than four bytes, and some character would fit into none.",
        "Give it four or more.",
    ),
    InvalidStoreConfigReason.CONTENT_OVER_TOTAL: (
        "One text may have more bytes than all together.",
        "Lower `max_content_bytes`, or raise `max_bytes`.",
    ),
}

SCOPE_REASONS: Final[Mapping[InvalidScopeReason, Told]] = {
    InvalidScopeReason.BLANK_SESSION_ID: ("The session is blank.", "Name the session."),
    InvalidScopeReason.BAD_SESSION_ID: (
        "The session's id has more than 1024 bytes, or half a surrogate pair.",
        "Use a shorter id.",
    ),
    InvalidScopeReason.BLANK_TASK_ID: ("The task is blank.", "Name the task."),
    InvalidScopeReason.BAD_TASK_ID: (
        "The task's id has more than 1024 bytes, or half a surrogate pair.",
        "Use a shorter id.",
    ),
    InvalidScopeReason.EXPIRED: ("The expiry is not later than now.", "Give a later one."),
    InvalidScopeReason.LIVES_TOO_LONG: (
        "The expiry lies further ahead than `max_ttl_ms`.",
        "Give a nearer one, and renew.",
    ),
}

SOURCE_REASONS: Final[Mapping[InvalidSourceReason, Told]] = {
    InvalidSourceReason.BLANK: ("The event's id is blank.", "Name the event."),
    InvalidSourceReason.TOO_LONG: ("It has more than 1024 bytes.", "Use shorter ids."),
    InvalidSourceReason.LONE_SURROGATE: ("It holds half a surrogate pair.", "Use ids of whole characters."),
}

STORE_FULL_WHATS: Final[Mapping[StoreFullOf, Told]] = {
    StoreFullOf.ENTRIES: ("There would be too many texts.", "Raise `max_entries`."),
    StoreFullOf.BYTES: ("The texts would have too many bytes.", "Raise `max_bytes`."),
}

CONFLICT_REASONS: Final[Mapping[ConflictReason, Told]] = {
    ConflictReason.TEXT: ("Another text is stored for the event.", "Use the id of the text's own event."),
    ConflictReason.TASK: ("The text is stored for another task.", "Put it once, for the task it came with."),
    ConflictReason.EXPIRY: ("The text is stored until another time.", "Call `renew` with `held`."),
}

UNAVAILABLE_REASONS: Final[Mapping[UnavailableReason, Told]] = {
    UnavailableReason.STORE: ("The reference is of another store.", "Ask the store that it names."),
    UnavailableReason.SCOPE: (
        "The granted scope, or what is stored, is of another task or expiry.",
        "Grant the reference's own scope; `renew` gives the present reference.",
    ),
    UnavailableReason.EXPIRED: ("It has expired.", "Put the text again, if the log has it."),
    UnavailableReason.MISSING: ("Nothing is stored for session and event.", "Put the text first."),
    UnavailableReason.METADATA: (
        "What is stored has another size.",
        "Keep references as they were given.",
    ),
}

CURSOR_REASONS: Final[Mapping[BadCursorReason, Told]] = {
    BadCursorReason.OUT_OF_RANGE: ("The offset is negative, or beyond the end.", "Stop at the last page."),
    BadCursorReason.INSIDE_CHARACTER: ("The offset is inside a character.", "Use `next_offset`."),
    BadCursorReason.NO_PROGRESS: (
        "The next character has more bytes than the page.",
        "Ask for at least four bytes.",
    ),
}

STORAGE_REASONS: Final[Mapping[StorageReason, Told]] = {
    StorageReason.CLOSED: ("The store was closed.", "Open it again."),
    StorageReason.CANNOT_OPEN: (
        "There is no such folder, or the file may not be opened.",
        "Look at path and permissions.",
    ),
    StorageReason.NOT_A_DATABASE: ("The file is something else.", "Choose another path."),
    StorageReason.FOREIGN_DATABASE: ("It is another program's database.", "Choose another path."),
    StorageReason.OTHER_VERSION: (
        "Its tables are of another version.",
        "Open it with the version of jingwei that made it, or choose another path.",
    ),
    StorageReason.OTHER_STORE: ("It is the file of another store.", "Use the id it was made with."),
    StorageReason.READ_ONLY: (
        "It may not be written, which reading does as well: the time is kept.",
        "Give the permission, for its folder too.",
    ),
    StorageReason.LOCKED: (
        "Another process held it for longer than `wait_ms`.",
        "Call again; if it stays so, look for a process that hangs.",
    ),
    StorageReason.DISK_FULL: ("The disk, or a quota of it, is full.", "Make room, then call again."),
    StorageReason.CORRUPT: (
        "The file is damaged, or somebody else wrote into it.",
        "Restore it, or remove it with its `-wal` and `-shm`: the log still has the texts.",
    ),
    StorageReason.OTHER: ("Something else, in the words of the database.", "Read `detail`."),
}

READ_REASONS: Final[Mapping[ReadReason, Told]] = {
    ReadReason.NOT_JSON: ("The arguments are no strict JSON.", "Let the model call again."),
    ReadReason.DUPLICATE_KEY: ("An argument is given twice.", "Let the model call again."),
    ReadReason.NOT_AN_OBJECT: ("The arguments are no object.", "Let the model call again."),
    ReadReason.UNKNOWN_KEY: ("There is another key.", "Let the model call again."),
    ReadReason.MISSING_KEY: ("`argument` is missing.", "Let the model call again."),
    ReadReason.WRONG_TYPE: ("`argument` is of another type.", "Let the model call again."),
    ReadReason.OUT_OF_RANGE: ("`argument` is out of its range.", "Let the model call again."),
    ReadReason.NOT_GRANTED: (
        "No granted reference has this handle.",
        "Grant every reference that is still shown.",
    ),
    ReadReason.FOREIGN: (
        "The reference with this handle is of another session or task.",
        "Grant a task its own references only.",
    ),
    ReadReason.NO_ROOM: (
        "Not one character fits into `answer_bytes`.",
        "Allow at least 256 bytes.",
    ),
    ReadReason.STORE: ("The store refused; `failure` says why.", "See its row."),
}

SOURCES_REASONS: Final[Mapping[SourcesReason, Told]] = {
    SourcesReason.LOG_TOO_SHORT: ("The log has fewer events than were projected.", "Give the whole log."),
    SourcesReason.OTHER_TAIL: ("The last projected event is another one.", "Project this log."),
    SourcesReason.OTHER_TURNS: ("Turns or events are not those of the log.", "Project this log."),
}

SUMMARY_PLAN_REASONS: Final[Mapping[SummaryPlanReason, Told]] = {
    SummaryPlanReason.BLANK_MODEL: ("The summariser's model is blank.", "Name it."),
    SummaryPlanReason.BLANK_TEMPLATE_REVISION: ("Its template revision is blank.", "Name it."),
    SummaryPlanReason.INVALID_BUDGET: (
        "The attribute `subject` of its budget is not in [0, 2^64), or zero where it may not be.",
        "Correct it.",
    ),
    SummaryPlanReason.UNVERIFIED_OUTPUT: (
        "Hard mode without verified output evidence.",
        "Verify it, or use soft mode.",
    ),
    SummaryPlanReason.NEGATIVE_KEEP_NEWEST: ("`keep_newest` is below zero.", "Give zero for none."),
    SummaryPlanReason.UNKNOWN_PIN: ("The pinned turn is not in the log.", "Pin turns of this log."),
    SummaryPlanReason.OTHER_SESSION: ("The summary is of another session.", "Give those of this one."),
    SummaryPlanReason.NOT_ACTIVE: (
        "The summary to be made anew is unknown or superseded.",
        "Name active ones.",
    ),
    SummaryPlanReason.CONSTRAINT_NOT_SHARED: (
        "The live constraint forces a tool call or another schema.",
        "Ask with `Standalone`.",
    ),
    SummaryPlanReason.TURN_NOT_SHOWN: (
        "The live request does not show the turn as the log has it.",
        "Ask with `Standalone`.",
    ),
}

NOT_COUNTED_REASONS: Final[Mapping[NotCountedReason, Told]] = {
    NotCountedReason.REFUSED: ("The counter refused; `detail` has its words.", "See there."),
    NotCountedReason.OTHER_TARGET: ("It counted for another target.", "Mend the counter."),
    NotCountedReason.BLANK_METHOD: ("It does not say how it counted.", "Mend the counter."),
    NotCountedReason.UNVERIFIED: ("Hard mode, and an estimate.", "Use a verified bound, or soft mode."),
    NotCountedReason.ZERO: ("It counted nothing.", "Mend the counter."),
    NotCountedReason.OVERFLOW: ("A number is below zero, or the sum 2^64 or more.", "Mend the counter."),
}

SUMMARY_SET_REASONS: Final[Mapping[SummarySetReason, Told]] = {
    SummarySetReason.REPEATED_ID: ("One id has two contents.", "Keep the one that was accepted."),
    SummarySetReason.SEVERAL_SESSIONS: ("They are of several sessions.", "Give those of one."),
    SummarySetReason.CYCLE: ("They supersede each other in a ring.", "Keep those that were accepted."),
    SummarySetReason.WRONG_VERSION: (
        "A version is not one more than the highest that it supersedes, nor 1 without any.",
        "Keep those that were accepted.",
    ),
}

SUMMARY_REASONS: Final[Mapping[SummaryReason, Told]] = {
    SummaryReason.OTHER_SESSION: ("It is of another session.", "Give it to its own."),
    SummaryReason.UNSUPPORTED_FORMAT: ("Its format is not 1.", "Make it anew."),
    SummaryReason.BLANK_ID: ("Its id is blank.", "Name it."),
    SummaryReason.LONE_SURROGATE: ("A text holds half of a surrogate pair.", "Find where it was cut."),
    SummaryReason.EMPTY: ("It says nothing.", "Ask again; keep the turns."),
    SummaryReason.EMPTY_RANGE: ("It covers no turn.", "Cover whole turns (`summary_of`)."),
    SummaryReason.REVERSED_RANGE: ("Its last event comes before its first.", "Cover whole turns."),
    SummaryReason.RANGE_NOT_IN_LOG: ("The log does not reach that far.", "Project the log up to there."),
    SummaryReason.OTHER_TAIL: ("Another event stands at its end.", "It is of another log: make it anew."),
    SummaryReason.SPLIT_TURN: ("It begins or ends inside a turn.", "Cover whole turns."),
    SummaryReason.TURN_NOT_CLOSED: ("It covers an open or quarantined turn.", "Leave that turn out."),
    SummaryReason.OTHER_TURNS: ("Its turns are not those of its range.", "Name all of these, in order."),
    SummaryReason.REPEATED_ID: ("A summary with its id is known.", "Give it a name of its own."),
    SummaryReason.CYCLE: ("It supersedes itself, perhaps by way of others.", "Supersede older ones only."),
    SummaryReason.ALREADY_SUPERSEDED: ("Another one supersedes it already.", "Leave it."),
    SummaryReason.REPEATED_SUPERSEDED: ("It names a superseded summary twice.", "Name each once."),
    SummaryReason.UNKNOWN_SUPERSEDED: ("What it supersedes is not known.", "Give all that were accepted."),
    SummaryReason.INACTIVE_SUPERSEDED: ("What it supersedes does not stand any more.", "Plan again."),
    SummaryReason.WRONG_VERSION: ("Its version is another than `expected`.", "Use `SummaryChunk.version`."),
    SummaryReason.OVERLAP: (
        "It shares events with the active summary `expected`, which it does not supersede.",
        "Supersede that one, or leave those turns out.",
    ),
    SummaryReason.BLANK_STATEMENT: ("A statement is blank.", "Ask again."),
    SummaryReason.NO_SOURCE: ("A statement names no event.", "Ask again: nobody could check it."),
    SummaryReason.SOURCE_OUTSIDE_RANGE: ("A statement is from an event outside the range.", "Ask again."),
    SummaryReason.HYPOTHESIS_AS_FACT: (
        "A fact was a supposition, and no newer event supports it.",
        "Ask again, or record the event that shows it.",
    ),
    SummaryReason.PROTECTED_MISSING: ("A protected text is missing.", "Ask again, or pin its turn."),
    SummaryReason.NOT_SMALLER: ("It costs no less than its turns.", "Keep the turns."),
}

UNREADABLE_IN_CODE: Final = (
    DecodeReason.OUT_OF_RANGE,
    DecodeReason.TOO_DEEP,
    DecodeReason.LONE_SURROGATE,
    DecodeReason.INTEGER_TOO_LONG,
    DecodeReason.NON_FINITE,
    DecodeReason.DUPLICATE_KEY,
    DecodeReason.INVALID_JSON,
    DecodeReason.WRONG_TYPE,
)
"""What a record made in code can be refused for."""

REASONS: Final[Mapping[type[object], tuple[tuple[enum.Enum, Told], ...]]] = {
    DecodeFailed: tuple(DECODE_REASONS.items()),
    Malformed: tuple(MALFORMED_REASONS.items()),
    WriteRefused: tuple(WRITE_REASONS.items()),
    InvalidConfig: tuple(CONFIG_REASONS.items()),
    NotAdmitted: tuple(ADMISSION_REASONS.items()),
    InvalidInput: tuple(INPUT_REASONS.items()),
    UnverifiedCount: tuple(UNVERIFIED_REASONS.items()),
    Overflow: tuple(OVERFLOW_WHATS.items()),
    EncodeFailed: tuple(ENCODE_REASONS.items()),
    InvalidPlan: tuple(PLAN_REASONS.items()),
    InvalidCondensation: tuple(CONDENSATION_REASONS.items()),
    InvalidPolicy: tuple(POLICY_PROBLEMS.items()),
    InvalidTriggers: tuple(TRIGGER_REASONS.items()),
    InvalidItem: tuple(ITEM_REASONS.items()),
    InvalidTokenBudget: tuple(TOKEN_BUDGET_REASONS.items()),
    InvalidWeights: tuple(WEIGHT_REASONS.items()),
    InvalidQuota: tuple(QUOTA_REASONS.items()),
    InvalidOption: tuple(OPTION_REASONS.items()),
    InvalidTurnWorth: tuple(TURN_WORTH_REASONS.items()),
    LimitExceeded: tuple(BOUNDS.items()),
    SourcesRefused: tuple(SOURCES_REASONS.items()),
    SummaryPlanRefused: tuple(SUMMARY_PLAN_REASONS.items()),
    ChunkNotCounted: tuple(NOT_COUNTED_REASONS.items()),
    SummarySetBroken: tuple(SUMMARY_SET_REASONS.items()),
    SummaryRefused: tuple(SUMMARY_REASONS.items()),
    InvalidStoreConfig: tuple(STORE_CONFIG_REASONS.items()),
    InvalidScope: tuple(SCOPE_REASONS.items()),
    InvalidSource: tuple(SOURCE_REASONS.items()),
    StoreFull: tuple(STORE_FULL_WHATS.items()),
    Conflict: tuple(CONFLICT_REASONS.items()),
    Unavailable: tuple(UNAVAILABLE_REASONS.items()),
    BadCursor: tuple(CURSOR_REASONS.items()),
    StorageFailed: tuple(STORAGE_REASONS.items()),
    ReadRefused: tuple(READ_REASONS.items()),
    InvalidResultPolicy: tuple(RESULT_POLICY_PROBLEMS.items()),
    InvalidResult: tuple(RESULT_REASONS.items()),
    ViewContradiction: tuple(CONTRADICTION_REASONS.items()),
    InvalidStep: tuple(STEP_REASONS.items()),
    UnreadableAnswer: tuple((reason, DECODE_REASONS[reason]) for reason in UNREADABLE_IN_CODE),
    NotRecorded: tuple(RECORD_STAGES.items()),
    InvalidSchema: tuple(SCHEMA_REASONS.items()),
    ToolEvidenceMismatch: tuple(EVIDENCE_PARTS.items()),
}
"""Failures with a closed list of reasons, and each of these."""

FIELDS: Final[Mapping[str, str]] = {
    "actual": "what was met.",
    "call_id": "the id of the call; None without one.",
    "call_ids": "the calls that wait, in order.",
    "event_id": "the event's id.",
    "exchange": "the exchange of the running turn.",
    "expected": "what would have been right.",
    "high": "the upper mark.",
    "index": "which message, from 0.",
    "limit": "the configured value.",
    "low": "the lower mark.",
    "name": "the name.",
    "path": "JSON Pointer of the place.",
    "role": "its role.",
    "waiting": "how many calls wait.",
    "physical_index": "where the event stands, from 0.",
    "reason": "for people: the counter's own words.",
    "report": "the report up to the last counted candidate.",
    "turn_id": "the turn.",
}
"""What a field holds, where the class does not say it."""

SECTIONS: Final[tuple[tuple[str, str, tuple[type[object], ...]], ...]] = (
    ("Decoding", "From `decode_log`, `decode_events`, `decode_projection`, `decode_report`, "
     "`decode_request` and `decode_response`.", (DecodeFailed,)),
    ("Encoding", "From every `encode_*` function.", (EncodeFailed,)),
    ("Free JSON", "From `parse_json` and `json_of`.", (JsonProblem, NotJson)),
    ("The physical log", "`LogFailure`, from `check_log`, and from `project` among others.",
     get_args(LogFailure)),
    ("Writing", "`WriteFailure`, from `resume_writer` and `close_abandoned`: this, and those of the physical "
     "log. From `SessionWriter.offer` this alone.",
     tuple(c for c in get_args(WriteFailure) if c not in get_args(LogFailure))),
    ("The projection", "`ProjectionFailure`, from `project`: these, and those of the physical log.",
     tuple(c for c in get_args(ProjectionFailure) if c not in get_args(LogFailure))),
    ("Admission", "From `admit_projection`.", (NotAdmitted,)),
    ("Shape", "`ShapeFailure`, from `check_shape`; a build wraps it in `ShapeInvalid`.",
     get_args(ShapeFailure)),
    ("Counting", "From a counter; a build says it as `CounterFailed`.", (CountRefused,)),
    ("The build", "`BuildFailure`, from `build` and `build_foreign`. From the first count on each carries "
     "the report so far. `reverify` fails with some of them. Of items and of recorded views speak "
     "[InvalidItem](#invaliditem) and [ViewContradiction](#viewcontradiction).",
     tuple(c for c in get_args(BuildFailure) if c not in (InvalidItem, ViewContradiction))),
    ("Strategies", "From `condense_then_drop` and `by_value`; the other from `stable_prefix`.",
     (InvalidPolicy, InvalidMarks)),
    ("Tool views", "`ToolViewFailure`, from `select_tool_view`.", get_args(ToolViewFailure)),
    ("Result views", "From `result_policy`, `view_result` and `with_reference`; then `RecordedViewFailure`, "
     "from `recorded_views`; then from `viewed_turn`, `viewed_history` and `viewed_current`.",
     (InvalidResultPolicy, InvalidResult, ReferenceMismatch, *get_args(RecordedViewFailure),
      ViewContradiction)),
    ("A step", "From `plan_step`: these, those of a tool view, and those of a build.",
     (InvalidStep, ReservedToolName, InvalidSchema)),
    ("An answer", "`InterpretFailure`, from `interpret`: these, [ToolNotVisible](#toolnotvisible) for a call "
     "of a tool that is not shown, and [InvalidSchema](#invalidschema). Nothing has run.",
     tuple(c for c in get_args(InterpretFailure) if c not in (ToolNotVisible, InvalidSchema))),
    ("After the tool ran", "`CompleteFailure`, from `complete` and `stored`; its `why` is one of the others, "
     "a failure of the store, or one of a result view. The last two are said by `run_step` only.",
     (CompleteFailure, ToolEvidenceMismatch, OtherReference, NotRecorded, UnrecordedResult)),
    ("Import of Chat Completions", "From `jingwei.providers.openai_chat`; `index` counts the messages of one "
     "conversation. Beside these, a document can be refused as `DecodeFailed` or `NotJson`.",
     tuple(c for c in (*get_args(ConversationFailure), *get_args(DocumentFailure))
           if c not in (DecodeFailed, NotJson))),
    ("Items", "From `context_item`, `items_failure`, `without_duplicates`, `resolve_conflicts` and `gather`.",
     (InvalidItem, InvalidTaskState)),
    ("Choosing", "From `token_budget`, `weights`, `select_items`, `choose` and `by_value`. A set of items "
     "that cannot be sent is refused before.",
     (InvalidTokenBudget, InvalidWeights, NoCandidates, RequiredExceed, InvalidQuota, InvalidOption,
      InvalidTurnWorth)),
    ("Composing", "`ComposeFailure`, from `compose`: these, those of items, of choosing and of the build. "
     "`settle` fails with those of items alone; the other two come from `why` and from `advise`.",
     (StateOfAnotherSession, UnknownSource, UnknownItem, InvalidTriggers)),
    ("Condensing", "`CondenseFailure`, from `condense_text` and `checked`: the text stays as it is.",
     get_args(CondenseFailure)),
    ("Summaries", "`SourcesRefused` from `sources_of`; `SummaryPlanFailure` from `plan_summary`; the last "
     "from `active_summaries` and `accept_summary`. `MalformedSummary` is said by `summaries_in`.",
     (SourcesRefused, SummaryPlanRefused, ChunkNotCounted, TurnTooLarge, SummarySetBroken, SummaryRefused,
      MalformedSummary)),
    ("Content stores", "`StoreFailure`, from `put`, `read`, `renew` and `purge_expired` of a store; the "
     "first from whatever makes one, and `StorageFailed` from `open_sqlite_store` too.",
     get_args(StoreFailure)),
    ("Reading for a model", "From `read_reference`.", (ReadRefused,)),
    ("Batch", "From `jingwei batch`, for a line that is no request.", (BadRequest,)),
    ("Steps in batch", "From `interpret` and `complete`; from `complete`; from `result_view`.",
     (OtherRequest, NotACall, ResultNotShown)),
)  # fmt: skip
"""Title, where they come from, members."""

GUARDS: Final[Mapping[KindClass, tuple[tuple[MalformedReason, str], ...]]] = {
    ToolCallEvent: (
        (MalformedReason.BLANK_CALL_ID, "its id is blank"),
        (MalformedReason.BLANK_CALL_NAME, "its name is blank"),
        (MalformedReason.REPEATED_CALL_ID, "a call of this turn has the id"),
    ),
    ToolResultEvent: (
        (MalformedReason.ORPHAN_TOOL_RESULT, "no call of this turn has the id"),
        (MalformedReason.SECOND_TOOL_RESULT, "that call has its result"),
    ),
    ModelRequestEvent: (
        (MalformedReason.BLANK_MODEL_CALL_ID, "its id is blank"),
        (MalformedReason.REPEATED_MODEL_CALL_ID, "a model request of this turn has the id"),
    ),
    ModelResultEvent: (
        (MalformedReason.ORPHAN_MODEL_RESULT, "no model request of this turn has the id"),
        (MalformedReason.SECOND_MODEL_RESULT, "that request has its result"),
    ),
    AssistantReply: (
        (MalformedReason.REPLY_WITHOUT_MESSAGE_ID, "it has no message id"),
        (MalformedReason.BLANK_MESSAGE_ID, "its message id is blank"),
        (MalformedReason.REPEATED_MESSAGE_ID, "a reply of this session has the message id"),
    ),
}
"""What depends on more than state and kind, in the order in which it is asked (P4)."""

STATES: Final[Mapping[TurnState, str]] = {
    TurnState.EMPTY: "no user message yet",
    TurnState.WORKING: "the user has spoken",
    TurnState.REPLIED: "the complete reply stands",
    TurnState.CLOSED: "the terminal stands",
}
"""What each state means."""


def main() -> None:
    """Write every page."""
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8", newline="\n")
        sys.stdout.write(f"docs/{name}: {len(text.splitlines())} lines\n")


def pages() -> dict[str, str]:
    """File name and text of every generated page."""
    return {"states.md": states_page(), "failures.md": failures_page()}


# --- docs/states.md ---------------------------------------------------------------------------------


def states_page() -> str:
    """The turn table as a page."""
    return _joined(
        "# The states of a turn",
        _generated("jingwei/events/turns.py"),
        "A turn is a run of events with one turn id ([P3](spec/projection.md)). Its events are taken one by "
        "one, and each leads to the next state or is refused ([P4](spec/projection.md)).",
        _rows(("state", "meaning"), [(f"`{s.value}`", STATES[s]) for s in TurnState]),
        "## The picture",
        "```mermaid\n" + "\n".join(_diagram()) + "\n```",
        "## Every pair",
        "A cell names the next state, or the reason of the refusal. **Bold** reasons are given before the "
        "guards of the kind are asked, the others after them.",
        _rows(("kind", *[f"`{s.value}`" for s in TurnState]), list(_matrix())),
        "## The guards",
        "Before all else, whatever the state: an event whose own id is blank is refused as "
        f"`{MalformedReason.BLANK_EVENT_ID.value}`. Then come the bold refusals of the table above, then the "
        "guards of the kind, from the top; then the rest of the table. So a reply that has no message id and "
        "also comes too early is refused for its id.",
        _rows(("kind", "refused when", "reason"), list(_guard_rows())),
        "## Refusals of a whole run",
        "Before the first event of a run is taken ([P3](spec/projection.md)):",
        _rows(
            ("reason", "when"),
            [
                (f"`{r.value}`", MALFORMED_REASONS[r][0])
                for r in (MalformedReason.BLANK_TURN_ID, MalformedReason.TURN_NOT_CONTIGUOUS)
            ],
        ),
    )


def _diagram() -> Iterator[str]:
    yield "stateDiagram-v2"
    yield f"    [*] --> {TurnState.EMPTY.value}"
    for start in TurnState:
        for end in TurnState:
            tags = [tag_of(kind) for kind in ALL_KINDS if TURN_TABLE.get((start, kind)) is end]
            if tags:
                yield f"    {start.value} --> {end.value} : {', '.join(tags)}"
    yield f"    {TurnState.CLOSED.value} --> [*]"


def _matrix() -> Iterator[tuple[str, ...]]:
    for tag, kind in EVENT_TYPES.items():
        yield (f"`{tag}`", *[_cell(state, kind) for state in TurnState])


def _cell(state: TurnState, kind: KindClass) -> str:
    after = TURN_TABLE.get((state, kind))
    if after is not None:
        return f"→ `{after.value}`"
    refusal = REFUSED[(state, kind)]
    return f"**{refusal.reason.value}**" if refusal.first else refusal.reason.value


def _guard_rows() -> Iterator[tuple[str, ...]]:
    for tag, kind in EVENT_TYPES.items():
        for reason, when in GUARDS.get(kind, ()):
            yield f"`{tag}`", when, f"`{reason.value}`"


def tag_of(kind: KindClass) -> str:
    """The wire tag of an event kind."""
    return next(tag for tag, cls in EVENT_TYPES.items() if cls is kind)


# --- docs/failures.md -------------------------------------------------------------------------------


def failures_page() -> str:
    """Every failure union as a page."""
    return _joined(
        "# Failures",
        _generated("the failure unions of jingwei"),
        "Every public function that can fail answers `Success(value)` or `Failure(record)`; bad data never "
        "raises. Each "
        "record below says when it is given, what it carries, and what to do. How to match them so that a "
        "type checker finds a forgotten one stands in [the path](path.md#how-to-handle-every-failure).",
        *[_section(title, whence, members) for title, whence, members in SECTIONS],
    )


def _section(title: str, whence: str, members: Iterable[type[object]]) -> str:
    return "\n\n".join([f"## {title}", whence, *[_entry(cls, title) for cls in members]])


def _entry(cls: type[object], section: str) -> str:
    if cls is LimitExceeded and section == "The build":
        return f"### {cls.__name__} (build)\n\nThe same record as [above](#limitexceeded), for `BuildLimits`."
    parts = [f"### {cls.__name__}", f"**When.** {_first_sentence(cls)}"]
    carried = _carried(cls)
    if carried:
        parts.append("**Carries.**\n\n" + "\n".join(f"- `{name}`{text}" for name, text in carried))
    parts.append(f"**What to do.** {_advice(cls)}")
    if cls in REASONS:
        rows = [(f"`{reason.value}`", *told) for reason, told in REASONS[cls]]
        parts.append(_rows(("reason", "when", "what to do"), rows))
    return "\n\n".join(parts)


def _advice(cls: type[object]) -> str:
    if cls not in get_args(SoftFailure):
        return ADVICE[cls]
    # What admits a failure depends on its class, but for one flag: so any values will do.
    blank = {int: 0, str: "", bool: True}
    fields = attrs.fields(cls)  # type: ignore[arg-type]  # attrs classes
    failure = cls(**{f.name: blank.get(f.type) for f in fields})
    assert isinstance(failure, SoftFailure), "checked above"
    named = " or ".join(f"`{remedy.option}={remedy.choice}`" for remedy in remedies(failure))
    return f"Mend the transcript, or admit it: {named} ([importing](importing.md))."


def _first_sentence(cls: type[object]) -> str:
    paragraph = _doc(cls).split("\n\n", 1)[0].replace("\n", " ")
    return re.split(r"(?<=\.)\s", paragraph, maxsplit=1)[0]


def _carried(cls: type[object]) -> list[tuple[str, str]]:
    """The fields in order, each with what the docstring's `Attributes:` says of it."""
    _, _, section = _doc(cls).partition("Attributes:\n")
    told = dict[str, str]()
    name = ""
    for line in section.splitlines():
        named = re.match(r" {4}(\w+): (.*)", line)
        if named is not None:
            name = named[1]
            told[name] = f": {named[2]}"
        elif line.strip():
            told[name] += f" {line.strip()}"
    fields = attrs.fields(cls)  # type: ignore[arg-type]  # attrs classes
    return [(f.name, told.get(f.name) or f": {_field(cls, f.name, get_args(f.type))}") for f in fields]


def _field(cls: type[object], name: str, types: tuple[object, ...]) -> str:
    if name in {"reason", "what"} and cls in REASONS:
        return "which of the reasons below."
    early = "; None before the first count." if name == "report" and type(None) in types else ""
    return FIELDS[name].rstrip(".") + early if early else FIELDS[name]


def _doc(cls: type[object]) -> str:
    return inspect.getdoc(cls) or ""


# --- small things -----------------------------------------------------------------------------------


def _generated(source: str) -> str:
    return f"<!-- Generated by `make docs` from {source}; edits are lost. -->"


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _joined(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
