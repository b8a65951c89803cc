"""Planted bugs of what a prompt cache feels (rule B9); see `planted.py`."""

from typing import Final

from properties.planted import Planted

COMPARE: Final = "jingwei/report/compare.py"
SIMULATE: Final = "jingwei/simulate.py"

B9: Final = "properties/test_cache.py::TestCachePlanB9::"
ALONE: Final = "properties/test_cache.py::TestReasonsAlone::"
REPLAYED: Final = "properties/test_simulate.py::TestSimulation::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "B9",
        "messages said to be served under another constraint",
        COMPARE,
        "common = 0 if unserved is not None else _common(previous.sent, report.sent)",
        "common = _common(previous.sent, report.sent)",
        B9 + "test_nothing_is_served_for_another_target_or_constraint",
    ),
    Planted(
        "B9",
        "a message that came back once counted as often as it was sent before",
        COMPARE,
        "            left[message.digest] -= 1\n",
        "            left[message.digest] -= 0\n",
        B9 + "test_a_repeated_message_counts_as_often_as_it_stands_in_both",
    ),
    Planted(
        "B9",
        "a cut blamed on the window though marks alone moved it",
        COMPARE,
        "    return report.marks is None or report.marks.broke\n",
        "    return True\n",
        ALONE + "test_a_change_is_told_by_its_name",
    ),
    Planted(
        "B9",
        "a pin blamed for any turn that is sent differently",
        COMPARE,
        "            if old.turn_id in pinned:\n",
        "            if pinned:\n",
        B9 + "test_the_reason_is_what_became_of_the_first_turn_that_differs",
    ),
    Planted(
        "B9",
        "a turn that comes back where current stood is taken for other words",
        COMPARE,
        "    if common > behind_history:\n",
        "    if common >= behind_history:\n",
        ALONE + "test_a_change_is_told_by_its_name",
    ),
    Planted(
        "B9",
        "a rewrite pays one request late",
        COMPARE,
        "    requests = max(ceil(extra / (freed * prices.read)) - 1, 0)\n",
        "    requests = max(ceil(extra / (freed * prices.read)), 0)\n",
        B9 + "test_a_rewrite_pays_when_a_host_that_makes_it_is_ahead",
    ),
    Planted(
        "B9",
        "what a rewrite costs more is taken for what it costs",
        COMPARE,
        "    extra = rewritten * (prices.write - prices.read)\n",
        "    extra = rewritten * prices.write\n",
        B9 + "test_a_rewrite_pays_when_a_host_that_makes_it_is_ahead",
    ),
    Planted(
        "B9",
        "a request refused in a simulation forgets the one before it",
        SIMULATE,
        "            case Failure(why):\n                refused = why\n",
        "            case Failure(why):\n                self._previous, refused = None, why\n",
        REPLAYED + "test_every_call_is_what_the_requests_themselves_say",
    ),
)
