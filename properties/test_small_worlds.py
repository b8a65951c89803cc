"""Small worlds: every small log and every small build, through the code and a naive model; nothing drawn.

Logs. The alphabet has 28 words: each of the fourteen kinds of events (every end of a turn; complete replies
with two ids, a blank one and none; calls with two ids, a blank one and without a name; model requests with
two ids and a blank one; results of either with two ids, linked well or badly) and an event with a blank id.
Each word may be said in either of two turns; the first event is always in the first, since turns are alike
up to their names.

- Whatever came before: every log of up to 3 events in the quick profile (89,404), of up to 4 in the deep
  one (5,006,652). The model judges each that is shorter than the longest; of the longest it judges those
  that have not failed for good before, and the others must keep the failure that the shorter log has.
- Ids up to renaming (of two ids of a kind the first is said first), and nothing said behind a failure that
  is final: every log of up to 4 events in the quick profile (59,179), of up to 7 in the deep one (5,674,055).
  From 5 events on one kind of audit stands for all five and one successful end for all three, and ids are
  never blank or missing.

The first walk projects under three configurations, successful turns without a reply being refused, admitted,
and admitted under a bound of two messages; the second where they are admitted. A third walk, of
every log of up to 3 events (over the 16 words of the core in the quick profile, 16,912 logs; over all 28 in
the deep one), goes with a view that grows by one event at a time, where such turns are admitted and where
damaged turns are left out; of the latter the model judges each that is shorter than the longest.

Builds. Histories of up to 5 turns. A plan puts each turn into its base, into one of its steps, or nowhere.

- Every plan, every search, every table of totals from 0 to 3 over its steps, and windows from 1 to 3: up to
  3 turns in the quick profile (29,484 builds), up to 4 in the deep one (517,500). With 5 turns (deep) every
  one of the 2,163 plans under every table that never rises, and every table under every plan up to the names
  of its turns (818,577).
- Every plan and every additive counter with costs from 0 to 3 a turn, in every window: up to 2 turns in the
  quick profile (585 builds), up to 4 in the deep one (472,841).
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias, final

import attrs
import pytest
from hypothesis import settings

from jingwei.build import build
from jingwei.events import records as r
from jingwei.events.records import EventKind, SessionEvent, SessionLog
from jingwei.ids import EventId, TurnId
from jingwei.jsontext import Json
from jingwei.messages.records import (
    GenerationConstraint,
    GenerationRequest,
    ModelMessage,
    SystemMessage,
    UserMessage,
)
from jingwei.outcome import Failure, Outcome, Success
from jingwei.projection.failures import ProjectionFailure
from jingwei.projection.project import project
from jingwei.projection.records import DamagedTurns, LegacyReplies, Projection, ProjectionConfig
from jingwei.projection.view import ProjectionView, start_view
from jingwei.projection.wire import projection_value
from jingwei.report.failures import DoesNotFit
from jingwei.request.counting import CountRefused, TokenCounter
from jingwei.request.records import ContextTarget, TokenCount
from jingwei.selection.records import Candidate, DropTurn, Plan, PlanStep, Room
from jingwei.selection.search import Search, counts_at_most
from jingwei.testing.strategies import SESSION, Step, placed
from properties.build_models import answer_of, history_of, inputs_of, report_of
from properties.models import Plain, model_project, plain_config, plain_event, plain_failure, step_of

DEEP = settings.get_profile("deep").max_examples <= settings().max_examples

# --- logs -----------------------------------------------------------------------------------------

ROUGH = ("reply _", "reply -", "call _", "nameless c", "ask _", "unnamed")
ALIKE = ("stage", "task", "plan", "custom", "waiting_for_input", "checkpointed")
CORE = (
    *("user", "delta", "reply r", "reply s", "call c", "call d", "result c", "result d"),
    *("ask m", "ask n", "answer m", "answer n", "note", "completed", "cancelled", "error"),
)
WORDS = (*CORE, *ROUGH, *ALIKE)
SECOND = {"r": "s", "c": "d", "m": "n"}
"""The second id of each name space, which up to renaming comes after the first."""

OMIT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT)
TIGHT = ProjectionConfig(legacy_replies=LegacyReplies.OMIT, max_messages=2)
CONFIGS = (ProjectionConfig(), TIGHT, OMIT)
QUARANTINE = ProjectionConfig(damaged_turns=DamagedTurns.QUARANTINE)

EVERY = (28, 1_568, 87_808, 4_917_248)
PRUNED = (23, 506, 5_714, 52_936, 223_168, 985_628, 4_406_080)

AUDIT: dict[str, EventKind] = {
    "stage": r.StageProgress(stage="a", status=r.StageStatus.STARTED),
    "task": r.TaskRunReported(report=Json('{"version":1}')),
    "plan": r.PlanReady(plan=Json("null")),
    "custom": r.CustomEvent(plugin="a", kind="b", payload=Json("1")),
}


@final
@attrs.frozen
class World:
    """A log, in the code's form and in the model's, and the ids that its words have used."""

    events: tuple[SessionEvent, ...] = ()
    plain: tuple[Plain, ...] = ()
    ids: frozenset[str] = frozenset()

    def said(self, turn: str, word: str) -> "World":
        """The world that is one event longer."""
        event, plain = event_of(len(self.events), turn, word)
        return World((*self.events, event), (*self.plain, plain), self.ids | set(word.split()[1:]))


@functools.cache
def event_of(index: int, turn: str, word: str) -> tuple[SessionEvent, Plain]:
    """One event of the alphabet at its place, in the code's and in the model's form."""
    step = Step(AUDIT[word]) if word in AUDIT else step_of(*("note" if word == "unnamed" else word).split())
    event = placed([(turn, step_of("note"))] * index + [(turn, step)])[-1]
    if word == "unnamed":
        event = attrs.evolve(event, event_id=EventId(" " * (index + 1)))
    return event, plain_event(event)


def outcome_of(world: World, config: ProjectionConfig) -> Plain:
    """What the code answers, in the model's words. No word is long enough for the bound on bytes."""
    outcome = project_all(world, config)
    if isinstance(outcome, Failure):
        return {"failure": plain_failure(outcome.failure())}
    return {"ok": projection_value(outcome.unwrap())}


