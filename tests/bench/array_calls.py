"""What calls of the array library cost where there is next to nothing to compute, beside other libraries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.bench.measure import Row, Sample, alternate, call_us

# Microseconds at most, on every device. Of `a + b` each section says its own.
LIMITS = {"a[1:]": 0.8, "a.reshape(10, 100)": 0.6, "np.empty(1000)": 0.8}
CALLS = (
    "a + b",
    *LIMITS,
    "np.zeros(1000)",
    "np.maximum(a, 0)",
    "np.where(m, a, b)",
    "a.sum()",
    "a[3] = 1.5",
    "a[m]",
)
STATEMENTS = {"a[3] = 1.5": "a.__setitem__(3, 1.5)"}  # as expressions
Wait = Callable[[], object]


def call_of(text: str, module: Any, array: Callable[[np.ndarray], Any], wait: Wait) -> Wait:
    """What times the expression in a library: `module` is its `np`, `array` makes its arrays."""
    a, b = array(np.ones(1000, np.float32)), array(np.full(1000, 2, np.float32))
    names = {"np": module, "a": a, "b": b, "m": a > b}
    call = eval(f"lambda: {STATEMENTS.get(text, text)}", names)
    return partial(call_us, call, wait, repeats=7)


def array_call_rows(
    section: str,
    peers: dict[str, tuple[Any, Callable[[np.ndarray], Any], Wait]],
    sum_limit: float,
    launch: Callable[[], Sample] | None = None,
    note: str = "",
) -> list[Row]:
    """A row for each of CALLS; `peers` has the last three arguments of `call_of`. The limit of `a + b` is
    `sum_limit` times what `launch` measures, or so many us where there is none.
    """
    import quern

    libraries = {"ours": (quern, quern.asarray, quern.synchronize), **peers}
    limits = {"a + b": sum_limit, **LIMITS}
    rows = []
    for text in CALLS:
        calls = {name: call_of(text, *library) for name, library in libraries.items()}
        if launch and text == "a + b":
            calls["launch"] = launch
        samples = alternate(calls)
        row = Row(section, f"{text}, 1000 float32", "us", samples.pop("ours"), note=note)
        row.reference = samples.pop("launch", None)
        row.limit = limits.get(text)
        if row.reference:
            row.reference_name, row.demand = "cuLaunchKernel", f"<= {sum_limit:g}x a bare launch"
        elif row.limit:
            row.demand = f"<= {row.limit:g} us"
        row.peers = samples
        rows.append(row)
    return rows
