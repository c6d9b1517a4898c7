import math

import pytest

from sgat_lab.attacks.rows import append, circumstances, read


def test_the_last_row_of_a_case_counts(tmp_path):
    path = tmp_path / "new" / "rows.csv"
    for seed, test in ((0, 0.5), (1, math.nan), (0, 0.75)):
        append(path, {"graph": "cora", "seed": seed, "test": test})
    first, second = read(path, ("graph", "seed"))
    assert first == {"graph": "cora", "seed": 0.0, "test": 0.75}
    assert second["seed"] == 1 and math.isnan(second["test"])
    assert len(path.read_text().splitlines()) == 4


def test_other_columns_are_refused_and_the_file_stays(tmp_path):
    path = tmp_path / "rows.csv"
    append(path, {"graph": "cora", "test": 0.5})
    before = path.read_text()
    with pytest.raises(ValueError, match="has other columns; choose another file"):
        append(path, {"graph": "cora", "val": 0.5})
    assert path.read_text() == before


def test_circumstances_name_device_date_and_versions():
    found = circumstances("cpu")
    assert found["device"].startswith("cpu") and found["torch"]
    assert {"date", "commit"} <= found.keys()
