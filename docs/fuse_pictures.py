"""Writes docs/images/fuse_cut.svg, the picture in docs/fuse.md: `python docs/fuse_pictures.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import quern
from quern import _core


@quern.fuse
def mixed(x: Any, w: Any) -> Any:
    y = quern.exp(x) * 2
    s = quern.sort(y, axis=-1)
    return (s - s.max(axis=-1, keepdims=True)) * w


if __name__ == "__main__":
    _core._plan_as(True)  # the kernels of a GPU, on whatever is here
    told = mixed.explain(quern.ones((64, 256), "f4"), quern.ones(256, "f4"))
    (Path(__file__).parent / "images" / "fuse_cut.svg").write_text(told.svg() + "\n")
    print(told)
