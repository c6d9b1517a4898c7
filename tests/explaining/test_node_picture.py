import dataclasses

import pytest
from support.small_data import block_graph

import sgat
from sgat.explaining import pictures
from sgat.explaining.node_explanation import explain_node


@pytest.mark.parametrize(
    ("reach", "own", "title", "key"),
    [
        (2, 0.25, "own share 25%", "kept, wider is more"),
        (0, None, "uses no edges", "kept, not used"),
        (0, 0.25, "uses no edges", "kept, not used"),
    ],
)
def test_a_picture_says_whether_kept_edges_are_used(reach, own, title, key):
    settings = {"hidden": 3, "epochs": 1, "scorer": "additive", "device": "cpu"}
    fitted = sgat.SGATClassifier(**settings, readout="linear").fit(
        block_graph(num_nodes=61)
    )
    found = explain_node(fitted.model_, fitted.scored_, 3, top=1)
    assert found.reach == 2
    changed = dataclasses.replace(found, reach=reach, own_share=own)
    shown = [found.table, found.table]
    assert pictures._title(changed, shown).endswith(f"; {title}")
    labels = [line.get_label() for line in pictures._Style(changed).legend()]
    assert labels[-2:] == [key, "removed"]
