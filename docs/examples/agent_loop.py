"""A small agent: it answers questions about the files of a folder, through any OpenAI-compatible endpoint.

    python docs/examples/agent_loop.py --base-url http://127.0.0.1:8765/v1 --model NAME FOLDER

The key of the endpoint stands in OPENAI_API_KEY; questions come from standard input, one a line. Needs the
extra `jingwei[actions]` and the package `openai`.

All state is in two files: the log of the session, and a store for results that are too long to be shown. Each
request is made from them alone, so that it makes no difference whether the process that wrote them still
lives: start the program again, and it goes on. What a crash cut off is closed on the record.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Final, TypeVar, assert_never, cast, final

import openai
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCallParam,
    ChatCompletionMessageParam,
)

import jingwei
from jingwei import Failure, Json, Outcome, Success, ToolFailureCategory
from jingwei.action.complete import AnsweredStep, CompletedStep
from jingwei.action.drive import AppendRefused, DoneStep, RunStepFailure, Showing, Unstored, run_step
from jingwei.action.failures import (
    CompleteFailure,
    InterpretFailure,
    InvalidArguments,
    NotRecorded,
    UnrecordedResult,
)
from jingwei.action.step import PlannedStep, PlanStepFailure, StepInputs, plan_step
from jingwei.ids import StoreId, TaskId, is_blank
from jingwei.ports import ContentScope, ContentStore, StoreLimits
from jingwei.results.records import ViewRendition
from jingwei.results.rendering import Rendering, viewed_current, viewed_history
from jingwei.results.wire import recorded_views
from jingwei.stores.read_tool import READ_TOOL, Grants, answer_text, read_reference
from jingwei.stores.sqlite import open_sqlite_store

SESSION: Final = jingwei.SessionId("files")
TASK: Final = TaskId("answer")
IDS: Final = jingwei.NumberedIds(prefix="")
SYSTEM: Final = "You answer questions about the files of one folder. Look into them before you answer."
STEPS_MAX: Final = 24
"""Requests in one turn."""
ANSWER_TOKENS: Final = 1024
KEPT_MS: Final = 24 * 60 * 60 * 1000
"""How long a stored result may be read."""
FILE_BYTES_MAX: Final = 1_000_000
SHOWING: Final = Showing(unstored=Unstored.SHOW_PREVIEW)
COUNTER: Final = jingwei.ByteHeuristicCounter()

_Value = TypeVar("_Value")


def must(outcome: Outcome[_Value, object]) -> _Value:
    """The value of what fails only where log, store or program are broken: then nothing can go on."""
    match outcome:
        case Success(value):
            return value
        case Failure(why):
            raise SystemExit(f"cannot go on: {why}")


# --- the log ----------------------------------------------------------------------------------------


@final
class Journal:
    """The log in its file, and what follows from it. To open it is to recover it."""

    def __init__(self, path: Path) -> None:
        path.touch()
        log = log_in(path)
        closing = must(jingwei.close_abandoned(SESSION, log, IDS))
        self.path = path
        self.writer = closing.writer
        self.view = jingwei.start_view(SESSION).advanced(log)
        self.views = must(recorded_views(log.events))
        for event in closing.events:
            must(self.keep(event))

    def append(
        self, turn: jingwei.TurnId, kind: jingwei.EventKind
    ) -> Outcome[jingwei.SessionEvent, AppendRefused]:
        """Write what happened, if the log can hold it."""
        match self.writer.offer(IDS, turn, kind):
            case Failure(refused):
                return Failure(AppendRefused(reason=f"{refused.rule}: {refused.reason.value}"))
            case Success(written):
                kept = self.keep(written.event)
                if isinstance(kept, Success):
                    self.writer = written.writer
                return kept

    def keep(self, event: jingwei.SessionEvent) -> Outcome[jingwei.SessionEvent, AppendRefused]:
        """Write an event to the disk, and take it into the views."""
        match jingwei.encode_event(event):
            case Failure(unwritable):
                return Failure(AppendRefused(reason=unwritable.reason.value))
            case Success(line):
                try:
                    with self.path.open("ab") as file:
                        file.write(line)
                        file.flush()
                        os.fsync(file.fileno())
                except OSError as error:
                    return Failure(AppendRefused(reason=str(error)))
        self.view = self.view.advanced(jingwei.session_log((event,)))
        self.views = must(self.views.advanced((event,)))
        return Success(event)


def log_in(path: Path) -> jingwei.SessionLog:
    """The log in a file, without a last line that was cut off while it was written."""
    match jingwei.decode_log(path.read_bytes()):
        case Success(log):
            return log
        case Failure(jingwei.DecodeFailed(whole_bytes=int(whole_bytes))):
            os.truncate(path, whole_bytes)
            return log_in(path)
        case Failure(why):
            raise SystemExit(f"{path} is no log: {why}")


# --- the agent --------------------------------------------------------------------------------------


@final
class Agent:
    """One session with a model about a folder. It is the host of its steps (`StepHost`)."""

    def __init__(
        self,
        client: openai.OpenAI,
        model: str,
        folder: Path,
        journal: Journal,
        store: ContentStore,
        window: int,
    ) -> None:
        self.client, self.model, self.folder = client, model, folder.resolve()
        self.journal, self.store = journal, store
        self.target = jingwei.ContextTarget(model=model, template_revision="unknown")
        # The count is an estimate, since the template is not known; hence the margin.
        self.budget = jingwei.ContextBudget(
            window_tokens=window, output_reserve=ANSWER_TOKENS, safety_margin=window // 20
        )
        # Old turns go in one move at a time, so that requests begin alike and a prompt cache serves them.
        self.strategy = must(jingwei.stable_prefix(high=max(window // 2, 1), costs=COUNTER))

    @property
    def waiting(self) -> bool:
        """Whether the log ends with a question that nobody has begun to answer."""
        return bool(must(self.journal.view.running()).current)

    def ask(self, question: str) -> str:
        """One turn: the reply to a question, or a question back."""
        turn = jingwei.TurnId(f"turn_{self.journal.writer.next_seq}")
        must(self.journal.append(turn, jingwei.UserMessageEvent(text=question)))
        return self.answer()

    def answer(self) -> str:
        """Take steps until the running turn is closed."""
        correction = None
        for _ in range(STEPS_MAX):
            ended = self.step(correction)
            match ended:
                case CompletedStep():
                    correction = None  # a tool that failed is shown as having failed, and the model goes on
                case AnsweredStep():
                    for kind in ended.events:
                        must(self.append(kind))
                    return ended.reply
                case jingwei.ModelFailed():
                    return self.failed(ended.code, ended.message, retryable=ended.retryable)
                case NotRecorded() | UnrecordedResult() | CompleteFailure():
                    self.journal = Journal(self.journal.path)  # as after a crash: nothing is run again
                    return f"[stopped in the middle: {type(ended).__name__}]"
                case _ if correction is None:
                    correction = corrected(ended)
                case _:
                    return self.failed("no_action", type(ended).__name__)
        return self.failed("steps", f"no answer within {STEPS_MAX} steps")

    def step(self, correction: str | None) -> DoneStep | RunStepFailure:
        """Ask once, and run what is asked for. Where nothing can be asked, that is a failed call too."""
        match self.planned(correction):
            case Failure(unplanned):
                return model_failed("no_request", type(unplanned).__name__, retryable=False)
            case Success(planned):
                match run_step(planned, self, self.store, SHOWING):
                    case Success(done):
                        return done
                    case Failure(why):
                        return why

    def planned(self, correction: str | None) -> Outcome[PlannedStep, PlanStepFailure]:
        """The next request, from the log alone; a correction stands behind it once, and is not history."""
        running = must(self.journal.view.running())
        rendering = Rendering(rendition=ViewRendition.NATIVE, views=self.journal.views)
        current = must(viewed_current(running.current, rendering))
        if correction is not None:
            current = (*current, jingwei.UserMessage(content=correction))
        now = self.now_ms()
        inputs = StepInputs(
            decision=jingwei.DecisionContext(task_id=TASK, step_id=f"step_{self.journal.writer.next_seq}"),
            scope=ContentScope(session_id=SESSION, task_id=TASK, expires_at_ms=now + KEPT_MS),
            now_ms=now,
            build=jingwei.BuildInputs(
                current=current, target=self.target, budget=self.budget, system=(SYSTEM,)
            ),
            tools=(*TOOLS, READ_TOOL),
        )
        history = must(viewed_history(running.history, rendering))
        return plan_step(inputs, history, COUNTER, strategy=self.strategy)

    def failed(self, code: str, message: str, *, retryable: bool = False) -> str:
        """Close the running turn as failed."""
        must(self.append(jingwei.ErrorEvent(code=code, message=clean(message), retryable=retryable)))
        return f"[{code}: {message}]"

    def now_ms(self) -> int:
        """The time."""
        return time.time_ns() // 1_000_000

    def append(self, kind: jingwei.EventKind) -> Outcome[jingwei.SessionEvent, AppendRefused]:
        """Write an event of the running turn."""
        turn = self.journal.writer.turn
        assert turn is not None, "a turn begins with its user message"
        return self.journal.append(turn.turn_id, kind)

    def generate(self, request: jingwei.ModelRequest) -> jingwei.ModelOutcome:
        """Ask the model exactly this."""
        offered = request.input.constraint
        assert isinstance(offered, jingwei.NativeToolsConstraint), "the protocol of every step here"
        try:
            answer: object = self.client.chat.completions.create(
                model=self.model,
                messages=list(map(chat_message, request.input.messages)),
                tools=list(map(chat_tool, offered.tools)),
                parallel_tool_calls=False,
                max_tokens=request.options.max_tokens,
            )
        except openai.OpenAIError as error:
            status = error.status_code if isinstance(error, openai.APIStatusError) else None
            retryable = status is None or status in RETRYABLE or status >= 500
            return model_failed(type(error).__name__, str(error), retryable=retryable, status=status)
        return answered_with(answer)

    def run_tool(self, call: jingwei.ToolCall) -> jingwei.ToolOutcome:
        """Run a tool once. What a model may do is decided here: it may read what lies in the folder."""
        match call.name:
            case READ_TOOL.name:
                shown = [row.view.reference for _, row in self.journal.views.by_source.items()]
                references = tuple([reference for reference in shown if reference is not None])
                grants = Grants(session_id=SESSION, task_id=TASK, references=references)
                page = read_reference(self.store, grants, call.arguments, self.now_ms())
                return jingwei.ToolSucceeded(output=answer_text(page))
            case "read_file":
                arguments = cast("dict[str, str]", call.arguments.value())  # held against its schema
                return read_file(self.folder, arguments["name"])
            case _:
                files = [path for path in self.folder.rglob("*") if path.is_file()]
                names = sorted([path.relative_to(self.folder).as_posix() for path in files])
                return jingwei.ToolSucceeded(output=clean("\n".join(names)))


def corrected(why: InterpretFailure) -> str:
    """What a model is told of an answer that was no action; nothing that it wrote is repeated."""
    said = (
        f"Your answer was refused ({type(why).__name__}), and nothing has been run. Take exactly one action."
    )
    if isinstance(why, InvalidArguments):
        said += "".join(f" {row.path or '/'}: {row.keyword}, {row.words}." for row in why.violations)
    return said


# --- its tools --------------------------------------------------------------------------------------

TOOLS: Final = (
    jingwei.ToolDefinition(
        name="list_files",
        description="Lists the files of the folder, one a line.",
        parameters=Json('{"type":"object","properties":{},"additionalProperties":false}'),
    ),
    jingwei.ToolDefinition(
        name="read_file",
        description="Reads a file of the folder.",
        parameters=Json(
            '{"type":"object","properties":{"name":{"type":"string","minLength":1}},"required":["name"],'
            '"additionalProperties":false}'
        ),
    ),
)


def read_file(folder: Path, name: str) -> jingwei.ToolOutcome:
    """The text of a file; a link out of the folder is not followed."""
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            return tool_failed(ToolFailureCategory.DENIED, "outside", "That is not in the folder.")
        if not path.is_file():
            return tool_failed(ToolFailureCategory.BODY_FAILURE, "not_found", "There is no such file.")
        if path.stat().st_size > FILE_BYTES_MAX:
            return tool_failed(ToolFailureCategory.OUTPUT_LIMIT, "too_large", "The file is too large.")
        return jingwei.ToolSucceeded(output=path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):  # the latter for names that no file can have
        return tool_failed(ToolFailureCategory.BODY_FAILURE, "unreadable", "The file cannot be read.")


def tool_failed(category: ToolFailureCategory, code: str, message: str) -> jingwei.ToolFailed:
    """A failure in our own words."""
    return jingwei.ToolFailed(category=category, code=code, message=message, retryable=False)


def clean(text: str) -> str:
    """A text without halves of surrogate pairs, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


