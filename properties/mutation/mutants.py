"""Makes the mutants: mutmut's operators over all of a module, also where mutmut makes none.

mutmut leaves out decorated functions, module constants and class bodies. Records and tables are a good part
of jingwei, so only the operators are mutmut's; the walk is ours. What it leaves out stands in `_skipped`.
"""

import ast
import hashlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

TOOLS = "build/mutation/tools"
"""Where `make mutation` puts mutmut and libcst: the project itself does not need them."""

_UNTOUCHED = frozenset({"isinstance", "len", "assert_never", "TypeVar", "NewType", "super"})
"""Calls that are left alone: the first two as mutmut does, the others say something to type checkers only."""


class Mutant(NamedTuple):
    """One change of one file.

    Attributes:
        id: stays the same as long as the text of its function (or statement) does.
        file: from the project's root.
        unit: the function, as a dotted path; empty for what runs at import.
        line: where the changed text starts.
        last_line: where it ends.
        start: its first byte.
        end: the byte after its last one.
        after: what stands there instead.
    """

    id: str
    file: str
    unit: str
    line: int
    last_line: int
    start: int
    end: int
    after: str


def mutated(source: bytes, mutant: Mutant) -> str:
    """The text of the file with the mutant in it."""
    return (source[: mutant.start] + mutant.after.encode() + source[mutant.end :]).decode()


def mutants_of(root: Path, file: str, source: bytes) -> tuple[Mutant, ...]:
    """All mutants of a file that compile, each once, in the order of the text."""
    tools = str(root / TOOLS)
    if tools not in sys.path:
        sys.path.append(tools)
    walk = _Walk(file, source)
    found: dict[str, Mutant] = {}
    for mutant in walk.statements(walk.module.body, unit=""):
        if mutant is not None and mutant.id not in found:
            found[mutant.id] = mutant
    return tuple(found.values())


class _Walk:
    """One pass over one file. libcst stands in no type stub here: its nodes are Any."""

    def __init__(self, file: str, source: bytes) -> None:
        self.cst: Any = importlib.import_module("libcst")
        metadata: Any = importlib.import_module("libcst.metadata")
        self.operators: Any = importlib.import_module("mutmut.mutation.mutators").mutation_operators
        self.file, self.source = file, source
        wrapper = metadata.MetadataWrapper(self.cst.parse_module(source.decode()), unsafe_skip_copy=True)
        self.module: Any = wrapper.module
        self.spans: Mapping[Any, Any] = wrapper.resolve(metadata.ByteSpanPositionProvider)

    def statements(self, body: Any, unit: str) -> Iterator[Mutant | None]:
        """The statements of a module or of a class: functions are units, everything else runs at import."""
        for statement in body:
            if isinstance(statement, self.cst.ClassDef):
                yield from self.statements(statement.body.body, unit=f"{unit}{statement.name.value}.")
            else:
                is_function = isinstance(statement, self.cst.FunctionDef)
                name = f"{unit}{statement.name.value}" if is_function else ""
                yield from self.inside(statement, statement, name)

    def inside(self, node: Any, owner: Any, unit: str) -> Iterator[Mutant | None]:
        """The mutants of a node and of all below it."""
        if self._skipped(node):
            return
        if isinstance(node, self.cst.Match):
            for case in node.cases:
                if len(node.cases) > 1 and not _only_assert_never(self.module.code_for_node(case.body)):
                    yield self._mutant(case, "", owner, unit)
        elif self._is_cast(node):  # its first argument is a type
            yield from self.inside(node.args[1].value, owner, unit)
            return
        else:
            for kind, operator in self.operators:
                if isinstance(node, kind) and not self._of_types(node):
                    for new in operator(node):
                        yield self._mutant(node, self.module.code_for_node(new), owner, unit)
        for child in node.children:
            yield from self.inside(child, owner, unit)

    def _mutant(self, node: Any, after: str, owner: Any, unit: str) -> Mutant | None:
        span, owned = self.spans[node], self.spans[owner]
        start, end = span.start, span.start + span.length
        text = self.source[owned.start : owned.start + owned.length]
        changed = text[: start - owned.start] + after.encode() + text[end - owned.start :]
        column = owned.start - self.source.rfind(b"\n", 0, owned.start) - 1
        if changed == text or not _parses(changed.decode(), column):
            return None
        facts = (self.file, unit, text, start - owned.start, end - start, after)
        return Mutant(
            id=hashlib.sha256(repr(facts).encode()).hexdigest()[:12],
            file=self.file,
            unit=unit,
            line=self.source.count(b"\n", 0, start) + 1,
            last_line=self.source.count(b"\n", 0, end) + 1,
            start=start,
            end=end,
            after=after,
        )

    def _skipped(self, node: Any) -> bool:
        """What no test could or should hold: types, imports, decorators, prose, unreachable guards."""
        cst = self.cst
        if isinstance(node, cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom):
            return True
        if isinstance(node, cst.Expr):
            return isinstance(node.value, cst.SimpleString | cst.ConcatenatedString)
        if isinstance(node, cst.AnnAssign):
            return bool(self.module.code_for_node(node.annotation.annotation) == "TypeAlias")
        if isinstance(node, cst.Call):
            return isinstance(node.func, cst.Name) and node.func.value in _UNTOUCHED
        return False

    def _is_cast(self, node: Any) -> bool:
        return isinstance(node, self.cst.Call) and self.module.code_for_node(node.func) == "cast"

    def _of_types(self, node: Any) -> bool:
        """Whether it is a union of types, which fails at import however it is changed."""
        if not isinstance(node, self.cst.BinaryOperation) or not isinstance(node.operator, self.cst.BitOr):
            return False
        left = self.module.code_for_node(node.left)
        return left == "None" or left.lstrip("_")[:1].isupper() or left in ("str", "int", "float", "bool")


def _only_assert_never(body: str) -> bool:
    return body.strip().startswith("assert_never(")


def _parses(statement: str, column: int) -> bool:
    try:
        ast.parse(f"if True:\n{' ' * column}{statement}" if column else statement)
    except SyntaxError:
        return False
    return True
