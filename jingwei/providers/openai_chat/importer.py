"""The import itself: one document in, an answer for each of its conversations out.

    document -> conversations -> messages -> turns -> events
             (wrappers)       (strict reading) (pairing)

The strict choice of every option refuses; see `ImportOptions`. The same document under the same
options gives the same events, since every id is made from a message index. Texts of results are
`succeeded`: a text that begins with `Error:` is still what the tool returned.
"""

from collections.abc import Iterable, Mapping
from typing import assert_never

from jingwei.codec import DecodeFailed
from jingwei.events.records import ToolCallEvent, ToolResultEvent
from jingwei.events.wire import session_log
from jingwei.ids import is_blank
from jingwei.jsontext import JsonValue, NotJson, canonical, json_of, shortened
from jingwei.outcome import Failure, Outcome, Success
from jingwei.providers.openai_chat.documents import (
    Found,
    Transcript,
    Unreadable,
    transcripts_in,
    transcripts_in_bytes,
)
from jingwei.providers.openai_chat.failures import (
    BadField,
    BlankSessionId,
    ConversationFailure,
    DocumentFailure,
    HardFailure,
    NoConversation,
    NoUserMessage,
    RepeatedCallId,
    SilentAssistant,
    UnknownRole,
)
from jingwei.providers.openai_chat.messages import (
    ASSISTANT_ROLES,
    RESULT_ROLES,
    AssistantSaid,
    Ledger,
    ResultCame,
    UserSaid,
    failure_index,
    read_message,
)
from jingwei.providers.openai_chat.records import (
    Conversation,
    ImportedConversation,
    ImportedConversations,
    ImportOptions,
    ImportReport,
    Instruction,
    NoteKind,
    RefusedConversation,
)
from jingwei.providers.openai_chat.turns import Weaver


def import_transcript(
    document: JsonValue | bytes, options: ImportOptions
) -> Outcome[ImportedConversations, DocumentFailure]:
    """Every conversation of a document as a session log, or why it is none. Total.

    Args:
        document: the bytes of a JSON document or of JSON Lines (read strictly, W6), or a parsed value.
        options: strict by default; `lenient_options` admits all that can be admitted.

    Returns:
        One answer a conversation, in the order of the document: a log or its refusals, so that one
        bad conversation hides no other. A Failure is about the document as a whole.
    """
    if is_blank(options.session_id):
        return Failure(BlankSessionId())
    found = transcripts_in_bytes(document) if isinstance(document, bytes) else _in_value(document)
    if isinstance(found, DecodeFailed | NotJson | NoConversation):
        return Failure(found)
    return Success(
        ImportedConversations(
            conversations=tuple([_conversation(transcript, options) for transcript in found.transcripts]),
            skipped=found.skipped,
        )
    )


def _in_value(document: JsonValue) -> Found | NotJson | NoConversation:
    """A value from code may hold what no document can (half a surrogate pair, NaN): refused, as by W6."""
    held = json_of(document)
    return held if isinstance(held, NotJson) else transcripts_in(held.value())


def _conversation(transcript: Transcript | Unreadable, options: ImportOptions) -> Conversation:
    if isinstance(transcript, Unreadable):
        return RefusedConversation(name=transcript.name, failures=(transcript.failure,))
    ledger, instructions = Ledger(options), list[Instruction]()
    weaver = Weaver(ledger)
    for index, message in enumerate(transcript.messages):
        hard = _take(ledger, weaver, instructions, index, message)
        if hard is not None:
            return _refused(transcript.name, [*ledger.failures, hard])
    if not weaver.turn_count:
        nobody = NoUserMessage(messages=len(transcript.messages))
        return _refused(transcript.name, [*ledger.failures, nobody])
    woven = weaver.events(transcript.error)
    if ledger.failures:
        return _refused(transcript.name, ledger.failures)
    kinds = [type(event.kind) for event in woven.events]
    return ImportedConversation(
        name=transcript.name,
        log=session_log(woven.events),
        instructions=tuple(instructions),
        report=ImportReport(
            messages=len(transcript.messages),
            instructions=len(instructions),
            turns=weaver.turn_count,
            events=len(woven.events),
            tool_calls=kinds.count(ToolCallEvent),
            tool_results=kinds.count(ToolResultEvent) - woven.unanswered_calls,
            open_turn=woven.open_turn,
            notes=ledger.all_notes(),
        ),
    )


def _take(
    ledger: Ledger, weaver: Weaver, instructions: list[Instruction], index: int, message: JsonValue
) -> HardFailure | None:
    """One message, or what no option admits of it."""
    if not isinstance(message, Mapping):
        shown = shortened(canonical(message))
        return BadField(index=index, path="", expected="an object", actual=shown)
    role = message.get("role")
    if not weaver.turn_count and isinstance(role, str) and role in (*ASSISTANT_ROLES, *RESULT_ROLES):
        weaver.before_user(index, role, message)
        return None
    read = read_message(ledger, index, message)
    match read:
        case Instruction():
            if weaver.turn_count:
                ledger.note(NoteKind.INSTRUCTION_POSITION_LOST, index, read.role.value)
            instructions.append(read)
        case UserSaid():
            weaver.user(read)
        case AssistantSaid(text=text, calls=calls):
            if text is None and not calls:
                silent = SilentAssistant(index=index)
                ledger.settle(ledger.options.silent_step, silent, NoteKind.SILENT_STEP_DROPPED, "")
            weaver.assistant(read)
        case ResultCame():
            return weaver.result(read, message)
        case BadField() | UnknownRole() | RepeatedCallId():
            return read
        case _:
            assert_never(read)
    return None


def _refused(name: str, failures: Iterable[ConversationFailure]) -> RefusedConversation:
    return RefusedConversation(name=name, failures=tuple(sorted(failures, key=failure_index)))