def project_all(world: World, config: ProjectionConfig) -> Outcome[Projection, ProjectionFailure]:
    return project(SESSION, SessionLog(events=world.events, bytes_at_most=0), config)


def judged(world: World, config: ProjectionConfig) -> Plain:
    """The answer of the code, which is that of the model."""
    actual = outcome_of(world, config)

    assert model_project(SESSION, world.plain, PLAIN[config]) == actual, world.plain

    return actual


PLAIN = {config: plain_config(config) for config in (*CONFIGS, QUARANTINE)}


def is_final(world: World, answer: Plain) -> bool:
    """Whether this failure stays whatever follows: a bad event's, and that of a turn which is over.

    What is found at the end of the last turn gives way to a bad event of that turn.
    """
    failure = answer.get("failure", {"kind": "none"})
    if failure["kind"] == "Malformed":
        return True
    return bool(failure.get("turn_id", world.events[-1].turn_id) != world.events[-1].turn_id)


def longer(world: World, words: Sequence[str]) -> Iterator[World]:
    """All worlds that are one event longer."""
    for turn in ("t", "u") if world.events else ("t",):
        for word in words:
            yield world.said(turn, word)


def is_first_named(world: World, word: str) -> bool:
    """Whether the word's id is its name space's first, or the first has been said."""
    id_ = word.split()[-1]
    return all(id_ != second or first in world.ids for first, second in SECOND.items())


class TestSmallLogs:
    """Code and model agree on every log of the alphabet."""

    def test_every_log(self) -> None:
        """Whatever came before; a final failure stays; and there are as many as there should be."""
        depth, counts = 4 if DEEP else 3, [0, 0, 0, 0]

        def visit(world: World, settled: dict[ProjectionConfig, Plain]) -> None:
            for next_ in longer(world, WORDS):
                size = len(next_.events)
                counts[size - 1] += 1
                answers = dict[ProjectionConfig, Plain]()
                for config in CONFIGS:
                    kept = settled.get(config)
                    if size == depth and kept is not None and kept in answers.values():
                        continue  # the same failure under another configuration
                    judge = judged if size < depth or kept is None else outcome_of
                    answer = judge(next_, config)
                    answers[config] = answer

                    assert kept in (None, answer), next_.plain
                if size < depth:
                    visit(next_, {c: answer for c, answer in answers.items() if is_final(next_, answer)})

        visit(World(), {})

        assert list(EVERY[:depth]) == counts[:depth]

    def test_every_log_event_by_event(self) -> None:
        """A view that grows says what the batch says, and under quarantine what the model says."""
        depth, counts, words = 3, [0, 0, 0], WORDS if DEEP else CORE

        def visit(world: World, views: Sequence[ProjectionView]) -> None:
            for next_ in longer(world, words):
                size = len(next_.events)
                counts[size - 1] += 1
                piece = SessionLog(events=next_.events[-1:], bytes_at_most=0, measured=True)
                grown = [view.advanced(piece) for view in views]
                for view in grown:
                    assert project_all(next_, view.state.config) == view.projection(), next_.plain
                if size < depth:
                    judged(next_, QUARANTINE)
                    visit(next_, grown)

        visit(World(), [start_view(SESSION, config) for config in (OMIT, QUARANTINE)])

        assert [len(words) * (2 * len(words)) ** behind for behind in range(depth)] == counts

    def test_every_log_that_has_not_failed_for_good(self) -> None:
        """Each of them one event longer; and there are as many as there should be."""
        alive, counts = [World()], list[int]()
        for size in range(1, 8 if DEEP else 5):
            words = WORDS if size < 5 else CORE
            counts.append(0)
            found = list[World]()
            for world in alive:
                for next_ in longer(world, [word for word in words if is_first_named(world, word)]):
                    counts[-1] += 1
                    if not is_final(next_, judged(next_, OMIT)):
                        found.append(next_)
            alive = found

        assert list(PRUNED[: len(counts)]) == counts


