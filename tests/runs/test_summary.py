import json

import pytest
from support.small_data import block_graph
from support.small_run import finished

from sgat.config import Config
from sgat.runs.provenance import hash_of
from sgat.runs.summary import Summary, read_summary


def test_a_summary_has_what_its_types_say_and_where_it_comes_from(tmp_path):
    folder, config, _, summary = finished(tmp_path / "r", [block_graph(num_nodes=61)])
    found = read_summary(folder)
    assert found == json.loads(json.dumps(summary))
    assert Summary.__required_keys__ <= found.keys()
    assert found["seed"] == config.train.seed and "torch" in found["versions"]
    hashes = found["files_sha256"]
    assert hashes["edges.parquet"] == hash_of(folder.edges)
    assert hashes["config.toml"] == hash_of(folder.config)
    assert Config.from_toml(folder.config) == config

    stored = folder.summary.read_text()
    for key in sorted(Summary.__required_keys__):
        for value in ({"x": [1]}, float("nan"), None):
            content = {**found, key: value}
            if value is None:
                del content[key]
            folder.summary.write_text(json.dumps(content))
            with pytest.raises(ValueError, match=r"summary\.json is damaged"):
                read_summary(folder)
    one_of_two = json.dumps({**found, "rows": 3})
    other_metric = stored.replace('"metric": "', '"metric": "x')
    for text in (one_of_two, "[" * 100_000, "{}", other_metric):
        folder.summary.write_text(text)
        with pytest.raises(ValueError, match=r"summary\.json is damaged"):
            read_summary(folder)
