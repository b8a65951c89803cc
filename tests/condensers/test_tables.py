"""Tables with a separator (T2)."""

from jingwei.condensers.tables import TABLE, find_table
from tests.condensers.found import found, quoted, refused

ROWS = [f"{index},r{index % 5},{40 + index % 9}" for index in range(40)]
PLAIN = "\n".join(["id,region,amount", *ROWS])


def test_a_table_with_a_header() -> None:
    findings = found(find_table, PLAIN)

    assert [
        ("header", "id,region,amount"),
        ("first row", "0,r0,40"),
        ("first row", "1,r1,41"),
        ("last row", "39,r4,43"),
    ] == quoted(findings, PLAIN)[:4]
    assert (
        "table of 40 rows and 3 columns, separated by commas",
        "columns: id integer, region text, amount integer",
        "region: r0 8, r1 8, r2 8, r3 8, r4 8",
    ) == findings.notes


def test_an_odd_number_comes_first() -> None:
    text = PLAIN.replace("17,r2,48", "17,r2,987654")

    assert ("amount: far from the median 44", "17,r2,987654") == quoted(found(find_table, text), text)[0]


def test_of_a_long_row_the_cell_is_shown() -> None:
    text = "\n".join([f"{index % 3},{'w' * 170},ok" for index in range(30)] + [f'1,{"w" * 170},""'])
    odd = text.replace("2," + "w" * 170 + ",ok", "2," + "w" * 170 + ",broken_1", 1)

    assert ("column 3: not ok", "broken_1") == quoted(found(find_table, odd), odd)[0]
    # A cell that is empty stands nowhere; nor does one with doubled quotes stand as it reads.
    assert ("column 3: not ok", text.split("\n")[-1]) == quoted(found(find_table, text), text)[0]
    doubled = text[:-2] + '"say ""x"" now"'
    assert ("column 3: not ok", doubled.split("\n")[-1]) == quoted(found(find_table, doubled), doubled)[0]


def test_the_first_failing_row() -> None:
    short = PLAIN.replace("17,r2,48", "17,r2")
    says = PLAIN.replace("17,r2,48", "17,failed,48").replace("20,", "20 error,")

    assert ("first failing row (2 cells instead of 3)", "17,r2") == quoted(found(find_table, short), short)[0]
    assert "1 row with another number of cells" == found(find_table, short).notes[2]
    assert ("first failing row (says so)", "17,failed,48") == quoted(found(find_table, says), says)[0]


def test_without_a_header_columns_are_numbered() -> None:
    text = "\n".join(["1;2.5%;", "2;3.5;x", "3;4;y", "4;5;z"])

    assert (
        "columns: column 1 integer, column 2 number, column 3 text (1 empty)"
        == found(find_table, text).notes[1]
    )


def test_a_header_may_leave_the_last_name_out_and_a_column_be_empty() -> None:
    text = "a\tb\t\n1\t\t2\n2\t\t3\n\n3\t\t4\n"

    assert "columns: a integer, b empty, column 3 integer" == found(find_table, text).notes[1]


def test_a_quoted_cell_may_hold_ends_of_lines() -> None:
    text = 'a|b\r\n"one\r\ntwo"|x\r\ny|z\r\nq|r\r\n'
    findings = found(find_table, text)

    assert ("first row", '"one\r\ntwo"|x') == quoted(findings, text)[1]
    assert "table of 3 rows and 2 columns, separated by bars" == findings.notes[0]


def test_what_is_no_table() -> None:
    numbered = "\n".join(f"{index}\tline of code" for index in range(1, 30))
    prose = "First we came, and then we saw it all.\n" * 8
    ragged = (
        "\n".join("," * (index % 7) for index in range(40))
        + "\n"
        + "\n".join("a," * (index % 7) for index in range(40))
    )

    for text in (
        "",
        "a,b\nc,d\ne,f",
        "no separator\n" * 9,
        numbered,
        prose,
        ragged,
        'a,b\n"x"y,1\n' * 5,
        "a\rb,c\n" * 5,
    ):
        assert 1 == refused(find_table, text)


def test_its_name() -> None:
    assert "table-v1" == TABLE.name
