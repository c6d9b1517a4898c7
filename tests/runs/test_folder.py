import os

import pytest
from support.small_data import block_graph
from support.small_run import content, finished

from sgat.config import Config
from sgat.runs.results import write_results
from sgat.scored import score_graphs


def test_nothing_of_an_earlier_run_is_left_and_nothing_else_is_touched(tmp_path):
    folder, *_ = finished(tmp_path / "r", [block_graph()], snapshots=2)
    notes = folder.path / "my-notes.txt"
    notes.write_text("mine")
    folder.start(Config())
    folder.checkpoint.write_text("state")
    folder.publish(Config())
    left = sorted(file.name for file in folder.path.iterdir())
    assert left == ["config.toml", "my-notes.txt"]


def test_publishing_that_is_cut_off_can_be_resumed(tmp_path, monkeypatch):
    folder, config, result, _ = finished(tmp_path / "r", [block_graph()], snapshots=1)
    folder.start(config)
    os_replace = os.replace

    def replace(source, target):
        if target == folder.edges:
            raise OSError(5, "Input/output error", str(target))
        os_replace(source, target)

    scored = score_graphs(result.sgat, [block_graph()])
    with monkeypatch.context() as patch:
        patch.setattr("sgat.runs.folder.os.replace", replace)
        with pytest.raises(OSError, match="Input/output error"):
            write_results(folder, config, result, scored)
    assert folder.is_under_way and not folder.is_finished
    write_results(folder, config, result, scored)
    assert folder.is_finished
    assert {"summary.json", "edges.parquet", "config.toml"} <= content(
        folder.path
    ).keys()
