"""Write properties/README.md: which property holds which paragraph, and which bug each of them has caught.

    python -m properties.generate

Everything in it comes from the code: the docstrings of the property classes, the paragraphs of docs/spec,
the table of planted bugs. `test_map.py` fails where the page is stale, or the map has a hole.
"""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from properties.held import ENUMERATED
from properties.planted import Planted, table
from properties.proofs.record import read, tables
from properties.proofs.table import contracts

HERE: Final = Path(__file__).resolve().parent
SPEC: Final = HERE.parent / "docs" / "spec"
PAGE: Final = HERE / "README.md"
HELD: Final = SPEC / "held.md"
PROOFS: Final = HERE.parent / "docs" / "proofs.md"

_PARAGRAPH: Final = re.compile(r"^\*\*([A-Z]\d+[a-z]?)\.\*\* ", re.MULTILINE)
_NUMBER: Final = re.compile(r"([A-Z]\d+[a-z]?)\. ")


class Beside(NamedTuple):
    """A class that restates no paragraph of its own: the rules that it serves, and why it stands apart."""

    rules: tuple[str, ...]
    why: str


_WALKED: Final = "a part of its rule that needs no log, request or counter, walked through every answer"
_LAW: Final = "a law over several rules at once"
_MUTANTS: Final = "what mutants showed to be open, rule by rule"

BESIDE: Final[Mapping[str, Beside]] = {
    "TestAutoSearch": Beside(("R1",), _WALKED),
    "TestBisectingSearch": Beside(("B5", "R1"), _WALKED),
    "TestBuildMachine": Beside(("B2", "B3", "B4", "B5", "B6", "B7", "B8", "R1", "R5"), "a state machine"),
    "TestComputedPlans": Beside(("R1", "R5", "B6"), _LAW),
    "TestCondensingBuilds": Beside(("R4", "R6", "B3", "B7"), _LAW),
    "TestDraftsKnowTheirSteps": Beside(("R1", "R4", "R6"), _LAW),
    "TestEnvelopesB3": Beside(("B3", "S4", "S8"), "items and summaries inside a build, against a naive list"),
    "TestGathering": Beside(("S3", "S9"), "what comes before items: events, memories, the state of a task"),
    "TestItemsR1": Beside(("R1", "S3", "S7"), "the same: what may be offered, named and left out"),
    "TestLinearSearch": Beside(("B5", "R1"), _WALKED),
    "TestLogMachine": Beside(("L1", *(f"P{n}" for n in range(2, 11))), "a state machine"),
    "TestMap": Beside((), "looks at this map and not at jingwei"),
    "TestMutantsFound": Beside(
        ("W5", "W6", "W7", "W8", "P1", "P2", "M3", "C2", "C3", "B1", "B2", "B6", "B10", "R1"),
        _MUTANTS,
    ),
    "TestMutantsOfBuilds": Beside(("C3", "B2", "B5", "B6", "B8", "R1"), _MUTANTS),
    "TestMutantsOfRooms": Beside(
        ("W1", "W2", "W3", "W4", "W5", "P1", "P4", "P11", "M1", "M2", "C2", "C3", "B1"), _MUTANTS
    ),
    "TestMutantsOfText": Beside(("W1", "W5", "W6", "W7", "W8", "P2", "M3", "B6"), _MUTANTS),
    "TestMutantsOfTurns": Beside(("P2", "P4", "P5", "P7", "P8", "P9", "P10", "P11", "B2"), _MUTANTS),
    "TestOtherProcesses": Beside(("P12", "W8", "B6", "B10"), _LAW),
    "TestOrder": Beside(("P7", "W1", "B2"), _LAW),
    "TestPlantedBugs": Beside((), "tests the properties and not jingwei"),
    "TestPreviews": Beside(
        ("R4", "R6"), "what stands instead of a large result, read by a naive second reader"
    ),
    "TestAcceptedToolViews": Beside(("T1",), "the cases of acceptance, one by one"),
    "TestRecordedViews": Beside(("T2", "T7"), _LAW),
    "TestTurnsAreRememberedOnly": Beside(("T7",), _LAW),
    "TestViewsKeepOutcomes": Beside(("T2", "T7"), _LAW),
    "TestReplacedR4": Beside(("R4", "S8"), "the same: what may stand instead"),
    "TestRequiredItemsB8": Beside(("B8", "S4"), "the same: what is looked for once more"),
    "TestReasonsAlone": Beside(("B9",), "every reason by one example of it"),
    "TestSimulation": Beside(("B9", "P13", "R2"), _LAW),
    "TestProofs": Beside((), "tests the contracts of `proofs/` and not jingwei"),
    "TestProjectionMachine": Beside(("L1", *(f"P{n}" for n in range(1, 13))), "a state machine"),
    "TestSearchStates": Beside(("B5", "R1"), _WALKED),
    "TestSmallBuilds": Beside(("B3", "B4", "B5", "B7", "R1"), "every small case, enumerated"),
    "TestSmallLogs": Beside(
        ("P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P13", "P14"), "every small case, enumerated"
    ),
    "TestShownByLines": Beside(("T3",), "the same by lines of `batch`, held against the functions"),
    "TestStateIsAValue": Beside(("R1",), _WALKED),
    "TestStepMachine": Beside(("T6", "T7"), "a state machine"),
    "TestStepsAreStateless": Beside(("T6",), "the same by lines of `batch`, held against the functions"),
    "TestStoreMachine": Beside(("T4", "T5"), "a state machine"),
    "TestToolOperationsAnswer": Beside(("T1", "T3", "T4", "T6"), _LAW),
    "TestTotality": Beside(("W6", "P2", "B2", "C1"), _LAW),
    "TestWhatIsComposed": Beside(("S4a", "S3", "S4", "S5", "S9", "B5", "B7"), _LAW),
    "TestWhatIsKept": Beside(("B3", "B6", "B7", "B8", "R1"), _LAW),
    "TestWriterMachine": Beside(("L3", "P4", "P5", "P6"), "a state machine"),
}
"""Every class without a number; each is named under the classes of the rules that it serves."""


