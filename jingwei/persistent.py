"""Sequences and tables that grow by sharing: an old value stays what it was when a longer one is made.

Both are immutable all through, so that they may be held by records, shared by threads and branched at
any time. A session that grows event by event shares nearly all of every earlier state (P13, B6).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar, cast, final, overload

import attrs
from typing_extensions import override

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

WIDTH: Final = 32
"""Children of a node; a power of two."""
_BITS: Final = 5

_Node: TypeAlias = tuple[object, ...]  # children are nodes; those of a leaf are the items


@final
@attrs.frozen(eq=False, repr=False)
class Vector(Sequence[T]):
    """An immutable sequence; a longer one shares all but the last nodes with it.

    A tree of tuples of 32 with a tail. Its shape follows from its length alone, so that two vectors are
    compared node by node, and shared nodes by identity. `extended` costs the new items and at most 32
    references a level; reading an item costs the levels (four for a million items). Equal to the tuple
    of the same items, and hashed like it.
    """

    _root: _Node = ()
    _height: int = 1
    _tail: tuple[T, ...] = ()
    _length: int = 0

    def extended(self, items: Iterable[T]) -> "Vector[T]":
        """This sequence with further items at its end."""
        tail = (*self._tail, *items)
        if len(tail) == len(self._tail):
            return self
        root, height, leaves = self._root, self._height, self._length >> _BITS
        cut = len(tail) - (len(tail) & (WIDTH - 1))
        for start in range(0, cut, WIDTH):
            if leaves == WIDTH**height:
                root, height = (root,), height + 1
            root = _with_leaf(root, height, leaves, tail[start : start + WIDTH])
            leaves += 1
        length = self._length + len(tail) - len(self._tail)
        return Vector(root, height, tail[cut:], length)

    def first(self, count: int) -> "Vector[T]":
        """The first `count` items, or all where there are fewer; shares what it keeps."""
        if count >= self._length:
            return self
        if count <= 0:
            return Vector()
        leaves = count >> _BITS
        tail = self._leaf(leaves)[: count & (WIDTH - 1)]
        root, height = _first_leaves(self._root, self._height, leaves), self._height
        while height > 1 and leaves <= WIDTH ** (height - 1):
            root, height = (_child(root, 0) if root else ()), height - 1
        return Vector(root, height, tail, count)

    def starts_with(self, other: "Vector[T]") -> bool:
        """Whether `other` is a prefix of this; what both share is not looked into."""
        return len(other) <= self._length and self.first(len(other)) == other

    def since(self, start: int) -> Iterator[T]:
        """The items from index `start` on; what stands before is not walked."""
        first = max(start, 0)
        leaves = map(self._leaf, range(first >> _BITS, (self._length + WIDTH - 1) >> _BITS))
        return islice(chain.from_iterable(leaves), first & (WIDTH - 1), None)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: "slice[int | None, int | None, int | None]") -> tuple[T, ...]: ...
    @override
    def __getitem__(self, index: "int | slice[int | None, int | None, int | None]") -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple([self[i] for i in range(*index.indices(self._length))])
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(index)
        return self._leaf(place >> _BITS)[place & (WIDTH - 1)]

    @override
    def __len__(self) -> int:
        return self._length

    @override
    def __iter__(self) -> Iterator[T]:
        return self.since(0)

    @override
    def __reversed__(self) -> Iterator[T]:
        leaves = map(self._leaf, range((self._length - 1) >> _BITS, -1, -1))
        return chain.from_iterable(map(reversed, leaves))

    @override
    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vector):
            theirs = cast("Vector[object]", other)
            return (self._length, self._tail, self._root) == (theirs._length, theirs._tail, theirs._root)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    @override
    def __hash__(self) -> int:
        return hash(tuple(self))

    @override
    def __repr__(self) -> str:
        return f"Vector({tuple(self)!r})"

    def _leaf(self, number: int) -> tuple[T, ...]:
        if number == self._length >> _BITS:
            return self._tail
        node = self._root
        for level in range(self._height - 1, -1, -1):
            node = _child(node, (number >> (_BITS * level)) & (WIDTH - 1))
        return cast("tuple[T, ...]", node)


def vector(items: Iterable[T] = ()) -> Vector[T]:
    """A vector of these items."""
    return Vector[T]().extended(items)


def _child(node: _Node, place: int) -> _Node:
    return cast(_Node, node[place])


def _with_leaf(node: _Node, height: int, leaves: int, leaf: _Node) -> _Node:
    """A node of so many leaves with one more at its end; it is not full."""
    if height == 1:
        return (*node, leaf)
    inner = leaves & (WIDTH ** (height - 1) - 1)
    if inner == 0:
        return (*node, _with_leaf((), height - 1, 0, leaf))
    return (*node[:-1], _with_leaf(_child(node, -1), height - 1, inner, leaf))


def _first_leaves(node: _Node, height: int, leaves: int) -> _Node:
    """A node with its first leaves only."""
    if height == 1:
        return node[:leaves]
    whole, inner = divmod(leaves, WIDTH ** (height - 1))
    return (*node[:whole], _first_leaves(_child(node, whole), height - 1, inner)) if inner else node[:whole]


@final
@attrs.frozen(eq=False, repr=False)
class Table(Generic[K, V]):
    """An immutable table whose keys are only ever added; a longer one shares the large runs with it.

    Runs of falling size, the newest last, each less than half as large as the one before; a new run
    swallows what stands in its way. So an entry is copied only into a run of at least one and a half times
    the size, O(log n) times in all and by the interpreter's own loop, and a look-up asks at most log2(n)
    runs. Order of iteration: as added.
    """

    _runs: tuple[MappingProxyType[K, V], ...] = ()

    def extended(self, added: Mapping[K, V]) -> "Table[K, V]":
        """This table with further entries; their keys are not in it yet."""
        if not added:
            return self
        run, kept = dict(added), list(self._runs)
        while kept and len(kept[-1]) <= 2 * len(run):
            run = kept.pop() | run  # `|` copies a dict whole; unpacking would ask a proxy for each key
        return Table((*kept, MappingProxyType(run)))

    def get(self, key: K) -> V | None:
        """The value of a key; None for a key that is not in the table."""
        for run in self._runs:
            if key in run:
                return run[key]
        return None

    def __contains__(self, key: object) -> bool:
        """Whether the key was added."""
        for run in self._runs:  # noqa: SIM110  # the generator of `any` costs more than the look-ups
            if key in run:
                return True
        return False

    def meets(self, keys: Iterable[K]) -> bool:
        """Whether any of these keys was added; for many keys faster than to ask for each."""
        asked = frozenset(keys)
        return not all(run.keys().isdisjoint(asked) for run in self._runs)

    def __len__(self) -> int:
        """How many keys."""
        return sum(map(len, self._runs))

    def __iter__(self) -> Iterator[K]:
        """The keys, as added."""
        return chain.from_iterable(self._runs)

    def items(self) -> Iterator[tuple[K, V]]:
        """Keys and values, as added."""
        return chain.from_iterable(run.items() for run in self._runs)

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        theirs = cast("Table[object, object]", other)
        return self._runs == theirs._runs or dict(self.items()) == dict(theirs.items())

    @override
    def __hash__(self) -> int:
        return hash(frozenset(self))

    @override
    def __repr__(self) -> str:
        return f"Table({dict(self.items())!r})"
