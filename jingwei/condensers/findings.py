"""What condensers find in a text, and how it is packed into the three levels (rule T2).

A finder says what is worth showing as ranges of characters, never as text of its own: so a value can only
be what stands there. Packing takes the most telling ones that have room.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final, TypeAlias, final

import attrs

from jingwei.condensers.checking import unfit
from jingwei.condensers.failures import (
    CondenseFailure,
    InvalidCondensation,
    InvalidCondensationReason,
    NotSmaller,
    NotThisKind,
)
from jingwei.condensers.records import CondensedText, CondenseLimits, Evidence, Fact
from jingwei.condensers.rendering import reference_text, rendered
from jingwei.jsontext import canonical, utf8_bytes
from jingwei.outcome import Failure, Outcome, Success


@final
@attrs.frozen(kw_only=True)
class Quote:
    """A piece of a text that is worth showing.

    Attributes:
        name: what it is.
        start: first character of the evidence.
        end: character behind the evidence.
        value_start: first character of the value, in the evidence.
        value_end: character behind the value; where it is too long, its beginning is shown.
        repeats: how often the text says the like.
    """

    name: str
    start: int
    end: int
    value_start: int
    value_end: int
    repeats: int = 1


@final
@attrs.frozen(kw_only=True)
class Findings:
    """What a finder has to say about a text.

    Attributes:
        kind: the kind of text, with what it was found in: the last part of the method's name.
        notes: sentences for the summary, the most telling first; never cut.
        quotes: pieces for the facts, the most telling first.
    """

    kind: str
    notes: tuple[str, ...]
    quotes: tuple[Quote, ...]


Finder: TypeAlias = Callable[[str], Findings | NotThisKind]
"""Reads a text of one kind. Total, and the same text gives the same findings."""


@final
@attrs.frozen(kw_only=True)
class FindingCondenser:
    """A condenser made of a finder. Satisfies `Condenser`.

    Attributes:
        kind: the kind of text that it reads, and with its version the method's name.
        version: changes whenever the answer for any text does.
        find: the finder.
    """

    kind: str
    version: int
    find: Finder

    @property
    def name(self) -> str:
        """`<kind>-v<version>`."""
        return f"{self.kind}-v{self.version}"

    def condense(self, text: str, limits: CondenseLimits) -> Outcome[CondensedText, CondenseFailure]:
        """The levels of a text of this kind; the method names what was found inside, too."""
        refused = unfit(text, limits)
        if refused is not None:
            return Failure(refused)
        found = self.find(text)
        if isinstance(found, NotThisKind):
            return Failure(found)
        inside = found.kind.removeprefix(self.kind)
        return packed(text, self.name + inside, found, limits)


SHARE: Final = (3, 20)
"""What a condensed text may be of the original: so four fifths are saved, and something to spare."""

LEAST_BYTES: Final = 640
"""Room that even a small original gives: below it the frame of the three levels leaves none for facts."""

SUMMARY_SHARE: Final = (2, 5)
"""The summary's part of the room, as long as there are facts to fill the rest."""

TRIED_QUOTES: Final = 256
"""Quotes that are looked at for the facts: several times what has room."""


