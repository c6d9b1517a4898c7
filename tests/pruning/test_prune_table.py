"""Tables through DuckDB: the rows that the rules choose in memory, and no others."""

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from support.prune_tables import (
    NODES,
    edge_table,
    node_scores,
    pairs,
    prune,
    read,
    write,
)

from sgat.graph import Graph
from sgat.pruning import Rules
from sgat.pruning.choice import choose_edges, chosen_scores
from sgat.pruning.stored_table import open_table
from sgat.pruning.table_scores import Nodes


def in_memory(nodes, ends, rules, protected=()):
    """The kept pairs with score and gate, by `choose_edges` over a `Graph`."""
    graph = Graph.from_edges(torch.tensor(ends.T.copy()), NODES)
    src, dst = graph.src.numpy(), graph.dst.numpy()
    log_alpha = nodes.scores.dst[dst] + nodes.scores.src[src]
    if nodes.scores.query is not None:
        one, other = nodes.scores.query[dst].astype(float), nodes.scores.key[src]
        log_alpha = (log_alpha + (one * other).sum(axis=1)).astype(np.float32)
    gates = nodes.model.gating.gates
    mask = np.array(
        [pair in protected for pair in zip(src.tolist(), dst.tolist(), strict=True)]
    )
    choice = choose_edges(
        log_alpha, graph, rules, protected=mask, threshold=gates.threshold
    )
    found = chosen_scores(choice, graph, gates)
    rows = {
        (nodes.ids[s], nodes.ids[d]): (a, p, g)
        for s, d, a, p, g, kept in zip(
            src,
            dst,
            found.log_alpha.tolist(),
            found.probability.tolist(),
            found.gate.tolist(),
            choice.kept,
            strict=True,
        )
        if kept
    }
    return rows, choice


ALL_RULES = [
    Rules(),
    Rules(threshold=0.3),
    Rules(threshold=-2.5),
    Rules(keep=0.3),
    Rules(keep=0.85),
    Rules(keep=1.0),
    Rules(keep=0.001),
    Rules(symmetric="max"),
    Rules(keep=0.4, symmetric="min"),
    Rules(keep=0.37, symmetric="mean"),
    Rules(threshold=1.0, min_degree=2),
    Rules(keep=0.4, min_degree=1),
    Rules(keep=0.02, min_degree=2, symmetric="max"),
    Rules(threshold=2.0, keep_connected=True),
    Rules(keep=0.4, keep_connected=True, symmetric="mean"),
    Rules(keep=0.5, min_degree=1, keep_connected=True, symmetric="min"),
]


SCORES = {"distinct": {}, "tied": {"levels": 2}, "with vectors": {"rank": 3}}


