"""What a host knows of a task, and its JSON."""

from fractions import Fraction

import attrs
import pytest

from jingwei.codec import DecodeFailed, DecodeReason
from jingwei.compose.task_state import (
    Correction,
    Goal,
    HardConstraint,
    InvalidTaskState,
    PlanStepState,
    PlanStepText,
    RecalledMemory,
    TaskState,
    decode_task_state,
    memory_value,
    read_memory,
    read_task_state,
    task_state_failure,
    task_state_value,
)
from jingwei.ids import SessionId
from jingwei.items.records import Authority, ItemSource
from jingwei.jsontext import JsonValue, canonical
from jingwei.outcome import Success

LEAST = TaskState(tenant_id="acme", user_id="ann", session_id=SessionId("s1"))
WHOLE = attrs.evolve(
    LEAST,
    run_id="r1",
    scopes=("shop",),
    goal=Goal(text="find the fault", source=ItemSource.HOST),
    current_step="read the log",
    step_source=ItemSource.HOST,
    completion_criteria=("the first exception is known",),
    hard_constraints=(HardConstraint(text="read only", source=ItemSource.MEMORY, subject="writes", seq=1),),
    plan=(PlanStepText(text="look", state=PlanStepState.DONE, source=ItemSource.USER),),
    corrections=(Correction(text="beta, not prod", subject="stage", seq=4),),
    stage="diagnosis",
    system_rules=("never write",),
)
MEMORY = RecalledMemory(
    memory_id="m1",
    tenant_id="acme",
    user_id=None,
    scope="shop",
    text="prod runs JDK 17",
    score=Fraction(1, 3),
    trust=Fraction(1, 2),
    created=5,
    expires=9,
    subject="jdk",
    authority=Authority.CONFIRMED_FACT,
    source_ref="note 7",
)
LEAST_MEMORY: dict[str, JsonValue] = {"memory_id": "m1", "tenant_id": "acme", "user_id": "ann", "text": "t"}


class TestJson:
    """States and memories survive JSON, and nothing is guessed."""

    @pytest.mark.parametrize("state", [LEAST, WHOLE])
    def test_a_state_survives_json(self, state: TaskState) -> None:
        """Every attribute."""
        assert Success(state) == decode_task_state(canonical(task_state_value(state)).encode())
        assert state == read_task_state(task_state_value(state))

    def test_three_names_make_a_state(self) -> None:
        """All else may be left out."""
        assert LEAST == read_task_state({"tenant_id": "acme", "user_id": "ann", "session_id": "s1"})

    @pytest.mark.parametrize("memory", [MEMORY, attrs.evolve(MEMORY, user_id="ann", scope=None)])
    def test_a_memory_survives_json(self, memory: RecalledMemory) -> None:
        """One of the whole tenant says so."""
        assert memory == read_memory(memory_value(memory))

    @pytest.mark.parametrize(
        ("value", "reason", "path"),
        [
            ([], DecodeReason.NOT_AN_OBJECT, ""),
            ({"user_id": "ann", "session_id": "s1"}, DecodeReason.MISSING_KEY, "/tenant_id"),
            (
                {"tenant_id": "a", "user_id": "b", "session_id": "c", "mood": "good"},
                DecodeReason.UNKNOWN_KEY,
                "/mood",
            ),
            (
                {"tenant_id": "a", "user_id": "b", "session_id": "c", "goal": "text"},
                DecodeReason.WRONG_TYPE,
                "/goal",
            ),
            (
                {"tenant_id": "a", "user_id": "b", "session_id": "c", "plan": [{"text": "t", "state": "x"}]},
                DecodeReason.UNKNOWN_ENUM,
                "/plan/0/state",
            ),
        ],
    )
    def test_what_is_no_state(self, value: JsonValue, reason: DecodeReason, path: str) -> None:
        """Said with its place."""
        failed = read_task_state(value)

        assert isinstance(failed, DecodeFailed)
        assert (reason, path) == (failed.reason, failed.path)

    def test_whose_a_memory_is_must_be_said(self) -> None:
        """Left out it would be anybody's."""
        without = {key: value for key, value in LEAST_MEMORY.items() if key != "user_id"}

        failed = read_memory(without)

        assert isinstance(failed, DecodeFailed)
        assert (DecodeReason.MISSING_KEY, "/user_id") == (failed.reason, failed.path)
        assert isinstance(read_memory({**LEAST_MEMORY, "user_id": None}), RecalledMemory)


class TestNames:
    """A state says whose it is."""

    @pytest.mark.parametrize("field", ["tenant_id", "user_id", "session_id"])
    def test_a_blank_name_is_refused(self, field: str) -> None:
        """The first one is told."""
        blank = attrs.evolve(LEAST, **{field: "\t"})  # type: ignore[arg-type]

        assert InvalidTaskState(field=field) == task_state_failure(blank)

    def test_names_in_order(self) -> None:
        """Tenant first; a state with all three is right."""
        blank = TaskState(tenant_id="", user_id="", session_id=SessionId(""))

        assert InvalidTaskState(field="tenant_id") == task_state_failure(blank)
        assert task_state_failure(LEAST) is None
