"""Arrays from and to files and text, in NumPy's formats: the bytes pass through the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quern._creation import asarray, asnumpy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quern._core import DeviceLike, ndarray

__all__ = [
    "fromfile",
    "fromiter",
    "fromstring",
    "genfromtxt",
    "load",
    "loadtxt",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
]


def fromfile(*args: Any, device: DeviceLike = None, **kwargs: Any) -> ndarray:
    """An array out of a file of plain bytes or text. Arguments: `numpy.fromfile`'s."""
    return asarray(np.fromfile(*args, **kwargs), device=device)


def fromiter(*args: Any, device: DeviceLike = None, **kwargs: Any) -> ndarray:
    """A 1-D array of what an iterator gives. Arguments: `numpy.fromiter`'s."""
    return asarray(np.fromiter(*args, **kwargs), device=device)


def fromstring(*args: Any, device: DeviceLike = None, **kwargs: Any) -> ndarray:
    """A 1-D array out of the numbers in a text. Arguments: `numpy.fromstring`'s."""
    return asarray(np.fromstring(*args, **kwargs), device=device)


def loadtxt(*args: Any, device: DeviceLike = None, **kwargs: Any) -> ndarray:
    """An array out of a text file in rows and columns. Arguments: `numpy.loadtxt`'s."""
    return asarray(np.loadtxt(*args, **kwargs), device=device)


def genfromtxt(*args: Any, device: DeviceLike = None, **kwargs: Any) -> ndarray:
    """An array out of a text file, with missing values. Arguments: `numpy.genfromtxt`'s."""
    return asarray(np.genfromtxt(*args, **kwargs), device=device)


class NpzFile:
    """The arrays of an .npz file by name; each is read, and put on the current device, when it is asked for."""

    def __init__(self, npz: Any) -> None:
        self.npz = npz
        self.files: list[str] = npz.files

    def __enter__(self) -> NpzFile:
        self.npz.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.npz.__exit__(*error)

    def __getitem__(self, key: str) -> ndarray:
        return asarray(self.npz[key])

    def __contains__(self, key: object) -> bool:
        return key in self.npz

    def __iter__(self) -> Iterator[str]:
        return iter(self.npz)

    def __len__(self) -> int:
        return len(self.npz)

    def keys(self) -> Any:
        """The names of the arrays."""
        return self.npz.keys()

    def close(self) -> None:
        """Close the file."""
        self.npz.close()


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool | None = None, **kwargs: Any) -> Any:
    """The array of an .npy file, or an .npz file's arrays by name. Further arguments: `numpy.load`'s.

    Raises: ValueError for pickled objects unless `allow_pickle`. Source: NumPy, `numpy.load`.
    """
    found = np.load(file, mmap_mode, allow_pickle=bool(allow_pickle), **kwargs)
    if isinstance(found, np.ndarray):
        return asarray(found)
    if isinstance(found, np.lib.npyio.NpzFile):
        return NpzFile(found)
    return found


def save(file: Any, arr: object, allow_pickle: bool | None = None) -> None:
    """Write an array to an .npy file. Source: NumPy, `numpy.save`."""
    np.save(file, asnumpy(arr), allow_pickle=allow_pickle is not False)


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write several arrays to an .npz file, by keyword or as arr_0, arr_1, ... Source: NumPy, `numpy.savez`."""
    arrays: dict[str, Any] = {key: asnumpy(value) for key, value in kwds.items()}
    np.savez(file, *map(asnumpy, args), **arrays)


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """`savez`, compressed. Source: NumPy, `numpy.savez_compressed`."""
    arrays: dict[str, Any] = {key: asnumpy(value) for key, value in kwds.items()}
    np.savez_compressed(file, *map(asnumpy, args), **arrays)


def savetxt(fname: Any, X: object, *args: Any, **kwargs: Any) -> None:
    """Write an array of up to two axes as text. Arguments: `numpy.savetxt`'s."""
    np.savetxt(fname, asnumpy(X), *args, **kwargs)


def tofile(self: ndarray, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements in C order to a file, as bytes or, with `sep`, as text.

    Source: NumPy, `numpy.ndarray.tofile`.
    """
    self.get().tofile(fid, sep, format)


def dump(self: ndarray, file: Any) -> None:
    """Write the array to a file as a pickle of a NumPy array. Source: NumPy, `numpy.ndarray.dump`."""
    self.get().dump(file)


def dumps(self: ndarray) -> bytes:
    """A pickle of the values as a NumPy array. Source: NumPy, `numpy.ndarray.dumps`."""
    return self.get().dumps()


def byteswap(self: ndarray, inplace: bool = False) -> ndarray:
    """The elements with their bytes in reverse, a complex number's parts each; in place if asked.

    Source: NumPy, `numpy.ndarray.byteswap`.
    """
    width = self.itemsize // 2 if self.dtype.kind == "c" else self.itemsize
    source = self.copy("C").reshape(-1)
    turned = source.view(np.uint8).reshape(-1, width)[:, ::-1]
    made = turned.copy().reshape(-1).view(self.dtype).reshape(self.shape)
    if not inplace:
        return made
    self[...] = made
    return self
