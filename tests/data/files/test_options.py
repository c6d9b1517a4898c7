from __future__ import annotations

import dataclasses
from pathlib import Path

import sgat.data.files as files


def test_documentation_names_every_option_and_function() -> None:
    page = Path(__file__).parents[3] / "docs" / "files.md"
    text = page.read_text()
    for field in dataclasses.fields(files.FileOptions):
        assert f"`{field.name}`" in text, field.name
    assert "`src`, `dst`" in text


def test_every_public_name_is_there() -> None:
    assert len(files.__all__) == 14
    assert all(hasattr(files, name) for name in files.__all__)


def test_importing_sgat_leaves_pyarrow_alone() -> None:
    import subprocess
    import sys

    code = "import sgat, sys; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
