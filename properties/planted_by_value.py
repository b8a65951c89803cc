"""Planted bugs of choosing by value (rules S0, S2, S4a, R3); see `planted.py`."""

from typing import Final

from properties.planted import Planted

WORTH: Final = "jingwei/items/worth.py"
BUDGET: Final = "jingwei/items/budget.py"
CHOOSE: Final = "jingwei/selection/choose.py"
PACKING: Final = "jingwei/selection/packing.py"
BY_VALUE: Final = "jingwei/selection/by_value.py"

S0: Final = "properties/test_by_value.py::TestTheBudgetOfItemsS0::"
S2: Final = "properties/test_by_value.py::TestValuePerTokenS2::"
S4A: Final = "properties/test_by_value.py::TestTheOrderOfChoosingS4a::"
R3: Final = "properties/test_by_value.py::TestByValueR3::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "S0",
        "the retry reserve is forgotten by the build",
        BUDGET,
        "        safety_margin=budget.safety_margin + budget.reserved_retry,\n",
        "        safety_margin=budget.safety_margin,\n",
        S0 + "test_nothing_is_taken_off_twice",
    ),
    Planted(
        "S0",
        "tool schemas are set aside once more by the build that counts them",
        BUDGET,
        "        output_reserve=budget.reserved_output,\n",
        "        output_reserve=budget.reserved_output + budget.reserved_tool_schema,\n",
        S0 + "test_nothing_is_taken_off_twice",
    ),
    Planted(
        "S2",
        "trust is weighed as freshness",
        WORTH,
        "        + by.trust * valued.trust\n",
        "        + by.freshness * valued.trust\n",
        S2 + "test_the_value_is_the_formula",
    ),
    Planted(
        "S2",
        "ties fall as options were given",
        CHOOSE,
        "    ordered = sorted(options, key=lambda option: option.key)\n",
        "    ordered = list(options)\n",
        S2 + "test_the_order_given_never_matters",
    ),
    Planted(
        "S2",
        "values are compared as floats",
        CHOOSE,
        "        return -((worth << bits) // max(option.cost, 1)), option.rank, option.key\n",
        "        return -int(float(worth / max(option.cost, 1)) * 2**40), option.rank, option.key\n",
        S2 + "test_a_difference_that_no_float_holds_decides",
    ),
    Planted(
        "S4a",
        "what is required is never held against the room",
        CHOOSE,
        "    if total <= room:\n",
        "    if total <= room or kept:\n",
        S4A + "test_what_must_stay_is_in_or_the_refusal_lists_it",
    ),
    Planted(
        "S4a",
        "a floor that is not used stays set aside",
        CHOOSE,
        "                    aside -= self._take(mine, aside, floor=True)\n",
        "                    aside -= self._take(mine, aside, floor=True)\n"
        "            self.left -= max(aside, 0)\n",
        S4A + "test_a_floor_that_cannot_be_used_changes_nothing",
    ),
    Planted(
        "S4a",
        "what must stay does not count against its ceiling",
        CHOOSE,
        "quota.kind: quota.ceiling - used[quota.kind]",
        "quota.kind: quota.ceiling",
        S4A + "test_a_ceiling_counts_what_must_stay",
    ),
    Planted(
        "S4a",
        "the most valuable goes first on the way down",
        CHOOSE,
        "    ranked.reverse()\n",
        "",
        S4A + "test_going_down_the_least_valuable_goes_first",
    ),
    Planted(
        "S4a",
        "floors are not looked at on the way down",
        CHOOSE,
        "        if option.cost and rest < floors.get(option.kind, 0):\n",
        "        if option.cost and rest < 0:\n",
        S4A + "test_going_down_floors_are_left_for_last",
    ),
    Planted(
        "R3",
        "the tiers are filled from the lowest up",
        CHOOSE,
        "    for tier in Tier:\n        chooser.fill_tier(tier)\n",
        "    for tier in reversed(Tier):\n        chooser.fill_tier(tier)\n",
        R3 + "test_lower_tiers_have_no_part_in_what_a_higher_tier_gets",
    ),
    Planted(
        "R3",
        "greedy and nothing else",
        PACKING,
        "    if len(whole.taken) == len(pieces):\n",
        "    if whole.taken:\n        return Packed(taken=tuple(sorted(whole.taken)))\n"
        "    if len(whole.taken) == len(pieces):\n",
        R3 + "test_no_instance_is_found_under_half",
    ),
    Planted(
        "R3",
        "a lower budget sets everything free too",
        BY_VALUE,
        "        if self._available() > previous.available:\n",
        "        if self._available() >= previous.available:\n",
        R3 + "test_under_one_budget_nothing_comes_back",
    ),
    Planted(
        "R3",
        "moves of the marks are not looked at",
        BY_VALUE,
        "        if previous is None or self._strategy.moves > previous.moves:\n",
        "        if previous is None:\n",
        R3 + "test_more_tokens_or_a_move_of_the_marks_set_everything_free",
    ),
    Planted(
        "R3",
        "what fits whole is weighed all the same",
        BY_VALUE,
        "        if 0 <= left and self._whole(free, items) <= left:\n",
        "        if 0 <= left and self._whole(free, items) < left:\n",
        R3 + "test_where_the_whole_request_fits_nothing_is_left_out",
    ),
)
