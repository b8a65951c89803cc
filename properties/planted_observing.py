"""Planted bugs of advice, reports, composing (S6, S7, S4a, S9) and envelopes in builds; see `planted.py`."""

from typing import Final

from properties.planted import Planted

TRIGGERS: Final = "jingwei/compose/triggers.py"
OBSERVE: Final = "jingwei/compose/observe.py"
GATHER: Final = "jingwei/compose/gather.py"
PIPELINE: Final = "jingwei/compose/pipeline.py"
CONDENSING: Final = "jingwei/compose/condensing.py"
BUILD: Final = "jingwei/build.py"
CANDIDATES: Final = "jingwei/drafts/candidates.py"
CHECKING: Final = "jingwei/drafts/checking.py"
DRAFT: Final = "jingwei/drafts/draft.py"
COMPARE: Final = "jingwei/report/compare.py"

S6: Final = "properties/test_observing.py::TestAdviceS6::"
S7: Final = "properties/test_observing.py::TestObservabilityS7::"
COMPOSED: Final = "properties/test_composing.py::TestWhatIsComposed::"
ENVELOPES: Final = "properties/test_envelopes.py::TestEnvelopesB3::"
ITEMS: Final = "properties/test_envelopes.py::TestItemsR1::"
REPLACED: Final = "properties/test_envelopes.py::TestReplacedR4::"
REQUIRED: Final = "properties/test_envelopes.py::TestRequiredItemsB8::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "S6",
        "the threshold itself is above the threshold",
        TRIGGERS,
        "    if expected <= threshold:\n        return []\n",
        "    if expected < threshold:\n        return []\n",
        S6 + "test_finished_steps_are_named_exactly_beyond_the_threshold",
    ),
    Planted(
        "S6",
        "pinned turns are said to be free",
        TRIGGERS,
        "                is_free=not row.protected,\n",
        "                is_free=True,\n",
        S6 + "test_where_only_protected_text_is_left_it_says_so",
    ),
    Planted(
        "S6",
        "turns that are condensed already are taken for what must stay",
        TRIGGERS,
        "        if not one.is_free:\n            continue\n        whole",
        "        if not one.is_free or not one.is_whole:\n            continue\n        whole",
        S6 + "test_what_finished_steps_would_free_is_what_builds_with_it_free",
    ),
    Planted(
        "S6",
        "whatever is condensed is said to be enough",
        TRIGGERS,
        "    if expected - condensed <= threshold:\n",
        "    if expected - left_out <= threshold:\n",
        S6 + "test_reach_is_what_these_builds_would_reach",
    ),
    Planted(
        "S6",
        "a result is said to free all of itself",
        TRIGGERS,
        "            freed = counter.message_cost(message) - counter.message_cost(instead)\n",
        "            freed = counter.message_cost(message)\n",
        S6 + "test_results_above_the_cap_are_named_where_something_can_be_done",
    ),
    Planted(
        "S6",
        "previews are advised where there are previews",
        TRIGGERS,
        "    if not one.is_whole:\n        return None\n",
        "",
        S6 + "test_what_finished_steps_would_free_is_what_builds_with_it_free",
    ),
    Planted(
        "S6",
        "an item that must stay is to count for less",
        TRIGGERS,
        " and not rows[item_id].protected\n",
        "\n",
        S6 + "test_an_item_that_nothing_refers_to_is_named_once_and_frees_its_line",
    ),
    Planted(
        "S6",
        "turns that are condensed count in full among the noise",
        TRIGGERS,
        "                messages=turn.messages if shorter is None else shorter.messages,\n",
        "                messages=turn.messages,\n",
        S6 + "test_noise_is_looked_for_in_what_is_sent_the_largest_first",
    ),
    Planted(
        "S7",
        "each line is taken to have an envelope of its own",
        OBSERVE,
        "total == 0 else tokens * each / total\n",
        "total == 0 else Fraction(tokens, total)\n",
        S7 + "test_shares_add_up_to_what_stands_there",
    ),
    Planted(
        "S7",
        "tokens after condensing are those before",
        OBSERVE,
        "        tokens_after=_summed([*spoken, *[row.cost for row in kept]]),\n",
        "        tokens_after=_summed([*spoken, *[row.full_cost for row in kept]]),\n",
        S7 + "test_tokens_before_and_after_condensing_are_a_recount",
    ),
    Planted(
        "S7",
        "duplicates and losers are no candidates",
        OBSERVE,
        "        candidates=len(gathered.items),\n",
        "        candidates=len(condensed.items),\n",
        S7 + "test_what_was_gathered_is_accounted_for_exactly_once",
    ),
    Planted(
        "S7",
        "memories that were not used are not told",
        OBSERVE,
        "        filtered=gathered.filtered,\n",
        "        filtered=(),\n",
        S7 + "test_every_memory_is_an_item_or_was_filtered",
    ),
    Planted(
        "S7",
        "a rule that says what another says is told to stand there",
        OBSERVE,
        "    gone = {row.dropped for row in report.duplicates if row.kept != row.dropped}\n",
        "    gone = set[ItemId]()\n",
        S7 + "test_each_item_has_one_story_and_nothing_else_has",
    ),
    Planted(
        "S7",
        "turns that went are those that came",
        OBSERVE,
        "        turns_went=tuple([turn for turn in had if turn not in has]),\n",
        "        turns_went=tuple([turn for turn in has if turn not in had]),\n",
        S7 + "test_differences_read_backwards_are_the_other_way_round",
    ),
    Planted(
        "S7",
        "what is condensed now is told to be expanded",
        OBSERVE,
        "ItemChange.CONDENSED if new.reduction is ReductionKind.CONDENSED else ItemChange.EXPANDED\n",
        "ItemChange.EXPANDED if new.reduction is ReductionKind.CONDENSED else ItemChange.CONDENSED\n",
        S7 + "test_a_difference_is_what_two_requests_differ_in",
    ),
    Planted(
        "S7",
        "reasons of steps are given to the base",
        DRAFT,
        "    if fate.is_dropped(steps) and fate.dropped_at != BASE:\n",
        "    if fate.is_dropped(steps):\n",
        ITEMS + "test_rows_tell_who_left_an_item_out_and_what_it_costs",
    ),
    Planted(
        "S7",
        "a condensed item is said to cost what it cost in full",
        DRAFT,
        "summed_cost(() if shown is None else shown.messages, costs),\n",
        "summed_cost(() if shown is None else line.messages, costs),\n",
        REPLACED + "test_short_content_is_taken_only_where_its_line_costs_less",
    ),
    Planted(
        "S4a",
        "the host's items are reported in the order given",
        GATHER,
        "        GatherStage.HOST: _in_order(items),\n",
        "        GatherStage.HOST: tuple(items),\n",
        COMPOSED + "test_the_order_given_does_not_change_a_byte",
    ),
    Planted(
        "S4a",
        "contradictions are found before duplicates are merged",
        PIPELINE,
        "    match resolve_conflicts(deduplicated.items):\n",
        "    match resolve_conflicts({item.item_id: item for item in gathered.items}.values()):\n",
        COMPOSED + "test_nothing_is_said_twice_and_contradictions_are_settled_first",
    ),
    Planted(
        "S4a",
        "system texts are condensed too",
        CONDENSING,
        "item.is_kept or item.kind is ItemKind.SYSTEM or item.short",
        "item.is_kept or item.short",
        S7 + "test_each_item_has_one_story_and_nothing_else_has",
    ),
    Planted(
        "S9",
        "the user's goal becomes a system text",
        PIPELINE,
        "sorted(items, key=order_of) if item.kind is ItemKind.SYSTEM]\n",
        "sorted(items, key=order_of) if item.kind in {ItemKind.SYSTEM, ItemKind.GOAL}]\n",
        COMPOSED + "test_only_the_hosts_words_are_system_texts",
    ),
    Planted(
        "B3",
        "items stand in front of the history",
        DRAFT,
        "                *chain.from_iterable(kept),\n                *_if_any(self.items_message(steps)),\n",
        "                *_if_any(self.items_message(steps)),\n                *chain.from_iterable(kept),\n",
        ENVELOPES + "test_between_the_history_and_current_stands_one_message_of_data",
    ),
    Planted(
        "B3",
        "items stand in the order given",
        CANDIDATES,
        "    ordered = tuple(sorted(items, key=order_of))\n",
        "    ordered = tuple(items)\n",
        ENVELOPES + "test_the_order_in_which_items_are_given_does_not_matter",
    ),
    Planted(
        "B3",
        "a summary stands one step early",
        DRAFT,
        "if rank < steps}\n        return summary_envelope(",
        "if rank <= steps}\n        return summary_envelope(",
        REPLACED + "test_a_summary_stands_from_its_own_step_on",
    ),
    Planted(
        "R1",
        "items that must stay are offered to strategies",
        CANDIDATES,
        "                if not item.is_kept\n",
        "                if not item.required\n",
        ITEMS + "test_only_items_that_may_go_are_offered",
    ),
    Planted(
        "R4",
        "a summary may be larger than its turns",
        CHECKING,
        "chain.from_iterable(turns), self._room.costs):\n            return InvalidPlanReason.NOT_SMALLER\n",
        "chain.from_iterable(turns), self._room.costs):\n            pass\n",
        REPLACED + "test_a_summary_that_is_not_smaller_is_refused",
    ),
    Planted(
        "R4",
        "a summary stands for a turn that has left already",
        CHECKING,
        "        if any(fate.dropped_at is not None for fate in fates):\n",
        "        if all(fate.dropped_at is not None for fate in fates):\n",
        REPLACED + "test_no_turn_leaves_twice",
    ),
    Planted(
        "R4",
        "a summary may be applied twice",
        CHECKING,
        "        self._summaries[summary_id] = rank\n        return None\n",
        "        return None\n",
        REPLACED + "test_a_replacement_leaves_out_exactly_its_turns",
    ),
    Planted(
        "R4",
        "short content is taken whatever it costs",
        CHECKING,
        "                if not is_smaller(condensed.messages, original, self._room.costs):\n",
        "                if not isinstance(reduction, CondenseItem) and not is_smaller(\n"
        "                    condensed.messages, original, self._room.costs\n"
        "                ):\n",
        REPLACED + "test_short_content_is_taken_only_where_its_line_costs_less",
    ),
    Planted(
        "B8",
        "an item that stands there with another content is taken for there",
        BUILD,
        "if found.get(item.item_id) != item.content]\n",
        "if item.item_id not in found]\n",
        REQUIRED + "test_what_was_changed_moved_or_lost_is_named",
    ),
    Planted(
        "B8",
        "pinned items are not looked for",
        BUILD,
        "    kept = [item for item in items if item.is_kept]\n    last",
        "    kept = [item for item in items if item.required]\n    last",
        REQUIRED + "test_what_was_changed_moved_or_lost_is_named",
    ),
    Planted(
        "B9",
        "a summary that comes to stand for turns is told as a cut that moved",
        COMPARE,
        "    if ReductionKind.SUMMARIZED in {was, becomes}:\n        return PrefixChange.SUMMARIZED\n",
        "    if ReductionKind.SUMMARIZED in {was, becomes}:\n        return PrefixChange.CUT_MOVED\n",
        "properties/test_cache.py::TestReasonsAlone",
    ),
    Planted(
        "C6",
        "the law about lines is not asked",
        "jingwei/testing/conformance.py",
        '        assert less <= whole, f"C6:',
        '        assert less <= 2**64, f"C6:',
        "properties/test_counting.py::TestAdditiveC6::test_the_law_about_lines_is_asked",
    ),
)
