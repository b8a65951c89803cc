"""Planted bugs of tool views, result views and their renditions (rules T1, T3, T7); see `planted.py`."""

from typing import Final

from properties.planted import Planted

TOOLS: Final = "jingwei/request/tool_views.py"
VIEW: Final = "jingwei/results/view.py"
RECORDED: Final = "jingwei/results/recorded.py"
RECORDS: Final = "jingwei/results/records.py"
JSONTEXT: Final = "jingwei/jsontext.py"
ENVELOPE: Final = "jingwei/results/envelope.py"
WIRE: Final = "jingwei/results/wire.py"
RENDERING: Final = "jingwei/results/rendering.py"

T1: Final = "properties/test_tool_views.py::TestToolViewsT1::"
T3: Final = "properties/test_results.py::TestPreviewsT3::"
T7: Final = "properties/test_results.py::TestRenditionsT7::"
LOGGED: Final = "properties/test_results.py::TestRecordedViews::"
KEPT: Final = "properties/test_results.py::TestViewsKeepOutcomes::"
MEMORY: Final = "properties/test_results.py::TestTurnsAreRememberedOnly::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "T1",
        "a name that is not authorised is passed over",
        TOOLS,
        "            return Failure(UnknownTool(name=name, index=index))\n",
        "            continue\n",
        T1 + "test_what_is_shown_is_what_was_authorised_and_named",
    ),
    Planted(
        "T1",
        "a name said twice is shown once and not refused",
        TOOLS,
        "        if name in seen:\n",
        "        if False:\n",
        T1 + "test_what_is_shown_is_what_was_authorised_and_named",
    ),
    Planted(
        "T1",
        "a selector sees the tools in the order of the catalogue",
        TOOLS,
        "    catalog = tuple(sorted(authorised, key=_by_name))\n",
        "    catalog = tuple(authorised)\n",
        T1 + "test_a_selector_sees_the_definitions_sorted_by_name",
    ),
    Planted(
        "T1",
        "which fault of a catalogue is told depends on its order",
        TOOLS,
        "    return (tool.name, tool.description, tool.parameters.text)\n",
        '    return ("", "", "")\n',
        T1 + "test_the_order_means_nothing_where_the_catalogue_is_no_set_of_tools",
    ),
    Planted(
        "T1",
        "of groups of one name only the last counts",
        TOOLS,
        "for group in self.groups if group.name == active for name",
        "for group in self.groups[-1:] if group.name == active for name",
        T1 + "test_a_grouped_selector_selects_its_names_and_the_members_of_its_active_groups",
    ),
    Planted(
        "T1",
        "as many names as the limit allows are too many",
        TOOLS,
        "    if len(names) > limits.max_visible:\n",
        "    if len(names) >= limits.max_visible:\n",
        T1 + "test_each_limit_may_be_met_and_is_told_with_what_was_met",
    ),
    Planted(
        "T3",
        "a preview ends inside a character",
        RECORDED,
        '    return raw[:end].decode("utf-8", "surrogatepass")\n',
        '    return raw[:room].decode("utf-8", "replace")\n',
        T3 + "test_a_large_text_is_shown_by_its_beginning_and_stored_whole",
    ),
    Planted(
        "T3",
        "what is stored is what is shown",
        VIEW,
        "ToStore(source_event=source_event, text=body)",
        "ToStore(source_event=source_event, text=text)",
        T3 + "test_a_large_text_is_shown_by_its_beginning_and_stored_whole",
    ),
    Planted(
        "T3",
        "a text of just the inline size is previewed",
        RECORDS,
        "        if utf8_bytes(body_of(outcome)) <= self.inline_bytes:\n",
        "        if utf8_bytes(body_of(outcome)) < self.inline_bytes:\n",
        T3 + "test_a_large_text_is_shown_by_its_beginning_and_stored_whole",
    ),
    Planted(
        "T3",
        "a choice beyond the limit is followed",
        VIEW,
        "    return ViewFallback.OVER_LIMIT if shown > policy.max_shown_bytes else None\n",
        "    return None\n",
        T3 + "test_whatever_is_chosen_no_more_is_shown_than_the_policy_allows",
    ),
    Planted(
        "T3",
        "a preview may be larger than what is shown inline",
        VIEW,
        "        (preview_bytes > inline_bytes, problem",
        "        (preview_bytes > max_shown_bytes, problem",
        T3 + "test_a_policy_is_made_when_a_preview_is_no_larger_than_what_is_inline_and_that_than_all",
    ),
    Planted(
        "T3",
        "a reference to a text of another size is taken",
        VIEW,
        "    if reference.source_event == view.source_event and reference.total_bytes == view.total_bytes:\n",
        "    if reference.source_event == view.source_event:\n",
        T3 + "test_only_a_reference_to_this_very_text_is_taken_and_none_of_it_is_shown",
    ),
    Planted(
        "T2",
        "a failure is shown as a success",
        VIEW,
        "            return ShownFailure(\n",
        "            return ShownSuccess() or ShownFailure(\n",
        KEPT + "test_status_category_code_and_role_never_change",
    ),
    Planted(
        "T2",
        "a record may change how a tool ended",
        RENDERING,
        "        return ContradictionReason.OUTCOME\n",
        "        return None\n",
        LOGGED + "test_a_view_that_says_something_else_than_the_log_is_refused",
    ),
    Planted(
        "T7",
        "delimiters stand in an envelope as the tool wrote them",
        JSONTEXT,
        "    return as_data(canonical(value))\n",
        "    return canonical(value)\n",
        KEPT + "test_no_delimiter_and_no_line_end_stands_in_an_envelope",
    ),
    Planted(
        "T7",
        "the history shows what the policy makes and not what was shown",
        RENDERING,
        "    if found is None:\n        view = _policy_view(",
        "    if True:\n        view = _policy_view(",
        T7 + "test_closing_a_turn_and_any_turns_behind_it_do_not_change_a_byte",
    ),
    Planted(
        "T7",
        "the running turn shows exchanges in the order of their results",
        RENDERING,
        "    ordered = sorted(exchanges, key=_call_seq)\n",
        "    ordered = list(exchanges)\n",
        T7 + "test_closing_a_turn_and_any_turns_behind_it_do_not_change_a_byte",
    ),
    Planted(
        "T7",
        "a running turn forgets what is on record",
        RENDERING,
        "        rendered = _rendered(exchange, None, rendering)\n",
        "        rendered = _rendered(exchange, None, attrs.evolve(rendering, views=NO_VIEWS))\n",
        T7 + "test_what_a_running_turn_is_sent_is_the_beginning_of_what_it_is_sent_closed",
    ),
    Planted(
        "T7",
        "a viewed history keeps the size of the projection",
        RENDERING,
        "        canonical_bytes=size,\n        shape_failure=",
        "        canonical_bytes=history.canonical_bytes,\n        shape_failure=",
        T7 + "test_the_sizes_of_a_viewed_history_are_those_of_its_messages",
    ),
    Planted(
        "T7",
        "a result stays a tool message under the JSON protocol",
        ENVELOPE,
        "            return said, UserMessage(content=envelope)\n",
        "            return said, ToolMessage(call_id=call.id, content=envelope)\n",
        T7 + "test_no_native_tool_field_is_left_under_the_json_protocol",
    ),
    Planted(
        "T7",
        "a view is wrapped again each time",
        RENDERING,
        "    if is_envelope(exchange.content):\n",
        "    if False:\n",
        T7 + "test_what_is_a_view_already_stays_as_it_is",
    ),
    Planted(
        "T7",
        "of two records of one result the first wins",
        WIRE,
        "    if old.view == new.view:\n",
        "    if old is not None:\n",
        LOGGED + "test_two_different_views_of_one_result_are_refused_and_the_same_one_twice_is_not",
    ),
    Planted(
        "T7",
        "a turn that was rendered once is not looked at again when views are recorded",
        RENDERING,
        "    if known is not None and _applies(known, rendering.views):\n",
        "    if known is not None:\n",
        MEMORY + "test_a_turn_rendered_before_in_other_ways_is_rendered_like_a_new_one",
    ),
)
