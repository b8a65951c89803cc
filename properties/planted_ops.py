"""Planted bugs of the operations on tools and steps (rules T1, T3, T4, T6); see `planted.py`."""

from typing import Final

from properties.planted import Planted

STEPPING: Final = "jingwei/ops/stepping.py"
STORING: Final = "jingwei/ops/storing.py"
TOOLS: Final = "jingwei/ops/tools.py"

ANSWER: Final = "properties/test_ops.py::TestToolOperationsAnswer::"
STATELESS: Final = "properties/test_ops.py::TestStepsAreStateless::"
SHOWN: Final = "properties/test_ops.py::TestShownByLines::"

ROWS: Final[tuple[Planted, ...]] = (
    Planted(
        "T6",
        "an answer to another request is interpreted",
        STEPPING,
        "    if expected == answer.request_digest:\n",
        "    if expected:\n",
        STATELESS + "test_an_answer_to_another_request_is_never_taken",
    ),
    Planted(
        "T6",
        "a line of complete lets a tool run again",
        STEPPING,
        '                "replay_forbidden": True,\n',
        '                "replay_forbidden": done["kind"] != "OtherRequest",\n',
        ANSWER + "test_after_the_tool_ran_a_failure_carries_what_ran",
    ),
    Planted(
        "T6",
        "arguments that a provider wrote are read by a reader that drops keys",
        STEPPING,
        "attrs.evolve(call, arguments=Json(texts[index])) if index in texts else call",
        "call",
        STATELESS + "test_a_provider_s_text_is_read_as_it_was_written",
    ),
    Planted(
        "T6",
        "what came back is not recorded when it is no action",
        STEPPING,
        '            return failed({**tool_failure_value(why), "events": came})\n',
        '            return failed({**tool_failure_value(why), "events": []})\n',
        STATELESS + "test_an_answer_is_taken_as_the_function_takes_it",
    ),
    Planted(
        "T3",
        "a line does not say what must be stored",
        TOOLS,
        '            "to_store": to_store_value(settled.to_store),\n',
        '            "to_store": None,\n',
        SHOWN + "test_the_view_is_that_of_the_function",
    ),
    Planted(
        "T3",
        "a policy on a line is not looked at",
        STORING,
        "            return why\n        case _:\n            assert_never(checked)\n",
        "            return policy if why else why\n        case _:\n            assert_never(checked)\n",
        SHOWN + "test_the_view_is_that_of_the_function",
    ),
)
