"""Matrices, grids, ranges and windows: against NumPy."""

import io
import pickle

import numpy as np
import pytest
from functions.compare import agree, to_quern

import quern


def test_matrices(same, make, device):
    for n, m, k in (
        (3, None, 0),
        (3, 4, 1),
        (4, 3, -1),
        (3, 3, 5),
        (3, 3, -7),
        (0, 3, 0),
        (2, 5, 2),
        (5, 2, -3),
    ):
        same("eye", n, m, k)
        same("tri", n, m, k)
        same("eye", n, m, k, dtype="b")
        same("tri", n, m, k, dtype="?")
    same("identity", 3, "f")
    assert quern.eye(3, 4, 1, order="F").flags.f_contiguous
    agree(quern.eye(3, 4, 1, order="F"), np.eye(3, 4, 1))
    same("eye", 2.5)


@pytest.mark.parametrize("dtype", ["?", "b", "e", "d", "F"])
def test_parts_of_matrices(same, make, dtype):
    for k in (-9, -2, -1, 0, 1, 3):
        for shape in ((4,), (3, 5), (5, 3), (0,)):
            same("diag", make(shape, dtype), k)
            same("diagflat", make(shape, dtype), k)
            same("tril", make(shape, dtype), k)
            same("triu", make(shape, dtype), k)
        same("tril", make((2, 3, 4), dtype), k)
        same("triu", make((8, 6), dtype).T[::2, ::-1], k)
    same("diag", make((), dtype))
    same("diag", make((2, 2, 2), dtype))
    same("diagflat", make((), dtype), 1)


def test_trace(same, make, device):
    for letter in "?bfD":
        for offset in (-9, -1, 0, 2):
            same("trace", make((4, 5), letter), offset)
            same("trace", make((2, 4, 5), letter), offset, 1, 2)
    same("trace", make((4, 5), "b"), dtype="d")
    same("trace", make((4,), "b"))
    agree(quern.eye(4).trace(1), np.eye(4).trace(1))


def test_vander(same, make):
    for dtype in "bfD":
        for n in (None, 0, 1, 2, 5):
            same(
                "vander",
                make((4,), dtype) % 5 if dtype == "b" else make((4,), dtype) / 50,
                n,
                rtol=1e-5,
            )
            same("vander", np.arange(4).astype(dtype), n, increasing=True)
    same("vander", make((2, 2), "f"))


def test_spaces(same, make, device):
    for ends in (
        ([1, 2], [3, 5]),
        (make((3,), "f"), 2),
        (0, make((2, 1), "d")),
        (make((2,), "D"), [1, 2]),
    ):
        for num in (0, 1, 5):
            for options in (
                {},
                {"endpoint": False},
                {"axis": -1},
                {"dtype": "i"},
                {"retstep": True},
            ):
                if (np.iscomplexobj(ends[0]) and "dtype" in options) or (
                    num < 2 and "retstep" in options
                ):
                    continue
                same("linspace", *ends, num, rtol=1e-6, **options)
        same("logspace", *(np.asarray(end) / 100 for end in ends), 5, rtol=1e-5)
    same("logspace", 0, 3, 7, rtol=1e-14)
    same("logspace", 0, 3, 7, endpoint=False, base=2, dtype="f", rtol=1e-6)
    same("geomspace", 1, 1000, 4, rtol=1e-13)
    same("geomspace", -1000, -1, 5, endpoint=False, rtol=1e-13)
    same("geomspace", 1, 200, 9, dtype=int)
    same("geomspace", 1j, 1000j, 4, rtol=1e-13)
    same("geomspace", 0, 3, 4)
    same("geomspace", 1, 1000, 4, dtype="f", rtol=1e-6)
    for first, last in (([1, 20], [300, 4.0]), ([[1.0], [-2.0]], [-4.0, 8]), (1j, [2j, 4])):
        for options in ({}, {"axis": -1}, {"axis": 1}, {"endpoint": False}):
            same("geomspace", np.array(first), np.array(last), 5, rtol=1e-12, **options)
            same("geomspace", first, last, 5, rtol=1e-12, **options)
    for base in ([2.0, 10], [[2], [3], [5]], make((2, 2), "f")):
        for start, stop in ((0, 2), ([0, 1], [2.0, 3.0]), (np.float32(1), 2)):
            for axis in (0, -1, 1):
                same("logspace", start, stop, 4, base=np.array(base), axis=axis, rtol=1e-5)
    same("logspace", 0, 1, 3, base=[2, 4], rtol=1e-14)
    for made in (
        quern.linspace([0, 1], 2, 3, device=device),
        quern.logspace(0, 1, 3, base=[2, 4], device=device),
        quern.geomspace([1, 2], 4, 3, device=device),
    ):
        assert made.device == device


