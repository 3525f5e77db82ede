"""quern.pad in every mode: against NumPy."""

import numpy as np
import pytest

import quern

MODES = [
    ("constant", {}), ("constant", {"constant_values": 7}), ("constant", {"constant_values": (1, 2)}),
    ("constant", {"constant_values": ((1, 2), (3, 4))}), ("edge", {}), ("wrap", {}),
    ("linear_ramp", {}), ("linear_ramp", {"end_values": ((5, -4), (2, 9))}),
    ("maximum", {}), ("maximum", {"stat_length": 2}), ("minimum", {"stat_length": ((1, 9), (3, 2))}),
    ("mean", {}), ("mean", {"stat_length": (2, 1)}), ("median", {}), ("median", {"stat_length": 3}),
    ("reflect", {}), ("reflect", {"reflect_type": "odd"}), ("symmetric", {}), ("symmetric", {"reflect_type": "odd"}),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "options"), MODES, ids=lambda v: str(v).replace(" ", ""))
def test_modes(same, make, mode, options):
    widths = (0, 2, (1, 3), ((2, 1), (0, 4)), ((3, 7), (9, 2)))
    for width in widths:
        same("pad", make((4, 5), "d"), width, mode, rtol=1e-13, **options)
    for dtype in "bHf":
        same("pad", make((4, 5), dtype), ((1, 2), (3, 2)), mode, rtol=1e-6, **options)
    same("pad", make((8, 15), "d").T[::3, ::-2], ((1, 2), (3, 2)), mode, rtol=1e-13, **options)
    same("pad", make((1, 3), "d"), 2, mode, rtol=1e-13, **options)
    same("pad", make((0, 3), "d"), ((0, 0), (1, 1)), mode, rtol=1e-13, **options)
    same("pad", make((0, 3), "d"), 1, mode, rtol=1e-13, **options)
    if not options and mode != "median":  # which quern has of real numbers only
        same("pad", make((7,), "F"), (2, 3), mode, rtol=1e-6)
        same("pad", make((2, 3, 4), "i"), ((1, 0), (2, 2), (0, 1)), mode)


def test_empty_mode(device):
    a = quern.arange(6).reshape(2, 3)
    padded = quern.pad(a, 2, "empty")
    assert padded.shape == (6, 7)
    np.testing.assert_array_equal(padded.get()[2:-2, 2:-2], a.get())


def test_widths(same, make):
    a = make((3, 4), "i")
    for width in (
        {0: 2},
        {-1: (1, 2)},
        {0: (1, 0), 1: 3},
        [[1], [2]],
        np.array([1, 2]),
        1.5,
        -1,
        (1, -2),
        (1, 2, 3),
        "1",
    ):
        same("pad", a, width)
    same("pad", make((), "i"), 0)
    same("pad", a, 1, "odd")
    same("pad", a, 1, "edge", constant_values=3)
    same("pad", a, 1, "maximum", stat_length=0)
    same("pad", a, 1, "maximum", stat_length=-1)


@pytest.mark.parametrize("mode", ["maximum", "minimum"])
@pytest.mark.parametrize("width", [0, 1, (0, 2)])
def test_extremes_of_nothing(same, make, mode, width):
    for length in (0, (1, 0), ((2, 2), (0, 2))):
        same("pad", make((4, 5), "d"), width, mode, stat_length=length)


def test_fortran_order_is_kept(device):
    assert quern.pad(quern.zeros((3, 4), order="F"), 1).flags.f_contiguous


def test_a_function(same, make):
    def frame(line, width, axis, options):
        line[: width[0]] = options.get("value", 10) + axis
        if width[1]:
            line[-width[1] :] = -1

    same("pad", make((3, 4), "d"), ((1, 2), (2, 0)), frame)
    same("pad", make((5,), "i"), 2, frame, value=3)
