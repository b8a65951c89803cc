"""What is wrong with items (rule S1)."""

import enum
from typing import TypeAlias, final

import attrs

from jingwei.ids import ItemId


@final
class InvalidItemReason(enum.Enum):
    """What an item may not be (S1)."""

    BLANK_ID = "blank_id"
    BLANK_CONTENT = "blank_content"
    BLANK_SUBJECT = "blank_subject"
    LONE_SURROGATE = "lone_surrogate"
    NOT_A_NUMBER = "not_a_number"
    OUT_OF_RANGE = "out_of_range"
    DUPLICATE_ID = "duplicate_id"
    UNTRUSTED_SYSTEM = "untrusted_system"
    SYSTEM_IN_ENVELOPE = "system_in_envelope"


@final
@attrs.frozen(kw_only=True)
class InvalidItem:
    """An item that no budget could make right (S1).

    Attributes:
        item_id: which.
        field: the attribute.
        reason: the check.
        actual: what came, shortened.
    """

    item_id: ItemId
    field: str
    reason: InvalidItemReason
    actual: str


ItemsFailure: TypeAlias = InvalidItem
"""Every way in which a set of items is refused before anything is chosen."""
