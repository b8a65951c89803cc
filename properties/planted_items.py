"""Planted bugs of context items and of gathering (rules S1, S3, S4, S5, S9); see `planted.py`."""

from typing import Final

from properties.planted import Planted

CHECK: Final = "jingwei/items/check.py"
CONFLICTS: Final = "jingwei/items/conflicts.py"
DUPLICATES: Final = "jingwei/items/duplicates.py"
JSONTEXT: Final = "jingwei/jsontext.py"
ENVELOPE: Final = "jingwei/items/envelope.py"
GATHER: Final = "jingwei/compose/gather.py"
RECORDS: Final = "jingwei/items/records.py"

S1: Final = "properties/test_items.py::TestItemsS1::"
S3: Final = "properties/test_items.py::TestTiersS3::"
S4: Final = "properties/test_items.py::TestRenderingS4::"
S5: Final = "properties/test_items.py::TestConflictsS5::"
S9: Final = "properties/test_items.py::TestTrustS9::"
GATHERED: Final = "properties/test_gather.py::TestGathering::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "S1",
        "a share rounded to hundredths",
        CHECK,
        "        relevance=Fraction(relevance),\n",
        "        relevance=Fraction(round(relevance * 100), 100),\n",
        S1 + "test_a_share_is_taken_exactly_or_not_at_all",
    ),
    Planted(
        "S1",
        "a flag taken for a share",
        CHECK,
        "    if type(share) is bool or not isinstance(",
        "    if not isinstance(",
        S1 + "test_a_share_is_taken_exactly_or_not_at_all",
    ),
    Planted(
        "S1",
        "the fault of the first item given told",
        CHECK,
        "    return min(found, key=_place, default=None)\n",
        "    return found[0] if found else None\n",
        S1 + "test_of_several_faults_that_of_the_smallest_id_is_told",
    ),
    Planted(
        "S1",
        "one priority too many",
        CHECK,
        '("priority", item.priority, ITEM_PRIORITY_MAX)',
        '("priority", item.priority, ITEM_PRIORITY_MAX + 1)',
        S1 + "test_each_fault_is_told_by_its_attribute_and_reason",
    ),
    Planted(
        "S1",
        "an id that may stand twice but not three times",
        CHECK,
        "if count > 1)",
        "if count > 2)",
        S1 + "test_an_id_names_one_item",
    ),
    Planted(
        "S1",
        "a source event that is no Unicode admitted",
        CHECK,
        '        yield "source_events", event_id\n',
        '        yield "source_events", event_id[:0]\n',
        S1 + "test_what_is_admitted_survives_json",
    ),
    Planted(
        "S3",
        "a required item left in its own tier",
        RECORDS,
        "        return Tier.P0 if self.required else self.tier\n",
        "        return self.tier\n",
        S3 + "test_what_is_required_stands_with_the_highest_tier",
    ),
    Planted(
        "S3",
        "a constraint that may be left out",
        GATHER,
        "one.text, one.source),\n                subject=one.subject,\n",
        "one.text, one.source),\n                required=False,\n                subject=one.subject,\n",
        S3 + "test_what_a_task_rests_on_is_required",
    ),
    Planted(
        "S3",
        "a step without its last criterion",
        GATHER,
        "for criterion in state.completion_criteria]]",
        "for criterion in state.completion_criteria[:-1]]]",
        S3 + "test_what_a_task_rests_on_is_required",
    ),
    Planted(
        "S4",
        "only the closing half of a delimiter escaped",
        JSONTEXT,
        '.replace("<", "\\\\u003c").replace(">", "\\\\u003e")',
        '.replace(">", "\\\\u003e")',
        S4 + "test_there_is_one_beginning_and_one_end",
    ),
    Planted(
        "S4",
        "delimiters taken out instead of escaped",
        JSONTEXT,
        '.replace("<", "\\\\u003c")',
        '.replace("<", "")',
        S4 + "test_contents_are_read_back_as_they_were",
    ),
    Planted(
        "S4",
        "what was said in no event stands first",
        RECORDS,
        "    said = item.seq is None, 0 if item.seq is None else item.seq\n",
        "    said = item.seq is not None, 0 if item.seq is None else item.seq\n",
        S4 + "test_by_tier_kind_and_first_appearance",
    ),
    Planted(
        "S4",
        "items ordered by what they are worth",
        RECORDS,
        "    return (TIER_RANKS[item.held_tier], ",
        "    return (TIER_RANKS[item.held_tier], int(-6 * item.relevance), ",
        S4 + "test_no_score_moves_an_item_or_a_byte",
    ),
    Planted(
        "S4",
        "items in the order given",
        ENVELOPE,
        "for item in sorted(items, key=order_of)]",
        "for item in items]",
        S4 + "test_the_order_given_changes_no_byte",
    ),
    Planted(
        "S5",
        "the less trusted one of two duplicates kept",
        DUPLICATES,
        "        -item.trust,\n",
        "        item.trust,\n",
        S5 + "test_the_most_trusted_one_stays_with_the_sources_of_all",
    ),
    Planted(
        "S5",
        "a system text that gives way to a trusted tool",
        DUPLICATES,
        "        item.kind is not ItemKind.SYSTEM,\n",
        "        item.kind is ItemKind.SYSTEM,\n",
        S5 + "test_the_most_trusted_one_stays_with_the_sources_of_all",
    ),
    Planted(
        "S5",
        "the need of a duplicate forgotten",
        DUPLICATES,
        "        required=any(item.required for item in group),\n",
        "        required=kept.required,\n",
        S5 + "test_no_duplicate_makes_a_text_worth_less",
    ),
    Planted(
        "S5",
        "duplicates of two subjects made one",
        DUPLICATES,
        "subjects.setdefault(subject_of(item), []).append(item)\n    groups",
        "subjects.setdefault(None, []).append(item)\n    groups",
        S5 + "test_an_item_stays_or_another_one_says_it",
    ),
    Planted(
        "S5",
        "case taken for no difference",
        DUPLICATES,
        '.replace("\\r", "\\n").strip()',
        '.replace("\\r", "\\n").strip().lower()',
        S5 + "test_only_line_ends_and_outer_space_say_nothing",
    ),
    Planted(
        "S5",
        "the earlier of two equals holds",
        CONFLICTS,
        "0 if item.seq is None else -item.seq",
        "0 if item.seq is None else item.seq",
        S5 + "test_every_pair_of_authorities_and_times",
    ),
    Planted(
        "S5",
        "a pinned loser removed",
        CONFLICTS,
        "        loser_kept=loser.required or loser.pinned or loser.kind is ItemKind.SYSTEM,\n",
        "        loser_kept=loser.required or loser.kind is ItemKind.SYSTEM,\n",
        S5 + "test_what_holds_is_what_nothing_goes_further_than",
    ),
    Planted(
        "S5",
        "a loser that stays without its mark",
        CONFLICTS,
        "            stay.append(_marked(item, [row]))\n",
        "            stay.append(item)\n",
        S5 + "test_the_model_is_told_on_both_sides",
    ),
    Planted(
        "S5",
        "those who agree with the winner called losers",
        CONFLICTS,
        "        if canonical_content(item.content) == holds:\n",
        "        if item.content == holds:\n",
        S5 + "test_what_holds_is_what_nothing_goes_further_than",
    ),
    Planted(
        "S9",
        "a system text of a memory admitted",
        CHECK,
        "    if item.kind is ItemKind.SYSTEM and item.source is not ItemSource.HOST:\n",
        "    if item.kind is ItemKind.SYSTEM and item.source is ItemSource.TOOL:\n",
        S9 + "test_only_the_host_may_write_a_system_text",
    ),
    Planted(
        "S9",
        "the source of a duplicate that the host said too",
        DUPLICATES,
        "        kept,\n        tier=min(",
        "        kept,\n        source=min([item.source for item in group], key=SOURCE_RANKS.__getitem__),\n"
        "        tier=min(",
        S9 + "test_a_text_never_changes_who_wrote_it",
    ),
    Planted(
        "S9",
        "text of a model under the label of the user",
        ENVELOPE,
        '            return "untrusted_model_text"\n',
        '            return "user"\n',
        S9 + "test_the_label_is_that_of_who_wrote_it",
    ),
    Planted(
        "S9",
        "a constraint of a memory taken for the host's",
        GATHER,
        "ItemKind.CONSTRAINT, one.text, one.source)",
        "ItemKind.CONSTRAINT, one.text, ItemSource.HOST)",
        S9 + "test_a_memory_that_gives_orders_stays_a_memory",
    ),
    Planted(
        "S9",
        "the memory of another user used",
        GATHER,
        "    if memory.user_id is not None and memory.user_id != state.user_id:\n",
        "    if memory.user_id is None and memory.user_id != state.user_id:\n",
        GATHERED + "test_memories_are_those_that_this_task_may_see_the_best_first",
    ),
    Planted(
        "S9",
        "a memory used at the moment that it expires",
        GATHER,
        "if memory.expires <= now else None",
        "if memory.expires < now else None",
        GATHERED + "test_memories_are_those_that_this_task_may_see_the_best_first",
    ),
    Planted(
        "S9",
        "freshness that tells of memories that may not be seen",
        GATHER,
        "    times = sorted({memory.created for memory in used if memory.created is not None})\n",
        "    times = sorted({memory.created for memory in used if memory.created is not None})\n"
        "    times = [*range(len(filtered)), *times]\n",
        GATHERED + "test_what_may_not_be_seen_changes_nothing",
    ),
    Planted(
        "S3",
        "events that the history shows said again",
        GATHER,
        "    left = [event for event in said if event.turn_id not in shown_turns]\n",
        "    left = said\n",
        GATHERED + "test_recent_events_are_those_that_said_something_and_are_not_shown",
    ),
    Planted(
        "S3",
        "the oldest events gathered for the most recent",
        GATHER,
        "[-limit:] if limit > 0",
        "[:limit] if limit > 0",
        GATHERED + "test_recent_events_are_those_that_said_something_and_are_not_shown",
    ),
)