# --- the endpoint -----------------------------------------------------------------------------------


def chat_message(message: jingwei.ModelMessage) -> ChatCompletionMessageParam:
    """A message as the endpoint wants it."""
    match message:
        case jingwei.SystemMessage(content=content):
            return {"role": "system", "content": content}
        case jingwei.UserMessage(content=content):
            return {"role": "user", "content": content}
        case jingwei.ToolMessage(call_id=call_id, content=content):
            return {"role": "tool", "tool_call_id": call_id, "content": content}
        case jingwei.AssistantMessage(content=content, tool_calls=()):
            return {"role": "assistant", "content": content}
        case jingwei.AssistantMessage(content=content, tool_calls=calls):
            return {"role": "assistant", "content": content, "tool_calls": list(map(chat_call, calls))}
        case _:
            assert_never(message)


def chat_call(call: jingwei.ModelToolCall) -> ChatCompletionMessageFunctionToolCallParam:
    """A call of an assistant message."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments.text},
    }


def chat_tool(tool: jingwei.ToolDefinition) -> ChatCompletionFunctionToolParam:
    """A tool that is offered."""
    parameters = cast("dict[str, object]", tool.parameters.value())
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


RETRYABLE: Final = {408, 409, 429}
FINISHED: Final = {
    "stop": jingwei.FinishKind.STOP,
    "tool_calls": jingwei.FinishKind.TOOL_CALLS,
    "length": jingwei.FinishKind.LENGTH,
    "content_filter": jingwei.FinishKind.CONTENT_FILTERED,
}


NOT_A_COMPLETION: Final = ("no_completion", "What came back is no completion with text or function calls.")


def answered_with(answer: object) -> jingwei.ModelOutcome:
    """What came back, as the log records it. A call whose arguments are no JSON is a fragment of one."""
    if not isinstance(answer, ChatCompletion) or not answer.choices:
        return model_failed(*NOT_A_COMPLETION, retryable=True)
    choice = answer.choices[0]
    whole, broken = list[jingwei.ModelToolCall](), list[jingwei.ToolCallFragment]()
    for index, call in enumerate(choice.message.tool_calls or ()):
        if call.type != "function":
            return model_failed(*NOT_A_COMPLETION, retryable=True)
        name, text = clean(call.function.name), clean(call.function.arguments)
        arguments = jingwei.parse_json(text)
        if isinstance(arguments, Json):
            id_ = jingwei.ProviderCallId(f"call_{index}" if is_blank(call.id) else clean(call.id))
            whole.append(jingwei.ModelToolCall(id=id_, name=name, arguments=arguments))
        else:
            broken.append(jingwei.ToolCallFragment(index=index, id=clean(call.id), name=name, arguments=text))
    kind, said = FINISHED.get(choice.finish_reason), choice.message.content
    other = jingwei.FinishedOtherwise(code=clean(str(choice.finish_reason)))
    response = jingwei.GenerationResponse(
        content=None if said is None else clean(said),
        tool_calls=tuple(whole),
        incomplete_tool_calls=tuple(broken),
        finish_reason=other if kind is None else jingwei.Finished(kind=kind),
    )
    return jingwei.ModelSucceeded(response=response)


def model_failed(
    code: str, message: str, *, retryable: bool, status: int | None = None
) -> jingwei.ModelFailed:
    """A call of the model that gave nothing."""
    return jingwei.ModelFailed(
        category=jingwei.ModelFailureCategory.UPSTREAM,
        code=code,
        message=clean(message),
        retryable=retryable,
        upstream_status=status,
    )


def main() -> None:
    """Answer the questions of standard input."""
    parser = argparse.ArgumentParser(description="answers questions about the files of a folder")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--log", type=Path, default=Path("session.jsonl"))
    parser.add_argument("--window", type=int, default=16_384, help="tokens that the model can hold")
    chosen = parser.parse_args()
    limits = StoreLimits(store_id=StoreId("agent"))
    store = must(open_sqlite_store(chosen.log.with_suffix(".store"), limits))
    with store, openai.OpenAI(base_url=chosen.base_url) as client:
        agent = Agent(client, chosen.model, chosen.folder, Journal(chosen.log), store, chosen.window)
        if agent.waiting:
            print(agent.answer())
        for line in sys.stdin:
            if not is_blank(line):
                print(agent.ask(clean(line.strip())), flush=True)


if __name__ == "__main__":
    main()