# Rules see scores alone, however they came about: with vectors a few are enough.
@pytest.mark.parametrize(
    ("rules", "scores"),
    [
        *itertools.product(ALL_RULES, ["distinct", "tied"]),
        *itertools.product(ALL_RULES[::5], ["with vectors"]),
    ],
    ids=str,
)
def test_a_table_keeps_what_is_kept_in_memory(rules, scores, tmp_path):
    nodes, ends = node_scores(**SCORES[scores]), pairs()
    frame = edge_table(nodes, ends)
    table = write(frame, tmp_path / "edges.parquet")
    pruned = prune(nodes.task(table, rules), tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    expected, choice = in_memory(nodes, ends, rules)
    named = list(zip(found["src"], found["dst"], strict=True))
    assert sorted(named) == sorted(expected)
    for name, place in (("log_alpha", 0), ("probability", 1), ("gate", 2)):
        wanted = [expected[pair][place] for pair in named]
        assert np.allclose(found[name], wanted, atol=1e-6), name
    # The user's columns, in the user's order.
    assert found["note"].is_monotonic_increasing
    assert frame.iloc[found["note"]][["src", "dst"]].to_numpy().tolist() == [
        list(pair) for pair in named
    ]
    assert list(found.columns) == [*frame.columns, "log_alpha", "probability", "gate"]
    assert pruned.reasons == choice.count()
    assert (pruned.rows, pruned.kept) == (len(frame), len(found))
    assert pruned.threshold == pytest.approx(choice.threshold)
    assert pruned.notes == choice.notes


@pytest.mark.parametrize("rules", ALL_RULES, ids=str)
def test_rows_with_scores_of_their_own_keep_the_same(rules, tmp_path):
    nodes, ends = node_scores(levels=2), pairs()
    expected, choice = in_memory(nodes, ends, rules)
    score = nodes.scores.dst[ends[:, 1]] + nodes.scores.src[ends[:, 0]]
    frame = edge_table(nodes, ends).assign(log_alpha=score, kept=True)
    table = write(frame, tmp_path / "edges.parquet")
    task = nodes.task(table, rules, scores=None, is_score_table=True)
    pruned = prune(task, tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    named = list(zip(found["src"], found["dst"], strict=True))
    assert sorted(named) == sorted(expected)
    assert found["log_alpha"].tolist() == [expected[pair][0] for pair in named]
    assert np.allclose(found["gate"], [expected[pair][2] for pair in named], atol=1e-6)
    assert found["note"].is_monotonic_increasing and "kept" not in found
    assert pruned.reasons == choice.count()
    assert pruned.threshold == pytest.approx(choice.threshold)


def test_stored_scores_of_both_directions_count_as_one_larger_score(tmp_path):
    # Sums of both directions may differ in the last bit; the share must not part them.
    nodes, ends = node_scores(symmetric=True), pairs()
    both = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    score = nodes.scores.dst[both[:, 1]] + nodes.scores.src[both[:, 0]]
    higher = np.where(both[:, 0] < both[:, 1], np.nextafter(score, np.inf), score)
    frame = edge_table(nodes, both).assign(log_alpha=higher.astype(np.float32))
    table = write(frame, tmp_path / "edges.parquet")
    for keep in (0.3, 0.5, 0.7):
        task = nodes.task(table, Rules(keep=keep), scores=None)
        prune(task, tmp_path / "out.parquet")
        found = read(tmp_path / "out.parquet")
        named = set(zip(found["src"], found["dst"], strict=True))
        expected, _ = in_memory(nodes, both, Rules(keep=keep, symmetric="max"))
        assert named == set(expected) == {pair[::-1] for pair in named}
        larger = frame.iloc[found["note"]]["log_alpha"].to_numpy()
        assert (found["log_alpha"] >= larger).all()
        assert (found["log_alpha"] > larger).sum() * 2 == len(found)


def two_graphs(tmp_path, rules):
    """Nodes whose ids repeat in another graph, their edges and rows, and a task."""
    nodes, half = node_scores(levels=2), NODES // 2
    ids = np.array([*nodes.ids[:half], *nodes.ids[:half], *nodes.ids[2 * half :]])
    graph = np.array(["a"] * half + ["b"] * (NODES - half))
    ends = pairs()
    ends = ends[(ends[:, 0] < half) == (ends[:, 1] < half)]
    score = nodes.scores.dst[ends[:, 1]] + nodes.scores.src[ends[:, 0]]
    frame = edge_table(dataclasses.replace(nodes, ids=ids), ends)
    frame = frame.assign(log_alpha=score, graph=graph[ends[:, 0]])
    table = write(frame, tmp_path / "edges.parquet")
    task = dataclasses.replace(
        nodes.task(table, rules, scores=None),
        nodes=Nodes(pa.array(ids), graph=pa.array(graph)),
    )
    return nodes, ends, frame, task


@pytest.mark.parametrize("rules", ALL_RULES[7:], ids=str)
def test_ids_may_repeat_in_other_graphs(rules, tmp_path):
    nodes, ends, _, task = two_graphs(tmp_path, rules)
    expected, choice = in_memory(nodes, ends, rules)
    assert prune(task, tmp_path / "out.parquet").reasons == choice.count()
    found = read(tmp_path / "out.parquet")
    kept = {(nodes.ids[s], nodes.ids[d]) for s, d in ends[found["note"]]}
    assert kept == set(expected)


@pytest.mark.parametrize("rules", [Rules(keep=0.02), ALL_RULES[-1]], ids=str)
def test_rows_are_protected_by_their_graph_as_well(rules, tmp_path):
    *_, frame, task = two_graphs(tmp_path, rules)
    named = write(frame[:3][["graph", "src", "dst"]], tmp_path / "p.csv")
    prune(task, tmp_path / "out.parquet")
    assert not set(read(tmp_path / "out.parquet")["note"]) >= {0, 1, 2}
    prune(dataclasses.replace(task, protect=named), tmp_path / "out.parquet")
    assert set(read(tmp_path / "out.parquet")["note"]) >= {0, 1, 2}
    bare = write(frame[:3][["src", "dst"]], tmp_path / "bare.csv")
    with pytest.raises(ValueError, match=r"bare\.csv: no column 'graph' for the graph"):
        prune(dataclasses.replace(task, protect=bare), tmp_path / "out.parquet")


@pytest.mark.parametrize("keep", [None, 0.3])
@pytest.mark.parametrize("symmetric", [None, "max"])
def test_protected_rows_stay(keep, symmetric, tmp_path):
    nodes, ends = node_scores(), pairs()
    table = write(edge_table(nodes, ends), tmp_path / "edges.parquet")
    chosen = [tuple(pair) for pair in ends[:7].tolist()]
    absent = next(
        pair
        for pair in itertools.permutations(range(NODES), 2)
        if list(pair) not in ends.tolist() and list(pair[::-1]) in ends.tolist()
    )
    shielded = edge_table(nodes, np.array([*chosen, chosen[0], absent]))
    protect = write(shielded.drop(columns="note"), tmp_path / "protect.csv")
    rules = Rules(keep=keep, symmetric=symmetric)
    pruned = prune(nodes.task(table, rules, protect=protect), tmp_path / "o.parquet")
    expected, choice = in_memory(nodes, ends, rules, chosen)
    found = read(tmp_path / "o.parquet")
    assert sorted(zip(found["src"], found["dst"], strict=True)) == sorted(expected)
    assert pruned.reasons == choice.count() and "protected" in pruned.reasons
    assert pruned.notes == (
        f"1 edges of {tmp_path}/protect.csv are not in {tmp_path}/edges.parquet",
    )
    unknown = write(
        pd.DataFrame({"src": ["n01"], "dst": ["x"]}), tmp_path / "unknown.csv"
    )
    with pytest.raises(ValueError, match=r"src 'n01', dst 'x' names a node that has"):
        prune(nodes.task(table, rules, protect=unknown), tmp_path / "o.parquet")


@pytest.mark.parametrize("rules", [Rules(), Rules(keep=0.5)], ids=["own", "keep"])
def test_loops_stay_and_missing_nodes_go_as_told(rules, tmp_path):
    nodes, ends = node_scores(), pairs()
    frame = edge_table(nodes, ends)
    loops = pd.DataFrame({"src": ["n03", "n05"], "note": -1, "dst": ["n03", "n05"]})
    strays = pd.DataFrame(
        {
            "src": ["n01", "nobody", None, "", "x"],
            "note": -2,
            "dst": ["someone", "n02", "n01", "n02", "x"],
        }
    )
    whole = pd.concat([frame, loops, strays]).sample(frac=1, random_state=0)
    table = write(whole, tmp_path / "edges.parquet")
    out = tmp_path / "out.parquet"
    with pytest.raises(ValueError) as error:
        prune(nodes.task(table, rules), out)
    message = str(error.value)
    assert f"5 of {len(whole)} rows name a node that has no score, such as src" in (
        message
    )
    assert "`missing` can be keep or drop" in message and not out.exists()
    expected, choice = in_memory(nodes, ends, rules)
    for missing in ("keep", "drop"):
        task = nodes.task(table, rules, missing=missing)
        pruned = prune(task, out)
        found = read(out)
        assert pruned.reasons == {**choice.count(), "loop": 2, "missing": 5}
        assert len(found) == len(expected) + 2 + 5 * (missing == "keep") == pruned.kept
        assert (found["note"] == -2).sum() == 5 * (missing == "keep")
        kept_loops = found[found["note"] == -1]
        assert (
            kept_loops["gate"].tolist() == [1, 1] == kept_loops["probability"].tolist()
        )
        assert kept_loops["log_alpha"].isna().all()
        assert found[found["note"] == -2][["log_alpha", "gate"]].isna().all(axis=None)


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_rows_of_one_edge_stay_or_go_as_one_and_each_counts(keep, tmp_path):
    nodes, ends = node_scores(levels=1), pairs(share=0.1)
    generator = np.random.default_rng(1)
    repeated = ends[generator.integers(0, len(ends), 200)]
    table = write(edge_table(nodes, repeated), tmp_path / "edges.parquet")
    prune(nodes.task(table, Rules(keep=keep)), tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    number = {nodes.ids[k]: k for k in range(NODES)}
    kept = {
        (number[s], number[d]) for s, d in zip(found["src"], found["dst"], strict=True)
    }
    times = {}
    for pair in map(tuple, repeated.tolist()):
        times[pair] = times.get(pair, 0) + 1
    score = {(s, d): nodes.scores.dst[d] + nodes.scores.src[s] for s, d in times}
    expected, total = set(), 0
    for pair in sorted(times, key=lambda p: (-score[p], p[1], p[0])):
        if total + times[pair] > round(keep * 200):
            break
        expected.add(pair)
        total += times[pair]
    assert kept == expected
    assert len(found) == total


@pytest.mark.parametrize("rules", ALL_RULES[3:], ids=str)
def test_rows_that_stand_for_both_directions(rules, tmp_path):
    nodes, ends = node_scores(), pairs(share=0.15)
    single = np.array(sorted({tuple(sorted(pair)) for pair in ends.tolist()}))
    flipped = np.random.default_rng(2).random(len(single)) < 0.5
    rows = np.where(flipped[:, None], single[:, ::-1], single)
    table = write(edge_table(nodes, rows), tmp_path / "edges.parquet")
    task = nodes.task(table, rules, undirected=True)
    pruned = prune(task, tmp_path / "out.parquet")
    both = np.concatenate([single, single[:, ::-1]])
    in_pairs = dataclasses.replace(rules, symmetric=rules.symmetric or "max")
    expected, choice = in_memory(nodes, both, in_pairs)
    found = read(tmp_path / "out.parquet")
    named = {frozenset(p) for p in zip(found["src"], found["dst"], strict=True)}
    assert 2 * len(found) in (len(expected), len(expected) + 2)
    if rules.keep is None:
        assert named == {frozenset(pair) for pair in expected}
        assert {k: 2 * v for k, v in pruned.reasons.items()} == choice.count()


FORMATS_IN = [".parquet", ".csv", ".tsv", ".csv.gz"]
FORMATS_OUT = [".parquet", ".csv", ".tsv.gz", ""]


# Rows are written as they are, whatever they were read from: ids of each kind come from
# each format and go to each, but not from each to each.
@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        *(
            ("string", *formats)
            for formats in zip(FORMATS_IN, FORMATS_OUT, strict=True)
        ),
        *(
            ("integer", source, FORMATS_OUT[place - 1])
            for place, source in enumerate(FORMATS_IN)
        ),
    ],
)
def test_every_format_in_and_out(kind, source, target, tmp_path):
    nodes, ends = node_scores(kind), pairs()
    frame = edge_table(nodes, ends)
    frame["note"] = [f'say "{k}", \n{k}' for k in range(len(frame))]
    table = write(frame, tmp_path / f"edges{source}")
    out = tmp_path / f"out{target}"
    prune(nodes.task(table, Rules(keep=0.3)), out)
    found = read(out)
    expected, _ = in_memory(nodes, ends, Rules(keep=0.3))
    assert set(zip(found["src"], found["dst"], strict=True)) == set(expected)
    assert list(found["note"]) == [n for n in frame["note"] if n in set(found["note"])]
    leftovers = {p.name for p in tmp_path.iterdir()} - {
        f"edges{source}",
        f"out{target}",
    }
    assert leftovers == {f"scratch-out{target}"}


@pytest.mark.parametrize("source", ["edges.parquet", "edges.csv", "folder"])
def test_rows_keep_their_order_however_many_threads_work(source, tmp_path):
    nodes = node_scores("integer")
    generator = np.random.default_rng(0)
    ends = generator.integers(0, NODES, (300_000, 2))
    frame = edge_table(nodes, ends)
    path = tmp_path / source
    if source == "folder":
        path.mkdir()
        for part in range(3):
            rows = frame.iloc[part * 100_000 : (part + 1) * 100_000]
            whole = pa.Table.from_pandas(rows, preserve_index=False)
            pq.write_table(whole, path / f"{part}.parquet", row_group_size=10_000)
    elif source == "edges.parquet":
        whole = pa.Table.from_pandas(frame, preserve_index=False)
        pq.write_table(whole, path, row_group_size=10_000)
    else:
        frame.to_csv(path, index=False)
    task = nodes.task(open_table(path), Rules(threshold=-1.0))
    pruned = prune(task, tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    assert 100_000 < len(found) == pruned.kept < 300_000
    assert found["note"].is_monotonic_increasing


def test_a_partitioned_folder_keeps_its_columns(tmp_path):
    nodes, ends = node_scores(), pairs()
    frame = edge_table(nodes, ends)
    frame["part"] = [f"0{k % 3}" for k in range(len(frame))]
    pq.write_to_dataset(
        pa.Table.from_pandas(frame), tmp_path / "in", partition_cols=["part"]
    )
    table = open_table(tmp_path / "in")
    assert table.partitions == ("part",)
    prune(nodes.task(table, Rules()), tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    expected, _ = in_memory(nodes, ends, Rules())
    assert set(zip(found["src"], found["dst"], strict=True)) == set(expected)
    assert list(found["part"]) == [f"0{k % 3}" for k in found["note"]]


def test_text_becomes_numbers_in_parquet_where_nothing_is_lost(tmp_path):
    nodes = dataclasses.replace(node_scores("integer"), ids=np.arange(NODES))
    columns = {
        "whole": ["7", "-3", ""],
        "decimal": ["0.25", "-1e5", "3.0"],
        "zeros": ["007", "1", "2"],
        "padded": ["1.10", "2.5", "3"],
        "huge": ["12345678901234567890", "1", "2"],
        "words": ["1", "nan", "x"],
        "empty": ["", "", ""],
    }
    frame = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0], **columns})
    table = write(frame, tmp_path / "edges.csv")
    prune(nodes.task(table, Rules(threshold=-99.0)), tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    kinds = {name: str(found.schema.field(name).type) for name in frame.columns}
    assert kinds == {
        **{"src": "int64", "dst": "int64", "whole": "int64", "decimal": "double"},
        **dict.fromkeys(("zeros", "padded", "huge", "words", "empty"), "string"),
    }
    assert found["whole"].to_pylist() == [7, -3, None]
    assert found["decimal"].to_pylist() == [0.25, -1e5, 3.0]
    assert found["zeros"].to_pylist() == columns["zeros"]


def test_text_is_an_integer_only_if_it_is_written_as_one(tmp_path):
    nodes = dataclasses.replace(node_scores("integer"), ids=np.arange(NODES))
    rows = pd.DataFrame({"src": ["1", "01", "+1", " 1", "1.0"], "dst": "2"})
    rows.to_csv(tmp_path / "edges.csv", index=False)
    task = nodes.task(open_table(tmp_path / "edges.csv"), Rules(), missing="drop")
    assert prune(task, tmp_path / "out.csv").reasons["missing"] == 4


def test_ids_of_another_type_are_refused_as_by_fit(tmp_path):
    numbers, words = node_scores("integer"), node_scores("string")
    small = {"src": [1], "dst": [2]}
    integers = write(pd.DataFrame(small), tmp_path / "integers.parquet")
    strings = write(pd.DataFrame(small).astype(str), tmp_path / "strings.parquet")
    out = tmp_path / "out.parquet"
    with pytest.raises(
        ValueError, match="holds integers, but the ids of the nodes are"
    ):
        prune(words.task(integers, Rules()), out)
    with pytest.raises(ValueError, match="holds strings, but the ids of the nodes are"):
        prune(numbers.task(strings, Rules()), out)
    # Ids of a text file have no type of their own, so both are meant.
    text = dataclasses.replace(numbers, ids=np.arange(NODES), ids_are_text=True)
    for table in (integers, strings):
        assert prune(text.task(table, Rules(threshold=-99.0)), out).kept == 1
    floats = write(pd.DataFrame(small).astype(float), tmp_path / "floats.parquet")
    with pytest.raises(ValueError, match="ids must be integers or strings, got double"):
        prune(numbers.task(floats, Rules()), out)


def test_scores_take_the_place_of_columns_of_their_names(tmp_path):
    nodes, ends = node_scores(), pairs()
    frame = edge_table(nodes, ends).assign(kept=True, gate=7.0, attention=0.0)
    table = write(frame, tmp_path / "edges.parquet")
    prune(nodes.task(table, Rules()), tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    users = ["src", "note", "dst", "kept", "attention"]
    assert list(found.columns) == [*users, "log_alpha", "probability", "gate"]
    assert (found["gate"] <= 1).all()
    of_a_run = nodes.task(table, Rules(), is_score_table=True)
    prune(of_a_run, tmp_path / "own.parquet")
    found = read(tmp_path / "own.parquet")
    assert list(found.columns) == [*users[:3], "log_alpha", "probability", "gate"]
    prune(nodes.task(table, Rules(), with_scores=False), tmp_path / "plain.parquet")
    plain = read(tmp_path / "plain.parquet")
    assert list(plain.columns) == list(frame.columns) and (plain["gate"] == 7).all()


def test_empty_tables_stay_empty(tmp_path):
    nodes = node_scores()
    empty = pa.table(
        {"src": pa.array([], pa.string()), "dst": pa.array([], pa.string())}
    )
    pq.write_table(empty, tmp_path / "edges.parquet")
    table = open_table(tmp_path / "edges.parquet")
    for rules in (Rules(), Rules(keep=0.5, min_degree=1, keep_connected=True)):
        pruned = prune(nodes.task(table, rules), tmp_path / "out.parquet")
        assert (pruned.rows, pruned.kept, pruned.reasons) == (0, 0, {})
        assert len(read(tmp_path / "out.parquet")) == 0


def test_a_symmetric_model_needs_no_search_for_pairs(tmp_path):
    nodes, ends = node_scores(symmetric=True), pairs()
    both = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    table = write(edge_table(nodes, both), tmp_path / "edges.parquet")
    task = nodes.task(table, Rules(keep=0.3))
    assert not task.scoring.needs_pairs
    prune(task, tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    expected, _ = in_memory(nodes, both, Rules(keep=0.3, symmetric="max"))
    assert set(zip(found["src"], found["dst"], strict=True)) == set(expected)


@pytest.mark.parametrize("source", [".parquet", ".csv", ""])
def test_paths_and_names_with_odd_letters(source, tmp_path):
    nodes, ends = node_scores(), pairs()
    frame = edge_table(nodes, ends).rename(columns={"src": 'a"b', "dst": "c;'`"})
    folder = tmp_path / "it's [1] {x,y}*?"
    folder.mkdir()
    table = write(frame, folder / f"edges 'a'{source or '.parquet'}")
    if not source:
        table = open_table(folder)
    task = nodes.task(table, Rules(), src='a"b', dst="c;'`")
    prune(task, folder / "out's.parquet")
    expected, _ = in_memory(nodes, ends, Rules())
    assert len(pq.ParquetFile(folder / "out's.parquet").read()) == len(expected)


def test_a_damaged_text_table_is_told_in_one_sentence(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("src,dst\nn01,n02\nn01,n02,n03\n")
    with pytest.raises(ValueError, match=r"edges\.csv: .*Line: 3"):
        prune(node_scores().task(open_table(path), Rules()), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
