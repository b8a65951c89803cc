"""Tool views: cases V01 and V02, and every check in its order."""

from collections.abc import Sequence
from typing import final

import attrs
import pytest

from jingwei.jsontext import Json
from jingwei.messages.failures import EmptyName, InvalidSchemaShape
from jingwei.messages.records import NativeToolsConstraint, ToolDefinition
from jingwei.messages.wire import constraint_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.tool_views import (
    CatalogInvalid,
    DuplicateSelection,
    GroupedToolSelector,
    SelectorFailure,
    SelectorRefused,
    ToolBytesExceeded,
    ToolGroup,
    ToolView,
    ToolViewFailure,
    ToolViewLimits,
    TooManyTools,
    TooManyVisible,
    UnknownGroup,
    UnknownTool,
    ZeroToolLimit,
    definition_bytes,
    select_tool_view,
)


@final
@attrs.frozen
class Says:
    answer: Outcome[Sequence[str], SelectorFailure]

    def select(self, authorised: tuple[ToolDefinition, ...]) -> Outcome[Sequence[str], SelectorFailure]:
        return self.answer


def tools(names: str, parameters: str = '{"type":"object"}') -> list[ToolDefinition]:
    return [
        ToolDefinition(name=name, description="host schema", parameters=Json(parameters))
        for name in names.split(",")
    ]


@pytest.mark.parametrize("catalog", ["z,b,a", "a,z,b"])
def test_names_and_active_groups_select_authorised_definitions(catalog: str) -> None:
    """V01: sorted, whatever the order of the catalogue, which stays as it is."""
    given = tools(catalog)
    groups = (ToolGroup(name="read", tools=("a",)), ToolGroup(name="idle", tools=("b",)))
    selector = GroupedToolSelector(names=("z",), groups=groups, active_groups=("read",))

    view = select_tool_view(given, selector).unwrap()

    a, _, z = sorted(given, key=lambda tool: tool.name)
    assert ToolView(algorithm_version=1, tools=(a, z), excluded=("b",)) == view
    assert view.tools[0] is a
    assert tools(catalog) == given


def test_everything_is_selected_by_default_and_nothing_where_nothing_is_named() -> None:
    assert ("a", "b") == tuple(tool.name for tool in select_tool_view(tools("b,a")).unwrap().tools)
    assert () == select_tool_view(tools("a"), GroupedToolSelector(names=())).unwrap().tools
    assert ((), ()) == attrs.astuple(select_tool_view([]).unwrap())[1:]


READ = tools("read")


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (UnknownTool(name="root", index=0), select_tool_view(READ, Says(Success(("root",))))),
        (UnknownTool(name=" ", index=1), select_tool_view(READ, Says(Success(("read", " "))))),
        (DuplicateSelection(name="read", index=1), select_tool_view(READ, Says(Success(("read",) * 2)))),
        (
            UnknownGroup(group="missing"),
            select_tool_view(READ, GroupedToolSelector(active_groups=("missing",))),
        ),
        (SelectorRefused(reason="why"), select_tool_view(READ, Says(Failure(SelectorRefused(reason="why"))))),
        (ToolBytesExceeded(limit=1, actual=74), select_tool_view(READ, limits=ToolViewLimits(max_bytes=1))),
        (
            TooManyVisible(limit=1, actual=2),
            select_tool_view(tools("a,b"), limits=ToolViewLimits(max_visible=1)),
        ),
        (
            TooManyTools(limit=1, actual=2),
            select_tool_view(tools("a,b"), limits=ToolViewLimits(max_authorised=1)),
        ),
        (ZeroToolLimit(limit="max_visible"), select_tool_view([], limits=ToolViewLimits(max_visible=0))),
        (ZeroToolLimit(limit="max_bytes"), select_tool_view([], limits=ToolViewLimits(max_bytes=-1))),
        (CatalogInvalid(error=EmptyName(index=None)), select_tool_view(tools(" "))),
        (CatalogInvalid(error=InvalidSchemaShape()), select_tool_view(tools("a", "[]"))),
    ],
)
def test_each_failure_has_its_own_name_and_facts(
    expected: ToolViewFailure, found: Outcome[ToolView, ToolViewFailure]
) -> None:
    """V02, with the causes that the upstream names by one word told apart."""
    assert Failure(expected) == found


def test_a_doubled_tool_is_no_catalogue_in_whatever_order() -> None:
    one, two = tools("read")[0], tools("read", "[]")[0]

    assert select_tool_view([one, two]) == select_tool_view([two, one])
    assert isinstance(select_tool_view([one, two]).failure(), CatalogInvalid)


def test_a_selector_that_returns_nothing_shows_nothing() -> None:
    view = select_tool_view(READ, Says(Success(()))).unwrap()

    assert ((), ("read",)) == (view.tools, view.excluded)


def test_the_size_of_a_definition_is_that_of_the_wire() -> None:
    tool = ToolDefinition(name='q"中', description="\n", parameters=Json("{}"))
    empty, one = NativeToolsConstraint(tools=()), NativeToolsConstraint(tools=(tool,))

    assert constraint_bytes(one) - constraint_bytes(empty) == definition_bytes(tool)
