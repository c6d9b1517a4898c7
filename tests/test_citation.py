import re
from pathlib import Path

import sgat

CITATION = Path(__file__).parents[1] / "CITATION.cff"


def test_the_citation_names_this_version():
    text = CITATION.read_text("utf-8")
    assert re.search(r"^version: (.+)$", text, re.M)[1] == sgat.__version__
