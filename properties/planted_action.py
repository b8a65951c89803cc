"""Planted bugs of the contextual step (rule T6); see `planted.py`."""

from typing import Final

from properties.planted import Planted

ANSWERS: Final = "jingwei/action/answers.py"
COMPLETE: Final = "jingwei/action/complete.py"
DRIVE: Final = "jingwei/action/drive.py"
JSON: Final = "jingwei/action/json_actions.py"
NATIVE: Final = "jingwei/action/native.py"
RECORDING: Final = "jingwei/action/recording.py"
SCHEMAS: Final = "jingwei/action/schemas.py"
STEP: Final = "jingwei/action/step.py"

T6: Final = "properties/test_action.py::TestOneContextualStepT6::"
TAKEN: Final = T6 + "test_an_answer_is_taken_when_it_is_exactly_one_good_action"
ONCE: Final = T6 + "test_a_tool_runs_at_most_once_and_only_when_all_checks_have_passed"
READ: Final = T6 + "test_every_answer_has_an_event_that_can_be_read"
COUNTED: Final = T6 + "test_all_that_the_model_is_told_is_counted"
MACHINE: Final = "properties/test_action.py::TestStepMachine"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "T6",
        "the first of several calls is taken",
        ANSWERS,
        "    if len(response.tool_calls) > 1:\n",
        "    if len(response.tool_calls) > 2:\n",
        TAKEN,
    ),
    Planted(
        "T6",
        "an answer that was cut off is taken for whole",
        ANSWERS,
        "            return CutOff()\n",
        "            return None\n",
        TAKEN,
    ),
    Planted(
        "T6",
        "fragments of calls are passed over",
        ANSWERS,
        "    if response.incomplete_tool_calls:\n",
        "    if response.incomplete_tool_calls and response.tool_calls:\n",
        TAKEN,
    ),
    Planted(
        "T6",
        "arguments are taken without their schema",
        ANSWERS,
        "    if violations:\n",
        "    if violations and not arguments:\n",
        TAKEN,
    ),
    Planted(
        "T6",
        "words without a word end the turn",
        ANSWERS,
        "    return BlankText() if is_blank(text) else FinalAnswer(text=text)\n",
        "    return BlankText() if not text else FinalAnswer(text=text)\n",
        TAKEN,
    ),
    Planted(
        "T6",
        "an answer that no log can hold is recorded as it came",
        RECORDING,
        "        return tidied if unread is None else _failed(outcome.response, unread)\n",
        "        return tidied\n",
        READ,
    ),
    Planted(
        "T6",
        "an action is taken out of an answer that is recorded as failed",
        STEP,
        "        action = action if unreadable is None else unreadable\n",
        "        action = action or unreadable\n",
        READ,
    ),
    Planted(
        "T6",
        "arguments are taken for which the next request has no room",
        ANSWERS,
        "    if not within_depth(text, arguments, FREE_JSON_LEVELS):\n",
        "    if not within_depth(text, arguments, FREE_JSON_LEVELS + 12):\n",
        READ,
    ),
    Planted(
        "T6",
        "an unknown key of an action is passed over",
        JSON,
        "    if set(keys) != set(found):\n",
        "    if not set(keys) <= set(found):\n",
        TAKEN,
    ),
    Planted(
        "T6",
        "the schema of an answer allows keys that are not taken",
        JSON,
        '        "additionalProperties": False,\n',
        '        "additionalProperties": True,\n',
        T6 + "test_the_schema_that_a_provider_gets_allows_what_is_taken_and_little_else",
    ),
    Planted(
        "T6",
        "a model may answer beyond the output reserve",
        STEP,
        "    return reserve if inputs.max_tokens is None else min(inputs.max_tokens, reserve)\n",
        "    return reserve if inputs.max_tokens is None else inputs.max_tokens\n",
        T6 + "test_an_answer_may_never_take_more_than_the_output_reserve",
    ),
    Planted(
        "T6",
        "the instruction is sent and not counted",
        STEP,
        "                    request=built.request,\n",
        "                    request=attrs.evolve(\n"
        "                        built.request,\n"
        "                        messages=(*built.request.messages[:1], *built.request.messages),\n"
        "                    ),\n",
        COUNTED,
    ),
    Planted(
        "T6",
        "the control is not offered",
        NATIVE,
        "    constraint = NativeToolsConstraint(tools=(*tools, ASK_USER_TOOL), choice=AutoChoice())\n",
        "    constraint = NativeToolsConstraint(tools=(*tools,) or (ASK_USER_TOOL,), choice=AutoChoice())\n",
        T6 + "test_only_visible_tools_are_offered_with_the_control_behind_them",
    ),
    Planted(
        "T6",
        "a tool runs though its call could not be recorded",
        DRIVE,
        "    if isinstance(called, NotRecorded):\n        return Failure(called)\n"
        "    outcome = host.run_tool(calling.call)\n",
        "    outcome = host.run_tool(calling.call)\n"
        "    if isinstance(called, NotRecorded):\n        return Failure(called)\n",
        ONCE,
    ),
    Planted(
        "T6",
        "a tool that failed is run once more",
        DRIVE,
        "    outcome = host.run_tool(calling.call)\n",
        "    outcome = host.run_tool(calling.call)\n"
        '    if getattr(outcome, "retryable", False):\n        outcome = host.run_tool(calling.call)\n',
        ONCE,
    ),
    Planted(
        "T6",
        "a failed tool is said to have completed",
        COMPLETE,
        "        return ToolEnd.HALTED if failed else ToolEnd.TOOL_COMPLETED\n",
        "        return ToolEnd.TOOL_COMPLETED\n",
        ONCE,
    ),
    Planted(
        "T6",
        "what a tool said joins the system texts of the next step",
        STEP,
        '            return ("\\n\\n".join((instruction, *host)),)\n',
        '            return ("\\n\\n".join((instruction, *host, "MARK")),)\n',
        MACHINE,
    ),
    Planted(
        "T6",
        "the running turn shows another answer than the closed one",
        COMPLETE,
        "    said = AssistantMessage(content=planned.action.text)\n",
        "    said = AssistantMessage(content=planned.action.text.strip() or None)\n",
        "properties/test_action.py::TestOneContextualStepT6::test_a_final_answer_is_what_the_closed_turn_shows",
    ),
    Planted(
        "T6",
        "a schema is followed out of its document",
        SCHEMAS,
        "            except (Unresolvable, ValueError):\n"
        "                return _Wrong(reason=SchemaReason.REFERENCE, steps=steps, ref=ref)\n",
        "            except (Unresolvable, ValueError):\n                continue\n",
        T6 + "test_a_schema_with_a_reference_to_elsewhere_never_gets_to_a_model",
    ),
)
