"""What a draft knows of its steps beforehand, for plans of any shape."""

from hypothesis import given

from jingwei.outcome import Success
from jingwei.selection.search import Search
from properties.test_condense import Case, built_from, cases


class TestDraftsKnowTheirSteps:
    """Under an additive counter a draft knows what each step of a plan makes smaller, whether the step leaves
    a turn or an exchange out or shortens it, and in whatever order the plan names them.
    """

    @given(cases(additive=True))
    def test_exact_costs_close_the_search_in_two_counts(self, case: Case) -> None:
        """The first count is of the request that is sent, the second of the one a step before it."""
        outcome = built_from(case, Search.BISECT)
        if isinstance(outcome, Success):
            assert len(outcome.unwrap().report.attempts) <= 2
