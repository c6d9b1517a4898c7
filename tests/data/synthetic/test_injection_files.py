import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from support.small_data import several_graphs

from sgat.data import load
from sgat.data.files import FileOptions, read_graph
from sgat.data.synthetic import contextual_block_model, inject
from sgat.data.synthetic.injection_files import write_injected


def edge_set(table):
    return set(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))


def test_written_data_are_read_again_unchanged(tmp_path):
    data = contextual_block_model(num_nodes=53, num_features=3, num_classes=3).data
    y = data.y.clone()
    y[7] = -1
    nobody = torch.arange(53) == 7
    data = dataclasses.replace(
        data,
        y=y,
        train=data.train & ~nobody,
        val=data.val & ~nobody,
        test=data.test & ~nobody,
        graph=dataclasses.replace(
            data.graph,
            weight=torch.arange(1.0, data.graph.num_edges + 1),
            feature=torch.rand(data.graph.num_edges, 2),
        ),
        node_ids=np.array([f"né, {i}" for i in range(53)]),
        classes=("a", "b", "c"),
    )
    injected = inject(data, "cross-class", 0.3)
    files = write_injected([injected], tmp_path / "out")
    assert [file.name for file in files] == [
        "added.parquet",
        "edges.parquet",
        "nodes.parquet",
    ]
    again = read_graph(
        tmp_path / "out" / "edges.parquet",
        tmp_path / "out" / "nodes.parquet",
        options=FileOptions(
            label="label", edge_features=("edge_feature_0", "edge_feature_1")
        ),
    ).data
    old = injected.data
    for field in ("x", "y", "train", "val", "test"):
        torch.testing.assert_close(
            getattr(again, field), getattr(old, field), rtol=0, atol=0
        )
    for field in ("dst", "src", "weight", "feature"):
        assert torch.equal(getattr(again.graph, field), getattr(old.graph, field))
    assert again.classes == old.classes
    assert again.node_ids.tolist() == old.node_ids.tolist()

    added = edge_set(pq.read_table(tmp_path / "out" / "added.parquet"))
    src, dst = (
        old.node_ids[end[injected.added]] for end in (old.graph.src, old.graph.dst)
    )
    assert added == set(zip(src, dst, strict=True))
    assert len(added) == int(injected.added.sum()) > 0


def test_identity_features_are_left_out(tmp_path):
    (data,) = load("karate")
    write_injected([inject(data, rate=0.5)], tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "nodes.parquet")
    assert table.column_names == ["id", "label", "split"]


def test_several_graphs_and_labels_get_a_folder_and_columns_each(tmp_path):
    graphs = [inject(data) for data in several_graphs()[2:]]
    files = write_injected(graphs, tmp_path / "deep" / "out")
    assert len(files) == 9
    place = tmp_path / "deep" / "out" / "2"
    table = pq.read_table(place / "nodes.parquet")
    assert table["split"].to_pylist() == ["test"] * len(table)
    assert table["label_6"].to_pylist() == graphs[2].data.y[:, 6].tolist()


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (data,) = load("karate")
    (tmp_path / "out").mkdir()
    injected = [inject(data, rate=0.5)]
    write_injected(injected, tmp_path / "out")
    with pytest.raises(ValueError) as error:
        write_injected(injected, tmp_path / "out")
    assert str(error.value) == (
        f"The output folder {str(tmp_path / 'out')!r} must be new or empty; choose"
        f" another or remove it."
    )


def test_a_failure_on_the_way_leaves_nothing_behind(tmp_path, monkeypatch):
    (data,) = load("karate")

    def full_disk(table, place):
        if place.name == "nodes.parquet":
            raise OSError(28, "No space left on device")
        place.write_bytes(b"half")

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_injected([inject(data, rate=0.5)], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
