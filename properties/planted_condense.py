"""Planted bugs of previews and of the strategy that makes them (rules R4 and R6); see `planted.py`."""

from typing import Final

from properties.planted import Planted

RECORDED: Final = "jingwei/results/recorded.py"
CONDENSE: Final = "jingwei/selection/condense.py"
EXCHANGES: Final = "jingwei/selection/exchanges.py"
STRATEGY: Final = "jingwei/selection/condense_then_drop.py"

PREVIEWS: Final = "properties/test_condense.py::TestPreviews::"
BUILDS: Final = "properties/test_condense.py::TestCondensingBuilds::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "R4",
        "a preview cut inside a character",
        RECORDED,
        "raw[end] & 0xC0 == 0x80:  # in the middle of a character",
        "raw[end] & 0x40 == 0:",
        PREVIEWS + "test_a_preview_of_any_text_is_a_beginning_of_it",
    ),
    Planted(
        "R4",
        "the size of the whole told in characters",
        CONDENSE,
        "total = utf8_bytes(text)",
        "total = len(text)",
        PREVIEWS + "test_a_turn_is_condensed_as_the_naive_reading_says",
    ),
    Planted(
        "R4",
        "a failure that may be tried again told as final",
        CONDENSE,
        '"code": code, "retryable": retryable}',
        '"code": code, "retryable": False}',
        PREVIEWS + "test_how_a_tool_ended_is_never_changed",
    ),
    Planted(
        "R4",
        "a preview refers to the call instead of the result",
        CONDENSE,
        "group.source_events[-1]",
        "group.source_events[0]",
        PREVIEWS + "test_a_turn_is_condensed_as_the_naive_reading_says",
    ),
    Planted(
        "R4",
        "an outcome with a member more taken for a recorded one",
        RECORDED,
        'case (("status", "succeeded"), ("output", str(output))):',
        'case (("status", "succeeded"), ("output", str(output)), *_):',
        PREVIEWS + "test_a_text_that_is_taken_for_an_outcome_is_its_text",
    ),
    Planted(
        "R4",
        "a preview that is longer than what it replaces",
        CONDENSE,
        "if saved > 0:",
        "if saved:",
        PREVIEWS + "test_an_exchange_is_condensed_as_the_naive_reading_says",
    ),
    Planted(
        "R4",
        "the newest turns condensed",
        STRATEGY,
        "turn.position < newest and self._shortens",
        "self._shortens",
        BUILDS + "test_the_first_step_that_fits_is_the_naive_one",
    ),
    Planted(
        "R4",
        "turns without messages counted among the newest",
        STRATEGY,
        "found += room.turns[position].message_count > 0",
        "found += 1",
        BUILDS + "test_the_first_step_that_fits_is_the_naive_one",
    ),
    Planted(
        "R4",
        "batches of results condensed newest first",
        STRATEGY,
        "for start in range(0, len(turns), size):",
        "for start in reversed(range(0, len(turns), size)):",
        BUILDS + "test_the_first_step_that_fits_is_the_naive_one",
    ),
    Planted(
        "R4",
        "a turn dropped before old results are condensed",
        STRATEGY,
        "steps=(*self._batches(shortened), *dropped, ",
        "steps=(*dropped[:1], *self._batches(shortened[1:]), *dropped[1:], ",
        BUILDS + "test_no_turn_is_dropped_while_an_old_result_stands_in_full",
    ),
    Planted(
        "R6",
        "a parallel group taken for finished at its first result",
        EXCHANGES,
        "        if not waiting:\n",
        "        if len(waiting) < len(first.tool_calls):\n",
        PREVIEWS + "test_exchanges_are_the_finished_groups",
    ),
    Planted(
        "R6",
        "exchanges dropped newest first",
        EXCHANGES,
        "(DropExchange(index=index),)) for index in indexes)",
        "(DropExchange(index=index),)) for index in reversed(indexes))",
        BUILDS + "test_groups_of_the_running_turn_are_shortened_as_the_naive_builder_does",
    ),
)
