"""What an import of Chat Completions transcripts is asked for, and what it gives back.

A transcript says less than a session log: who was cancelled, what a lost call did, which text was
the last word. Where importing would mean to invent that, the strict choice of each option refuses
and the lenient choice has a name that says what it writes instead; each use leaves a line in the
report.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias, final

import attrs

from jingwei.events.records import SessionLog
from jingwei.ids import SessionId, TurnId
from jingwei.providers.openai_chat.failures import ConversationFailure


@final
class InterimText(enum.Enum):
    """Assistant text that is not the turn's reply.

    `AS_DELTA` keeps it in the log as a process record; by P6 it does not reach a request.
    """

    REFUSE = "refuse"
    AS_DELTA = "as_delta"


@final
class UnansweredTurn(enum.Enum):
    """A turn without a final reply.

    `CANCELLED` closes it as cancelled. `OPEN_LAST` leaves the last turn open if it holds nothing but
    its user message (an open turn that holds work has no projection, P5) and refuses all others.
    `CANCELLED_OPEN_LAST` does the first for every turn that the second would refuse.
    """

    REFUSE = "refuse"
    CANCELLED = "cancelled"
    OPEN_LAST = "open_last"
    CANCELLED_OPEN_LAST = "cancelled_open_last"


@final
class UnansweredCall(enum.Enum):
    """A call without a result.

    `FAILED_UNKNOWN` writes a failed outcome that says that none was recorded and that the side
    effects are unknown (`UNKNOWN_OUTCOME`).
    """

    REFUSE = "refuse"
    FAILED_UNKNOWN = "failed_unknown"


@final
class Unplaced(enum.Enum):
    """What has no place in the conversation of a log.

    `DROP` leaves it out; `AS_AUDIT` keeps it whole as a `custom` event, which no request shows.
    """

    REFUSE = "refuse"
    DROP = "drop"
    AS_AUDIT = "as_audit"


@final
class LateResult(enum.Enum):
    """A result that comes after the next user message.

    `INTO_ITS_TURN` records it in the turn of its call (P4 demands it); the transcript's order is lost.
    """

    REFUSE = "refuse"
    INTO_ITS_TURN = "into_its_turn"


@final
class BadArgumentText(enum.Enum):
    """Argument text that is no JSON object. `WRAP_TEXT` records `{"text": <the text>}`."""

    REFUSE = "refuse"
    WRAP_TEXT = "wrap_text"


@final
class EmptyArgumentText(enum.Enum):
    """Arguments that are empty text, null or absent. `AS_EMPTY_OBJECT` records `{}`."""

    REFUSE = "refuse"
    AS_EMPTY_OBJECT = "as_empty_object"


@final
class NonTextPart(enum.Enum):
    """Images, sounds, files. `PLACEHOLDER` puts `[image_url: not imported]` in its place."""

    REFUSE = "refuse"
    PLACEHOLDER = "placeholder"


@final
class StructuredContent(enum.Enum):
    """Content that is neither text nor parts. `CANONICAL_JSON` records its canonical text (W8)."""

    REFUSE = "refuse"
    CANONICAL_JSON = "canonical_json"


@final
class LegacyCall(enum.Enum):
    """`function_call` and role `function`, which have no ids. `AS_TOOL_CALL` derives them."""

    REFUSE = "refuse"
    AS_TOOL_CALL = "as_tool_call"


@final
class MissingId(enum.Enum):
    """A blank or absent id.

    `DERIVE` makes a call's id from its message index, and gives a result to the one call that waits;
    where several wait and neither id nor name tells which, the result is refused all the same.
    """

    REFUSE = "refuse"
    DERIVE = "derive"


@final
class SilentStep(enum.Enum):
    """An assistant message with neither text nor calls: no reply, not even an empty one."""

    REFUSE = "refuse"
    DROP = "drop"


@final
@attrs.frozen(kw_only=True)
class ImportOptions:
    """One option for each thing that cannot be imported without a decision; strict by default.

    Attributes:
        session_id: written into every event; each conversation is a log of its own under this id.
        text_beside_calls: text in an assistant message that calls tools.
        earlier_text: an assistant message without calls after which its turn goes on.
        unanswered_turn: a turn without a final reply.
        unanswered_call: a call without a result.
        stray_result: a result without its call, or a second one.
        late_result: a result after the next user message.
        before_user: an assistant or tool message before any user message.
        bad_arguments: argument text that is no JSON object.
        empty_arguments: no argument text.
        non_text_parts: content parts other than `text` and `refusal`.
        structured_content: content that is neither text nor parts.
        legacy_calls: `function_call` and role `function`.
        reasoning: `reasoning_content` and its relatives.
        missing_ids: calls and results without an id.
        silent_step: an assistant message that holds nothing.
    """

    session_id: SessionId
    text_beside_calls: InterimText = InterimText.REFUSE
    earlier_text: InterimText = InterimText.REFUSE
    unanswered_turn: UnansweredTurn = UnansweredTurn.REFUSE
    unanswered_call: UnansweredCall = UnansweredCall.REFUSE
    stray_result: Unplaced = Unplaced.REFUSE
    late_result: LateResult = LateResult.REFUSE
    before_user: Unplaced = Unplaced.REFUSE
    bad_arguments: BadArgumentText = BadArgumentText.REFUSE
    empty_arguments: EmptyArgumentText = EmptyArgumentText.REFUSE
    non_text_parts: NonTextPart = NonTextPart.REFUSE
    structured_content: StructuredContent = StructuredContent.REFUSE
    legacy_calls: LegacyCall = LegacyCall.REFUSE
    reasoning: Unplaced = Unplaced.REFUSE
    missing_ids: MissingId = MissingId.REFUSE
    silent_step: SilentStep = SilentStep.REFUSE


def lenient_options(session_id: SessionId) -> ImportOptions:
    """Every leniency at once, as one documented option; of two lenient choices the one that keeps more.

    All that is lost to the log is what stands in non-text parts. Turns without a reply are cancelled,
    the last one too: the result can be built from as it is.
    """
    return ImportOptions(
        session_id=session_id,
        text_beside_calls=InterimText.AS_DELTA,
        earlier_text=InterimText.AS_DELTA,
        unanswered_turn=UnansweredTurn.CANCELLED,
        unanswered_call=UnansweredCall.FAILED_UNKNOWN,
        stray_result=Unplaced.AS_AUDIT,
        late_result=LateResult.INTO_ITS_TURN,
        before_user=Unplaced.AS_AUDIT,
        bad_arguments=BadArgumentText.WRAP_TEXT,
        empty_arguments=EmptyArgumentText.AS_EMPTY_OBJECT,
        non_text_parts=NonTextPart.PLACEHOLDER,
        structured_content=StructuredContent.CANONICAL_JSON,
        legacy_calls=LegacyCall.AS_TOOL_CALL,
        reasoning=Unplaced.AS_AUDIT,
        missing_ids=MissingId.DERIVE,
        silent_step=SilentStep.DROP,
    )


@final
class NoteKind(enum.Enum):
    """What a line of the report says; the value is its name on the wire.

    The first group needs no option: nothing was invented, but something of the transcript's form is
    gone. Each kind of the second was admitted by the option of `OPTION_OF`.
    """

    AGENT_AS_ASSISTANT = "agent_as_assistant"
    ARGUMENTS_GIVEN_AS_OBJECT = "arguments_given_as_object"
    CALL_ID_RENAMED = "call_id_renamed"
    ERROR_RESPONSE_ENDS_TURN = "error_response_ends_turn"
    ERROR_RESPONSE_AFTER_REPLY = "error_response_after_reply"
    FIELD_IGNORED = "field_ignored"
    INSTRUCTION_POSITION_LOST = "instruction_position_lost"
    PARTS_JOINED = "parts_joined"
    REFUSAL_AS_TEXT = "refusal_as_text"

    TEXT_AS_DELTA = "text_as_delta"
    EARLIER_TEXT_AS_DELTA = "earlier_text_as_delta"
    TURN_CANCELLED = "turn_cancelled"
    LAST_TURN_OPEN = "last_turn_open"
    OUTCOME_UNKNOWN = "outcome_unknown"
    STRAY_RESULT_UNPLACED = "stray_result_unplaced"
    LATE_RESULT_MOVED = "late_result_moved"
    MESSAGE_BEFORE_USER_UNPLACED = "message_before_user_unplaced"
    ARGUMENTS_WRAPPED = "arguments_wrapped"
    ARGUMENTS_EMPTY = "arguments_empty"
    PART_REPLACED = "part_replaced"
    CONTENT_AS_JSON = "content_as_json"
    LEGACY_AS_TOOL_CALL = "legacy_as_tool_call"
    REASONING_UNPLACED = "reasoning_unplaced"
    ID_DERIVED = "id_derived"
    SILENT_STEP_DROPPED = "silent_step_dropped"


OPTION_OF: Final[Mapping[NoteKind, str]] = MappingProxyType(
    {
        NoteKind.TEXT_AS_DELTA: "text_beside_calls",
        NoteKind.EARLIER_TEXT_AS_DELTA: "earlier_text",
        NoteKind.TURN_CANCELLED: "unanswered_turn",
        NoteKind.LAST_TURN_OPEN: "unanswered_turn",
        NoteKind.OUTCOME_UNKNOWN: "unanswered_call",
        NoteKind.STRAY_RESULT_UNPLACED: "stray_result",
        NoteKind.LATE_RESULT_MOVED: "late_result",
        NoteKind.MESSAGE_BEFORE_USER_UNPLACED: "before_user",
        NoteKind.ARGUMENTS_WRAPPED: "bad_arguments",
        NoteKind.ARGUMENTS_EMPTY: "empty_arguments",
        NoteKind.PART_REPLACED: "non_text_parts",
        NoteKind.CONTENT_AS_JSON: "structured_content",
        NoteKind.LEGACY_AS_TOOL_CALL: "legacy_calls",
        NoteKind.REASONING_UNPLACED: "reasoning",
        NoteKind.ID_DERIVED: "missing_ids",
        NoteKind.SILENT_STEP_DROPPED: "silent_step",
    }
)
"""Which option admitted a line of the report; a kind that is not listed needs none."""


@final
@attrs.frozen(kw_only=True)
class ImportNote:
    """One line of the report.

    Attributes:
        kind: what was done.
        index: the message, counted from 0 in its conversation. A response that follows a request
            counts as the next message. For ignored fields the first message that has it.
        detail: what came, shortened: an id, a field, a role, a piece of text.
        count: how many messages it stands for; above 1 for ignored fields only.
    """

    kind: NoteKind
    index: int
    detail: str
    count: int = 1


@final
@attrs.frozen(kw_only=True)
class ImportReport:
    """What one import met and what it had to decide.

    Attributes:
        messages: messages of the conversation, with the response.
        instructions: system and developer messages among them.
        turns: turns of the log.
        events: events of the log.
        tool_calls: calls recorded.
        tool_results: results recorded, without those that say that none was.
        open_turn: the last turn, where it was left open; its user message is what a build takes as
            `current`.
        notes: every decision, by message.
    """

    messages: int
    instructions: int
    turns: int
    events: int
    tool_calls: int
    tool_results: int
    open_turn: TurnId | None
    notes: tuple[ImportNote, ...]

    @property
    def counts(self) -> Mapping[NoteKind, int]:
        """Notes by kind, in the order of `NoteKind`; kinds without a note are absent."""
        totals = {kind: sum(note.count for note in self.notes if note.kind is kind) for kind in NoteKind}
        return MappingProxyType({kind: total for kind, total in totals.items() if total})


@final
class InstructionRole(enum.Enum):
    """Who gives instructions; both are system text to a build."""

    SYSTEM = "system"
    DEVELOPER = "developer"


@final
@attrs.frozen(kw_only=True)
class Instruction:
    """A system or developer message: beside the log, never in it (P11, S9)."""

    index: int
    role: InstructionRole
    text: str


@final
@attrs.frozen(kw_only=True)
class ImportedConversation:
    """One conversation as a session log that projects with the default configuration.

    Attributes:
        name: where it stands in the document: a JSON Pointer without its first slash (`3`, `clean`,
            `exchanges/2`); empty for the whole document. Lines count as the items of one array.
        log: its events. A very long transcript may need raised limits to project (P1).
        instructions: system and developer messages, in order.
        report: what was decided.
    """

    name: str
    log: SessionLog
    instructions: tuple[Instruction, ...]
    report: ImportReport

    @property
    def system(self) -> tuple[str, ...]:
        """The texts of the instructions, as a build takes them."""
        return tuple(instruction.text for instruction in self.instructions)


@final
@attrs.frozen(kw_only=True)
class RefusedConversation:
    """One conversation that was not imported; it hides no other.

    Attributes:
        name: as in `ImportedConversation`.
        failures: not empty, by message. All that an option could admit (see `remedies`), up to the
            first that no option can.
    """

    name: str
    failures: tuple[ConversationFailure, ...]


Conversation: TypeAlias = ImportedConversation | RefusedConversation


@final
@attrs.frozen(kw_only=True)
class ImportedConversations:
    """Everything that a document holds, in its order.

    Attributes:
        conversations: not empty; some or all of them may be refused.
        skipped: JSON Pointers of siblings that are no conversation (an exchange of another protocol,
            a member of an object of dialogues that is none).
    """

    conversations: tuple[Conversation, ...]
    skipped: tuple[str, ...]
