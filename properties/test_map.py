"""The map from paragraphs to properties has no hole, and the page that prints it is not stale."""

from collections import Counter

from jingwei.codec import DecodeReason
from properties.generate import (
    BESIDE,
    HELD,
    PAGE,
    PROOFS,
    classes,
    held,
    held_page,
    page,
    paragraphs,
    proofs_page,
)
from properties.held import ENUMERATED
from properties.planted import REFUSALS, table
from properties.proofs.record import read
from properties.proofs.table import contracts

CLASSES = classes()
NUMBERS = [cls.number for cls in CLASSES if cls.number is not None]


class TestMap:
    """One class a paragraph, one paragraph a class, and a planted bug for each rule and each refusal."""

    def test_every_paragraph_has_its_class_and_every_class_its_paragraph(self) -> None:
        written = {paragraph.number for paragraph in paragraphs()}

        assert set() == written - set(NUMBERS), "paragraphs without a property class"
        assert set() == set(NUMBERS) - written, "property classes without a paragraph"

    def test_no_number_is_used_twice(self) -> None:
        """Neither by two classes nor by two paragraphs."""
        used = Counter(NUMBERS) + Counter(paragraph.number for paragraph in paragraphs())

        assert {} == {number: count for number, count in used.items() if count != 2}

    def test_a_class_is_named_for_its_number(self) -> None:
        """So that pytest can be asked for one rule."""
        assert [] == [cls.name for cls in CLASSES if cls.number and not cls.name.endswith(cls.number)]

    def test_classes_without_a_number_are_listed_with_their_reason(self) -> None:
        """The list names no others, and only rules that there are."""
        assert sorted(BESIDE) == sorted(cls.name for cls in CLASSES if cls.number is None)
        assert set() == {rule for beside in BESIDE.values() for rule in beside.rules} - set(NUMBERS)

    def test_every_class_says_something_and_holds_something(self) -> None:
        """A docstring, and at least one property; a machine's are its rules."""
        assert [] == [cls.name for cls in CLASSES if len(cls.says) < 20]
        machines = {name for name, beside in BESIDE.items() if beside.why == "a state machine"}
        assert machines == {cls.name for cls in CLASSES if not cls.properties}

    def test_every_rule_has_a_planted_bug(self) -> None:
        """And no bug is planted for a rule that is not there."""
        assert sorted(set(NUMBERS)) == sorted({row.rule for row in table()})

    def test_every_reason_to_refuse_bytes_has_a_planted_bug(self) -> None:
        """The bug makes that reason go untold, or told where it does not hold."""
        ids = {row.id for row in table()}

        assert {reason.value for reason in DecodeReason} == set(REFUSALS)
        assert set() == set(REFUSALS.values()) - ids

    def test_every_bug_is_caught_by_a_property_that_exists(self) -> None:
        """By its whole name: file, class and method, or by a whole file."""
        names = {f"properties/{cls.file}" for cls in CLASSES}
        names |= {f"properties/{cls.file}::{cls.name}" for cls in CLASSES}
        names |= {
            f"properties/{cls.file}::{cls.name}::{one.name}" for cls in CLASSES for one in cls.properties
        }

        assert set() == {row.caught_by for row in table()} - names

    def test_every_paragraph_is_held_by_more_than_chosen_cases(self) -> None:
        """Something is proved, enumerated or drawn, and some bug is planted."""
        for number in NUMBERS:
            how = held(number)

            assert how.proved or how.enumerated or how.drawn, number
            assert how.planted > 0, number

    def test_what_is_said_to_be_enumerated_is_a_property_that_draws_nothing(self) -> None:
        """And it is said of paragraphs that there are."""
        still = {f"{cls.name}::{one.name}" for cls in CLASSES for one in cls.properties if not one.drawn}
        still |= {cls.name for cls in CLASSES if any(not one.drawn for one in cls.properties)}

        assert set() == set(ENUMERATED) - set(NUMBERS)
        assert set() == {one.name for every in ENUMERATED.values() for one in every} - still

    def test_every_contract_serves_rules_that_there_are(self) -> None:
        """So that the table of paragraphs leaves none out."""
        assert set() == {rule for one in contracts() for rule in one.rules} - set(NUMBERS)

    def test_every_contract_was_confirmed_and_every_bug_found(self) -> None:
        """At the last `make proofs` that was put on record."""
        answers = read().answers

        assert [one.name for one in contracts()] == list(answers)
        assert {"confirmed"} == {answer.answer for answer in answers.values()}
        assert {"refuted"} == {answer.bug for answer in answers.values()}

    def test_the_pages_are_not_stale(self) -> None:
        """After `make docs` this holds."""
        assert page() == PAGE.read_text(encoding="utf-8"), "properties/README.md is stale: run `make docs`"
        assert held_page() == HELD.read_text(encoding="utf-8"), "docs/spec/held.md is stale: run `make docs`"
        assert proofs_page() == PROOFS.read_text(encoding="utf-8"), "docs/proofs.md is stale: run `make docs`"