# --- builds ---------------------------------------------------------------------------------------

TURNS = ("t0", "t1", "t2", "t3", "t4")
PLANS = (1, 3, 11, 51, 299, 2_163)
"""How many plans there are over so many turns."""

Sets: TypeAlias = tuple[tuple[str, ...], ...]
"""The base of a plan, then its steps."""

TABLES = ((0, 36), (1, 216), (2, 2_016), (3, 27_216), (4, 488_016))
FIVE = 818_577
COSTS = ((0, 1), (1, 24), (2, 560), (3, 14_784), (4, 457_472))
"""How many builds there are over so many turns."""


def plans(turns: Sequence[str]) -> Iterator[Sets]:
    """Every plan over these turns: each in the base, in one step, or in none; no step is empty."""
    for steps in range(len(turns) + 1):
        for places in itertools.product(range(-1, steps + 1), repeat=len(turns)):
            if set(range(steps)) <= set(places):
                yield tuple(
                    tuple(turn for turn, place in zip(turns, places, strict=True) if place == step)
                    for step in (-1, *range(steps))
                )


def in_order(sets: Sets) -> bool:
    """Whether base, steps and the rest name the turns in their order: one plan of all renamings."""
    named = [turn for some in sets for turn in some]
    return named == list(TURNS[: len(named)])


@final
@attrs.frozen
class Fixed:
    """A strategy that proposes one plan, whatever it is asked."""

    fixed: Plan
    name: str = "fixed"

    def plan(self, candidates: Sequence[Candidate], room: Room) -> Plan:
        return self.fixed


def strategy_of(sets: Sets) -> Fixed:
    base, *steps = [tuple([DropTurn(turn_id=TurnId(turn)) for turn in some]) for some in sets]
    return Fixed(Plan(base=base, steps=tuple([PlanStep(reductions=step) for step in steps])))


@final
@attrs.frozen
class ByTurns:
    """Tokens by the number of messages, and so by how many turns are left: any function of the steps."""

    totals: dict[int, int]

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return answer_of(target, self.totals[len(request.messages)])


@final
@attrs.frozen
class ByTurn:
    """An additive counter: so many tokens for each turn, and one besides."""

    costs: dict[str, int]

    def count(self, target: ContextTarget, request: GenerationRequest) -> Outcome[TokenCount, CountRefused]:
        return answer_of(target, 1, rest=(0, sum(map(self.message_cost, request.messages)), 0))

    def message_cost(self, message: ModelMessage) -> int:
        return self.costs.get(message.content, 0) if isinstance(message, UserMessage) else 0

    def fixed_cost(self, constraint: GenerationConstraint) -> int:
        return 1


@final
@attrs.frozen
class Walk:
    """A history of one-message turns under one plan, and the request after each number of steps."""

    history: Projection
    strategy: Fixed
    requests: tuple[tuple[ModelMessage, ...], ...]

    def built(self, counter: TokenCounter, window: int, search: Search) -> tuple[list[int], object]:
        """The steps of each count, and the end: steps taken, or the name of the failure."""
        outcome = build(self.history, INPUTS[window], counter, strategy=self.strategy, search=search)
        if isinstance(outcome, Success):
            built = outcome.unwrap()
            asked = [attempt.plan_steps for attempt in built.report.attempts]

            assert self.requests[asked[-1]] == built.request.messages

            return asked, asked[-1]
        failure = outcome.failure()
        report = report_of(failure)
        assert report is not None, failure
        if isinstance(failure, DoesNotFit):
            assert (search is not Search.BISECT or isinstance(counter, ByTurn)) == failure.exhaustive
        return [attempt.plan_steps for attempt in report.attempts], type(failure).__name__


