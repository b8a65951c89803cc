"""Which tools a model is shown (rule T1)."""

import itertools
import json
from collections.abc import Sequence
from typing import Never, final

import attrs
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from jingwei.jsontext import Json
from jingwei.messages.failures import DuplicateToolName
from jingwei.messages.records import NativeToolsConstraint, ToolDefinition
from jingwei.messages.wire import constraint_bytes
from jingwei.outcome import Failure, Outcome, Success
from jingwei.request.tool_views import (
    CatalogInvalid,
    DuplicateSelection,
    GroupedToolSelector,
    SelectorFailure,
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
from jingwei.testing import strategies

POOL = ("a", "b", "c", "查询", "b ", "root")


@final
@attrs.frozen
class Says:
    """A selector that says these names, whatever it is given."""

    names: tuple[str, ...]

    def select(self, authorised: tuple[ToolDefinition, ...]) -> Outcome[Sequence[str], SelectorFailure]:
        return Success(self.names)


def catalogs() -> st.SearchStrategy[list[ToolDefinition]]:
    """Sets of tools as hosts authorise them, in any order."""
    named = st.builds(
        ToolDefinition,
        name=st.sampled_from(POOL) | strategies.names(),
        description=strategies.texts(),
        parameters=strategies.json_objects(),
    )
    return st.lists(named, max_size=6, unique_by=lambda tool: tool.name)


@st.composite
def selectors(draw: st.DrawFn) -> GroupedToolSelector:
    """Selectors over a few names, now and then with a group that is not there."""
    words = st.lists(st.sampled_from(POOL), max_size=3).map(tuple)
    groups = st.builds(ToolGroup, name=st.sampled_from(("read", "write")), tools=words)
    return GroupedToolSelector(
        names=draw(st.none() | words),
        groups=tuple(draw(st.lists(groups, max_size=3))),
        active_groups=tuple(draw(st.lists(st.sampled_from(("read", "write", "none")), max_size=2))),
    )


def naive_names(selector: GroupedToolSelector, catalog: list[ToolDefinition]) -> list[str] | UnknownGroup:
    """What the rule says that a grouped selector selects."""
    if selector.names is None and len(selector.active_groups) == 0:
        return [tool.name for tool in catalog]
    members = {name: list[str]() for name in (group.name for group in selector.groups)}
    for group in selector.groups:
        members[group.name] += group.tools
    for active in selector.active_groups:
        if active not in members:
            return UnknownGroup(group=active)
    return [*(selector.names or ()), *itertools.chain(*[members[name] for name in selector.active_groups])]


class TestToolViewsT1:
    """T1. A selector sees the authorised definitions, sorted by name, and returns names; what is shown are
    the authorised definitions. An unknown or doubled name, and more than a limit allows, is a failure with
    its facts. Nothing depends on the order in which tools are authorised."""

    @given(catalogs(), st.data())
    def test_what_is_shown_is_what_was_authorised_and_named(
        self, catalog: list[ToolDefinition], data: st.DataObject
    ) -> None:
        known = st.sampled_from([tool.name for tool in catalog] or [""])
        names = tuple(data.draw(st.lists(known, max_size=4) | st.lists(known | strategies.names())))
        authorised = {tool.name: tool for tool in catalog}
        wrong = next((name for name in names if name not in authorised or names.count(name) > 1), None)

        found = select_tool_view(catalog, Says(names))

        if wrong is None:
            view = found.unwrap()
            assert sorted(names) == [tool.name for tool in view.tools]
            assert all(authorised[tool.name] is tool for tool in view.tools)
            assert sorted(authorised.keys() - set(names)) == list(view.excluded)
            assert 1 == view.algorithm_version
        else:
            told = found.failure()
            assert isinstance(told, UnknownTool | DuplicateSelection)
            assert told.name == names[told.index]
            if isinstance(told, UnknownTool):
                assert told.name not in authorised
            else:
                assert told.name in names[: told.index]
            before = names[: told.index]
            assert len(set(before)) == len(before)
            assert authorised.keys() >= set(before)

    @given(catalogs(), selectors(), st.randoms(use_true_random=False))
    def test_the_order_of_the_catalogue_means_nothing(
        self, catalog: list[ToolDefinition], selector: GroupedToolSelector, random: object
    ) -> None:
        shuffled = sorted(catalog, key=lambda tool: random.random())  # type: ignore[attr-defined]
        kept = list(catalog)

        assert select_tool_view(catalog, selector) == select_tool_view(shuffled, selector)
        assert kept == catalog

    @given(st.lists(st.sampled_from(("x", "y", " ")), max_size=4), st.randoms(use_true_random=False))
    def test_the_order_means_nothing_where_the_catalogue_is_no_set_of_tools(
        self, names: list[str], random: object
    ) -> None:
        tools = [
            ToolDefinition(name=name, description=str(n), parameters=Json("{}" if n % 2 else "[]"))
            for n, name in enumerate(names)
        ]
        shuffled = sorted(tools, key=lambda tool: random.random())  # type: ignore[attr-defined]

        assert select_tool_view(tools) == select_tool_view(shuffled)

    @given(catalogs(), selectors())
    def test_a_grouped_selector_selects_its_names_and_the_members_of_its_active_groups(
        self, catalog: list[ToolDefinition], selector: GroupedToolSelector
    ) -> None:
        named = naive_names(selector, catalog)

        found = select_tool_view(catalog, selector)

        known = {tool.name for tool in catalog}
        if isinstance(named, UnknownGroup):
            assert Failure(named) == found
        elif set(named) <= known:
            assert sorted(set(named)) == [tool.name for tool in found.unwrap().tools]
        else:
            told = found.failure()
            assert isinstance(told, UnknownTool)
            assert told.name in set(named) - known

    @given(catalogs())
    def test_a_selector_sees_the_definitions_sorted_by_name(self, catalog: list[ToolDefinition]) -> None:
        seen = list[tuple[ToolDefinition, ...]]()

        class Watching:
            def select(
                self, authorised: tuple[ToolDefinition, ...]
            ) -> Outcome[Sequence[str], SelectorFailure]:
                seen.append(authorised)
                return Success(())

        view = select_tool_view(catalog, Watching()).unwrap()

        assert [sorted(catalog, key=lambda tool: tool.name)] == [list(tools) for tools in seen]
        assert ((), tuple(tool.name for tool in seen[0])) == (view.tools, view.excluded)

    @given(catalogs(), st.data())
    def test_each_limit_may_be_met_and_is_told_with_what_was_met(
        self, catalog: list[ToolDefinition], data: st.DataObject
    ) -> None:
        total = sum(len(naive_definition(tool).encode()) for tool in catalog)
        near = st.sampled_from((0, 0, 0, 1, -1, -20))
        authorised, visible = (len(catalog) + data.draw(near) for _ in range(2))
        size = total + data.draw(near)
        limits = ToolViewLimits(max_authorised=authorised, max_visible=visible, max_bytes=size)
        expected: ToolViewFailure | None = None
        if visible < len(catalog):
            expected = TooManyVisible(limit=visible, actual=len(catalog))
        if size < total:
            expected = ToolBytesExceeded(limit=size, actual=total)
        if authorised < len(catalog):
            expected = TooManyTools(limit=authorised, actual=len(catalog))
        for name, value in (("max_bytes", size), ("max_visible", visible), ("max_authorised", authorised)):
            if value < 1:
                expected = ZeroToolLimit(limit=name)

        found = select_tool_view(catalog, limits=limits)

        assert (None if isinstance(found, Success) else found.failure()) == expected

    @given(catalogs())
    def test_the_size_of_a_definition_is_what_it_adds_to_a_request(
        self, catalog: list[ToolDefinition]
    ) -> None:
        for tool in catalog:
            empty, one = NativeToolsConstraint(tools=()), NativeToolsConstraint(tools=(tool,))

            assert constraint_bytes(one) - constraint_bytes(empty) == definition_bytes(tool)

    def test_the_default_limits(self) -> None:
        assert ToolViewLimits(max_authorised=1024, max_visible=64, max_bytes=4_194_304) == ToolViewLimits()

    def test_a_million_names_are_counted_and_not_read(self) -> None:
        class Unread(Sequence[str]):
            @override
            def __len__(self) -> int:
                return 10**6

            @override
            def __getitem__(self, index: object) -> Never:
                raise AssertionError("read")

        class Flood:
            def select(
                self, authorised: tuple[ToolDefinition, ...]
            ) -> Outcome[Sequence[str], SelectorFailure]:
                return Success(Unread())

        assert Failure(TooManyVisible(limit=64, actual=10**6)) == select_tool_view([], Flood())


class TestAcceptedToolViews:
    """The cases of acceptance for tool views, one by one."""

    def tools(self, names: str) -> list[ToolDefinition]:
        return [
            ToolDefinition(name=name, description="host schema", parameters=Json('{"type":"object"}'))
            for name in names.split()
        ]

    def test_names_and_an_active_group_are_joined_whatever_the_order(self) -> None:
        groups = (ToolGroup(name="read", tools=("a",)),)
        selector = GroupedToolSelector(names=("z",), groups=groups, active_groups=("read",))
        first, second = self.tools("z b a"), self.tools("a z b")

        view = select_tool_view(first, selector).unwrap()

        a, b, z = sorted(first, key=lambda tool: tool.name)
        assert ToolView(algorithm_version=1, tools=(a, z), excluded=(b.name,)) == view
        assert view == select_tool_view(second, selector).unwrap()
        assert self.tools("a z b") == second

    def test_what_is_wrong_is_told_by_its_own_name(self) -> None:
        read = self.tools("read")
        missing = GroupedToolSelector(active_groups=("missing",))
        cases: list[tuple[ToolViewFailure, Outcome[ToolView, ToolViewFailure]]] = [
            (UnknownTool(name="root", index=0), select_tool_view(read, Says(("root",)))),
            (DuplicateSelection(name="read", index=1), select_tool_view(read, Says(("read", "read")))),
            (UnknownGroup(group="missing"), select_tool_view(read, missing)),
            (
                CatalogInvalid(error=DuplicateToolName(name="read")),
                select_tool_view(read * 2, GroupedToolSelector()),
            ),
            (
                ToolBytesExceeded(limit=1, actual=74),
                select_tool_view(read, limits=ToolViewLimits(max_bytes=1)),
            ),
            (
                TooManyVisible(limit=1, actual=2),
                select_tool_view(self.tools("a b"), limits=ToolViewLimits(max_visible=1)),
            ),
        ]
        for expected, found in cases:
            assert Failure(expected) == found
        assert () == select_tool_view(read, Says(())).unwrap().tools


def naive_definition(tool: ToolDefinition) -> str:
    """A definition as JSON, by the standard library but for its schema."""
    name, description = (json.dumps(text, ensure_ascii=False) for text in (tool.name, tool.description))
    return f'{{"name":{name},"description":{description},"parameters":{tool.parameters.text}}}'