def test_grids(same, make, device):
    x, y, z = make((3,), "f"), make((4,), "i"), make((2,), "d")
    for indexing in ("xy", "ij", "no"):
        for sparse in (False, True):
            for arrays in ((x,), (x, y), (x, y, z), (x, 2.0), ()):
                same("meshgrid", *arrays, indexing=indexing, sparse=sparse)
    agree(quern.meshgrid(quern.asarray(x), quern.asarray(y), copy=False), np.meshgrid(x, y))
    keys = [
        np.s_[0:5], np.s_[0:5, 0:3], np.s_[-1:1:5j], np.s_[-1:1:5j, 0:3], np.s_[0:1:0.25, 2:8:2],
        np.s_[:4, 1:2:3j, 2:5],
        np.s_[4:0:-1, 0:2], np.s_[0:2.5:0.5], np.s_[3:7:1j], np.s_[0:], np.s_[:3],
    ]  # fmt: skip
    first, last = np.zeros(4)[:, None], np.arange(4.0)[:, None]
    ours, theirs = (to_quern(first), to_quern(last)), (first, last)
    for grid in ("mgrid", "ogrid"):
        for keys_of in (lambda a, b: np.s_[a:b:5j], lambda a, b: np.s_[a:b:4j, a:b:4j]):
            made, wanted = (getattr(m, grid)[keys_of(*e)] for m, e in ((quern, ours), (np, theirs)))
            agree(made, wanted, 1e-15)
    for key in keys:
        agree(quern.mgrid[key], np.mgrid[key], 1e-15)
        agree(quern.ogrid[key], np.ogrid[key], 1e-15)
    for name in ("r_", "c_"):
        for key in (
            np.s_[1:4], np.s_[1:4, 7, 2.5], np.s_[0:1:5j, 3], np.s_[[1, 2], [3, 4]], (x, 0, 0, x), (x[None], x[None]),
            np.s_["-1", [1, 2], [3, 4]], ("0,2", [1, 2], [3, 4]), ("1,2,0", [1, 2], [3, 4]), ("0,2,0", x, x),
        ):  # fmt: skip
            try:
                theirs = getattr(np, name)[key]
            except ValueError:
                with pytest.raises(ValueError, match="dimensions"):
                    getattr(quern, name)[to_key(key)]
                continue
            agree(getattr(quern, name)[to_key(key)], theirs)
    agree(quern.r_[quern.zeros(2, "f"), 1], np.r_[np.zeros(2, "f"), 1])
    with pytest.raises(NotImplementedError):
        quern.r_["r", [1, 2]]
    with pytest.raises(ValueError, match="directive"):
        quern.r_["odd", [1, 2]]


def to_key(key):
    items = key if isinstance(key, tuple) else (key,)
    return tuple(quern.asarray(x) if isinstance(x, np.ndarray) else x for x in items)


def test_fromfunction(device):
    agree(
        quern.fromfunction(lambda i, j: i * 10 + j, (3, 4)),
        np.fromfunction(lambda i, j: i * 10 + j, (3, 4)),
    )
    agree(
        quern.fromfunction(lambda i, j, k: i == j, (3, 4), dtype=int, k=2),
        np.fromfunction(lambda i, j, k: i == j, (3, 4), dtype=int, k=2),
    )


def test_windows(same):
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        for count in (0, 1, 2, 7, 12):
            same(name, count, rtol=1e-12)
        for kind in (
            np.uint8,
            np.int8,
            np.uint64,
            np.float32,
            np.float64,
        ):  # 1 - count fits not all
            same(name, kind(100), rtol=1e-12)
    same("kaiser", np.uint8(100), 2.5, rtol=1e-11)
    for beta in (0, 2.5, 14):
        for count in (0, 1, 2, 7, 12):
            same("kaiser", count, beta, rtol=1e-11)


def test_files(device, tmp_path, make):
    a, b = make((3, 4), "f"), make((5,), "D")
    x, y = quern.asarray(a), quern.asarray(b)
    quern.save(tmp_path / "a.npy", x)
    agree(quern.load(tmp_path / "a.npy"), a)
    agree(quern.load(tmp_path / "a.npy", encoding="latin1", fix_imports=False), a)
    for save in (quern.savez, quern.savez_compressed):
        save(tmp_path / "ab.npz", x, named=y)
        with quern.load(tmp_path / "ab.npz") as found:
            assert sorted(found) == ["arr_0", "named"]
            assert "named" in found
            agree(found["arr_0"], a)
            agree(found["named"], b)
    quern.savetxt(tmp_path / "a.txt", x)
    agree(quern.loadtxt(tmp_path / "a.txt", dtype="f"), a)
    agree(quern.genfromtxt(tmp_path / "a.txt", dtype="f"), a)
    x.tofile(tmp_path / "a.bin")
    agree(quern.fromfile(tmp_path / "a.bin", "f"), a.ravel())
    agree(quern.frombuffer(x.tobytes(), "f"), a.ravel())
    room = bytearray(x.tobytes())
    view = quern.frombuffer(room, "f")
    if device.is_cpu:
        view[0] = 9
        assert np.frombuffer(room, "f")[0] == 9
        with pytest.raises(ValueError, match="read-only"):
            quern.frombuffer(bytes(8), "f")[0] = 1
    agree(quern.frombuffer(x.tobytes(), "f", 3, 4), a.ravel()[1:4])
    agree(quern.frombuffer(room, "f", count=0), a.ravel()[:0])
    for arguments in [(b"abc", "i2"), (b"abcd", "i2", 3), (b"abcd", "i2", 1, 5), (3,)]:
        with pytest.raises((ValueError, TypeError, AttributeError)) as theirs:
            np.frombuffer(*arguments)
        with pytest.raises(theirs.type):
            quern.frombuffer(*arguments)
    agree(quern.frombuffer(b"x" * 17, "i4", offset=1), np.frombuffer(b"x" * 16, "i4"))
    agree(quern.frombuffer(x.tobytes(), ">i2"), np.frombuffer(x.tobytes(), ">i2").astype("i2"))
    agree(quern.fromstring("1 2 3", sep=" "), np.array([1.0, 2, 3]))
    agree(quern.fromiter((k * k for k in range(4)), int), np.array([0, 1, 4, 9]))
    np.testing.assert_array_equal(pickle.loads(x.dumps()), a)
    x.dump(tmp_path / "a.pkl")
    np.testing.assert_array_equal(pickle.loads((tmp_path / "a.pkl").read_bytes()), a)
    buffer = io.BytesIO()
    np.save(buffer, np.array([None]), allow_pickle=True)
    buffer.seek(0)
    with pytest.raises(ValueError, match="allow_pickle"):
        quern.load(buffer)
