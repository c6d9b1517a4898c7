from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from support.tables import read_text, text_nodes

from sgat.data import check
from sgat.data.files import from_tables
from sgat.features import SparseFeatures


def test_without_node_file_nodes_have_identity_features(tmp_path: Path) -> None:
    data = read_text(tmp_path, "src,dst\nb,a\na,c\n").data
    assert isinstance(data.x, SparseFeatures) and data.x.shape == (3, 3)
    assert data.y.tolist() == [-1, -1, -1] and data.classes == ()
    assert not (data.train | data.val | data.test).any()


def test_data_frames_are_read_too() -> None:
    edges = pd.DataFrame({"src": [5, -3], "dst": [-3, 2**60]})
    frame = pd.DataFrame({"id": [2**60, -3, 5], "f": [1.0, 2.0, 3.0]})
    data = from_tables(edges, frame).data
    assert np.array_equal(data.node_ids, [2**60, -3, 5])
    assert data.graph.edge_index.tolist() == [[1, 2], [0, 1]]


def test_readme_example_trains_on_string_ids(tmp_path: Path) -> None:
    graph = text_nodes(
        tmp_path, "id,age,y,split\nb,3,no,val\na,1,yes,train\nc,2,,\n", label="y"
    )
    check([graph.data])
    assert list(graph.data.node_ids) == ["b", "a", "c"]
    assert graph.data.classes == ("no", "yes")
    assert graph.data.y.tolist() == [0, 1, -1]
    assert graph.data.train.tolist() == [False, True, False]
    assert graph.data.val.tolist() == [True, False, False]
    assert not graph.data.test.any()
    assert graph.data.x.tolist() == [[3], [1], [2]]
