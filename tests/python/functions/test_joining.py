"""Joining and splitting, putting in and taking out: against NumPy."""

import numpy as np
import pytest

import quern


def arrays(make, *shapes, dtypes="fiD"):
    return [make(s, dtypes[k % len(dtypes)], seed=k) for k, s in enumerate(shapes)]


@pytest.mark.parametrize("axis", [0, 1, -1, None, 2, -4])
def test_concatenate(same, make, axis):
    same("concatenate", arrays(make, (2, 3, 4), (2, 3, 4), (2, 3, 4), dtypes="bBf"), axis)
    same("concatenate", arrays(make, (3, 4, 2), (1, 4, 2), (0, 4, 2)), axis)
    same("concatenate", [make((3, 4), "f").T, make((3, 4), "d").T], axis)
    same("concatenate", [make((4, 6), "h")[::2, ::-2], make((2, 3), "h")], axis)


def test_concatenate_every_dtype(same, make, dtype):
    same("concatenate", [make((2, 3), dtype), make((4, 3), dtype, seed=1)])
    same("concatenate", [make((2, 3), dtype).T, make((2, 3), dtype, seed=1).T], axis=1)


def test_concatenate_promotes_like_numpy(same, make):
    for letters in ("hHf", "bBh", "?bf", "LlB", "efi", "Fl", "bBHe"):
        same("concatenate", [make((2,), letter) for letter in letters])
        same("concatenate", [make((2,), letter) for letter in letters[::-1]])


def test_concatenate_options(same, make, device):
    a, b = make((2, 3), "d"), make((1, 3), "d")
    same("concatenate", [a, b], dtype="f")
    same("concatenate", [a, b], dtype="i", casting="unsafe")
    same("concatenate", [a, b], dtype="i")
    same("concatenate", [[1, 2], [3]])
    same("concatenate", ([0], make((3,), "b")))
    same("concatenate", [])
    same("concatenate", [make((), "d")])
    same("concatenate", [make((2,), "d"), make((2, 2), "d")])
    same("concatenate", [make((2, 3), "d"), make((2, 2), "d")])
    same("concatenate", [a, b], casting="odd")
    out = quern.empty((3, 3), "f")
    assert quern.concatenate([quern.asarray(a), quern.asarray(b)], out=out) is out
    np.testing.assert_array_equal(out.get(), np.concatenate([a, b]).astype("f"))
    holed = quern.zeros((6, 6), "d")[::2, ::2]
    quern.concatenate([quern.asarray(a), quern.asarray(b)], axis=0, out=holed)
    np.testing.assert_array_equal(holed.get(), np.concatenate([a, b]))
    line = quern.zeros(18, "d")[::2]
    quern.concatenate([quern.asarray(a).T, quern.asarray(b)], axis=None, out=line)
    np.testing.assert_array_equal(line.get(), np.concatenate([a.T, b], axis=None))
    for wrong, error in ((quern.empty((2, 3)), ValueError), (np.empty((3, 3)), TypeError)):
        with pytest.raises(error):
            quern.concatenate([quern.asarray(a), quern.asarray(b)], out=wrong)
    with pytest.raises(TypeError, match="both were provided"):
        quern.concatenate([quern.asarray(a)], out=out, dtype="f")
    with pytest.raises(TypeError, match="Unsupported type"):
        quern.concatenate([a, b])
    with pytest.raises(ValueError, match="read-only"):
        quern.concatenate([quern.asarray(b)], out=quern.broadcast_to(quern.zeros(3), (1, 3)))


@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_concatenate_pieces(same, make, dtype, axis):
    """A few dense parts: of every width, alignment and number that one launch takes, and beyond."""

    def part(k):
        whole = make((5, 3, 8), dtype, seed=k)
        lengths = {0: np.s_[: 1 + k % 4], 2: np.s_[:, :, : 1 + k % 5]}
        return np.ascontiguousarray(whole[lengths.get(axis, ...)])

    parts = [part(k) for k in range(9)]
    for count in (2, 3, 8, 9):
        same("concatenate", parts[:count], axis)
    line = make((200,), dtype)
    same("concatenate", [line[3:100], line[1:9], line[:0], line[5:]], axis and None)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenate_many(same, make, dtype, axis):
    """Runs of parts that are alike, one kernel each, between others."""
    alike = [make((2, 3, 4), dtype, seed=k) for k in range(45)]
    fewer = [part[: 1 if axis == 0 else None, :, : 3 if axis == 2 else None] for part in alike]
    same("concatenate", alike, axis)
    same("stack", alike, axis)
    same("concatenate", [alike[0], *fewer, alike[1], alike[2], *alike, fewer[3]], axis)
    same("concatenate", [*alike, *[part.astype("D") for part in alike]], axis)
    same("concatenate", [part.transpose(2, 1, 0) for part in alike], axis)


