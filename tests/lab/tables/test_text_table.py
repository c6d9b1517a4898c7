from sgat_lab.tables.text_table import aligned

TABLE = [["method", "runs", "note"], ["a", "10", "x"], ["longer name", "3", ""]]


def test_numbers_stand_to_the_right_and_no_line_ends_in_blanks():
    assert aligned(TABLE, left=(0, -1)) == [
        "method       runs  note",
        "-----------  ----  ----",
        "a              10  x",
        "longer name     3",
    ]


def test_markdown_says_which_columns_are_numbers():
    assert aligned(TABLE, markdown=True, left=(0, -1)) == [
        "| method      | runs | note |",
        "| ----------- | ---: | ---- |",
        "| a           |   10 | x    |",
        "| longer name |    3 |      |",
    ]
