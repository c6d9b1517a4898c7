import json

import pytest
from support.records import record

from sgat_lab.trials.record import Record


@pytest.mark.parametrize("noise", [None, ("random", 0.5)])
def test_a_record_comes_back_from_json(noise):
    made = record(noise=noise, extra={"auc": 0.5})
    text = json.dumps(made.to_dict())
    assert Record.from_json(text, "here") == made
    assert Record.from_json(text.encode(), "here") == made


@pytest.mark.parametrize("change", [{"noise": 3}, {"unknown": 1}, {"key": ...}])
def test_anything_else_is_named_by_its_place(change):
    content = {k: v for k, v in (record().to_dict() | change).items() if v is not ...}
    with pytest.raises(ValueError, match="line 7 is no record of this version"):
        Record.from_json(json.dumps(content), "line 7")
