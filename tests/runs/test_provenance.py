import platform

import numpy as np

from sgat.runs import provenance
from sgat.runs.provenance import device_name, versions


def test_the_versions_are_those_in_use(monkeypatch):
    monkeypatch.setattr(provenance, "PACKAGES", ("numpy", "no-such-package"))
    assert versions() == {"numpy": np.__version__, "no-such-package": "unknown"}


def test_a_cpu_is_named_by_its_architecture():
    name = device_name("cpu")
    assert name.startswith(f"cpu ({platform.machine()}, ")
    assert name.endswith(" threads)")
