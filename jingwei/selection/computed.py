"""What a sequence that is computed when it is read owes to the tuple that it stands for."""

from collections.abc import Iterator, Sequence
from typing import TypeVar, cast, overload

from typing_extensions import override

from jingwei.persistent import Vector

T = TypeVar("T")


class View(Sequence[T]):
    """A sequence that is computed; equal to the tuple of the same items, and hashed like it."""

    __slots__ = ()

    def _at(self, index: int) -> T:
        """The item at an index in range."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: "slice[int | None, int | None, int | None]") -> tuple[T, ...]: ...
    @override
    def __getitem__(self, index: "int | slice[int | None, int | None, int | None]") -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple([self._at(i) for i in range(*index.indices(len(self)))])
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self._at(place)

    @override
    def __iter__(self) -> Iterator[T]:
        return map(self._at, range(len(self)))

    @override
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, View | tuple | Vector):
            theirs = cast("Sequence[object]", other)
            return len(self) == len(theirs) and tuple(self) == tuple(theirs)
        return NotImplemented

    @override
    def __hash__(self) -> int:
        return hash(tuple(self))

    @override
    def __repr__(self) -> str:
        return repr(tuple(self))
