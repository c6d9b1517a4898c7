import json

import pytest

from sgat.cli import main
from sgat.cli.progress import download_bar

KEYS = (
    "nodes",
    "edges",
    "edges_with_loops",
    "features",
    "classes",
    "homophily",
    "edge_homophily",
    "components",
    "isolated",
)


@pytest.fixture(autouse=True)
def no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SGAT_DATA", raising=False)


def test_list_tells_what_is_here(tmp_path, capsys):
    assert main(["data", "list", "--data-root", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 14
    assert lines[0].split()[:3] == ["karate", "here", "leaders"]
    assert lines[1].split()[:3] == ["cora", "missing", "public"]


def test_list_looks_where_the_variable_says(tmp_path, capsys, monkeypatch):
    raw = tmp_path / "Reddit" / "raw"
    raw.mkdir(parents=True)
    for name in ("reddit_data.npz", "reddit_graph.npz"):
        (raw / name).touch()
    monkeypatch.setenv("SGAT_DATA", str(tmp_path))
    assert main(["data", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["reddit"]["available"] is True
    assert rows["reddit"]["folder"] == str(tmp_path / "Reddit")
    assert rows["ppi"]["available"] is False
    assert rows["actor"]["normalised"] is True
    assert rows["texas"]["normalised"] is False


def test_info_counts_karate(capsys):
    assert main(["data", "info", "karate"]) == 0
    captured = capsys.readouterr()
    text = " ".join(captured.out.split())
    assert "nodes 34 edges 156, each direction counted" in text
    assert "split 2 train, 0 val, 32 test" in text
    assert "degrees 1 to 17, median 3, mean 4.6" in text
    assert "classes 2 (Mr. Hi: 17, Officer: 17)" in text
    assert captured.err == ""


def test_info_json_has_the_promised_keys(capsys):
    assert main(["data", "info", "karate", "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert set(KEYS) <= set(counted)
    assert counted["edges_with_loops"] == 190
    assert counted["features"] == 34


def test_info_counts_the_split_asked_for(capsys):
    arguments = ["data", "info", "karate", "--split", "uniform-50-30-20", "--json"]
    assert main([*arguments, "--seed", "3"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert counted["split"] == {"train": 17, "val": 10, "test": 7}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["coral"], "error: Unknown data set 'coral'; choose one of actor,"),
        (
            ["karate", "--split", "public"],
            "error: `--split` of 'karate' must be one of",
        ),
        (["twitch", "--data-root", "/nowhere"], "error: The file /nowhere/Twitch/raw/"),
    ],
)
def test_a_mistake_is_told_in_one_line(arguments, message, capsys):
    assert main(["data", "info", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1


def test_wrong_usage_exits_with_2():
    assert main(["data", "info", "karate", "--nonsense"]) == 2


@pytest.mark.parametrize("command", ["list", "info"])
def test_help_ends_with_two_examples(command, capsys):
    assert main(["data", command, "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    last = [line for line in lines if line][-3:]
    assert last[0] == "Examples:"
    assert all(line.startswith(f"sgat data {command}") for line in last[1:])


def test_a_bar_is_shown_on_a_terminal_only(capsys, monkeypatch):
    with download_bar("cora") as progress:
        assert progress is None
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with download_bar("cora", quiet=True) as progress:
        assert progress is None
    with download_bar("cora") as progress:
        shown = capsys.readouterr().err
        assert "reading cora" in shown and "bytes" not in shown
        progress(2_000_000)
        progress(3_000_000)
    captured = capsys.readouterr()
    assert "downloading cora" in captured.err
    assert "3.0" in captured.err
    assert captured.out == ""


def test_info_describes_the_users_files(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("src,dst\na,b\nb,c\nb,b\n")
    (tmp_path / "n.csv").write_text("id,y,size\na,1,0\nb,1,2\nc,0,3\nd,0,0\n")
    files = ["--edges", str(tmp_path / "e.csv"), "--nodes", str(tmp_path / "n.csv")]
    assert main(["data", "info", *files, "--label", "y", "--undirected", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["nodes"] == 4 and found["edges"] == 4 and found["isolated"] == 1
    assert found["edge_homophily"] == 0.5


def test_info_says_what_is_missing_in_words(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("src,dst\na,b\nb,c\n")
    assert main(["data", "info", "--edges", "e.csv"]) == 0
    lines = dict(
        line.split(None, 1) for line in capsys.readouterr().out.splitlines()[1:]
    )
    assert lines["classes"] == lines["split"] == lines["isolated"] == "none"
    assert lines["features"] == "none; each node gets one of its own"
    assert lines["homophily"] == "none; no node has a label"
    assert lines["memory"].startswith("about 1 MiB")
    assert "unlabelled" not in lines
    (tmp_path / "n.csv").write_text("id,y,x\na,1,0\nb,1,2\nc,0,3\nd,,4\n")
    assert (
        main(["data", "info", "--edges", "e.csv", "--nodes", "n.csv", "--label", "y"])
        == 0
    )
    text = capsys.readouterr().out
    assert "isolated    1 node\n" in text and "unlabelled  1 node\n" in text
    assert "n.csv: 3 columns become 1 feature\n" in text


def test_info_reads_files_as_fit_does(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("src;dst\na;b\nb;c\n")
    rows = ["id;y;size;kind;role;more", "a;1;;3;train;x", "b;0;2;4;test;y", "c;0;3;4;;"]
    (tmp_path / "n.tsv").write_text("\n".join(rows))
    files = ["--edges", str(tmp_path / "e.csv"), "--nodes", str(tmp_path / "n.tsv")]
    call = ["data", "info", *files, "--label", "y", "--delimiter", ";", "--json"]
    assert main([*call, "--drop", "more"]) == 1
    assert "`--fill-missing` mean or zero fills it." in capsys.readouterr().err
    roles = ["--split-column", "role", "--categorical", "kind", "--drop", "more"]
    assert main([*call, *roles, "--fill-missing", "mean"]) == 0
    found = json.loads(capsys.readouterr().out)
    # The size, and a column for each of two kinds.
    assert found["features"] == 3
    assert found["split"] == {"train": 1, "val": 0, "test": 1}
    assert main([*call, "--features", "kind"]) == 0
    assert json.loads(capsys.readouterr().out)["features"] == 1


def test_info_needs_a_name_or_files(capsys):
    assert main(["data", "info"]) == 1
    assert "Name a data set" in capsys.readouterr().err


FILE_OPTIONS = (
    *("nodes", "label", "labels", "features", "categorical", "drop", "delimiter"),
    *("id", "src", "dst", "weight", "split-column", "undirected", "fill-missing"),
)


@pytest.mark.parametrize("option", FILE_OPTIONS)
def test_info_refuses_options_of_files_with_a_name(option, capsys):
    value = [] if option == "undirected" else ["x"]
    assert main(["data", "info", "karate", f"--{option}", *value]) == 1
    captured = capsys.readouterr()
    told = f"error: `--{option}` goes with `--edges`, your own files.\n"
    assert (captured.out, captured.err) == ("", told)


@pytest.mark.parametrize("option", [["--largest-component"], ["--data-root", "d"]])
def test_info_refuses_options_of_a_name_with_files(option, capsys):
    assert main(["data", "info", "--edges", "e.csv", *option]) == 1
    told = f"error: `{option[0]}` goes with the name of a data set.\n"
    assert capsys.readouterr().err == told


def test_info_takes_a_name_or_files_but_not_both(capsys):
    assert main(["data", "info", "karate", "--edges", "e.csv"]) == 1
    told = "error: Give a data set by name or `--edges`, not both: got 'karate' and"
    assert capsys.readouterr().err.startswith(told)


def test_info_draws_the_split_of_files(tmp_path, capsys):
    rows = [f"{i},{i % 2}" for i in range(20)]
    (tmp_path / "n.csv").write_text("\n".join(["id,y", *rows]))
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n")
    files = ["--edges", str(tmp_path / "e.csv"), "--nodes", str(tmp_path / "n.csv")]
    command = ["data", "info", *files, "--label", "y", "--json"]
    assert main([*command, "--split", "random-50-30-20"]) == 0
    split = json.loads(capsys.readouterr().out)["split"]
    assert split == {"train": 10, "val": 6, "test": 4}
    assert main(command[:-1]) == 0
    assert "split       none; `sgat fit` draws one\n" in capsys.readouterr().out


def test_convert_is_a_verb(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("src,dst\na,b\n")
    out = str(tmp_path / "e.parquet")
    assert main(["data", "convert", str(tmp_path / "e.csv"), out]) == 0
    assert "2 nodes and 1 edge rows written" in capsys.readouterr().out


def test_convert_says_where_a_table_cannot_say_that_edges_go_both_ways(
    tmp_path, caplog
):
    edge = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'
    graph = f'<graphml><graph edgedefault="undirected">{edge}</graph></graphml>'
    (tmp_path / "e.graphml").write_text(graph)
    told = "stands for both directions, which the file cannot say: read it with"
    for name, is_told in {"e.csv": True, "e.mtx": False, "e.gexf": False}.items():
        caplog.clear()
        command = ["data", "convert", str(tmp_path / "e.graphml")]
        assert main([*command, str(tmp_path / name)]) == 0
        assert (told in caplog.text) == is_told


def test_inject_is_a_verb(tmp_path, capsys):
    out = tmp_path / "noisy"
    assert main(["data", "inject", "karate", "--rate", "0.5", "--out", str(out)]) == 0
    assert {"edges.parquet", "added.parquet"} <= {f.name for f in out.iterdir()}


def test_malformed_files_leave_nothing_and_exit_with_1(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("src,dst\na\n")
    out = tmp_path / "e.parquet"
    assert main(["data", "convert", str(tmp_path / "e.csv"), str(out)]) == 1
    assert "e.csv" in capsys.readouterr().err
    assert not out.exists()


def test_info_takes_the_columns_of_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{(i + 1) % 7},{i}" for i in range(7)]
    (tmp_path / "e.csv").write_text("\n".join(["a,b,w", *rows]))
    rows = [f"{i},{i % 2},{i % 3 % 2}" for i in range(7)]
    (tmp_path / "n.csv").write_text("\n".join(["node,x,y", *rows]))
    command = ["data", "info", "--edges", "e.csv", "--nodes", "n.csv", "--json"]
    command += ["--src", "a", "--dst", "b", "--weight", "w", "--id", "node"]
    assert main([*command, "--labels", "x, y"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["nodes"], found["edges"], found["classes"]) == (7, 7, 2)
    assert main([*command, "--weight", "v"]) == 1
    assert "no column 'v'" in capsys.readouterr().err
