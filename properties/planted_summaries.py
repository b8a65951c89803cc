"""Planted bugs of summaries (rule S8); see `planted.py`."""

from typing import Final

from properties.planted import Planted

ACCEPT: Final = "jingwei/summaries/accept.py"
ACTIVE: Final = "jingwei/summaries/active.py"
PLAN: Final = "jingwei/summaries/plan.py"
RENDER: Final = "jingwei/summaries/render.py"
REQUEST: Final = "jingwei/summaries/request.py"
SOURCES: Final = "jingwei/summaries/sources.py"
DRIFT: Final = "jingwei/summaries/drift.py"
WIRE: Final = "jingwei/summaries/wire.py"

S8: Final = "properties/test_summaries.py::TestSummariesS8::"
ALONE: Final = S8 + "test_one_thing_wrong_is_refused_for_that_reason_alone"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "S8",
        "a summary whose tail is another event is believed",
        ACCEPT,
        "    if tail != proposed.tail_event_id:\n",
        "    if not tail:\n",
        ALONE,
    ),
    Planted(
        "S8",
        "a range may begin in the middle of a turn",
        ACCEPT,
        "    if turns[0].first_seq != first:\n",
        "    if turns[0].first_seq > first:\n",
        ALONE,
    ),
    Planted(
        "S8",
        "a supposition counts as a protected text that was kept",
        ACCEPT,
        "(*proposed.facts, *proposed.decisions, *proposed.open_questions)\n",
        "(*proposed.facts, *proposed.decisions, *proposed.open_questions, *proposed.hypotheses)\n",
        S8 + "test_a_protected_text_is_kept_by_what_is_sure_and_by_questions",
    ),
    Planted(
        "S8",
        "the last event of the old range makes a fact of a guess",
        ACCEPT,
        "elif said in since and newest <= since[said]:",
        "elif said in since and newest < since[said]:",
        S8 + "test_a_guess_may_become_a_fact_by_newer_events",
    ),
    Planted(
        "S8",
        "guesses are forgotten after one generation",
        ACTIVE,
        "        todo += old.supersedes\n",
        "        todo += ()\n",
        S8 + "test_a_guess_is_remembered_over_generations",
    ),
    Planted(
        "S8",
        "guesses are compared letter by letter",
        ACCEPT,
        "    return _spaced(text).casefold()\n",
        "    return text\n",
        ALONE,
    ),
    Planted(
        "S8",
        "a summary that costs as much as its turns is believed",
        ACCEPT,
        "    if after >= before:\n",
        "    if after > before:\n",
        S8 + "test_it_costs_less_by_the_costs_that_are_given",
    ),
    Planted(
        "S8",
        "neighbours that share their border do not overlap",
        ACCEPT,
        "    return one.first_seq <= other.last_seq and other.first_seq <= one.last_seq\n",
        "    return one.first_seq < other.first_seq <= one.last_seq\n",
        ALONE,
    ),
    Planted(
        "S8",
        "a version may be skipped",
        ACCEPT,
        "and proposed.version != expected:",
        "and proposed.version < expected:",
        ALONE,
    ),
    Planted(
        "S8",
        "active summaries stand as they were given",
        ACTIVE,
        "    return tuple(sorted(active, key=_order))\n",
        "    return tuple(active)\n",
        S8 + "test_active_are_those_that_none_supersedes_in_any_order",
    ),
    Planted(
        "S8",
        "those who look at a ring from outside are named with it",
        ACTIVE,
        "    return sorted(_without_ends(newer, older, left))\n",
        "    return sorted(left)\n",
        S8 + "test_a_ring_is_named_without_those_beside_it",
    ),
    Planted(
        "S8",
        "pinned turns are summarised",
        PLAN,
        "        elif turn.turn_id in pinned:\n",
        "        elif turn.turn_id in ():\n",
        S8 + "test_chunks_hold_the_planned_turns_once_in_order_and_unsplit",
    ),
    Planted(
        "S8",
        "one of the newest turns is summarised",
        PLAN,
        "    return speaking[-keep_newest] if keep_newest <= len(speaking) else 0\n",
        "    return speaking[-keep_newest] + 1 if keep_newest <= len(speaking) else 0\n",
        S8 + "test_chunks_hold_the_planned_turns_once_in_order_and_unsplit",
    ),
    Planted(
        "S8",
        "a chunk is measured against the whole window",
        PLAN,
        "        available = self._summariser.budget.available\n        if counted",
        "        available = self._summariser.budget.window_tokens\n        if counted",
        S8 + "test_a_turn_that_does_not_fit_alone_is_named_with_its_cost",
    ),
    Planted(
        "S8",
        "every chunk of an old summary supersedes it",
        PLAN,
        "if one.summary_id not in found.chunk.supersedes]",
        "if one.summary_id]",
        S8 + "test_a_planned_summary_fits_with_the_others",
    ),
    Planted(
        "S8",
        "a request that shares a prefix has a constraint of its own",
        REQUEST,
        "        constraint=live.constraint,\n",
        "        constraint=SCHEMA_CONSTRAINT,\n",
        S8 + "test_a_shared_request_begins_with_the_live_one",
    ),
    Planted(
        "S8",
        "turns stand in a request without an escape",
        REQUEST,
        '    return "".join([as_data(line) + "\\n" for line in lines])\n',
        '    return "".join([line + "\\n" for line in lines])\n',
        S8 + "test_a_standalone_request_holds_the_turns_as_data",
    ),
    Planted(
        "S8",
        "a summary can write our delimiters",
        RENDER,
        "return data_text(said)",
        'return data_text(said).replace("\\\\u003c", "<")',
        S8 + "test_no_delimiter_comes_from_a_summary",
    ),
    Planted(
        "S8",
        "open questions are shown as facts",
        RENDER,
        '        "open_questions": _texts(summary.open_questions),\n',
        '        "open_questions": _texts(summary.facts),\n',
        S8 + "test_the_lines_read_back_say_what_the_summaries_say",
    ),
    Planted(
        "S8",
        "a log may not have grown since it was projected",
        SOURCES,
        "    events = log.events[:count]\n",
        "    events = log.events\n",
        S8 + "test_sources_are_the_places_of_the_log",
    ),
    Planted(
        "S8",
        "a fact that became a guess is told as lost",
        DRIFT,
        "        facts_lost=_those(were, without=(are, supposes)),\n",
        "        facts_lost=_those(were, without=(are,)),\n",
        S8 + "test_drift_tells_each_statement_once",
    ),
    Planted(
        "S8",
        "a malformed summary goes unnamed",
        WIRE,
        "            malformed.append(",
        "            (",
        S8 + "test_a_log_gives_back_the_summaries_that_it_records",
    ),
)
