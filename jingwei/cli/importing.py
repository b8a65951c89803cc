"""`jingwei import openai-chat`: a transcript in, a session log out, its report beside it."""

from typing import Annotated, Final, NoReturn, assert_never

import typer

from jingwei.cli.describe import Said
from jingwei.cli.exits import Exit
from jingwei.cli.files import whole, written
from jingwei.cli.output import emit_text, fail, note, plural
from jingwei.codec import EncodeFailed, utf8
from jingwei.events.wire import event_text
from jingwei.ids import SessionId
from jingwei.jsontext import JsonValue, canonical
from jingwei.outcome import Failure, Success
from jingwei.providers.openai_chat import (
    BadArgumentText,
    Conversation,
    EmptyArgumentText,
    ImportedConversation,
    ImportedConversations,
    ImportOptions,
    InterimText,
    LateResult,
    LegacyCall,
    MissingId,
    NonTextPart,
    RefusedConversation,
    Remedy,
    SilentStep,
    StructuredContent,
    UnansweredCall,
    UnansweredTurn,
    Unplaced,
    describe,
    failure_value,
    import_transcript,
    lenient_options,
    remedies,
    report_value,
)

import_app: Final = typer.Typer(
    no_args_is_help=True, help="Turn another system's transcript into a session log."
)

_LISTED: Final = 20  # conversations shown to people; machines get all names


@import_app.callback()
def _family() -> None:
    """Keeps `openai-chat` a command of its own while it is the only one."""


