"""Planted bugs of messages, counting, the build and its strategies (rules M, C, B, R); see `planted.py`."""

from typing import Final

from properties.planted import Planted

SHAPE: Final = "jingwei/messages/shape.py"
WIRE: Final = "jingwei/messages/wire.py"
COUNTING: Final = "jingwei/request/counting.py"
BUDGET: Final = "jingwei/request/records.py"
BUILD: Final = "jingwei/build.py"
SEARCH: Final = "jingwei/selection/search.py"
CANDIDATES: Final = "jingwei/drafts/candidates.py"
CHECKING: Final = "jingwei/drafts/checking.py"
DRAFT: Final = "jingwei/drafts/draft.py"
VIEWS: Final = "jingwei/selection/views.py"
PREFIX: Final = "jingwei/selection/stable_prefix.py"
COSTS: Final = "jingwei/selection/costs.py"
REPORT: Final = "jingwei/report/records.py"
REPORT_WIRE: Final = "jingwei/report/wire.py"
RECOUNT: Final = "jingwei/recount.py"
ADMIT: Final = "jingwei/projection/admit.py"

M1: Final = "properties/test_messages.py::TestMessagesM1::"
M2: Final = "properties/test_messages.py::TestRequestsAndResponsesM2::"
M3: Final = "properties/test_messages.py::TestShapeM3::"
C1: Final = "properties/test_counting.py::TestCountersC1::"
C2: Final = "properties/test_counting.py::TestByteHeuristicC2::"
C3: Final = "properties/test_counting.py::TestByteBoundC3::"
C6: Final = "properties/test_counting.py::TestAdditiveC6::"
B1: Final = "properties/test_build.py::TestInputsB1::"
B2: Final = "properties/test_build.py::TestChecksBeforeTrimmingB2::"
B3: Final = "properties/test_build.py::TestRequestB3::"
B4: Final = "properties/test_build.py::TestAnswersOfACounterB4::"
B5: Final = "properties/test_build.py::TestFittingB5::"
B6: Final = "properties/test_build.py::TestReportB6::"
B7: Final = "properties/test_build.py::TestSuccessB7::"
B8: Final = "properties/test_build.py::TestSurvivalB8::"
B11: Final = "properties/test_build.py::TestReverifyB11::"
R1: Final = "properties/test_build.py::TestPlansR1::"
R2: Final = "properties/test_stable_prefix.py::TestStablePrefixR2::"
R4: Final = "properties/test_plans.py::TestReplacementsR4::"
R6: Final = "properties/test_plans.py::TestRunningTurnR6::"
COMPUTED: Final = "properties/test_plans.py::TestComputedPlans::"
R5: Final = "properties/test_build.py::TestTurnsWithoutMessagesR5::"
WALK: Final = "properties/test_search.py::TestLinearSearch::"
HALVE: Final = "properties/test_search.py::TestBisectingSearch::"
AUTO: Final = "properties/test_search.py::TestAutoSearch::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "M1",
        "silence written as the empty string",
        WIRE,
        'said = "null" if content is None',
        "said = '\"\"' if content is None",
        M1 + "test_the_text_is_the_compact_json_of_its_fields_in_order",
    ),
    Planted(
        "M1",
        "blank call ids read",
        WIRE,
        'wire.record(ModelToolCall, strict=True, not_blank=("id",))',
        "wire.record(ModelToolCall, strict=True)",
        M1 + "test_a_blank_call_id_is_refused_in_a_call_and_in_a_result",
    ),
    Planted(
        "M2",
        "unknown keys of a tool ignored",
        WIRE,
        "wire.record(ToolDefinition, strict=True)",
        "wire.record(ToolDefinition, strict=False)",
        M2 + "test_unknown_tags_and_keys_and_missing_ones_are_refused_with_their_path",
    ),
    Planted(
        "M3",
        "an interrupted tool group accepted",
        SHAPE,
        "        if pending:\n",
        "        if pending and isinstance(message, AssistantMessage):\n",
        M3 + "test_a_group_with_a_result_less_is_never_accepted",
    ),
    Planted(
        "M3",
        "one result answers for ever",
        SHAPE,
        "            del pending[message.call_id]\n",
        "            pending = {} if len(pending) == 1 else pending\n",
        M3 + "test_each_message_rule_has_its_failure",
    ),
    Planted(
        "M3",
        "repeated call ids of one message accepted",
        SHAPE,
        "        if call.id in seen:\n",
        "        if call.id in seen and call.name in seen:\n",
        M3 + "test_each_message_rule_has_its_failure",
    ),
    Planted(
        "M3",
        "arguments of any kind accepted",
        SHAPE,
        "        if not call.arguments.is_object:\n",
        "        if not call.arguments.text:\n",
        M3 + "test_each_message_rule_has_its_failure",
    ),
    Planted(
        "M3",
        "calls left open at the end",
        SHAPE,
        "call_ids=tuple(pending)) if pending else None",
        "call_ids=tuple(pending)) if len(pending) > 1 else None",
        M3 + "test_a_group_with_a_result_less_is_never_accepted",
    ),
    Planted(
        "M3",
        "the constraint checked before the messages",
        SHAPE,
        "    broken = messages_failure(request.messages)\n"
        "    if broken is None:\n"
        "        broken = constraint_failure(request.constraint)\n",
        "    broken = constraint_failure(request.constraint)\n"
        "    if broken is None:\n"
        "        broken = messages_failure(request.messages)\n",
        M3 + "test_messages_come_before_the_constraint",
    ),
    Planted(
        "M3",
        "a failure that does not move with its messages",
        SHAPE,
        "attrs.evolve(failure, index=failure.index + by)",
        "attrs.evolve(failure, index=failure.index)",
        M3 + "test_a_failure_moves_with_the_messages_put_in_front",
    ),
    Planted(
        "M3",
        "a named choice that nobody listed",
        SHAPE,
        "choice.name not in names",
        "choice.name in names and not names",
        M3 + "test_a_constraint_breaks_the_rule_that_the_naive_walk_finds_first",
    ),
    Planted(
        "C1",
        "the template part left out of the sum",
        BUDGET,
        "self.system + self.messages + self.constraint + self.template",
        "self.system + self.messages + self.constraint",
        C1 + "test_the_total_is_the_sum_of_all_four_parts",
    ),
    Planted(
        "C2",
        "quarters rounded down",
        COUNTING,
        "return -(-size // 4)",
        "return size // 4",
        C2 + "test_it_is_the_independent_recount",
    ),
    Planted(
        "C2",
        "an estimate called a bound",
        COUNTING,
        "evidence=TokenBoundEvidence.ESTIMATE",
        "evidence=TokenBoundEvidence.VERIFIED_UPPER_BOUND",
        C2 + "test_it_is_the_independent_recount",
    ),
    Planted(
        "C3",
        "text measured before it is normalised",
        COUNTING,
        'return utf8_bytes(unicodedata.normalize("NFC", text))',
        "return utf8_bytes(text)",
        C3 + "test_where_nfc_makes_text_longer_the_longer_form_counts",
    ),
    Planted(
        "C3",
        "a factor below one accepted",
        COUNTING,
        "factor.numerator < factor.denominator",
        "factor.numerator <= 0",
        C3 + "test_a_factor_below_one_is_refused_by_count_and_by_build",
    ),
    Planted(
        "C3",
        "another template of the same model accepted",
        COUNTING,
        "if (target.model, target.template_revision) != (self.model, self.template_revision):\n"
        "            return CountRefused(",
        "if target.model != self.model:\n            return CountRefused(",
        C3 + "test_either_half_of_the_target_must_be_the_declared_one",
    ),
    Planted(
        "C3",
        "the allowance of a call forgotten",
        COUNTING,
        "                    _of(self.allowance.call)\n                    + self._text(call.id)",
        "                    self._text(call.id)",
        C3 + "test_each_allowance_counts_once_for_each_of_its_things",
    ),
    Planted(
        "C6",
        "a fixed cost without the template",
        COUNTING,
        "return _quarter(constraint_bytes(constraint)) + self.template_tokens",
        "return _quarter(constraint_bytes(constraint))",
        C6 + "test_the_count_is_the_sum_of_the_costs",
    ),
    Planted(
        "B1",
        "half as many groups by default",
        "jingwei/limits.py",
        "BUILD_GROUPS_MAX: Final = 4096",
        "BUILD_GROUPS_MAX: Final = 2048",
        B1 + "test_the_defaults_are_the_numbers_of_the_rule",
    ),
    Planted(
        "B1",
        "a build is hard by default",
        BUDGET,
        "mode: BudgetMode = BudgetMode.SOFT",
        "mode: BudgetMode = BudgetMode.HARD",
        B1 + "test_by_default_a_build_is_soft_without_margin_and_pins_nothing",
    ),
    Planted(
        "B2",
        "a limit refuses what it names",
        BUILD,
        "if actual > limit:",
        "if actual >= limit:",
        B2 + "test_each_limit_allows_what_it_names_and_nothing_more",
    ),
    Planted(
        "B2",
        "the constraint not among the input bytes",
        CANDIDATES,
        "        + constraint_bytes(constraint)\n",
        "",
        B2 + "test_each_limit_allows_what_it_names_and_nothing_more",
    ),
    Planted(
        "B2",
        "hard mode without evidence for the output",
        BUILD,
        "if budget.mode is BudgetMode.SOFT or verified:",
        "if budget.mode is BudgetMode.SOFT or verified or budget.output_reserve:",
        B2 + "test_each_fault_is_refused_with_its_own_reason",
    ),
    Planted(
        "B2",
        "an open turn built from",
        BUILD,
        "    if history.open_turn is None:\n",
        "    if history.open_turn is None or history.message_count:\n",
        B2 + "test_of_several_faults_the_first_in_the_order_is_told",
    ),
    Planted(
        "B2",
        "a turn pinned twice",
        BUILD,
        "        if pin in seen:\n",
        "        if pin in seen and pin not in known:\n",
        B2 + "test_each_fault_is_refused_with_its_own_reason",
    ),
    Planted(
        "B2",
        "the shape of the history trimmed away",
        BUILD,
        "    if history.shape_failure is not None:\n",
        "    if history.shape_failure is not None and inputs.pinned_turns:\n",
        B2 + "test_of_several_faults_the_first_in_the_order_is_told",
    ),
    Planted(
        "B2",
        "an exchange from outside whose result answers another call",
        ADMIT,
        "return call.id == answered",
        "return call.id != '' and answered != ''",
        B2 + "test_each_fault_of_a_history_from_outside_is_named",
    ),
    Planted(
        "B3",
        "the constraint dropped from the request",
        DRAFT,
        "            constraint=self._frame.constraint,\n",
        "",
        B3 + "test_the_request_is_the_required_texts_and_the_kept_turns_verbatim",
    ),
    Planted(
        "B4",
        "a count for another target used",
        BUILD,
        "    if count.target != target:\n",
        "    if count.target.template_revision != target.template_revision:\n",
        B4 + "test_no_bad_answer_ever_leads_to_a_request",
    ),
    Planted(
        "B4",
        "a blank method taken",
        BUILD,
        "    if is_blank(count.method):\n",
        "    if not count.method:\n",
        B4 + "test_no_bad_answer_ever_leads_to_a_request",
    ),
    Planted(
        "B4",
        "an estimate in hard mode",
        BUILD,
        "    if budget.mode is BudgetMode.HARD and not verified:\n",
        "    if budget.mode is BudgetMode.HARD and not verified and not count.method:\n",
        B4 + "test_each_bad_answer_is_refused_at_the_first_count_and_later",
    ),
    Planted(
        "B4",
        "a count of nothing accepted",
        BUILD,
        "    if tokens.total == 0:\n",
        "    if tokens.total < 0:\n",
        B4 + "test_no_bad_answer_ever_leads_to_a_request",
    ),
    Planted(
        "B4",
        "a sum beyond 64 bits",
        BUILD,
        "    if tokens.total + budget.reserved >= TOKENS_BOUND:\n",
        "    if tokens.total + budget.reserved > 2 * TOKENS_BOUND:\n",
        B4 + "test_each_bad_answer_is_refused_at_the_first_count_and_later",
    ),
    Planted(
        "B5",
        "a request as large as the window refused",
        BUILD,
        "self.attempts[-1].total_reserved <= self.inputs.budget.window_tokens",
        "self.attempts[-1].total_reserved < self.inputs.budget.window_tokens",
        B5 + "test_the_window_itself_is_allowed_and_one_less_is_not",
    ),
    Planted(
        "B5",
        "the output reserve not kept free",
        BUDGET,
        "return self.output_reserve + self.safety_margin",
        "return self.safety_margin",
        B5 + "test_each_of_the_six_summands_counts",
    ),
    Planted(
        "B5",
        "one count more than allowed",
        BUILD,
        "if len(self.attempts) == self.inputs.limits.max_count_calls:",
        "if len(self.attempts) == self.inputs.limits.max_count_calls + 1:",
        B5 + "test_no_build_counts_more_often_than_it_may",
    ),
    Planted(
        "B5",
        "a skipped candidate called exhausted",
        BUILD,
        "whole = self.search is Search.LINEAR or self.additive is not None",
        "whole = bool(self.attempts)",
        B5 + "test_does_not_fit_ends_with_what_keeps_least",
    ),
    Planted(
        "B5",
        "the accepted candidate never counted",
        SEARCH,
        "        if state.counted == enough:\n",
        "        if state.counted is not None:\n",
        HALVE + "test_under_any_function_it_accepts_only_what_it_counted_last_and_fitted",
    ),
    Planted(
        "B5",
        "an impossible budget not asked for first",
        SEARCH,
        "    if state.counts == 1 and state.enough is None and not state.trusted:\n",
        "    if state.counts == 9 and state.enough is None and not state.trusted:\n",
        HALVE + "test_an_impossible_budget_is_known_after_the_second_count",
    ),
    Planted(
        "B6",
        "pinned turns not marked",
        REPORT,
        "        protected=protected,\n",
        "        protected=protected and reduction is not None,\n",
        B6 + "test_every_turn_stands_in_it_once_in_order_with_its_sources",
    ),
    Planted(
        "B6",
        "costs left out of the report",
        BUILD,
        "cost=None if additive is None else _in_range(additive.message_cost(message)),",
        "cost=None,",
        B6 + "test_sent_messages_have_their_roles_digests_and_costs",
    ),
    Planted(
        "B7",
        "a halving that halves nothing",
        SEARCH,
        "return CountNext(steps=(low + high) // 2, phase=Phase.HALVE)",
        "return CountNext(steps=low, phase=Phase.HALVE)",
        HALVE + "test_large_plans_keep_the_bound",
    ),
    Planted(
        "B7",
        "the smallest fitting candidate forgotten for the last one",
        SEARCH,
        "enough = steps if enough is None else min(enough, steps)",
        "enough = steps if enough is None else max(enough, steps)",
        HALVE + "test_where_fitting_is_monotone_it_finds_the_smallest_k",
    ),
    Planted(
        "B8",
        "lost content let through",
        BUILD,
        "        if missing:\n",
        "        if missing and not self.attempts:\n",
        B8 + "test_a_broken_assembler_is_said_as_a_failure_with_its_report",
    ),
    Planted(
        "B11",
        "a recounted request as large as the window refused",
        RECOUNT,
        "Verdict.FITS if total <= budget.window_tokens",
        "Verdict.FITS if total < budget.window_tokens",
        B11 + "test_nothing_has_changed_right_after_the_build",
    ),
    Planted(
        "B11",
        "messages compared by their number",
        RECOUNT,
        "[digest(message_text(m)) for m in request.messages] != sent",
        "len(request.messages) != len(sent)",
        B11 + "test_every_change_that_makes_the_report_invalid_is_named",
    ),
    Planted(
        "B11",
        "another template of the same model believed",
        RECOUNT,
        "target.template_revision != report.target.template_revision",
        "target.template_revision == ''",
        B11 + "test_every_change_that_makes_the_report_invalid_is_named",
    ),
    Planted(
        "B6",
        "a report that forgets its pins when read",
        REPORT_WIRE,
        "pinned=tuple([row.turn_id for row in rows if row.protected])",
        "pinned=()",
        B6 + "test_it_is_a_record_and_survives_json",
    ),
    Planted(
        "R1",
        "the oldest turn removed although pinned",
        CANDIDATES,
        "for position in pins if history.turns[position].message_count",
        "for position in pins if position and history.turns[position].message_count",
        B4 + "test_the_builder_agrees_with_the_naive_one_for_every_counter",
    ),
    Planted(
        "R1",
        "a candidate named twice",
        CHECKING,
        "        if fate.dropped_at is not None:\n            return",
        "        if fate.dropped_at is not None and rank == BASE:\n            return",
        R1 + "test_a_plan_that_names_what_it_may_not_is_refused",
    ),
    Planted(
        "R1",
        "newest turns first",
        VIEWS,
        "_dropped(self.candidates[self.start + index])",
        "_dropped(self.candidates[self.candidates.turn_count - 1 - index])",
        COMPUTED + "test_a_computed_sequence_is_the_tuple_of_its_items",
    ),
    Planted(
        "R1",
        "a linear search that skips a step",
        SEARCH,
        "return CountNext(steps=too_few + 1, phase=Phase.WALK)",
        "return CountNext(steps=min(too_few + 2, state.last), phase=Phase.WALK)",
        WALK + "test_it_counts_upwards_and_stops_at_the_first_that_fits",
    ),
    Planted(
        "R1",
        "a walk that the counts do not allow",
        SEARCH,
        "if additive or steps + 1 > count_calls:",
        "if additive or steps > count_calls:",
        AUTO + "test_it_stands_for_what_the_rule_says",
    ),
    Planted(
        "R5",
        "a turn without messages dropped for nothing",
        CANDIDATES,
        "spared=Spared(silent=history.silent, pinned=speaking)",
        "spared=Spared(pinned=speaking)",
        R5 + "test_it_is_retained_and_no_count_is_spent_on_it",
    ),
    Planted(
        "B2",
        "a turn in quarantine may be pinned",
        BUILD,
        "if known[pin].state is ProjectedState.QUARANTINED:",
        "if known[pin].state is ProjectedState.QUARANTINED and known[pin].message_count:",
        B2 + "test_a_turn_in_quarantine_cannot_be_pinned",
    ),
    Planted(
        "B6",
        "a computed cut that drops one turn more in the report than in the request",
        DRAFT,
        "        end = self._candidates.position(self.dropped(steps))\n",
        "        end = self._candidates.position(self.dropped(steps) + 1)\n",
        COMPUTED + "test_a_build_is_the_same_whether_the_plan_is_computed_or_written_out",
    ),
    Planted(
        "B8",
        "a pinned turn before the cut left out of the request",
        DRAFT,
        "for place in self._candidates.spared.pinned if place < cut]",
        "for place in self._candidates.spared.pinned if place < 0]",
        COMPUTED + "test_a_build_is_the_same_whether_the_plan_is_computed_or_written_out",
    ),
    Planted(
        "R1",
        "a computed plan over other candidates believed",
        CHECKING,
        "or steps.candidates is not candidates or",
        "or",
        COMPUTED + "test_a_computed_plan_of_another_build_is_walked_and_refused",
    ),
    Planted(
        "R2",
        "a cut that moves at the high mark itself",
        PREFIX,
        "        if kept > strategy.high:\n",
        "        if kept >= strategy.high:\n",
        R2 + "test_the_cut_is_where_the_rule_told_as_a_story_puts_it",
    ),
    Planted(
        "R2",
        "a cut that moves just far enough",
        PREFIX,
        "while kept > strategy.low and cut < count:",
        "while kept > strategy.high and cut < count:",
        R2 + "test_the_cut_is_where_the_rule_told_as_a_story_puts_it",
    ),
    Planted(
        "R2",
        "a memory that belongs to another history",
        PREFIX,
        "        if not turns.starts_with(self._turns):\n",
        "        if len(turns) < len(self._turns):\n",
        R2 + "test_what_is_remembered_changes_no_plan",
    ),
    Planted(
        "R2",
        "a break that is not told",
        BUILD,
        "_reported(self.marks, broke=steps > 0)",
        "_reported(self.marks, broke=steps > 1)",
        R2 + "test_the_full_count_has_the_last_word",
    ),
    Planted(
        "R4",
        "a replacement of the same size admitted",
        COSTS,
        "return summed_cost(replacement, costs) < summed_cost(original, costs)",
        "return summed_cost(replacement, costs) <= summed_cost(original, costs)",
        R4 + "test_the_first_reduction_that_may_not_be_is_told",
    ),
    Planted(
        "R4",
        "a turn condensed twice",
        CHECKING,
        "                if fate.condensed is not None:\n",
        "                if fate.condensed is not None and rank == BASE:\n",
        R4 + "test_the_first_reduction_that_may_not_be_is_told",
    ),
    Planted(
        "R4",
        "a replacement measured by bytes although the counter adds up",
        CANDIDATES,
        "        costs=costs,\n",
        "",
        R4 + "test_the_first_reduction_that_may_not_be_is_told",
    ),
    Planted(
        "R6",
        "the last group of the running turn may go",
        CANDIDATES,
        "for exchange in (exchanges or ())[:-1]",
        "for exchange in (exchanges or ())",
        R6 + "test_candidates_are_all_groups_but_the_last_behind_the_turns",
    ),
    Planted(
        "R6",
        "the running turn reduced without being asked",
        CANDIDATES,
        "exchanges=exchanges_of(current) if reduce_current else None,",
        "exchanges=exchanges_of(current),",
        R6 + "test_without_the_hosts_word_current_is_kept_whole",
    ),
    Planted(
        "R6",
        "a shortened group not looked for at all",
        BUILD,
        "(dropped if isinstance(reduction, DropExchange) else condensed).update(places)",
        "dropped.update(places)",
        R6 + "test_the_rest_of_current_is_looked_for_before_the_request_leaves",
    ),
)
