"""The table that the C++ test compares with is what the installed NumPy says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("ml_dtypes")
FOLDER = Path(__file__).parent


def test_expected_table_is_numpys() -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        from make_promotion import expected
    finally:
        sys.path.remove(str(FOLDER))
    assert (FOLDER / "promotion_expected.inc").read_text() == expected() + "\n"
