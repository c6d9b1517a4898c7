from pathlib import Path

from support.records import record

from sgat_lab.tables.document import Section, circumstances, render
from sgat_lab.trials.options import Options


def test_seeds_device_date_and_commit_are_named():
    records = [
        record(seed=0, commit="abc", date="2026-11-14T10:00:00", seconds=60.0),
        record(seed=1, commit="abc", date="2026-11-15T10:00:00", seconds=60.0),
    ]
    text = " ".join(circumstances(records))
    assert "2 trainings, seeds 0 to 1, 2 minutes" in text
    assert "2026-11-14 to 2026-11-15" in text and "abc" in text and "cpu" in text


def test_every_experiment_has_its_command_notes_and_figure(tmp_path):
    figure = tmp_path / "figures" / "fig4.png"
    section = Section("fig4", "## Figure 4\n", [record()], figure, ["a miss"])
    text = render([section], tmp_path / "docs" / "reproduction.md")
    assert "`sgat-lab fig4`" in text and "* a miss" in text
    assert "](../figures/fig4.png)" in text


def test_nothing_is_said_of_no_records():
    assert circumstances([]) == []
    assert "Table 1" in render(
        [Section("table1", "## Table 1", (), None, ())], Path("x.md")
    )


def test_commands_have_the_options_they_were_run_with(tmp_path):
    section = Section("fig4", "## Figure 4", [record()], None, ())
    options = Options(runs=3, only=("texas",))
    text = render([section], tmp_path / "x.md", options)
    assert "`sgat-lab run fig4 --runs 3 --only texas --document x.md`" in text
    assert "`sgat-lab fig4 --runs 3 --only texas`" in text
    assert "no result" not in text
    quick = render([section], tmp_path / "x.md", Options(quick=True))
    assert "`sgat-lab fig4 --quick`" in quick and "no result" in quick


def test_lines_end_at_100_characters_outside_tables(tmp_path):
    row = f"| {'x' * 150} |"
    note = "many short words " * 20
    section = Section("fig4", f"## Figure 4\n\n{row}", [record()], None, [note])
    lines = render([section], tmp_path / "x.md").splitlines()
    assert row in lines
    assert all(len(line) <= 100 for line in lines if line != row)
    first = next(k for k, line in enumerate(lines) if line.startswith("* many"))
    assert lines[first + 1].startswith("  "), "still the same item"
    text = " ".join(line.strip() for line in lines[first : first + 4])
    assert text.startswith(f"* {note.strip()}")
