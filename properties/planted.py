"""Planted bugs: each a small change of jingwei's source, and the property that must catch it.

A bug is planted in a process of its own: pytest is started with this module as a plugin, which puts an
import hook in front of jingwei that compiles the changed text instead of the file. Nothing on the disk is
touched. The process runs one property, with as many examples as the quick profile has, and must end with
failed tests; a broken import or a property that does not exist is no catch.

This table has the rules W, L, P and B10. Another table joins by being named in `TABLES`;
`table()` is all of them.
"""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, cast

from typing_extensions import override

VARIABLE = "JINGWEI_PLANTED"
"""Names the bug that a process is to plant, by its id."""

TABLES = (
    "properties.planted",
    "properties.planted_action",
    "properties.planted_build",
    "properties.planted_by_value",
    "properties.planted_cache",
    "properties.planted_condense",
    "properties.planted_condensers",
    "properties.planted_incremental",
    "properties.planted_items",
    "properties.planted_observing",
    "properties.planted_ops",
    "properties.planted_results",
    "properties.planted_stores",
    "properties.planted_summaries",
    "properties.planted_writer",
)
"""Modules with a table called `ROWS`; one that is absent is skipped."""

ROOT = Path(__file__).parent.parent


class Planted(NamedTuple):
    """One bug.

    Attributes:
        rule: the rule that it breaks.
        what: what is wrong, for people; unique over all tables.
        module: the file it stands in, from the project's root.
        before: the text, which stands there exactly once.
        after: what stands there instead.
        caught_by: pytest's name of the property.
    """

    rule: str
    what: str
    module: str
    before: str
    after: str
    caught_by: str

    @property
    def id(self) -> str:
        """A name for command lines."""
        return re.sub(r"[^a-z0-9]+", "-", self.what.lower()).strip("-")

    @property
    def import_name(self) -> str:
        return self.module.removesuffix(".py").replace("/", ".")


class Broken(NamedTuple):
    """A row that cannot be planted: its text stands in its module so many times, and not once."""

    times: int


def table() -> tuple[Planted, ...]:
    """The rows of all tables."""
    found = [name for name in TABLES if importlib.util.find_spec(name) is not None]
    return tuple(Planted(*row) for name in found for row in importlib.import_module(name).ROWS)


def asked_for(wanted: str) -> Planted:
    """The row with this id; ends the process with a message where there is none."""
    rows = {row.id: row for row in table()}
    if wanted not in rows:
        near = get_close_matches(wanted, rows)
        meant = f"; meant {' or '.join(near)}?" if near else ""
        sys.exit(
            f"{VARIABLE}: no planted bug is called {wanted!r}{meant} (properties/README.md lists the ids)"
        )
    return rows[wanted]


def changed(row: Planted) -> str | Broken:
    """The source of the row's module with the bug in it."""
    source = (ROOT / row.module).read_text(encoding="utf-8")
    times = source.count(row.before)
    return source.replace(row.before, row.after) if times == 1 else Broken(times)


def hunted(row: Planted) -> subprocess.CompletedProcess[str]:
    """Run the property of a row against its bug; 1 is pytest's code for tests that failed."""
    command = ("-m", "pytest", "-q", "-x", "--tb=line", "-p", "properties.planted", "-p", "no:cacheprovider")
    return subprocess.run(
        [sys.executable, *command, row.caught_by],
        cwd=ROOT,
        env={**os.environ, VARIABLE: row.id, "HYPOTHESIS_PROFILE": "planted"},
        capture_output=True,
        text=True,
        check=False,
    )


class _Finder(MetaPathFinder):
    """Finds one module, to load it changed."""

    def __init__(self, row: Planted) -> None:
        self._row = row

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._row.import_name:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        spec.loader = _Loader(self._row)
        return spec


class _Loader(SourceLoader):
    """Loads the changed text; never from, nor into, a cache of compiled files."""

    def __init__(self, row: Planted) -> None:
        self._row = row

    @override
    def get_filename(self, fullname: str) -> str:
        return str(ROOT / self._row.module)

    @override
    def get_data(self, path: str | bytes) -> bytes:
        text = changed(self._row)
        assert isinstance(text, str), text
        return text.encode()


