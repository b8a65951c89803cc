"""What a model is shown of a tool's result, and who may choose it (rules T2, T3, T7)."""

import enum
from typing import Final, Protocol, TypeAlias, final

import attrs

from jingwei.events.records import ToolFailureCategory, ToolOutcome, ToolSucceeded
from jingwei.ids import EventId, TurnId
from jingwei.jsontext import Json, utf8_bytes
from jingwei.limits import PREVIEW_BYTES, PREVIEW_INLINE_BYTES, RESULT_SHOWN_BYTES_MAX
from jingwei.messages.records import ModelMessage
from jingwei.ports import ContentRef
from jingwei.projection.records import ProjectedTurn, Projection

RESULT_VIEW_VERSION: Final = 1
"""The meaning of a result view; a change of meaning is another number (T2)."""


# --- choosing -------------------------------------------------------------------------------------


@final
@attrs.frozen
class ShowWhole:
    """Show the whole text."""


@final
@attrs.frozen(kw_only=True)
class ShowPrefix:
    """Show the beginning of the text.

    Attributes:
        max_bytes: UTF-8 bytes at most; what is shown ends with a whole character.
    """

    max_bytes: int


@final
@attrs.frozen(kw_only=True)
class ShowCondensed:
    """Show a condensed text instead; where its facts come from is checked by who condenses (T2).

    Attributes:
        text: what is shown.
    """

    text: str


ResultChoice: TypeAlias = ShowWhole | ShowPrefix | ShowCondensed
"""How much of a result's text is shown. There is no word here for how the tool ended."""


class ResultChooser(Protocol):
    """What a host may put beside a policy. Pure."""

    def choose(self, name: str, outcome: ToolOutcome) -> ResultChoice:
        """How to show the result of this tool."""
        ...


@final
@attrs.frozen(kw_only=True)
class ResultPolicy:
    """Which results are large, and what is shown of them (T3). Made by `result_policy`, which checks it.

    It is a chooser itself: what is not large is shown whole, the rest as a preview.

    Attributes:
        inline_bytes: a text of more UTF-8 bytes than this is large; above zero.
        preview_bytes: UTF-8 bytes of a preview at most; in [0, `inline_bytes`].
        max_shown_bytes: UTF-8 bytes of text that a view shows at most, whoever chose; at least
            `inline_bytes`.
    """

    inline_bytes: int = PREVIEW_INLINE_BYTES
    preview_bytes: int = PREVIEW_BYTES
    max_shown_bytes: int = RESULT_SHOWN_BYTES_MAX

    def choose(self, name: str, outcome: ToolOutcome) -> ResultChoice:
        """The whole text up to `inline_bytes`, else its first `preview_bytes`."""
        if utf8_bytes(body_of(outcome)) <= self.inline_bytes:
            return ShowWhole()
        return ShowPrefix(max_bytes=self.preview_bytes)


DEFAULT_POLICY: Final = ResultPolicy()
"""The sizes of T3."""


def body_of(outcome: ToolOutcome) -> str:
    """The text of an outcome, which alone may be shortened: the output, or the message of a failure."""
    return outcome.output if isinstance(outcome, ToolSucceeded) else outcome.message


# --- views ----------------------------------------------------------------------------------------


@final
class ViewForm(enum.Enum):
    """What the text of a view is: the whole text, its beginning, or a condensed one."""

    WHOLE = "whole"
    PREFIX = "prefix"
    CONDENSED = "condensed"


@final
class ViewFallback(enum.Enum):
    """Why a view shows what the policy says, and not what was chosen."""

    OVER_LIMIT = "over_limit"
    NEGATIVE_PREFIX = "negative_prefix"
    BLANK_CONDENSED = "blank_condensed"
    NOT_SMALLER = "not_smaller"
    LONE_SURROGATE = "lone_surrogate"


@final
@attrs.frozen
class ShownSuccess:
    """The tool returned."""


@final
@attrs.frozen(kw_only=True)
class ShownFailure:
    """The tool did not return; in the words of the recorded outcome.

    Attributes:
        category: unchanged.
        code: unchanged up to `RESULT_CODE_BYTES_MAX` bytes; of a longer one the beginning.
        code_bytes: UTF-8 bytes of the whole code where `code` is only its beginning; else None.
        retryable: unchanged.
    """

    category: ToolFailureCategory
    code: str
    code_bytes: int | None = None
    retryable: bool


