"""Settings of the documentation site; `make docs` builds it into build/site.

The source folder is the repository itself, so a link in a document means the same on
the site as in the tree.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import sgat  # noqa: E402  # from the tree, wherever the build is started

project = "sgat"
author = "The sgat maintainers"
copyright = f"2026, {author}"
version = release = sgat.__version__

root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/site/*.md", "examples/*.ipynb"]
exclude_patterns = [".*", "build", "records", "runs", "figures"]
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "site_pages",
    "site_docstrings",
    "site_notebooks",
]
show_warning_types = True
# Blocks that do not say what they are: commands, formulas.
highlight_language = "text"

# The anchors of GitHub, so that a link to a section works in both places.
myst_heading_anchors = 4
# A line of a document may begin with "% " or "(a)=": it is text, as on GitHub.
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target"]

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# A name between backticks is a link if the page has it.
default_role = "py:obj"

html_theme = "furo"
html_title = f"sgat {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