INPUTS = [inputs_of(window + 1) for window in range(14)]
"""By the tokens that are left for the request."""


def walk_of(turns: int, sets: Sets) -> Walk:
    history, inputs = history_of("f" * turns), INPUTS[0]
    system = tuple([SystemMessage(content=text) for text in inputs.system])
    requests = list[tuple[ModelMessage, ...]]()
    for k in range(len(sets)):
        gone = [turn for some in sets[: k + 1] for turn in some]
        kept = [message for turn in history.turns if turn.turn_id not in gone for message in turn.messages]
        requests.append((*system, *kept, *inputs.current))
    return Walk(history, strategy_of(sets), tuple(requests))


def check_table(walk: Walk, totals: Sequence[int]) -> int:
    """Every window and search under one table of totals, by steps; how many builds that were."""
    counter, last = ByTurns({len(walk.requests[k]): total for k, total in enumerate(totals)}), len(totals) - 1
    falls = all(one >= two for one, two in itertools.pairwise(totals)) and totals[-1] > 0
    for window in (1, 2, 3):
        first = next((k for k, total in enumerate(totals) if total <= window), None)
        end: object = "DoesNotFit" if first is None else first if totals[first] else "InvalidInput"
        counted = last + 1 if first is None else first + (totals[first] > 0)
        for search in (Search.LINEAR, Search.AUTO):
            assert (list(range(counted)), end) == walk.built(counter, window, search), (totals, window)
        asked, found = walk.built(counter, window, Search.BISECT)

        assert len(asked) <= counts_at_most(last)
        if falls:
            assert end == found, (totals, window)
        if found == "DoesNotFit":
            assert (last, True) == (asked[-1], totals[last] > window), (totals, window)
        elif found == "InvalidInput":
            assert 0 in totals, (totals, window)
        else:
            assert isinstance(found, int)
            assert 0 < totals[found] <= window, (totals, window)
    return 9


def check_costs(walk: Walk, costs: Sequence[int]) -> int:
    """Every window under one additive counter: bisecting ends as walking would; how many builds."""
    texts = [message.content for turn in walk.history.turns for message in turn.messages]
    counter = ByTurn(dict(zip(map(str, texts), costs, strict=True)))
    totals = [1 + sum(map(counter.message_cost, request)) for request in walk.requests]
    for window in range(1, totals[0] + 1):
        first = next((k for k, total in enumerate(totals) if total <= window), None)
        asked, found = walk.built(counter, window, Search.BISECT)

        assert ("DoesNotFit" if first is None else first) == found, (costs, window)
        assert len(asked) <= 2, (costs, window)
    return totals[0]


class TestSmallBuilds:
    """Every plan, search and counter over few turns ends as the rule says, with the request it says."""

    @pytest.mark.parametrize(("turns", "builds"), TABLES[: 5 if DEEP else 4])
    def test_every_plan_search_and_table(self, turns: int, builds: int) -> None:
        """Under every table of totals from 0 to 3; and there are as many as there should be."""
        found = list(plans(TURNS[:turns]))
        done = 0
        for sets in found:
            walk = walk_of(turns, sets)
            for totals in itertools.product(range(4), repeat=len(sets)):
                done += check_table(walk, totals)

        assert (PLANS[turns], builds) == (len(found), done)

    @pytest.mark.skipif(not DEEP, reason="under the deep profile")
    def test_five_turns(self) -> None:
        """Every plan under tables that never rise; every table under plans up to the names of turns."""
        found, done = list(plans(TURNS)), 0
        for sets in found:
            walk = walk_of(5, sets)
            for totals in itertools.product(range(4), repeat=len(sets)):
                if in_order(sets) or sorted(totals, reverse=True) == list(totals):
                    done += check_table(walk, totals)

        assert (PLANS[5], FIVE) == (len(found), done)

    @pytest.mark.parametrize(("turns", "builds"), COSTS[: 5 if DEEP else 3])
    def test_every_plan_and_additive_counter(self, turns: int, builds: int) -> None:
        """Under every cost from 0 to 3 for each turn, in every window up to the largest total."""
        done = 0
        for sets in plans(TURNS[:turns]):
            walk = walk_of(turns, sets)
            for costs in itertools.product(range(4), repeat=turns):
                done += check_costs(walk, costs)

        assert builds == done