@import_app.command("openai-chat")
def openai_chat(
    transcript: Annotated[
        str,
        typer.Argument(
            metavar="TRANSCRIPT.json", help="A Chat Completions transcript; - for standard input."
        ),
    ],
    session: Annotated[str, typer.Option(help="The session id that the log's events carry.")] = "imported",
    conversation: Annotated[
        str | None, typer.Option(help="Which of several: the name that the list shows, or its number from 0.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="Write the import report (JSON) to this file, with the system texts.")
    ] = None,
    lenient: Annotated[
        bool,
        typer.Option("--lenient", help="Admit everything that can be admitted; the report says what was."),
    ] = False,
    text_beside_calls: Annotated[
        InterimText | None, typer.Option(help="Text in a message that calls tools.")
    ] = None,
    earlier_text: Annotated[
        InterimText | None, typer.Option(help="Assistant text after which its turn goes on.")
    ] = None,
    unanswered_turn: Annotated[
        UnansweredTurn | None, typer.Option(help="A turn without a final reply.")
    ] = None,
    unanswered_call: Annotated[UnansweredCall | None, typer.Option(help="A call without a result.")] = None,
    stray_result: Annotated[
        Unplaced | None, typer.Option(help="A result without its call, or a second one.")
    ] = None,
    late_result: Annotated[
        LateResult | None, typer.Option(help="A result after the next user message.")
    ] = None,
    before_user: Annotated[
        Unplaced | None, typer.Option(help="An assistant or tool message before any user message.")
    ] = None,
    bad_arguments: Annotated[
        BadArgumentText | None, typer.Option(help="Argument text that is no JSON object.")
    ] = None,
    empty_arguments: Annotated[EmptyArgumentText | None, typer.Option(help="No argument text.")] = None,
    non_text_parts: Annotated[NonTextPart | None, typer.Option(help="Images, sounds, files.")] = None,
    structured_content: Annotated[
        StructuredContent | None, typer.Option(help="Content that is neither text nor parts.")
    ] = None,
    legacy_calls: Annotated[LegacyCall | None, typer.Option(help="function_call and role function.")] = None,
    reasoning: Annotated[Unplaced | None, typer.Option(help="reasoning_content and its relatives.")] = None,
    missing_ids: Annotated[MissingId | None, typer.Option(help="Calls and results without an id.")] = None,
    silent_step: Annotated[
        SilentStep | None, typer.Option(help="An assistant message that holds nothing.")
    ] = None,
) -> None:
    """Print a Chat Completions transcript as a session log. What would have to be invented is refused."""
    strict = lenient_options(SessionId(session)) if lenient else ImportOptions(session_id=SessionId(session))
    options = ImportOptions(
        session_id=strict.session_id,
        text_beside_calls=text_beside_calls or strict.text_beside_calls,
        earlier_text=earlier_text or strict.earlier_text,
        unanswered_turn=unanswered_turn or strict.unanswered_turn,
        unanswered_call=unanswered_call or strict.unanswered_call,
        stray_result=stray_result or strict.stray_result,
        late_result=late_result or strict.late_result,
        before_user=before_user or strict.before_user,
        bad_arguments=bad_arguments or strict.bad_arguments,
        empty_arguments=empty_arguments or strict.empty_arguments,
        non_text_parts=non_text_parts or strict.non_text_parts,
        structured_content=structured_content or strict.structured_content,
        legacy_calls=legacy_calls or strict.legacy_calls,
        reasoning=reasoning or strict.reasoning,
        missing_ids=missing_ids or strict.missing_ids,
        silent_step=silent_step or strict.silent_step,
    )
    match import_transcript(whole(transcript), options):
        case Success(found):
            _print(_chosen(found, conversation), report)
        case Failure(why):
            said = Said(what=describe(why), hint="docs/importing.md lists the forms that are understood")
            fail(said, Exit.IMPORT, failure_value(why))


def _chosen(found: ImportedConversations, wanted: str | None) -> Conversation:
    """The one conversation that is meant; several without a choice are listed."""
    held = found.conversations
    if wanted is None and len(held) == 1:
        return held[0]
    by_name = [c for c in held if c.name == wanted]
    if by_name:
        return by_name[0]
    by_number = {str(number): one for number, one in enumerate(held)}
    if wanted in by_number:
        return by_number[wanted]
    for number, one in enumerate(held[:_LISTED]):
        note(f"  {number}: {one.name or '(the whole document)'}: {_summary(one)}")
    met = "none was chosen" if wanted is None else f"none is called {wanted!r}"
    fail(
        Said(
            what=f"the file holds {len(held)} conversations, and {met}",
            hint="choose one with --conversation NAME; the list above shows the first of them",
        ),
        Exit.USAGE,
        {"kind": "NoConversationChosen", "names": [one.name for one in held]},
    )


def _print(conversation: Conversation, report: str | None) -> None:
    if isinstance(conversation, RefusedConversation):
        _refuse(conversation, report)
    if report is not None:
        _save(report, {"report": report_value(conversation.report), "system": list(conversation.system)})
    elif conversation.instructions:
        texts = plural(len(conversation.instructions), "system text")
        note(f"jingwei: {texts} not written: --report FILE keeps them, build --system-from FILE uses them")
    decided = [f"{count} {kind.value}" for kind, count in conversation.report.counts.items()]
    if decided:
        note(f"jingwei: decided on the way: {', '.join(decided)}")
    emit_text("".join([event_text(event) + "\n" for event in conversation.log.events]))


def _refuse(conversation: RefusedConversation, report: str | None) -> NoReturn:
    """Every refusal in words, with the options that would admit it."""
    values: list[JsonValue] = [failure_value(failure) for failure in conversation.failures]
    if report is not None:
        _save(report, {"refused": values})
    for failure in conversation.failures:
        note(f"jingwei: {describe(failure)}{_options(remedies(failure))}")
    admitted = all(remedies(failure) for failure in conversation.failures)
    hint = "--lenient admits all of it" if admitted else "what has no option cannot be imported"
    said = Said(what=f"refused for {plural(len(values), 'reason')}", hint=hint)
    fail(said, Exit.IMPORT, {"kind": "Refused", "failures": values})


def _options(found: tuple[Remedy, ...]) -> str:
    if not found:
        return ""
    shown = " or ".join(f"--{one.option.replace('_', '-')} {one.choice}" for one in found)
    return f" ({shown})"


def _save(name: str, value: JsonValue) -> None:
    data = utf8(canonical(value) + "\n")
    assert not isinstance(data, EncodeFailed), "what was decoded can be encoded"
    written(name, data)


def _summary(conversation: Conversation) -> str:
    match conversation:
        case ImportedConversation(report=report):
            return f"{report.messages} messages, {report.turns} turns"
        case RefusedConversation(failures=failures):
            return f"refused: {describe(failures[0])}"
        case _:
            assert_never(conversation)