def _plant() -> None:
    """What happens when pytest loads this module as a plugin in a process that asks for a bug."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None or __name__ == "__main__":
        return
    row = asked_for(wanted)
    assert row.import_name not in sys.modules, "the bug comes too late"
    sys.meta_path.insert(0, cast(MetaPathFinder, _Finder(row)))


# --- the table ------------------------------------------------------------------------------------

_CODEC, _JSON = "jingwei/codec.py", "jingwei/jsontext.py"
_TURN, _PROJECT, _TURNS = (
    "jingwei/projection/turn.py",
    "jingwei/projection/project.py",
    "jingwei/events/turns.py",
)
_ADVANCE = "jingwei/projection/advance.py"
_WIRE, _RECORDS, _LOG = "jingwei/events/wire.py", "jingwei/events/records.py", "jingwei/events/log.py"

_W1 = "properties/test_wire.py::TestLinesW1"
_W2 = "properties/test_wire.py::TestKindsW2"
_W3 = "properties/test_wire.py::TestToolRecordsW3"
_W4 = "properties/test_wire.py::TestModelRecordsW4"
_W5 = "properties/test_wire.py::TestNothingIsCoercedW5"
_W6 = "properties/test_wire.py::TestTotalDecodingW6"
_W7 = "properties/test_wire.py::TestExactNumbersW7"
_W8 = "properties/test_wire.py::TestCanonicalBytesW8"
_L1 = "properties/test_log.py::TestPhysicalOrderL1"
_L2 = "properties/test_log.py::TestSequenceNumbersL2"
_P = "properties/test_projection.py::Test"

ROWS: tuple[Planted, ...] = (
    # W: the wire
    Planted(
        rule="W1",
        what="unknown keys are ignored also where they are to be refused",
        module=_CODEC,
        before="if keys.strict and not found.keys() <= keys.allowed:",
        after="if False:",
        caught_by=f"{_W1}::test_unknown_keys_are_refused_where_they_could_matter",
    ),
    Planted(
        rule="W1",
        what="a line that the fast door takes is thought to be half as long",
        module=_WIRE,
        before="bytes_at_most=utf8_bytes(line.text))",
        after="bytes_at_most=utf8_bytes(line.text) // 2)",
        caught_by=f"{_W1}::test_the_size_of_a_log_is_never_underrated",
    ),
    Planted(
        rule="W2",
        what="one kind has another tag",
        module=_WIRE,
        before='"mode": ModeDecided',
        after='"mode_decided": ModeDecided',
        caught_by=f"{_W2}::test_the_fourteen_tags",
    ),
    Planted(
        rule="W3",
        what="one category of tool failures has another spelling",
        module=_RECORDS,
        before='GUARD_FAULT = "guard_fault"',
        after='GUARD_FAULT = "guard_failed"',
        caught_by=f"{_W3}::test_the_spellings_are_those_of_the_rule",
    ),
    Planted(
        rule="W4",
        what="a recorded token limit of 31 bits is refused",
        module=_WIRE,
        before='below={"max_tokens": 2**32}',
        after='below={"max_tokens": 2**31}',
        caught_by=f"{_W4}::test_the_modes_and_the_bounds_of_the_options",
    ),
    Planted(
        rule="W5",
        what="`true` and `1.0` are taken for version 1",
        module=_CODEC,
        before="return type(value) is int and value == 1",
        after="return value == 1",
        caught_by=f"{_W5}::test_only_the_number_one_is_a_version",
    ),
    Planted(
        rule="W5",
        what="`true` is read as 1",
        module=_CODEC,
        before="if type(value) is not int:",
        after="if not isinstance(value, int):",
        caught_by=f"{_W5}::test_a_wrong_type_is_named_at_its_place",
    ),
    Planted(
        rule="W5",
        what="of several wrong values the last is named",
        module=_CODEC,
        before="return min(problems, key=position)",
        after="return max(problems, key=position)",
        caught_by=f"{_W5}::test_of_two_wrong_values_the_first_in_the_line_is_named",
    ),
    Planted(
        rule="W6",
        what="of two equal keys the last is kept",
        module=_JSON,
        before="if len(found) != len(pairs):",
        after="if len(found) > len(pairs):",
        caught_by=f"{_W6}::test_each_refusal_with_its_line",
    ),
    Planted(
        rule="W6",
        what="an escaped half of a surrogate pair is read",
        module=_JSON,
        before="if _SURROGATE_ESCAPE.search(text) is None:",
        after="if True:",
        caught_by=f"{_W6}::test_each_refusal_with_its_line",
    ),
    Planted(
        rule="W6",
        what="`1e400` is read as infinity",
        module=_JSON,
        before="if not math.isfinite(number):",
        after="if math.isnan(number):",
        caught_by=f"{_W6}::test_each_refusal_with_its_line",
    ),
    Planted(
        rule="W6",
        what="the 128th level is refused",
        module="jingwei/limits.py",
        before="JSON_DEPTH_MAX: Final = 128",
        after="JSON_DEPTH_MAX: Final = 127",
        caught_by=f"{_W6}::test_depth_is_counted_from_the_event",
    ),
    Planted(
        rule="W6",
        what="an integer of 4,300 digits is refused",
        module=_JSON,
        before="if len(digits) > INTEGER_DIGITS_MAX:",
        after="if len(digits) >= INTEGER_DIGITS_MAX:",
        caught_by=f"{_W7}::test_the_longest_integers",
    ),
    Planted(
        rule="W6",
        what="the torn line counts as whole",
        module=_CODEC,
        before="whole_bytes=offset,",
        after="whole_bytes=offset + len(raw),",
        caught_by=f"{_W6}::test_a_torn_last_line_says_what_is_whole",
    ),
    Planted(
        rule="W6",
        what="a piece without a newline is lost",
        module=_CODEC,
        before="if start < len(chunk):",
        after="if 0 < start < len(chunk):",
        caught_by=f"{_W6}::test_any_division_into_pieces_reads_the_same",
    ),
    Planted(
        rule="W6",
        what="blank lines are skipped",
        module=_CODEC,
        before="            yield line\n            if isinstance(line, DecodeFailed) and",
        after="            if raw.strip():\n"
        "                yield line\n            if isinstance(line, DecodeFailed) and",
        caught_by=f"{_W6}::test_each_refusal_with_its_line",
    ),
    Planted(
        rule="W5",
        what="a missing key is called a wrong type",
        module=_CODEC,
        before='_problem(DecodeReason.MISSING_KEY, f"a key {note.name!r}", "nothing"',
        after='_problem(DecodeReason.WRONG_TYPE, f"a key {note.name!r}", "nothing"',
        caught_by=f"{_W5}::test_a_missing_key_is_named",
    ),
    Planted(
        rule="W5",
        what="later versions are read like version 1",
        module=_CODEC,
        before="return type(value) is int and value == 1",
        after="return type(value) is int and value >= 1",
        caught_by=f"{_W5}::test_only_the_number_one_is_a_version",
    ),
    Planted(
        rule="W5",
        what="an unknown tag is read as the last one of the list",
        module=_CODEC,
        before="                raise _refused(DecodeReason.UNKNOWN_TAG, known, _shown(name), (tag,))\n",
        after="                name = list(hooks)[-1]\n",
        caught_by=f"{_W2}::test_another_tag_is_refused",
    ),
    Planted(
        rule="W5",
        what="spellings in capitals are read",
        module=_CODEC,
        before="        if value not in members:\n",
        after="        value = value.lower()\n        if value not in members:\n",
        caught_by=f"{_W3}::test_the_spellings_are_those_of_the_rule",
    ),
    Planted(
        rule="W6",
        what="bytes that are no UTF-8 are replaced",
        module=_CODEC,
        before="return Line(text=raw.decode(), number",
        after='return Line(text=raw.decode(errors="replace"), number',
        caught_by=f"{_W6}::test_each_refusal_with_its_line",
    ),
    Planted(
        rule="W6",
        what="a byte order mark is refused only where nothing follows",
        module=_CODEC,
        before="    if offset == 0 and raw.startswith(_BOM):\n        return DecodeFailed(",
        after="    if offset == 0 and raw == _BOM:\n        return DecodeFailed(",
        caught_by=f"{_W6}::test_a_byte_order_mark_is_refused_only_where_one_can_stand",
    ),
    Planted(
        rule="W6",
        what="what follows the value on its line is ignored",
        module=_JSON,
        before="        if self.at != len(self.text):\n",
        after="        if self.at > len(self.text):\n",
        caught_by=f"{_W6}::test_each_refusal_with_its_line",
    ),
    Planted(
        rule="W6",
        what="a line that is no object is called a wrong type",
        module=_CODEC,
        before='return _at(line, DecodeReason.NOT_AN_OBJECT, path=""',
        after='return _at(line, DecodeReason.WRONG_TYPE, path=""',
        caught_by=f"{_W6}::test_each_refusal_with_its_line",
    ),
    Planted(
        rule="W7",
        what="an integer beyond 2^53 becomes a float",
        module=_JSON,
        before="    if len(digits) <= _CHUNK:\n        return int(token)",
        after="    if len(digits) <= _CHUNK:\n"
        "        return int(token) if len(digits) < 17 else int(float(token))",
        caught_by=f"{_W7}::test_integers_of_any_size",
    ),
    Planted(
        rule="W7",
        what="the keys of free JSON are sorted",
        module=_JSON,
        before='allow_nan=False, separators=(",", ":")',
        after='allow_nan=False, sort_keys=True, separators=(",", ":")',
        caught_by=f"{_W7}::test_key_order_is_kept",
    ),
    Planted(
        rule="W8",
        what="free JSON is written with spaces",
        module=_JSON,
        before='allow_nan=False, separators=(",", ":")',
        after='allow_nan=False, separators=(", ", ": ")',
        caught_by=f"{_W8}::test_canonical_text_is_that_of_the_standard_encoder",
    ),
    Planted(
        rule="W8",
        what="optional keys stand after the others",
        module=_CODEC,
        before="            for name in names:\n",
        after="            for name in sorted(names, key=omitted.__contains__):\n",
        caught_by=f"{_W1}::test_a_line_is_what_the_naive_writer_writes",
    ),
    # L: the physical log
    Planted(
        rule="L1",
        what="a wrong seq hides a wrong session",
        module=_LOG,
        before="if event.session_id != session_id:",
        after="if event.session_id != session_id and event.seq == index:",
        caught_by=f"{_L1}::test_session_before_sequence_before_identity",
    ),
    Planted(
        rule="L1",
        what="an event id may recur, only not in the next event",
        module=_LOG,
        before="        seen.add(event.event_id)",
        after="        seen = {event.event_id}",
        caught_by=f"{_L1}::test_no_id_recurs_however_far",
    ),
    Planted(
        rule="L2",
        what="2^64 is taken for a seq",
        module=_CODEC,
        before="if not 0 <= value < TOKENS_BOUND:",
        after="if not 0 <= value <= TOKENS_BOUND:",
        caught_by=f"{_L2}::test_no_number_outside_is_read",
    ),
    # P: the projection
    Planted(
        rule="P1",
        what="the default bound on events is another",
        module="jingwei/limits.py",
        before="EVENTS_MAX: Final = 100_000",
        after="EVENTS_MAX: Final = 10_000",
        caught_by=f"{_P}ProjectP1::test_the_defaults",
    ),
    Planted(
        rule="P2",
        what="a physical failure hides a limit failure",
        module=_PROJECT,
        before="    refused = config_failure(session_id, config) or log_limit_failure(log, config)\n",
        after="    refused = config_failure(session_id, config)\n"
        "    early = check_log(session_id, log)\n"
        "    if refused is None and isinstance(early, Failure):\n"
        "        return early\n"
        "    refused = refused or log_limit_failure(log, config)\n",
        caught_by=f"{_P}OrderOfChecksP2::test_each_check_hides_the_later_ones",
    ),
    Planted(
        rule="P2",
        what="as many events as the bound says are too many",
        module=_ADVANCE,
        before="if count > config.max_events:",
        after="if count >= config.max_events:",
        caught_by=f"{_P}OrderOfChecksP2::test_a_bound_that_is_met_is_kept",
    ),
    Planted(
        rule="P3",
        what="a turn id of white space is an id",
        module=_ADVANCE,
        before="if is_blank(first.turn_id):",
        after="if not first.turn_id:",
        caught_by=f"{_P}TurnsP3::test_a_blank_turn_id",
    ),
    Planted(
        rule="P3",
        what="a turn may go on after another one",
        module=_ADVANCE,
        before="self._turn_ids[first.turn_id] = None",
        after="self._turn_ids.clear()\n        self._turn_ids[first.turn_id] = None",
        caught_by=f"{_P}TurnsP3::test_a_turn_in_two_pieces",
    ),
    Planted(
        rule="P4",
        what="a message id may recur in another turn",
        module=_ADVANCE,
        before="        self._turn = OpenTurn(base, self._known_messages)\n        return self._turn\n",
        after="        self._turn = OpenTurn(base)\n        return self._turn\n",
        caught_by=f"{_P}EventsOfATurnP4::test_a_bad_step_and_its_reason",
    ),
    Planted(
        rule="P4",
        what="what a kind asks for comes before the reply that forbids it",
        module=_TURNS,
        before="Refusal(reason=MalformedReason.WORK_AFTER_REPLY, first=True)",
        after="Refusal(reason=MalformedReason.WORK_AFTER_REPLY, first=False)",
        caught_by=f"{_P}EventsOfATurnP4::test_a_bad_step_and_its_reason",
    ),
    Planted(
        rule="P4",
        what="a call id is free again after its result",
        module=_TURNS,
        before="return MalformedReason.REPEATED_CALL_ID if kind.call.id in ids.tool_calls else None",
        after="open_ = kind.call.id in ids.tool_calls and kind.call.id not in ids.tool_results\n"
        "    return MalformedReason.REPEATED_CALL_ID if open_ else None",
        caught_by="properties/test_small_worlds.py::TestSmallLogs::"
        "test_every_log_that_has_not_failed_for_good",
    ),
    Planted(
        rule="P5",
        what="a failed turn may leave calls open",
        module=_TURN,
        before="if not (calls or models or unterminated):",
        after="if self._ended is ProjectedState.FAILED or not (calls or models or unterminated):",
        caught_by=f"{_P}UnconfirmedP5::test_open_calls_are_named_in_call_order",
    ),
    Planted(
        rule="P5",
        what="an open turn is admitted in the middle",
        module=_TURN,
        before="not (is_last and self._holds_user_only())",
        after="not self._holds_user_only()",
        caught_by=f"{_P}UnconfirmedP5::test_an_open_turn_is_the_last",
    ),
    Planted(
        rule="P6",
        what="a streamed piece stands in for a reply",
        module=_TURN,
        before="        elif isinstance(kind, UserMessageEvent):\n            self.new_groups",
        after="        elif isinstance(kind, AssistantDelta):\n"
        "            self._reply = (event, kind.text)\n"
        "        elif isinstance(kind, UserMessageEvent):\n            self.new_groups",
        caught_by=f"{_P}MissingRepliesP6::test_refused_or_kept_and_marked",
    ),
    Planted(
        rule="P7",
        what="exchanges stand in the order of their results",
        module=_TURN,
        before="            for asked, answer in self._tools.settle():\n"
        "                self.new_groups.append(self._exchange(asked, answer))",
        after="            asked = self._tools._asked[kind.result.call_id]\n"
        "            self.new_groups.append(self._exchange(asked, event))",
        caught_by=f"{_P}GroupsP7::test_exchanges_stand_in_call_order",
    ),
    Planted(
        rule="P7",
        what="an empty reply is no reply",
        module=_TURN,
        before="if self._reply is not None and ended in _SUCCESSFUL:",
        after="if self._reply is not None and self._reply[1] and ended in _SUCCESSFUL:",
        caught_by=f"{_P}GroupsP7::test_the_complete_text_is_kept_even_if_empty",
    ),
    Planted(
        rule="P8",
        what="an exchange keeps the recorded call id, which may recur",
        module=_TURN,
        before='ProviderCallId(f"jw_tool_{asked.seq}")',
        after='ProviderCallId(f"jw_tool_{call.id}")',
        caught_by=f"{_P}RenditionRecordedP8::test_each_exchange_is_made_of_its_two_events",
    ),
    Planted(
        rule="P9",
        what="the reply of a failed turn is neither kept nor omitted",
        module=_TURN,
        before="return None if self._ended in _SUCCESSFUL else OmissionReason.UNSUCCESSFUL_REPLY",
        after="return None",
        caught_by="properties/test_small_worlds.py::TestSmallLogs::test_every_log",
    ),
    Planted(
        rule="P9",
        what="deltas are omitted for another reason",
        module=_TURN,
        before="AssistantDelta: OmissionReason.STREAM_DELTA",
        after="AssistantDelta: OmissionReason.AUDIT",
        caught_by=f"{_P}PartitionP9::test_omissions_ascend_and_say_why",
    ),
    Planted(
        rule="P10",
        what="as many messages as the bound says are too many",
        module=_ADVANCE,
        before="if messages > self._config.max_messages:",
        after="if messages >= self._config.max_messages:",
        caught_by=f"{_P}MessageBoundP10::test_all_or_nothing",
    ),
    Planted(
        rule="P11",
        what="the source tail is the last omitted event",
        module=_ADVANCE,
        before="return Success(self.projection(found, self._count, self._tail))",
        after="tail = found.omitted[-1].event_id if found.omitted else None\n"
        "        return Success(self.projection(found, self._count, tail))",
        caught_by=f"{_P}ContentP11::test_it_says_where_it_comes_from",
    ),
    Planted(
        rule="P12",
        what="omissions come out of a set, in the order of their hashes",
        module=_ADVANCE,
        before="omitted=self.omitted.extended(omitted),",
        after="omitted=self.omitted.extended(set(omitted)),",
        caught_by="properties/test_determinism.py",
    ),
    # B10: diagnose
    Planted(
        rule="B10",
        what="an event that breaks the physical order still takes part in its turn",
        module="jingwei/projection/diagnose.py",
        before="for index, event in enumerate(log.events) if index not in offending]",
        after="for index, event in enumerate(log.events) if index >= 0]",
        caught_by=f"{_P}DiagnoseB10::test_one_foreign_event_is_one_violation",
    ),
    Planted(
        rule="B10",
        what="a log whose last turn was cut off behind damage has no way out",
        module="jingwei/projection/diagnose.py",
        before="for earlier in (EarlierTurns.REJECT, EarlierTurns.KEEP):",
        after="for earlier in (EarlierTurns.REJECT,):",
        caught_by=f"{_P}DiagnoseB10::test_damage_that_stays_is_no_dead_end",
    ),
    Planted(
        rule="B10",
        what="what the closed log needs is asked of the log as it is",
        module="jingwei/projection/diagnose.py",
        before="admits_closed = after.admitting(closable.log)",
        after="admits_closed = survey.admitting(closable.log)",
        caught_by=f"{_P}DiagnoseB10::test_the_way_out_leads_out",
    ),
)

REFUSALS: dict[str, str] = {
    "invalid_utf8": "bytes-that-are-no-utf-8-are-replaced",
    "bom": "a-byte-order-mark-is-refused-only-where-nothing-follows",
    "invalid_json": "what-follows-the-value-on-its-line-is-ignored",
    "lone_surrogate": "an-escaped-half-of-a-surrogate-pair-is-read",
    "non_finite": "1e400-is-read-as-infinity",
    "duplicate_key": "of-two-equal-keys-the-last-is-kept",
    "too_deep": "the-128th-level-is-refused",
    "blank_line": "blank-lines-are-skipped",
    "torn_last_line": "a-piece-without-a-newline-is-lost",
    "not_an_object": "a-line-that-is-no-object-is-called-a-wrong-type",
    "integer_too_long": "an-integer-of-4-300-digits-is-refused",
    "missing_key": "a-missing-key-is-called-a-wrong-type",
    "unknown_key": "unknown-keys-are-ignored-also-where-they-are-to-be-refused",
    "wrong_type": "true-is-read-as-1",
    "out_of_range": "2-64-is-taken-for-a-seq",
    "unknown_tag": "an-unknown-tag-is-read-as-the-last-one-of-the-list",
    "unknown_enum": "spellings-in-capitals-are-read",
    "unsupported_version": "later-versions-are-read-like-version-1",
}
"""The bug that is planted for each reason to refuse bytes, by its id."""

_plant()
