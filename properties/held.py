"""What is enumerated: the properties that go through every case within bounds, paragraph by paragraph.

What is drawn is seen in the code, what is proved stands in `properties/proofs/table.py`, what is planted in
`planted.py`; that a property leaves no case out is a claim, and is made here. `generate.py` prints it in
docs/spec/held.md, and `test_map.py` holds that each claim names a property that exists and draws nothing.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Enumeration(NamedTuple):
    """A property, or a class of them, that runs every case within bounds.

    Attributes:
        name: the class, or class and method with two colons between.
        cases: all of what, in the quick profile; in brackets what a longer run adds.
    """

    name: str
    cases: str


_LOGS: Final = Enumeration(
    "TestSmallLogs",
    "every log of up to 3 events (deep: 4) over 28 words in two turns; and, where it has not failed for good "
    "and but for the names of ids, of up to 4 (deep: 7)",
)
_BUILDS: Final = Enumeration(
    "TestSmallBuilds",
    "every plan, search and table of totals up to 3 over up to 3 turns (deep: 4, in part 5)",
)
_WALKS: Final = Enumeration("TestLinearSearch", "every function of up to 13 candidates")
_BISECTIONS: Final = Enumeration(
    "TestBisectingSearch",
    "every start, hint and cut over up to 12 steps, every function over up to 8, every sequence of answers "
    "up to the bound over up to 6",
)
_STATES: Final = Enumeration(
    "TestSearchStates", "every state that a search over up to 10 steps can reach (`make proofs`: 20)"
)

ENUMERATED: Final[Mapping[str, tuple[Enumeration, ...]]] = {
    "W1": (
        Enumeration(
            "TestLinesW1::test_unknown_keys_are_refused_where_they_could_matter",
            "every object that is read strictly",
        ),
    ),
    "W2": (Enumeration("TestKindsW2::test_the_fourteen_tags", "every tag"),),
    "W3": (Enumeration("TestToolRecordsW3::test_the_spellings_are_those_of_the_rule", "every spelling"),),
    "W4": (Enumeration("TestModelRecordsW4::test_the_categories_of_a_failed_model_call", "every category"),),
    "W8": (
        Enumeration(
            "TestCanonicalBytesW8::test_escapes_character_by_character", "every character below U+0300"
        ),
    ),
    "P1": (Enumeration("TestProjectP1::test_the_defaults", "every default"),),
    "P3": (_LOGS,),
    "P4": (
        _LOGS,
        Enumeration(
            "TestEventsOfATurnP4::test_every_pair_is_in_one_of_two_tables", "every state with every kind"
        ),
    ),
    "P5": (_LOGS,),
    "P6": (_LOGS,),
    "P7": (_LOGS,),
    "P8": (_LOGS,),
    "P9": (_LOGS,),
    "P10": (_LOGS,),
    "M2": (
        Enumeration("TestRequestsAndResponsesM2::test_each_finish_reason_has_its_tag", "every finish reason"),
    ),
    "C3": (
        Enumeration(
            "TestByteBoundC3::test_each_allowance_counts_once_for_each_of_its_things", "every allowance"
        ),
    ),
    "B1": (Enumeration("TestInputsB1::test_the_defaults_are_the_numbers_of_the_rule", "every default"),),
    "B3": (_BUILDS,),
    "B4": (
        _BUILDS,
        Enumeration(
            "TestAnswersOfACounterB4::test_each_bad_answer_is_refused_at_the_first_count_and_later",
            "every fault of an answer in either mode",
        ),
    ),
    "B5": (
        _BUILDS,
        _WALKS,
        _BISECTIONS,
        _STATES,
        Enumeration("TestFittingB5::test_each_of_the_six_summands_counts", "every summand"),
    ),
    "B7": (_BUILDS,),
    "R1": (
        _BUILDS,
        _WALKS,
        _BISECTIONS,
        _STATES,
        Enumeration(
            "TestPlansR1::test_small_worlds_with_every_function_as_a_counter",
            "every table of totals up to 3 over up to 4 turns (deep: 5)",
        ),
    ),
    "S5": (
        Enumeration(
            "TestConflictsS5::test_every_pair_of_authorities_and_times",
            "every pair of authorities with every order of times",
        ),
    ),
}