def packed(
    text: str, method: str, found: Findings, limits: CondenseLimits
) -> Outcome[CondensedText, CondenseFailure]:
    """The findings that have room, in their order.

    The room is `SHARE` of the original, at least `LEAST_BYTES`, at most `max_rendered_bytes`. Notes fill
    their part of it, quotes the rest, and what is left then goes to further notes.
    """
    total = utf8_bytes(text)
    room = min(max(total * SHARE[0] // SHARE[1], LEAST_BYTES), limits.max_rendered_bytes, max(total - 1, 0))
    empty = CondensedText(
        method=method, facts=(), summary="", evidence_refs=(), total_bytes=total, truncated=True
    )
    frame = utf8_bytes(rendered(empty))
    left = room - frame
    for_notes = min(left * SUMMARY_SHARE[0] // SUMMARY_SHARE[1], limits.max_summary_bytes)
    # Without a first note there is no summary: it may take all the room.
    first = utf8_bytes(canonical(found.notes[0])) - 2
    for_notes = max(for_notes, first) if first <= left else for_notes
    notes, spent = _notes(found.notes, for_notes, limits.max_summary_bytes)
    left -= spent
    facts = _Facts(text, limits)
    for quote in found.quotes[:TRIED_QUOTES]:
        if len(facts.facts) >= limits.max_facts:
            break
        left -= facts.take(quote, left)
    if len(notes) < len(found.notes):
        notes, _ = _notes(found.notes, spent + max(left, 0), limits.max_summary_bytes)
    if not notes:
        return Failure(_no_room(method, found.notes[0], total, frame, limits))
    return Success(
        attrs.evolve(
            empty,
            facts=tuple(facts.facts),
            summary="\n".join(notes),
            evidence_refs=tuple(facts.references),
        )
    )


def _no_room(method: str, note: str, total: int, frame: int, limits: CondenseLimits) -> CondenseFailure:
    """Why not even the first note is shown."""
    if utf8_bytes(note) > limits.max_summary_bytes:
        return InvalidCondensation(method=method, reason=InvalidCondensationReason.SUMMARY_TOO_LONG)
    after = frame + utf8_bytes(canonical(note)) - 2
    if after >= total:
        return NotSmaller(before=total, after=after)
    return InvalidCondensation(method=method, reason=InvalidCondensationReason.RENDERED_TOO_LONG)


def _notes(notes: Sequence[str], room: int, most: int) -> tuple[list[str], int]:
    """The notes that have room, and their bytes as JSON; one that is too long is passed over."""
    taken, spent, plain = list[str](), 0, 0
    for note in notes:
        # Between two notes stands a line's end: in JSON two bytes, as many as the quotes of the literal.
        cost = utf8_bytes(canonical(note)) - (0 if taken else 2)
        size = utf8_bytes(note) + (1 if taken else 0)
        if spent + cost <= room and plain + size <= most:
            taken.append(note)
            spent, plain = spent + cost, plain + size
    return taken, spent


@final
class _Facts:
    """Facts as they are taken, and their references."""

    def __init__(self, text: str, limits: CondenseLimits) -> None:
        self._text = text
        self._limits = limits
        self._places = Places(text)
        self._known = dict[tuple[int, int], int]()
        self._values = set[str]()
        self.facts = list[Fact]()
        self.references = list[Evidence]()

    def take(self, quote: Quote, room: int) -> int:
        """Take a quote if it has room and says something new; how many bytes it takes."""
        end = shortened(self._text, quote.value_start, quote.value_end, self._limits.max_value_bytes)
        value = self._text[quote.value_start : end]
        if not value or value in self._values:
            return 0
        if utf8_bytes(value) > room:
            return 0
        place = self._known.get((quote.start, quote.end), len(self.references))
        shown = f',{{"name":{canonical(quote.name)},"value":{canonical(value)},"ref":{place}}}'
        if quote.repeats != 1:
            shown += f'"repeats":{quote.repeats},'
        cost = utf8_bytes(shown)
        if cost > room:
            return 0
        evidence = (
            self._places.evidence(quote.start, quote.end)
            if place == len(self.references)
            else self.references[place]
        )
        if place == len(self.references):
            cost += len(reference_text(evidence)) + 3
            if cost > room:
                return 0
            self._known[(quote.start, quote.end)] = place
            self.references.append(evidence)
        self._values.add(value)
        self.facts.append(Fact(name=quote.name, value=value, evidence=evidence, repeats=quote.repeats))
        return cost


def shortened(text: str, start: int, end: int, most: int) -> int:
    """The end of the longest beginning of a range that has at most so many UTF-8 bytes."""
    end = min(end, start + most)
    piece = text[start:end].encode("utf-8", "surrogatepass")
    if len(piece) <= most:
        return end
    while most and piece[most] & 0xC0 == 0x80:
        most -= 1
    return start + len(piece[:most].decode("utf-8", "surrogatepass"))


@final
class Places:
    """From characters to lines and bytes. Nothing is counted before it is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line starts, in characters."""
        return line_starts(self._text)

    @cached_property
    def _bytes(self) -> list[int]:
        """Where each line starts, in bytes."""
        found, total = [0], 0
        for start, end in pairwise(self._starts):
            total += utf8_bytes(self._text[start:end])
            found.append(total)
        return found

    def line(self, place: int) -> int:
        """The line of a character, from 1."""
        return bisect_right(self._starts, place)

    def byte(self, place: int) -> int:
        """Bytes in front of a character."""
        if self._text.isascii():
            return place
        line = self.line(place) - 1
        return self._bytes[line] + utf8_bytes(self._text[self._starts[line] : place])

    def evidence(self, start: int, end: int) -> Evidence:
        """A range of characters, which holds at least one, as evidence."""
        return Evidence(
            first_line=self.line(start),
            last_line=self.line(end - 1),
            start=self.byte(start),
            end=self.byte(end),
        )


def line_starts(text: str) -> list[int]:
    r"""Where each line starts; a line ends with `\n`, and behind a last `\n` one more line starts."""
    lengths = [len(line) + 1 for line in text.split("\n")]
    return list(accumulate(lengths[:-1], initial=0))


def line_quote(name: str, text: str, start: int, end: int, repeats: int = 1) -> Quote:
    """A line, or several, as a quote: the value leaves out white space at both ends.

    `end` may stand behind the line's end. A blank line gives an empty value, which is never shown.
    """
    value_start, value_end = trimmed(text, start, end)
    return Quote(
        name=name,
        start=value_start,
        end=value_end,
        value_start=value_start,
        value_end=value_end,
        repeats=repeats,
    )


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A range without the white space at its ends."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    return start + left, max(start + left, start + len(piece.rstrip()))


def spread(places: Sequence[int], most: int) -> list[int]:
    """At most so many of the places, evenly chosen, with the first and the last."""
    if len(places) <= most:
        return list(places)
    if most < 2:
        return list(places[: max(most, 0)])
    return [places[index * (len(places) - 1) // (most - 1)] for index in range(most)]


def clipped(text: str, most: int) -> str:
    """A text for a note: control characters as spaces, and where it is long its beginning and `…`."""
    plain = "".join(char if char.isprintable() else " " for char in text[: most + 1])
    return plain if len(plain) <= most else plain[:most] + "…"


def counted(count: int, word: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def listed(parts: Iterable[str], most: int) -> str:
    """Some of the parts, with commas, and how many more there are."""
    held = list(parts)
    shown = ", ".join(held[:most])
    return shown if len(held) <= most else f"{shown} and {len(held) - most} more"
