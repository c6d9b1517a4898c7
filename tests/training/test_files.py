import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from sgat.training.files import (
    arrow_table,
    read_parquet,
    read_records,
    write_parquet,
    write_records,
    write_snapshots,
)
from sgat.training.result import EpochRecord, Snapshot


def test_a_table_comes_back_whole_or_by_columns(tmp_path):
    path = tmp_path / "t.parquet"
    table = {"id": [1, 2], "note": ["a", None]}
    write_parquet(path, pd.DataFrame(table))
    assert read_parquet(path).to_pydict() == table
    assert read_parquet(path, ["note"]).column_names == ["note"]


def test_only_columns_of_mixed_types_become_strings():
    table = pd.DataFrame({"mixed": [1, "a", 2.5], "whole": [1, 2, 3]})
    assert arrow_table(table).to_pydict() == {
        "mixed": ["1", "a", "2.5"],
        "whole": [1, 2, 3],
    }


def test_records_that_were_not_written_are_none(tmp_path):
    assert read_records(tmp_path / "m.jsonl").empty


@pytest.mark.parametrize("read", [read_parquet, read_records])
def test_what_is_no_table_is_named_in_one_sentence(tmp_path, read):
    path = tmp_path / "file"
    path.write_text("{'a': 1}\n")
    with pytest.raises(ValueError) as error:
        read(path)
    assert str(error.value).startswith(f"{path} is damaged or was not written by sgat:")
    assert len(str(error.value).splitlines()) == 1


def test_every_epoch_is_a_record(tmp_path):
    names = [field.name for field in dataclasses.fields(EpochRecord)]
    records = [
        EpochRecord(first, *(first + k / 3 for k in range(10))) for first in (1, 2)
    ]
    write_records(tmp_path / "m.jsonl", [dataclasses.asdict(r) for r in records])
    table = read_records(tmp_path / "m.jsonl")
    assert table.columns.tolist() == names
    for row, record in zip(table.to_dict("records"), records, strict=True):
        assert EpochRecord(**row) == record


def test_snapshots_are_stacked_by_epoch(tmp_path):
    snapshots = [
        Snapshot(epoch, torch.full((5,), epoch + 0.5), torch.full((3, 2), epoch - 0.5))
        for epoch in (0, 7)
    ]
    write_snapshots(tmp_path / "s.npz", snapshots)
    with np.load(tmp_path / "s.npz") as arrays:
        assert arrays["epoch"].tolist() == [0, 7]
        assert arrays["log_alpha"].shape == (2, 5)
        assert arrays["logits"][1].tolist() == [[6.5, 6.5]] * 3
