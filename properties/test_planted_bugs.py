"""Each planted bug is caught by the property that its row names: the specification is tested too."""

from collections import Counter

import pytest

from properties.planted import ROOT, Broken, Planted, changed, hunted, table

ROWS = table()


class TestPlantedBugs:
    """No row of the tables may go unnoticed, and no row may be stale."""

    def test_ids_are_unique(self) -> None:
        """Each row can be asked for by its id."""
        assert {} == {id_: count for id_, count in Counter(row.id for row in ROWS).items() if count > 1}

    @pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
    def test_a_planted_bug_is_caught(self, row: Planted) -> None:
        """The property fails, and it fails because of what it asserts."""
        assert not isinstance(changed(row), Broken), "the text that the row replaces is not there"
        assert (ROOT / row.caught_by.split("::")[0]).exists()

        done = hunted(row)

        assert 1 == done.returncode, done.stdout[-2000:] + done.stderr[-2000:]
