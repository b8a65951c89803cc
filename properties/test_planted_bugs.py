"""Each planted bug is caught by the property that its row names: the specification is tested too."""

from collections import Counter

import pytest

from properties.planted import ROOT, Broken, Planted, asked_for, changed, hunted, table

ROWS = table()


class TestPlantedBugs:
    """No row of the tables may go unnoticed, and no row may be stale."""

    def test_ids_are_unique(self) -> None:
        """Each row can be asked for by its id."""
        assert {} == {id_: count for id_, count in Counter(row.id for row in ROWS).items() if count > 1}

    def test_an_id_that_no_row_has_is_told(self) -> None:
        """Whoever mistypes an id reads which one may be meant, and no traceback."""
        row = ROWS[0]

        assert row == asked_for(row.id)
        with pytest.raises(SystemExit, match=f"no planted bug is called '{row.id}x'; meant {row.id}"):
            asked_for(row.id + "x")
        with pytest.raises(SystemExit, match="lists the ids"):
            asked_for("")

    @pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
    def test_a_planted_bug_is_caught(self, row: Planted) -> None:
        """The property fails, and it fails because of what it asserts."""
        assert not isinstance(changed(row), Broken), "the text that the row replaces is not there"
        assert (ROOT / row.caught_by.split("::")[0]).exists()

        done = hunted(row)

        assert 1 == done.returncode, done.stdout[-2000:] + done.stderr[-2000:]