def test_concatenate_many_of_other_layouts(same, make, device):
    rows = make((70, 50), "f")
    columns = [rows[:, k] for k in range(50)]
    same("stack", columns)
    same("stack", columns[::-1], axis=1)
    same("concatenate", [rows[k, ::-2] for k in range(70)])
    same("stack", [rows[k % 3] for k in range(40)])  # some of them twice
    same("concatenate", [rows[:0]] * 40)
    bytes_of = make((4000,), "B")
    same("concatenate", [bytes_of[k * 97 + k % 2 :][:53] for k in range(40)])
    ours = quern.asarray(rows)
    half = ours[:, ::2]
    quern.concatenate([ours[k : k + 1, :25] for k in range(70)], out=half)  # reads what it writes
    expected = rows.copy()
    np.concatenate([expected[k : k + 1, :25].copy() for k in range(70)], out=expected[:, ::2])
    np.testing.assert_array_equal(ours.get(), expected)
    holed = quern.zeros((140, 50), "f")
    quern.stack([quern.asarray(row) for row in rows], out=holed[::2])
    np.testing.assert_array_equal(holed.get()[::2], rows)
    assert not holed.get()[1::2].any()


def test_many_scalars(device, equal):
    values = np.random.default_rng(2).random(1000)
    ours = quern.asarray(values)
    equal(quern.array([ours[k] for k in range(1000)]), values)
    equal(
        quern.array([[quern.sum(ours[: k + 1]) > 9, k] for k in range(100)]),
        np.array([[values[: k + 1].sum() > 9, k] for k in range(100)]),
    )


def test_concatenate_keeps_fortran_order(device):
    f = quern.zeros((3, 4), order="F")
    assert quern.concatenate([f, f]).flags.f_contiguous
    assert quern.concatenate([f, f.copy("C")]).flags.c_contiguous


@pytest.mark.parametrize("parts", [2, 3, 4, 8, 9])
@pytest.mark.parametrize("dtype", "?heilfdFD")
def test_elements_of_a_line_from_each(same, make, dtype, parts):
    """Few parts of up to eight bytes a line are written by one kernel, whatever their strides."""
    for shape in ((1,), (700,), (3, 5), (33, 2), (9, 4), (0, 3)):
        values = [make(shape, dtype, seed=k) for k in range(parts)]
        same("stack", values, -1)
        same("concatenate", values, -1)
        same("stack", [x[::-2] for x in values], -1)
        same("stack", [x.T for x in values], -1)
        same("concatenate", [x[1:] for x in values], -1)  # these begin between words


def test_lines_keep_the_bits_of_nan():
    values = np.array([0x7FF000000000BEEF, 0xFFF8000000000001, 0x8000000000000000], np.uint64)
    parts = [quern.asarray(values.view(np.float64)), quern.asarray(values[::-1].view(np.float64))]
    found = quern.stack(parts, 1).get().view(np.uint64)
    np.testing.assert_array_equal(found, np.stack([values, values[::-1]], 1))


def test_stacks(same, make):
    for name in ("stack", "vstack", "hstack", "dstack", "column_stack"):
        for shape in ((), (3,), (2, 3), (2, 3, 2), (0, 2)):
            same(name, arrays(make, shape, shape, shape, dtypes="bfh"))
    for axis in (-4, -3, 0, 1, 2, 3):
        same("stack", arrays(make, (2, 3), (2, 3)), axis)
    same("stack", [])
    same("vstack", [])
    rows = arrays(make, (3,), (2, 3))
    with pytest.warns(DeprecationWarning, match="row_stack"):  # later versions of NumPy have none
        found = quern.row_stack([quern.asarray(x) for x in rows], dtype="d")
    np.testing.assert_array_equal(found.get(), np.vstack(rows, dtype="d"), strict=True)
    same("stack", arrays(make, (2, 3), (3, 2)))
    same("hstack", arrays(make, (2,), (3,)))
    same("hstack", arrays(make, (2, 1), (2, 3)), dtype="d", casting="unsafe")
    same("column_stack", arrays(make, (3,), (3, 2)))
    same("append", make((2, 3), "f"), make((4,), "d"))
    same("append", make((2, 3), "f"), make((1, 3), "i"), 0)
    same("append", make((3,), "i"), 7)
    same("append", make((2, 3), "f"), make((3,), "i"), 0)


