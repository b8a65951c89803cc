"""Which of the tools that a host allows a model is shown in one step (rule T1).

To see a tool is no right to run it, and the right is not given here: what the host authorised stays the
host's. A selector says names, and nothing that it says can change a definition.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias, final

import attrs

from jingwei.jsontext import escaped, utf8_bytes
from jingwei.limits import TOOL_BYTES_MAX, TOOLS_AUTHORISED_MAX, TOOLS_VISIBLE_MAX
from jingwei.messages.failures import ShapeFailure
from jingwei.messages.records import NativeToolsConstraint, ToolDefinition
from jingwei.messages.shape import constraint_failure
from jingwei.outcome import Failure, Outcome, Success

TOOL_VIEW_VERSION: Final = 1
"""The meaning of a tool view; a change of meaning is another number (T1)."""


@final
@attrs.frozen(kw_only=True)
class ToolViewLimits:
    """Bounds on one tool view (T1); each is inclusive and above zero.

    Attributes:
        max_authorised: definitions that the host allows.
        max_visible: names that a selector may return.
        max_bytes: canonical bytes of all authorised definitions together (`definition_bytes`).
    """

    max_authorised: int = TOOLS_AUTHORISED_MAX
    max_visible: int = TOOLS_VISIBLE_MAX
    max_bytes: int = TOOL_BYTES_MAX


DEFAULT_TOOL_LIMITS: Final = ToolViewLimits()
"""The numbers of T1."""


@final
@attrs.frozen(kw_only=True)
class ToolView:
    """The tools that a model is shown, and the names of those that it is not (T1).

    Attributes:
        algorithm_version: 1.
        tools: the authorised definitions themselves, sorted by name.
        excluded: names of the other authorised tools, sorted.
    """

    algorithm_version: int
    tools: tuple[ToolDefinition, ...]
    excluded: tuple[str, ...]


# --- failures -------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class ZeroToolLimit:
    """A limit of zero, or below.

    Attributes:
        limit: the attribute of `ToolViewLimits`.
    """

    limit: str


@final
@attrs.frozen(kw_only=True)
class TooManyTools:
    """The host authorised more tools than the limit allows."""

    limit: int
    actual: int


@final
@attrs.frozen(kw_only=True)
class ToolBytesExceeded:
    """The authorised definitions together have more canonical bytes than the limit allows."""

    limit: int
    actual: int


@final
@attrs.frozen(kw_only=True)
class CatalogInvalid:
    """The authorised definitions are no set of tools (M3): a blank or doubled name, a bad schema root.

    Attributes:
        error: the first rule that they break, sorted.
    """

    error: ShapeFailure


@final
@attrs.frozen(kw_only=True)
class UnknownGroup:
    """An active group is not among the groups of the selector.

    Attributes:
        group: its name.
    """

    group: str


@final
@attrs.frozen(kw_only=True)
class SelectorRefused:
    """A host's selector does not select, for a reason of its own.

    Attributes:
        reason: for people, in the selector's own words.
    """

    reason: str


@final
@attrs.frozen(kw_only=True)
class TooManyVisible:
    """The selector returned more names than the limit allows; none of them was looked at."""

    limit: int
    actual: int


@final
@attrs.frozen(kw_only=True)
class UnknownTool:
    """The selector returned a name that is not authorised.

    Attributes:
        name: the name.
        index: its place among the names returned.
    """

    name: str
    index: int


@final
@attrs.frozen(kw_only=True)
class DuplicateSelection:
    """The selector returned a name twice.

    Attributes:
        name: the name.
        index: the place of the second one among the names returned.
    """

    name: str
    index: int


SelectorFailure: TypeAlias = UnknownGroup | SelectorRefused
"""Why a selector returns no names."""

ToolViewFailure: TypeAlias = (
    ZeroToolLimit
    | TooManyTools
    | ToolBytesExceeded
    | CatalogInvalid
    | SelectorFailure
    | TooManyVisible
    | UnknownTool
    | DuplicateSelection
)
"""Every way in which there is no tool view, in the order of the checks."""


# --- selectors ------------------------------------------------------------------------------------


class ToolSelector(Protocol):
    """What a host may put in the place of `GroupedToolSelector`. Pure."""

    def select(self, authorised: tuple[ToolDefinition, ...]) -> Outcome[Sequence[str], SelectorFailure]:
        """Names of tools to show, out of these definitions, which are sorted by name."""
        ...


@final
@attrs.frozen(kw_only=True)
class ToolGroup:
    """Tools that are shown together.

    Attributes:
        name: the group's; groups of one name count as one.
        tools: names of its tools.
    """

    name: str
    tools: tuple[str, ...]


@final
@attrs.frozen(kw_only=True)
class GroupedToolSelector:
    """Selects single tools and groups of tools (T1).

    With `names` None and no active group all authorised tools are selected; with no names and no active
    group none is.

    Attributes:
        names: tools to show in any case; None for none in particular.
        groups: the groups that may be active.
        active_groups: names of those that are.
    """

    names: tuple[str, ...] | None = None
    groups: tuple[ToolGroup, ...] = ()
    active_groups: tuple[str, ...] = ()

    def select(self, authorised: tuple[ToolDefinition, ...]) -> Outcome[Sequence[str], SelectorFailure]:
        """The union of names and active groups, sorted; or the first active group that is unknown."""
        if self.names is None and not self.active_groups:
            return Success([tool.name for tool in authorised])
        chosen = set(self.names or ())
        known = {group.name for group in self.groups}
        for active in self.active_groups:
            if active not in known:
                return Failure(UnknownGroup(group=active))
            chosen.update(name for group in self.groups if group.name == active for name in group.tools)
        return Success(sorted(chosen))


ALL_TOOLS: Final = GroupedToolSelector()
"""Shows whatever is authorised."""


def select_tool_view(
    authorised: Sequence[ToolDefinition],
    selector: ToolSelector = ALL_TOOLS,
    limits: ToolViewLimits = DEFAULT_TOOL_LIMITS,
) -> Outcome[ToolView, ToolViewFailure]:
    """The tools that a selector chooses out of the authorised ones, or the first check that fails (T1).

    Order: limits, number of definitions, their bytes, their shape (as a set of tools, M3; no tools at all
    are allowed), the selector, the number of names, then name by name. The answer does not depend on the
    order of `authorised`. An exception that a selector raises is not swallowed.
    """
    broken = _limits_failure(limits) or _catalog_failure(authorised, limits)
    if broken is not None:
        return Failure(broken)
    catalog = tuple(sorted(authorised, key=_by_name))
    if catalog:
        shape = constraint_failure(NativeToolsConstraint(tools=catalog))
        if shape is not None:
            return Failure(CatalogInvalid(error=shape))
    match selector.select(catalog):
        case Success(names):
            return _viewed(catalog, names, limits)
        case Failure() as refused:
            return refused


def definition_bytes(tool: ToolDefinition) -> int:
    """Canonical bytes of one definition; the unit of `ToolViewLimits.max_bytes`."""
    parts = (escaped(tool.name), escaped(tool.description), tool.parameters.text)
    return _DEFINITION_FRAME + sum(map(utf8_bytes, parts))


_DEFINITION_FRAME: Final = len('{"name":,"description":,"parameters":}')


def _limits_failure(limits: ToolViewLimits) -> ZeroToolLimit | None:
    for name, value in attrs.asdict(limits).items():
        if value <= 0:
            return ZeroToolLimit(limit=name)
    return None


def _catalog_failure(
    authorised: Sequence[ToolDefinition], limits: ToolViewLimits
) -> TooManyTools | ToolBytesExceeded | None:
    if len(authorised) > limits.max_authorised:
        return TooManyTools(limit=limits.max_authorised, actual=len(authorised))
    size = sum(map(definition_bytes, authorised))
    return None if size <= limits.max_bytes else ToolBytesExceeded(limit=limits.max_bytes, actual=size)


def _by_name(tool: ToolDefinition) -> tuple[str, str, str]:
    # Names may still be doubled here, and which fault is told must not depend on the order of the catalogue.
    return (tool.name, tool.description, tool.parameters.text)


def _viewed(
    catalog: tuple[ToolDefinition, ...], names: Sequence[str], limits: ToolViewLimits
) -> Outcome[ToolView, TooManyVisible | UnknownTool | DuplicateSelection]:
    if len(names) > limits.max_visible:
        return Failure(TooManyVisible(limit=limits.max_visible, actual=len(names)))
    known, seen = {tool.name for tool in catalog}, set[str]()
    for index, name in enumerate(names):
        if name not in known:
            return Failure(UnknownTool(name=name, index=index))
        if name in seen:
            return Failure(DuplicateSelection(name=name, index=index))
        seen.add(name)
    return Success(
        ToolView(
            algorithm_version=TOOL_VIEW_VERSION,
            tools=tuple([tool for tool in catalog if tool.name in seen]),
            excluded=tuple([tool.name for tool in catalog if tool.name not in seen]),
        )
    )