ShownOutcome: TypeAlias = ShownSuccess | ShownFailure


@final
@attrs.frozen(kw_only=True)
class ResultView:
    """What a model is shown of one result (T2, T3); recorded when it is first shown (T7).

    Attributes:
        call_seq: the place of the call's event in the log; names the exchange (P8).
        source_event: the event of the result.
        name: the tool.
        outcome: how it ended.
        form: what `text` is.
        text: what is shown of the output, or of the message of a failure.
        total_bytes: UTF-8 bytes of the whole text.
        fallback: why this is not what was chosen; None where it is.
        stored: whether the whole text stands in a store, so that the model is given a handle; only where
            `text` is not all of it.
        reference: where it stands, once that is known; never shown to a model.
    """

    call_seq: int
    source_event: EventId
    name: str
    outcome: ShownOutcome
    form: ViewForm
    text: str
    total_bytes: int
    fallback: ViewFallback | None = None
    stored: bool
    reference: ContentRef | None = None

    @property
    def algorithm_version(self) -> int:
        """1; written with every view."""
        return RESULT_VIEW_VERSION

    @property
    def truncated(self) -> bool:
        """Whether something of the whole text is not shown (T2)."""
        return self.form is not ViewForm.WHOLE

    @property
    def handle(self) -> EventId | None:
        """What a model names to read on: the source event, and nothing of store, scope or expiry."""
        return self.source_event if self.stored else None


@final
@attrs.frozen(kw_only=True)
class ToStore:
    """What the shell writes to a content store before any request refers to it (T3).

    Attributes:
        source_event: the event of the result.
        text: the whole text.
    """

    source_event: EventId
    text: str


@final
@attrs.frozen(kw_only=True)
class ViewedResult:
    """A view, and what must be stored first; `to_store` is None where everything is shown."""

    view: ResultView
    to_store: ToStore | None


# --- renditions -----------------------------------------------------------------------------------


@final
class ViewRendition(enum.Enum):
    """How exchanges are written as views (T7); without a rendering they stand as `recorded` (P8).

    `NATIVE` makes an assistant message with one call and a tool message of each; `JSON` an assistant message
    with the action's JSON and a user-role data message, and uses no native tool field.
    """

    NATIVE = "native"
    JSON = "json"


@final
@attrs.frozen(kw_only=True)
class ShownExchange:
    """An exchange of the running turn.

    Attributes:
        arguments: what the tool was called with, as recorded.
        view: which call, which tool, and what is shown.
    """

    arguments: Json
    view: ResultView


@final
@attrs.frozen(kw_only=True)
class ViewRow:
    """One exchange of the history that is sent as a view: a row for reports.

    Attributes:
        turn_id: its turn.
        source_event: the event of its result.
        form: what is shown.
        recorded: whether the view was read from the log; else the policy made it.
        total_bytes: UTF-8 bytes of the whole text.
        shown_bytes: UTF-8 bytes of the text shown.
    """

    turn_id: TurnId
    source_event: EventId
    form: ViewForm
    recorded: bool
    total_bytes: int
    shown_bytes: int


@final
@attrs.frozen(kw_only=True)
class ViewedTurn:
    """A turn with every exchange as a view.

    Attributes:
        turn: with sizes of its own; all but the exchanges, and what they cost, is as it was.
        rows: its exchanges, in order.
    """

    turn: ProjectedTurn
    rows: tuple[ViewRow, ...]

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        """What is sent of it."""
        return self.turn.messages


@final
@attrs.frozen(kw_only=True)
class ViewedHistory:
    """A projection with every exchange as a view: what `build` gets in the place of the projection.

    Attributes:
        projection: with the sizes and the shape of its new messages.
        viewed: the turns that have exchanges, in order.
    """

    projection: Projection
    viewed: tuple[ViewedTurn, ...]

    @property
    def rows(self) -> tuple[ViewRow, ...]:
        """All exchanges, in order; linear."""
        return tuple([row for one in self.viewed for row in one.rows])