def test_block(same, make):
    a, b, c, d = arrays(make, (2, 2), (2, 3), (1, 2), (1, 3), dtypes="fdi")
    same("block", [[a, b], [c, d]])
    same("block", [a, b])
    same("block", a)
    same("block", [1, 2, make((3,), "f")])
    same("block", [[make((2, 2, 2), "d")], [make((3, 2, 2), "d")]])
    same("block", [[a, b], [c]])
    same("block", [[a, b], c])
    same("block", [[a, b], []])
    same("block", (a, b))


def test_splits(same, make):
    a = make((6, 5, 4), "f")
    for name in ("split", "array_split"):
        for cut in (1, 2, 3, 4, 0, -1, [2, 3], [0, 9, 2], (1,), np.array([1, 4])):
            for axis in (0, 1, -1):
                same(name, a, cut, axis)
        same(name, a, 2, 5)
    for name in ("hsplit", "vsplit", "dsplit"):
        for shape in ((), (4,), (4, 6), (4, 6, 2)):
            same(name, make(shape, "i"), 2)
    for axis in (0, 1, -1, 3):
        same("unstack", a, axis=axis)
    same("unstack", make((), "f"))


def test_splits_are_views(device):
    a = quern.zeros((4, 4))
    quern.hsplit(a, 2)[1][...] = 1
    assert a.get()[:, 2:].all()
    assert not a.get()[:, :2].any()


OBJECTS = [
    0, -1, 5, -6, 6, np.int8(2), [1, 3], [], [0, 0, 2], [-1, 2], [9], slice(1, 4), slice(None, None, 2),
    slice(4, 1, -1), slice(5, None, -2), slice(3, 3), np.array([2, 0]), np.array(3), [1.5],
    np.array([True, False, True, False, False, True]), np.array([True, False]),
]  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1, None])
def test_delete(same, make, axis):
    for obj in OBJECTS:
        same("delete", make((6, 4), "h"), obj, axis)
        same("delete", make((8, 6), "h").T[:, ::2], obj, axis)
    same("delete", make((60, 50), "h"), np.arange(0, 40, 3), axis)
    same("delete", make((), "h"), 0)
    same("delete", make((3,), "h"), 0, 1)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_insert(same, make, axis):
    for obj in OBJECTS:
        if isinstance(obj, np.ndarray) and obj.dtype == bool and obj.size == 2 and axis is None:
            continue
        same("insert", make((6, 4), "h"), obj, 7, axis)
    values = {0: (2, 4), 1: (6, 2), None: (2,)}[axis]
    same("insert", make((6, 4), "h"), [1, 3], make(values, "f", seed=3), axis)
    same("insert", make((6, 4), "h"), [3, 1], make(values, "f", seed=3), axis)
    same("insert", make((6, 4), "h"), [1], make(values, "f", seed=3), axis)
    same("insert", make((6, 4), "h"), 1, make((4,) if axis == 0 else (6,), "f", seed=3), axis)
    same("insert", make((6, 4), "h"), [1, 3], make((5,), "f"), axis)
    same("insert", make((6, 4), "h"), [[1, 3]], 1, axis)
    for shape in ((0, 4), (6, 0), (2, 0, 3)):
        for obj in (0, [0], [0, 0], slice(0, 2), []):
            same("insert", make(shape, "h"), obj, 7, axis)


@pytest.mark.parametrize("count", [2, 100, 600])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_insert_many(same, make, axis, count):
    """Few are pieces between slices, many by positions."""
    shape = (90, 7) if axis == 0 else (7, 90)
    extent = 630 if axis is None else 90
    random = np.random.default_rng(count)
    at = random.integers(-extent, extent + 1, count)
    same("insert", make(shape, "h"), at, 7, axis)
    values = {0: (count, 7), 1: (7, count), None: (count,)}[axis]
    same("insert", make(shape, "f"), at, make(values, "d", seed=3), axis)


@pytest.mark.parametrize("values", [300, -1, [7, 300]], ids=str)
def test_inserted_ints_must_fit(device, values):
    for np_or_quern in (np, quern):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            np_or_quern.insert(np_or_quern.arange(3, dtype="u1"), 1, values)
