"""packbits and unpackbits: eight bools to a byte and back, each in one launch."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from quern import _core
from quern._creation import ascontiguousarray, empty, zeros
from quern._manipulation import moveaxis
from quern._operands import as_array, normalize_axis_index

if TYPE_CHECKING:
    from quern._core import ElementwiseKernel, ndarray

__all__ = ["packbits", "unpackbits"]


# A byte of eight copies keeps one bit of each.
_UNPACK = {True: "0x0102040810204080ull", False: "0x8040201008040201ull"}


@functools.cache
def _pack_kernel(big: bool) -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "raw bool values, int64 count, int64 units",
        "uint64 packed",
        f"""
        const long long row = i < units ? 0 : i / units;
        packed = quern::packed_bits<{str(big).lower()}>(&values[0] + row * count, count, i - row * units)
        """,
        "quern_packbits",
        preamble='#include "quern/bits.cuh"',
    )


@functools.cache
def _unpack_kernel(big: bool) -> ElementwiseKernel:
    return _core.ElementwiseKernel(
        "uint8 packed",
        "uint64 word",
        f"""
        const unsigned long long bits = packed * 0x0101010101010101ull & {_UNPACK[big]};
        word = (bits + 0x7f7f7f7f7f7f7f7full) >> 7 & 0x0101010101010101ull
        """,
        "quern_unpackbits",
    )


def _is_big(bitorder: str) -> bool:
    if not isinstance(bitorder, str):
        raise TypeError(f"bitorder must be 'little' or 'big', not {type(bitorder).__name__}")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return bitorder == "big"


def _lines(values: ndarray, axis: int | None) -> tuple[ndarray, int]:
    """With `axis` as the last one, and where it was; by default all elements as one line."""
    if axis is None:
        values, axis = values.reshape(-1), 0
    elif values.ndim == 0:
        values = values.reshape(1)
    axis = normalize_axis_index(axis, values.ndim)
    return moveaxis(values, axis, -1), axis


def packbits(a: object, axis: int | None = None, bitorder: str = "big") -> ndarray:
    """Eight elements (anything but 0 is set) along `axis` to a byte, the last filled up with zeros.

    By default of all elements in C order. Raises: TypeError for floats. Source: NumPy, `numpy.packbits`.
    """
    big = _is_big(bitorder)
    values = as_array(a)
    if values.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    lines, axis = _lines(values, axis)
    *lead, count = lines.shape
    words = empty((*lead, -(-count // 64)), np.uint64, device=values.device)
    if words.size:
        _pack_kernel(big)(
            ascontiguousarray(lines, np.bool_).reshape(-1), count, words.shape[-1], words
        )
    packed = ascontiguousarray(words.view(np.uint8)[..., : -(-count // 8)])
    return moveaxis(packed, -1, axis)


def unpackbits(
    a: object, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> ndarray:
    """Every byte along `axis` as eight elements of 0 or 1; `count` of them, from the end if negative.

    By default of all elements in C order. Raises: TypeError for anything but uint8. Source: NumPy, `numpy.unpackbits`.
    """
    big = _is_big(bitorder)
    values = as_array(a)
    if values.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    lines, axis = _lines(values, axis)
    bits: ndarray = _unpack_kernel(big)(ascontiguousarray(lines)).view(np.uint8)
    length = bits.shape[-1]
    wanted = length if count is None else count if count >= 0 else length + count
    if wanted < 0:
        raise ValueError(f"-count {-(count or 0)} larger than number of elements")
    if wanted < length:
        bits = bits[..., :wanted].copy()
    elif wanted > length:
        longer = zeros((*bits.shape[:-1], wanted), np.uint8, device=values.device)
        longer[..., :length] = bits
        bits = longer
    return moveaxis(bits, -1, axis)
