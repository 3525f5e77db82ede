"""Writes docs/names.md: every array name of NumPy's and CuPy's, and what has become of it here.

Run it after names have come or gone: `python docs/names.py`. A test holds the page to what it writes. CuPy's names
stand in cupy_names.txt, as its public source has them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import quern
from quern._absent import REFUSED

FOLDER = Path(__file__).parent

DIFFERS = {
    "allclose": "the answer is a 0-d array: nothing waits",
    "array_equal": "the answer is a 0-d array: nothing waits",
    "array_equiv": "the answer is a 0-d array: nothing waits",
    "broadcast": "no elements one by one; `values` as CuPy has it",
    "broadcast_arrays": "views that grew are read-only",
    "convolve": "product by product in one launch, no transform for long arguments",
    "copyto": "lists are taken, NumPy arrays are not",
    "correlate": "product by product in one launch, no transform for long arguments",
    "diagonal": "the view can be written to, as in CuPy",
    "errstate": "NumPy's own: kernels report no floating-point errors",
    "frombuffer": "a GPU's is a copy",
    "geomspace": "an element 0 of an array gives NaN, no error: nothing waits",
    "geterr": "NumPy's own: kernels report no floating-point errors",
    "lib": "array_utils and stride_tricks",
    "load": "no memory maps; .npz files give quern arrays",
    "piecewise": "functions need elements chosen by mask, which waits",
    "r_": "without NumPy's matrices",
    "seterr": "NumPy's own: kernels report no floating-point errors",
    "polydiv": "the host divides",
    "polyfit": "the host solves, with NumPy's LAPACK",
    "polynomial": "functions of coefficients; the classes come later",
    "roots": "the host solves, with NumPy's LAPACK",
    "vectorize": "the function runs on the host; CuPy compiles it",
}
"""Names that are here and behave otherwise than NumPy's in more than a 0-d array for a scalar."""

OWNERS = {
    "ndarray": (np.ndarray, "ndarray"),
    "ufunc": (np.ufunc, "ufunc"),
    "poly1d": (np.poly1d, "poly1d"),
    "flatiter": (np.flatiter, "flatiter"),
    "broadcast": (np.broadcast, "broadcast"),
    "vectorize": (np.vectorize, "vectorize"),
}

REFUSED_MEMBERS = {
    **dict.fromkeys(
        ("broadcast.index", "broadcast.iters", "broadcast.reset"),
        "elements of a device are not visited one by one",
    ),
    "ndarray.ctypes": "memory of a device is not ctypes' to touch: use data.ptr",
    "ndarray.getfield": "quern has no structured dtypes",
    "ndarray.setfield": "quern has no structured dtypes",
    "ndarray.resize": "arrays of a device do not grow in place: use quern.resize",
    "ndarray.cstruct": "kernels take arrays themselves",
    "ndarray.mdspan": "kernels take arrays themselves",
    "ndarray.__hex__": "Python 3 has no such method",
    "ndarray.__oct__": "Python 3 has no such method",
    "ndarray.__array_wrap__": "subclasses are not carried through functions",
}


def state(name: str) -> str:
    """'done', 'differs: ...', 'refused: ...' or 'planned' for a name with or without its owner."""
    owner, _, member = name.partition(".")
    if not member:
        if name in quern.__all__:
            return f"differs: {DIFFERS[name]}" if name in DIFFERS else "done"
        return f"refused: {REFUSED[name]}" if name in REFUSED else "planned"
    holder = getattr(quern, owner, None) if owner in quern.__all__ else None
    for part in member.split("."):
        holder = getattr(holder, part, None) if holder is not None else None
        if owner == "ndarray" and member.startswith("flags."):
            return "done"
        if holder is None:
            break
    if owner in quern.__all__ and holder is not None:
        return "done"
    reason = REFUSED_MEMBERS.get(name, "")
    return f"refused: {reason}" if reason else "planned"


def numpy_version() -> str:
    """The version without its last number."""
    return ".".join(np.__version__.split(".")[:2])


def numpy_names() -> set[str]:
    """NumPy's public names, and the public members of its array types."""
    names = {name for name in np.__all__ if not name.startswith("_")}
    for owner, (kind, _) in OWNERS.items():
        names |= {f"{owner}.{member}" for member in dir(kind) if not member.startswith("_")}
    return names


def cupy_names() -> set[str]:
    """CuPy's array names."""
    return set((FOLDER / "cupy_names.txt").read_text().split())


def page() -> str:
    """The whole of docs/names.md."""
    theirs, cupys = numpy_names(), cupy_names()
    known = sorted(
        theirs | cupys,
        key=lambda name: (name.split(".")[0] in OWNERS and "." in name, name.lower(), name),
    )
    rows = [(name, name in theirs, name in cupys, state(name)) for name in known]
    counts = {
        word: sum(row[3].startswith(word) for row in rows)
        for word in ("done", "differs", "refused", "planned")
    }
    lines = [
        "# Names",
        "",
        "What has become of every array name of NumPy's and CuPy's. Where NumPy returns a scalar, quern returns a 0-d",
        "array, and functions refuse NumPy arrays (`quern.asarray` makes quern's of them). `linalg`, `fft` and",
        f"`random` come later as wholes. Written by `python docs/names.py`, with NumPy {numpy_version()}.",
        "",
        ", ".join(f"{count} {word}" for word, count in counts.items()) + ".",
        "",
        "| name | NumPy | CuPy | state |",
        "|---|---|---|---|",
    ]
    for name, in_numpy, in_cupy, said in rows:
        lines.append(
            f"| `{name}` | {'yes' if in_numpy else ''} | {'yes' if in_cupy else ''} | {said} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (FOLDER / "names.md").write_text(page())
