"""How many launches, copies and waits each function asks of the driver: a constant number, and no hidden wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quern
from quern import _core

Function = Callable[[quern.ndarray, quern.ndarray], Any]

# With a of shape (n, n) in float64 and v of n: at most so many launches, copies and fills; so many values read back.
COSTS: dict[str, tuple[Function, int, int]] = {
    "concatenate": (lambda a, v: quern.concatenate([a, a, a]), 3, 0),
    "concatenate, columns": (lambda a, v: quern.concatenate([a, a], 1), 2, 0),
    "stack": (lambda a, v: quern.stack([v, v]), 2, 0),
    "vstack": (lambda a, v: quern.vstack([a, v]), 2, 0),
    "hstack": (lambda a, v: quern.hstack([a, a]), 2, 0),
    "dstack": (lambda a, v: quern.dstack([a, a]), 2, 0),
    "column_stack": (lambda a, v: quern.column_stack([a, v]), 2, 0),
    "append": (lambda a, v: quern.append(a, v), 2, 0),
    "block": (lambda a, v: quern.block([[a, a], [a, a]]), 4, 0),
    "split": (lambda a, v: quern.array_split(a, 3), 0, 0),
    "unstack": (lambda a, v: quern.unstack(a), 0, 0),
    "delete": (lambda a, v: quern.delete(a, 3, 0), 2, 0),
    "insert": (lambda a, v: quern.insert(a, 3, 1.0, 0), 4, 0),
    "tile": (lambda a, v: quern.tile(a, (2, 3)), 1, 0),
    "repeat": (lambda a, v: quern.repeat(a, 3, 1), 1, 0),
    "resize": (lambda a, v: quern.resize(a, 5 * a.size + 3), 2, 0),
    "roll": (lambda a, v: quern.roll(a, 3), 2, 0),
    "roll, two axes": (lambda a, v: quern.roll(a, (1, 2), (0, 1)), 4, 0),
    "flip": (lambda a, v: quern.flip(a), 0, 0),
    "rot90": (lambda a, v: quern.rot90(a), 0, 0),
    "pad": (lambda a, v: quern.pad(a, 2), 5, 0),
    "pad, edge": (lambda a, v: quern.pad(a, 2, "edge"), 9, 0),
    "pad, reflect": (lambda a, v: quern.pad(a, 2, "reflect"), 9, 0),
    "packbits": (lambda a, v: quern.packbits(a > 0), 2, 0),
    "eye": (lambda a, v: quern.eye(len(v)), 2, 0),
    "diag": (lambda a, v: quern.diag(v), 2, 0),
    "tri": (lambda a, v: quern.tri(len(v)), 4, 0),
    "tril": (lambda a, v: quern.tril(a), 5, 0),
    "vander": (lambda a, v: quern.vander(v), 3, 0),
    "meshgrid": (lambda a, v: quern.meshgrid(v, v), 2, 0),
    "mgrid": (lambda a, v: quern.mgrid[0 : len(v), 0 : len(v)], 4, 0),
    "where": (lambda a, v: quern.where(a > 0, a, 0), 2, 0),
    "clip": (lambda a, v: quern.clip(a, -1, 1), 1, 0),
    "round": (lambda a, v: quern.round(a, 2), 3, 0),
    "nan_to_num": (lambda a, v: quern.nan_to_num(a), 1, 0),
    "real": (lambda a, v: quern.real(a), 0, 0),
    "isclose": (lambda a, v: quern.isclose(a, v), 1, 0),
    "allclose": (lambda a, v: quern.allclose(a, v), 3, 0),
    "array_equal": (lambda a, v: quern.array_equal(a, a), 3, 0),
    "copyto": (lambda a, v: quern.copyto(a, v, where=a > 0), 2, 0),
    "diff": (lambda a, v: quern.diff(a, 2), 2, 0),
    "ediff1d": (lambda a, v: quern.ediff1d(a), 1, 0),
    "gradient": (lambda a, v: quern.gradient(a), 18, 0),
    "trapezoid": (lambda a, v: quern.trapezoid(a), 5, 0),
    "cross": (lambda a, v: quern.cross(a[:, :3], a[:, :3]), 1, 0),
    "unwrap": (lambda a, v: quern.unwrap(a), 18, 0),
    "convolve": (lambda a, v: quern.convolve(v, v[:3]), 3, 0),
    "interp": (lambda a, v: quern.interp(v, v, v), 1, 0),
    "sinc": (lambda a, v: quern.sinc(a), 5, 0),
    "i0": (lambda a, v: quern.i0(a), 1, 0),
    "hanning": (lambda a, v: quern.hanning(len(v)), 6, 0),
    "kaiser": (lambda a, v: quern.kaiser(len(v), 5.0), 10, 0),
    "apply_over_axes": (lambda a, v: quern.apply_over_axes(quern.sum, a, (0, 1)), 4, 0),
    "a[index]": (lambda a, v: a[v.astype(int)], 2, 0),
    "a[index] = value": (lambda a, v: a.__setitem__(v.astype(int), v), 2, 0),
    "a[mask] = scalar": (lambda a, v: a.__setitem__(a > 0, 1.0), 2, 0),
    "take": (lambda a, v: quern.take(a, v.astype(int), 1), 2, 0),
    "put": (lambda a, v: quern.put(a, v.astype(int), v), 2, 0),
    "take_along_axis": (lambda a, v: quern.take_along_axis(v, v.astype(int), 0), 2, 0),
    "choose": (lambda a, v: quern.choose(v > 1.5, [v, v]), 5, 0),
    "putmask": (lambda a, v: quern.putmask(a, a > 0, v), 2, 0),
    "fill_diagonal": (lambda a, v: quern.fill_diagonal(a, 1.0), 3, 0),
    "indices": (lambda a, v: quern.indices((len(v), 3)), 4, 0),
    "ix_": (lambda a, v: quern.ix_(v.astype(int), v.astype(int)), 2, 0),
    "select": (lambda a, v: quern.select([a > 0, a > 1], [a, a]), 5, 0),
    "add.at": (lambda a, v: quern.add.at(a, v.astype(int), v), 5, 0),
    "scatter_add": (lambda a, v: quern.x.scatter_add(a, v.astype(int), 1.0), 2, 0),
    "cov": (lambda a, v: quern.cov(a, v), 12, 0),
    "corrcoef": (lambda a, v: quern.corrcoef(a), 14, 0),
    "polyadd": (lambda a, v: quern.polyadd(v, v[:3]), 4, 0),
    "polyval": (lambda a, v: quern.polyval(v, a), 2, 0),
    "polyval, columns": (lambda a, v: quern.polyval(a, v), 3, 0),
    "poly1d * poly1d": (lambda a, v: quern.poly1d(v) * quern.poly1d(v), 4, 0),
    "poly1d(x)": (lambda a, v: quern.poly1d(v)(a), 2, 0),
    "polyvander": (lambda a, v: quern.polynomial.polynomial.polyvander(v, 5), 8, 0),
    "polyvalfromroots": (lambda a, v: quern.polynomial.polynomial.polyvalfromroots(a, v), 3, 0),
    "as_strided": (lambda a, v: quern.lib.stride_tricks.as_strided(v, (3,), (0,)), 0, 0),
    "sliding_window_view": (lambda a, v: quern.lib.stride_tricks.sliding_window_view(v, 3), 0, 0),
    "linalg.norm": (lambda a, v: quern.linalg.norm(a), 3, 0),
    "linalg.norm, 1": (lambda a, v: quern.linalg.norm(a, 1), 4, 0),
    "linalg.matrix_power": (lambda a, v: quern.linalg.matrix_power(a, 4), 2, 0),
    "scatter_add, method": (lambda a, v: a.scatter_add(v.astype(int), 1.0), 2, 0),
    "to_device": (lambda a, v: a.to_device(a.device), 0, 0),
    # The shape or the dtype hangs on the values, and the text of each says so.
    "a[mask]": (lambda a, v: a[a > 0], 7, 1),
    "nonzero": (lambda a, v: quern.nonzero(a), 8, 1),
    "argwhere": (lambda a, v: quern.argwhere(a), 10, 1),
    "compress": (lambda a, v: quern.compress(v > 1.5, a, 0), 8, 1),
    "unravel_index": (lambda a, v: quern.unravel_index(v.astype(int), a.shape), 9, 1),
    "trim_zeros": (lambda a, v: quern.trim_zeros(v), 9, 1),
    "poly1d.coeffs": (lambda a, v: quern.poly1d(v).coeffs, 9, 1),
    "real_if_close": (lambda a, v: quern.real_if_close(a * 1j), 5, 1),
    "asarray_chkfinite": (lambda a, v: quern.asarray_chkfinite(a), 3, 1),
}


def cost_of(function: Function, n: int, device: quern.Device) -> tuple[int, int]:
    a = quern.asarray(np.linspace(-5, 5, n * n).reshape(n, n))
    v = quern.asarray(np.linspace(1, 2, n))
    function(a, v)  # compiled now, so that what compiling asks of the driver is not counted
    before = _core._call_counts(device)
    function(a, v)
    after = _core._call_counts(device)
    spent = {name: after[name] - before[name] for name in after}
    return spent["launches"] + spent["copies"] + spent["fills"], spent["waits"]


@pytest.mark.parametrize("name", COSTS)
def test_a_call_costs_what_it_says(device, name):
    function, work, reads = COSTS[name]
    small, large = cost_of(function, 12, device), cost_of(function, 68, device)
    assert small == large
    assert small[0] <= work
    one_read = cost_of(lambda a, v: bool(v[0]), 12, device)[
        1
    ]  # a copy and the wait for it, or both in one
    assert small[1] == reads * one_read


def test_the_count_counts(device):
    _core._call_counts(device)
    a = quern.zeros(100)
    before = _core._call_counts(device)
    a + 1
    middle = _core._call_counts(device)
    assert middle["launches"] - before["launches"] == 1
    assert middle["waits"] == before["waits"]
    a.get()
    assert _core._call_counts(device)["waits"] > middle["waits"]
