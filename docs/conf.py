"""Sphinx's settings. Build with `make docs`."""

import re
from pathlib import Path

project = "quern"
author = "the quern authors"
copyright = "the quern authors, Apache License 2.0"
_cmake = Path(__file__).parents[1].joinpath("CMakeLists.txt").read_text()
_version = re.search(r"project\(quern[^)]*VERSION ([0-9.]+)", _cmake)
release = version = _version[1] if _version else ""

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"quern {release}"
html_show_sphinx = False
pygments_style = "friendly"


def _escape_stars(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """Signatures in docstrings are written plainly, `kernel(*args)`; reStructuredText would read emphasis."""
    lines[:] = [re.sub(r"(?<![\w*`\\])(\*{1,2})(?=\w)", r"\\\1", line) for line in lines]


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("autodoc-process-docstring", _escape_stars, priority=900)