class Property(NamedTuple):
    """One consequence of a paragraph.

    Attributes:
        name: the method.
        says: the first sentence of its docstring, or its name in words.
        drawn: whether Hypothesis draws what it looks at.
    """

    name: str
    says: str
    drawn: bool


class PropertyClass(NamedTuple):
    """One class of properties.

    Attributes:
        file: where it stands, from this folder.
        name: its name for pytest.
        number: the paragraph that it restates; None where it is one of `BESIDE`.
        says: its docstring without the number, on one line.
        properties: its consequences, in order.
    """

    file: str
    name: str
    number: str | None
    says: str
    properties: tuple[Property, ...]


class Paragraph(NamedTuple):
    """A numbered paragraph: the page it stands on, and that page's title."""

    number: str
    page: str
    title: str


def paragraphs() -> tuple[Paragraph, ...]:
    """Every numbered paragraph of docs/spec, page by page."""
    found = list[Paragraph]()
    for path in sorted(SPEC.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[0].removeprefix("# ")
        found += [Paragraph(number, path.name, title) for number in _PARAGRAPH.findall(text)]
    return tuple(found)


@functools.cache
def classes() -> tuple[PropertyClass, ...]:
    """Every class of properties that pytest collects in this folder."""
    return tuple(found for path in sorted(HERE.glob("test_*.py")) for found in _classes_of(path))


def page() -> str:
    """The text of README.md."""
    found = classes()
    by_number = {cls.number: cls for cls in found}
    parts = ["<!-- Generated by `make docs` from the properties; edits are lost. -->", _HEAD]
    title = ""
    for paragraph in paragraphs():
        if paragraph.title != title:
            title = paragraph.title
            parts.append(
                f"### {title}\n\nThe paragraphs stand in [{paragraph.page}](../docs/spec/{paragraph.page})."
            )
        parts.append(_held(by_number[paragraph.number], found))
    parts.append("## Beside the paragraphs\n\nClasses that restate no paragraph, and why.")
    parts += [_beside(cls) for cls in found if cls.number is None]
    parts.append(f"## Small worlds\n\n{_first_docstring('test_small_worlds.py')}")
    parts.append(_planted(table()))
    return "\n\n".join(parts) + "\n"


class Held(NamedTuple):
    """How one paragraph is held; see docs/spec/held.md.

    Attributes:
        proved: contracts, each of which proves a part of it.
        enumerated: properties that go through every case, and of what.
        drawn: how many properties of its class draw what they look at.
        beside: classes besides that draw: machines, laws, what mutants showed.
        examples: how many properties of its class look at chosen cases.
        planted: how many bugs are planted for it.
    """

    proved: tuple[str, ...]
    enumerated: tuple[str, ...]
    drawn: int
    beside: tuple[str, ...]
    examples: int
    planted: int


def held(number: str) -> Held:
    """How one paragraph is held."""
    found = classes()
    (own,) = [cls for cls in found if cls.number == number]
    beside = [cls for cls in found if cls.number is None and number in BESIDE[cls.name].rules]
    whole = ENUMERATED.get(number, ())
    methods = {one.name for one in whole}
    return Held(
        proved=tuple(one.name for one in contracts() if number in one.rules),
        enumerated=tuple(f"`{one.name}`: {one.cases}" for one in whole),
        drawn=sum(one.drawn for one in own.properties),
        beside=tuple(
            cls.name for cls in beside if not cls.properties or any(one.drawn for one in cls.properties)
        ),
        examples=sum(not one.drawn and f"{own.name}::{one.name}" not in methods for one in own.properties),
        planted=sum(row.rule == number for row in table()),
    )


def held_page() -> str:
    """The text of docs/spec/held.md."""
    return f"{_HELD}{''.join(_held_row(paragraph.number) for paragraph in paragraphs())}"


def proofs_page() -> str:
    """The text of docs/proofs.md: what is written by hand, and what is on record between two marks."""
    before, mark, rest = PROOFS.read_text(encoding="utf-8").partition(_MARK)
    _, end, after = rest.partition(_END_MARK)
    return f"{before}{mark}\n\n{tables(read())}\n\n{end}{after}"


def main() -> None:
    """Write the pages."""
    PAGE.write_text(page(), encoding="utf-8")
    HELD.write_text(held_page(), encoding="utf-8")
    PROOFS.write_text(proofs_page(), encoding="utf-8")


_MARK: Final = "<!-- What follows is generated by `make docs` from properties/proofs/record.json. -->"
_END_MARK: Final = "<!-- What is generated ends here. -->"

_HELD: Final = """\
<!-- Generated by `make docs` from the properties; edits are lost. -->

# How each paragraph is held

No paragraph rests on reading alone. What stands behind each, strongest first:

- **proved**: a contract over the code itself holds for all values within its bounds, on every path
  ([proofs](../proofs.md) says for which values). A contract proves a part of a paragraph, never all of it.
- **enumerated**: a property goes through every case within the bounds that are named, in each quick run.
- **sampled**: so many properties of the paragraph's own class are tried on values that Hypothesis draws, 50 a
  run (many more in the deep one); the classes named besides draw too, and speak of several paragraphs.
- **chosen**: so many properties look at cases that somebody thought of.
- **planted**: so many bugs are planted, each of which a property must catch ([all of
  them](../../properties/README.md#planted-bugs)).

A paragraph without a proof and without an enumeration is held by samples: what is drawn seldom may be missed.

| paragraph | proved in part | enumerated | sampled | chosen | planted |
|---|---|---|---|--:|--:|
"""


_HEAD: Final = """\
# What jingwei promises

The properties are the specification in a form that runs. Each numbered paragraph of [docs/spec](../docs/spec)
has one class here, which restates it; each method of the class is one consequence. A paragraph without a
class, a class without a paragraph and a number used twice fail `test_map.py`.

## How to read and run them

Inputs are drawn by Hypothesis from `jingwei.testing`, enumerated where there are few enough of them, and held
against a second, naive implementation (`models.py` for logs, `build_models.py` for builds), which is written
from the rules alone and imports none of the code that it judges.

| command | what it does |
| --- | --- |
| `make properties` | the quick profile: 50 examples each, small worlds in their small form |
| `make deep` | the deep profile: 20,000 sessions of each state machine, 500 examples of everything else, \
never the same, small worlds in full; the seed is printed |
| `pytest properties -k P4` | the class of one paragraph |
| `pytest properties/test_planted_bugs.py` | plants each bug of the last table, in turn |
| `make proofs` | asks CrossHair for the contracts of `proofs/` ([how](../docs/proofs.md)) |
| `JINGWEI_PLANTED=<id> pytest -p properties.planted <property>` | runs a property against one planted bug |

Hosts run the same machines and law sets against parts of their own: see `jingwei.testing`.

Beneath each paragraph stands how it is held: proved for all values, enumerated, sampled by Hypothesis, or by
chosen cases, and how many bugs are planted for it. [A table](../docs/spec/held.md) has what and within which
bounds.

## Paragraph by paragraph"""


# --- reading the properties -----------------------------------------------------------------------


def _classes_of(path: Path) -> Iterator[PropertyClass]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    defined = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield _class(path.name, node.name, node)
        machine = _machine(node)
        if machine is not None:
            yield _class(path.name, machine[0], defined[machine[1]])


def _machine(node: ast.stmt) -> tuple[str, str] | None:
    """`TestSomething = Machine.TestCase`: both names."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Attribute(value=ast.Name(id=cls), attr="TestCase")
        ):
            return name, cls
        case _:
            return None


def _class(file: str, name: str, node: ast.ClassDef) -> PropertyClass:
    text = " ".join((ast.get_docstring(node) or "").split())
    number = _NUMBER.match(text)
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")]
    return PropertyClass(
        file=file,
        name=name,
        number=None if number is None else number[1],
        says=text if number is None else text[number.end() :],
        properties=tuple(Property(one.name, _sentence(one), _is_drawn(one)) for one in methods),
    )


def _is_drawn(node: ast.FunctionDef) -> bool:
    called = [one.func for one in node.decorator_list if isinstance(one, ast.Call)]
    return any(isinstance(function, ast.Name) and function.id == "given" for function in called)


def _sentence(node: ast.FunctionDef) -> str:
    text = " ".join((ast.get_docstring(node) or "").split())
    if not text:
        words = node.name.removeprefix("test_").replace("_", " ")
        return f"{words[0].upper()}{words[1:]}."
    return re.split(r"(?<=[.?!])\s", text, maxsplit=1)[0]


def _first_docstring(file: str) -> str:
    text = ast.get_docstring(ast.parse((HERE / file).read_text(encoding="utf-8"))) or ""
    return text.split("\n\n", 1)[1]


# --- writing the page -----------------------------------------------------------------------------


def _held(cls: PropertyClass, found: tuple[PropertyClass, ...]) -> str:
    number = cls.number or ""
    also = [f"`{one.name}`" for one in found if one.number is None and number in BESIDE[one.name].rules]
    tail = f"\n\nSee also {', '.join(also)}." if also else ""
    return f"**{number}**, {_linked(cls)}. {cls.says}\n\n{_list(cls)}{tail}\n\nHeld: {_ways(number)}."


def _held_row(number: str) -> str:
    how = held(number)
    proved = "<br>".join(f"`{name.partition('.')[2]}`" for name in how.proved)
    sampled = ", ".join([str(how.drawn), *(f"`{name}`" for name in how.beside)])
    whole = "<br>".join(how.enumerated)
    return f"| {number} | {proved} | {whole} | {sampled} | {how.examples} | {how.planted} |\n"


def _ways(number: str) -> str:
    """How a paragraph is held, in a line."""
    how = held(number)
    ways = {
        "proved in part": len(how.proved),
        "enumerated": len(how.enumerated),
        "sampled": how.drawn + len(how.beside),
        "chosen": how.examples,
        "planted": how.planted,
    }
    return ", ".join(f"{way} ({count})" for way, count in ways.items() if count)


def _beside(cls: PropertyClass) -> str:
    beside = BESIDE[cls.name]
    serves = f" (of {', '.join(beside.rules)})" if beside.rules else ""
    listed = f"\n\n{_list(cls)}" if cls.properties else ""
    return f"{_linked(cls)}: {beside.why}{serves}. {cls.says}{listed}"


def _linked(cls: PropertyClass) -> str:
    return f"[`{cls.name}`]({cls.file})"


def _list(cls: PropertyClass) -> str:
    return "\n".join(f"- `{one.name}`: {one.says}" for one in cls.properties)


def _planted(rows: tuple[Planted, ...]) -> str:
    lines = [
        f"| {row.rule} | {_cell(row.what)} | `{row.id}` | `{row.caught_by.removeprefix('properties/')}` |"
        for row in sorted(rows, key=lambda row: _sorting(row.rule))
    ]
    return (
        f"## Planted bugs\n\nEach of these {len(rows)} bugs is a small change of the source, made while the "
        "module is imported; the property named with it must fail, with no more examples than the quick "
        "profile has. There is at least one for each rule and for each reason to refuse bytes. "
        "`JINGWEI_PLANTED` takes the id.\n\n"
        "| rule | what is wrong | id | caught by |\n| --- | --- | --- | --- |\n" + "\n".join(lines)
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _sorting(rule: str) -> tuple[int, int]:
    return "WLPMCBRST".index(rule[0]), int(rule[1:].rstrip("abc"))


if __name__ == "__main__":
    main()
