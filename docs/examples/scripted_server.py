"""A chat-completions endpoint on the loopback that judges strictly and answers from a script.

    python docs/examples/scripted_server.py --port 8765

Every request is held against the rules of pairing and form that providers enforce somewhere (`rejection`);
what breaks one is answered with 400 and remembered. Beside that, the server holds its client to one promise:
a call and its result, once sent, never change. Run as a program it plays a model that lists the files of a
folder, reads one, and says how it begins: enough to try `agent_loop.py` without a provider.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, final

from typing_extensions import override

Body: TypeAlias = Mapping[str, Any]
"""A request, as parsed."""

Answer: TypeAlias = dict[str, Any]
"""A choice of the response: `message` and `finish_reason`; or `status` and `error` for a fault."""

Model: TypeAlias = Callable[[Body], Answer]
"""What answers a request that is in order."""

MAX_TOKENS: Final = 4096
"""What the served model can answer at most."""

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KEYS: Final = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


# --- the judge --------------------------------------------------------------------------------------


def rejection(body: Body) -> str | None:
    """Why a provider would refuse this request; None where none would."""
    return next(_faults(body), None)


def _faults(body: Body) -> Iterator[str]:
    if not _is_text(body.get("model")):
        yield "no model"
    tokens = body.get("max_tokens")
    if not isinstance(tokens, int) or isinstance(tokens, bool):
        yield "max_tokens is missing"
    elif not 1 <= tokens <= MAX_TOKENS:
        yield f"max_tokens is not between 1 and {MAX_TOKENS}"
    declared = list[str]()
    for tool in body.get("tools", ()):
        yield from _tool_faults(tool)
        declared.append(tool["function"]["name"])
    if len(set(declared)) < len(declared):
        yield "two tools have one name"
    if declared and body.get("parallel_tool_calls") is not False:
        yield "parallel_tool_calls is not off"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "no messages"
    else:
        yield from _message_faults(messages, frozenset(declared))


def _tool_faults(tool: Body) -> Iterator[str]:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict):
        yield "a tool is no function"
    elif not NAME.fullmatch(str(function.get("name"))):
        yield "a tool has no proper name"
    elif not isinstance(function.get("parameters"), dict):
        yield "a tool has no schema"


def _message_faults(messages: list[Body], declared: frozenset[str]) -> Iterator[str]:
    """In order: roles and places, then the form of each, then who answers whom."""
    pending, before = set[str](), "nothing"
    for index, message in enumerate(messages):
        role = message.get("role")
        if role not in KEYS:
            yield f"message {index}: no such role"
            return
        if set(message) - KEYS[role]:
            yield f"message {index}: unknown keys"
        if role == "system" and index > 0:
            yield f"message {index}: a system message that is not the first"
        if before in ("nothing", "system") and role not in ("system", "user"):
            yield f"message {index}: the conversation does not begin with the user"
        if role == "tool":
            if message.get("tool_call_id") not in pending:
                yield f"message {index}: a result of no open call"
            pending.discard(message["tool_call_id"])
        elif pending:
            yield f"message {index}: calls are not answered"
        if role == "assistant":
            if before == "assistant":
                yield f"message {index}: two answers in a row"
            yield from (f"message {index}: {fault}" for fault in _assistant_faults(message, declared))
            pending = {call["id"] for call in message.get("tool_calls", ())}
        elif not _is_text(message.get("content")):
            yield f"message {index}: empty content"
        before = role
    if pending:
        yield "calls are not answered at the end"
    if before not in ("user", "tool"):
        yield "nothing is left to answer"


def _assistant_faults(message: Body, declared: frozenset[str]) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    if calls is None and not _is_text(content):
        yield "neither content nor calls"
    if calls is not None and not (content is None or _is_text(content)):
        yield "empty content beside calls"
    if calls == []:
        yield "an empty list of calls"
    seen = set[str]()
    for call in calls or ():
        if call.get("type") != "function" or not _is_text(call.get("id")):
            yield "a call without a type or an id"
        if call["id"] in seen:
            yield "two calls with one id"
        seen.add(call["id"])
        function = call.get("function") or {}
        if function.get("name") not in declared:
            yield "a call of a tool that is not declared"
        try:
            arguments = json.loads(function["arguments"])
        except (KeyError, TypeError, ValueError):
            arguments = None
        if not isinstance(arguments, dict):
            yield "arguments that are no object"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


# --- the server -------------------------------------------------------------------------------------


@final
class ScriptedServer:
    """Serves while its `with` block runs; remembers what it was asked, and what it refused.

    `also` is a second judge: it says why it refuses, or None.
    """

    def __init__(
        self, model: Model, *, port: int = 0, also: Callable[[Body], str | None] = lambda _body: None
    ) -> None:
        self.model, self.also = model, also
        self.requests = list[Body]()
        self.rejections = list[str]()
        self.sent = dict[str, str]()
        self.lock = Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self.base_url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.thread = Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def answer(self, body: Body) -> Answer:
        """The model's answer to a request, or the refusal of it."""
        with self.lock:
            refused = rejection(body) or self.also(body) or self._changed(body)
            if refused is not None:
                self.rejections.append(refused)
                return fault(400, refused)
            self.requests.append(body)
            return self.model(body)

    def _changed(self, body: Body) -> str | None:
        """Whether a call or result that was sent before now says something else."""
        for message in body["messages"]:
            shown = {f"result of {message.get('tool_call_id')}": message["content"]}
            if message["role"] == "assistant":
                shown = {f"call {call['id']}": json.dumps(call) for call in message.get("tool_calls", ())}
            elif message["role"] != "tool":
                continue
            for what, text in shown.items():
                if self.sent.setdefault(what, text) != text:
                    return f"the {what} has changed"
        return None


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path != "/v1/chat/completions" or not self.headers.get("Authorization"):
                self.reply(fault(404, "no such place, or no key"))
            else:
                self.reply(server.answer(json.loads(data)))

        def reply(self, answer: Answer) -> None:
            status, value = 200, {"id": "x", "object": "chat.completion", "created": 0, "model": "scripted"}
            if "status" in answer:
                status, value = answer["status"], {"error": answer["error"]}
            else:
                value |= {"choices": [{"index": 0, **answer}]}
            raw = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: the client is the program."""

    return Handler


# --- answers ----------------------------------------------------------------------------------------


def says(text: str, finish_reason: str = "stop") -> Answer:
    """An answer in words."""
    return {"message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}


def calls(*wanted: tuple[str, object]) -> Answer:
    """An answer that calls tools by name, each with its arguments: a value, or a text sent as it is."""
    made = [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for index, (name, given) in enumerate(wanted)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return {"message": message, "finish_reason": "tool_calls"}


def fault(status: int, message: str) -> Answer:
    """No answer, but an HTTP status."""
    return {"status": status, "error": {"message": message, "type": "error", "code": "scripted"}}


def results(body: Body) -> list[dict[str, Any]]:
    """What the tools of the running turn returned so far, as the model is shown it."""
    texts = list[str]()
    for message in body["messages"]:
        if message["role"] == "user":
            texts.clear()
        elif message["role"] == "tool":
            texts.append(message["content"])
    return [json.loads(text)["view"] for text in texts]


def reader(body: Body) -> Answer:
    """A model that lists the files, reads the first, reads one page more of it, and says how it begins."""
    seen = results(body)
    if not seen:
        return calls(("list_files", {}))
    names = seen[0]["text"].splitlines()
    if not names:
        return says("There is nothing to read.")
    if len(seen) == 1:
        return calls(("read_file", {"name": names[0]}))
    if len(seen) == 2 and "handle" in seen[1]:
        return calls(("jingwei_read_reference", {"reference": seen[1]["handle"], "offset": 0}))
    return says(f"{names[0]} begins: {seen[1]['text'][:60]!r}")


def main() -> None:
    """Serve the reader until interrupted."""
    parser = argparse.ArgumentParser(description="a scripted model for agent_loop.py")
    parser.add_argument("--port", type=int, default=8765)
    with ScriptedServer(reader, port=parser.parse_args().port) as server:
        print(server.base_url, flush=True)
        try:
            server.thread.join()
        except KeyboardInterrupt:
            print(f"{len(server.requests)} requests, {len(server.rejections)} refused")


if __name__ == "__main__":
    main()
