"""any and all on the CPU end where one element decides; the first of equals where axes are walked in memory's order."""

from __future__ import annotations

import numpy as np
import pytest

import quern

pytestmark = pytest.mark.usefixtures("cpu_kernels")


@pytest.mark.parametrize("dtype", ["?", "i1", "f4", "f8", "F"])
def test_one_element_decides_wherever_it_stands(dtype):
    random = np.random.default_rng(3)
    with quern.Device("cpu"):
        for shape, axis in (
            ((700_001,), None),
            ((3, 200_000), 1),
            ((40, 1500), 1),
            ((40, 30, 50), (0, 2)),
        ):
            quiet = np.zeros(shape, dtype)
            for where in (None, 0, quiet.size - 1, *random.integers(quiet.size, size=4)):
                values = quiet.copy()
                if where is not None:
                    values.reshape(-1)[where] = 1
                for view in (values, values[..., ::2], values[..., ::-1]):
                    ours = quern.asarray(values)
                    same = {1: ours, 2: ours[..., ::2], -1: ours[..., ::-1]}[
                        view.strides[-1] // values.itemsize
                    ]
                    found = quern.asnumpy(same.any(axis=axis))
                    np.testing.assert_array_equal(found, view.any(axis=axis))
                    found = quern.asnumpy((same == 0).all(axis=axis))
                    np.testing.assert_array_equal(found, (view == 0).all(axis=axis))


def test_an_answer_is_of_its_call_alone():
    """Blocks that share a result tell each other: nothing of that is left for the next one."""
    with quern.Device("cpu"):
        yes, no = quern.zeros(1 << 19, np.float32), quern.zeros(1 << 19, np.float32)
        yes[5] = np.nan  # true, as any number but zero
        for _ in range(20):
            assert bool(yes.any())
            assert not bool(no.any())
            assert not bool(yes.all())
            assert bool((no == 0).all())


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "F"])
def test_the_first_of_equals_in_c_order(dtype):
    random = np.random.default_rng(4)
    views = (
        lambda a: a.T,
        lambda a: a[::-1],
        lambda a: a[:, ::-1].T,
        lambda a: a[::-1, ::2].T,
        lambda a: a.reshape(5, -1, a.shape[1]).transpose(2, 0, 1),
        lambda a: a.reshape(5, -1, a.shape[1]).transpose(1, 2, 0)[:, ::-1],
    )
    with quern.Device("cpu"):
        for shape in ((300, 260), (35, 7), (10, 2000)):
            values = random.integers(0, 3, shape).astype(dtype)
            for odd in (False, True) if values.dtype.kind != "i" else (False,):
                if odd:
                    values[random.random(shape) < 0.01] = np.nan
                ours = quern.asarray(values)
                for view in views:
                    for name in ("argmax", "argmin"):
                        found = quern.asnumpy(getattr(view(ours), name)())
                        assert found == getattr(view(values), name)(), (shape, name)
                    found = quern.asnumpy(view(ours).argmax(axis=0))
                    np.testing.assert_array_equal(found, view(values).argmax(axis=0))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes_hand_nan_on(dtype):
    """Also its digits: the result is an element."""
    bits = np.uint32(0x7FC01234) if dtype == "f4" else np.uint64(0x7FF8000000001234)
    with quern.Device("cpu"):
        for count in (1, 7, 64, 65, 1000, 70_000):
            for place in {0, count // 2, count - 1}:
                values = np.linspace(-1, 1, count).astype(dtype)
                values[place] = np.array(bits).view(dtype)
                for name in ("max", "min"):
                    found = quern.asnumpy(getattr(quern.asarray(values), name)())
                    assert found.view(bits.dtype) == bits, (count, place, name)


@pytest.mark.parametrize("share", [0, 0.001, 0.5, 1])
@pytest.mark.parametrize("shape", [(1000, 300), (3, 7), (100, 32), (5, 33, 65), (1, 70_000)])
def test_the_first_of_bools(shape, share):
    values = np.random.default_rng(5).random(shape) < share
    with quern.Device("cpu"):
        ours = quern.asarray(values)
        for name in ("argmax", "argmin"):
            for axis in (None, *range(len(shape))):
                for part in (np.s_[:], np.s_[::-1], np.s_[..., ::-2]):
                    found = quern.asnumpy(getattr(ours[part], name)(axis))
                    np.testing.assert_array_equal(found, getattr(values[part], name)(axis))
