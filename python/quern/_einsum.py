"""einsum: labelled axes of any number of operands, brought together pair by pair."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quern._core import _contract, ndarray
from quern._manipulation import diagonal
from quern._operands import operands as arrays_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Order = Literal["C", "F", "A", "K"]

__all__ = ["einsum", "einsum_path"]


def _label(x: Any) -> str:
    """Lists of ints name axes as letters do, in NumPy's order: A to Z, a to z."""
    k = operator.index(x)
    if not 0 <= k < 52:
        raise ValueError(f"einsum: subscript {k} is not within the valid range [0, 52)")
    return chr(ord("A") + k) if k < 26 else chr(ord("a") + k - 26)


@lru_cache(maxsize=1024)
def _split(subscripts: str) -> tuple[tuple[str, ...], str | None]:
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    if "->" in output or ("-" in inputs or ">" in inputs):
        raise ValueError("einstein sum subscript string contains a bad '->'")
    return tuple(inputs.split(",")), output if arrow else None


def _subscripts(operands: tuple[Any, ...]) -> tuple[tuple[str, ...], str | None, list[Any]]:
    """One text per operand, the output's or None, and the operands, from either form of the arguments."""
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    if isinstance(operands[0], str):
        return *_split(operands[0]), list(operands[1:])

    def text_of(items: Any) -> str:
        return "".join("..." if x is Ellipsis else _label(x) for x in items)

    arrays = list(operands[0 : len(operands) // 2 * 2 : 2])
    lists = tuple(text_of(x) for x in operands[1::2])
    return lists, text_of(operands[-1]) if len(operands) % 2 else None, arrays


def _named(text: str, ndim: int, where: int) -> list[str]:
    """The label of each axis; those under an ellipsis are named by their place from the end."""
    head, dots, tail = text.partition("...")
    for character in head + tail:
        if not (character.isascii() and character.isalpha()):
            raise ValueError(
                f"invalid subscript '{character}' in einstein sum subscripts string, "
                "subscripts must be letters"
            )
    free = ndim - len(head) - len(tail)
    if free < 0 or (free and not dots):
        raise ValueError(
            f"operand {where} has {'fewer' if free < 0 else 'more'} dimensions ({ndim}) than subscripts "
            f"in einstein sum '{text}'"
            + ("" if free < 0 else ", and no '...' provided to broadcast the extra dimensions.")
        )
    return [*head, *(f"{-free + k}" for k in range(free)), *tail]


def _output(text: str | None, inputs: list[list[str]]) -> list[str]:
    everything = [x for names in inputs for x in names]
    dots = sorted({x for x in everything if not x.isalpha()}, key=int)
    if text is None:
        once = sorted(x for x in set(everything) if x.isalpha() and everything.count(x) == 1)
        return dots + once
    head, mark, tail = text.partition("...")
    if dots and not mark:
        raise ValueError(
            "output has subscripts without '...', but operands have broadcast dimensions: name them with '...'"
        )
    names = [*head, *dots, *tail]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"einstein sum subscripts string includes output subscript '{name}' multiple times"
            )
        if name not in everything:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{name}' "
                "which never appeared in an input"
            )
    return names


@lru_cache(maxsize=1024)
def _labels(
    texts: tuple[str, ...], output_text: str | None, ndims: tuple[int, ...]
) -> tuple[list[list[str]], list[str]]:
    """The labels of every operand's axes and of the output's: kept for the next call, and not to be changed."""
    if len(texts) != len(ndims):
        raise ValueError(
            f"{'fewer' if len(texts) > len(ndims) else 'more'} operands provided to einstein sum function than "
            "specified in the subscripts string"
        )
    names = [_named(t, ndim, k) for k, (t, ndim) in enumerate(zip(texts, ndims, strict=True))]
    return names, _output(output_text, names)


def _turned(a: ndarray, names: list[str], output: list[str]) -> ndarray:
    return a if names == output else a.transpose([names.index(name) for name in output])


def _without_repeats(a: ndarray, names: list[str]) -> tuple[ndarray, list[str]]:
    """Diagonals for labels that an operand has twice."""
    if len(set(names)) == len(names):
        return a, names
    names = list(names)
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            if a.shape[first] != a.shape[second]:
                raise ValueError(
                    f"dimensions in single operand for collapsing index '{name}' don't match "
                    f"({a.shape[first]} != {a.shape[second]})"
                )
            a = diagonal(a, 0, first, second)
            del names[second], names[first]
            names.append(name)
    return a, names


def _summed(a: ndarray, names: list[str], keep: set[str], dtype: Any) -> tuple[ndarray, list[str]]:
    axes = tuple(k for k, name in enumerate(names) if name not in keep)
    if not axes:
        return a, names
    a = a.any(axis=axes) if dtype == np.bool_ else a.sum(axis=axes, dtype=dtype)
    return a, [name for name in names if name in keep]


def _path(
    shapes: list[tuple[int, ...]], names: list[list[str]], output: list[str], optimize: Any
) -> Any:
    """Which operands meet, step by step: NumPy's search over the shapes alone."""
    if len(shapes) <= 2:
        return [tuple(range(len(shapes)))]
    letters: dict[str, int] = {}
    for name in (x for group in names for x in group):
        letters.setdefault(name, len(letters))
    arguments: list[Any] = []
    for shape, group in zip(shapes, names, strict=True):
        arguments += [np.broadcast_to(np.float64(0), shape), [letters[x] for x in group]]
    how = "greedy" if optimize in (True, False, None) else optimize
    path, _ = np.einsum_path(*arguments, [letters[x] for x in output], optimize=how)
    return path[1:]


def einsum(
    *operands: Any,
    out: ndarray | None = None,
    optimize: Any = False,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    casting: str = "safe",
) -> ndarray:
    """Sums of products of arrays over labelled axes: `einsum("ij,jk->ik", a, b)`, or lists of ints after each array.

    A label of several operands pairs their axes (an extent of 1 stretches), one that the output lacks is summed over,
    one that an operand has twice takes its diagonal; `...` stands for axes that broadcast. More than two operands meet
    pair by pair in the order that NumPy's search finds (`optimize`: a path, "greedy" or "optimal"; greedy otherwise).
    Of one operand and without sums the result is a view, whatever `dtype` and `order` are.
    Raises: ValueError for subscripts that do not fit; TypeError where `casting` forbids. Source: numpy.einsum.
    """
    texts, output_text, values = _subscripts(operands)
    arrays = arrays_of(*values)
    names, output = _labels(texts, output_text, tuple(a.ndim for a in arrays))
    if out is None and len(arrays) == 1:
        one = _without_repeats(arrays[0], names[0])
        if len(one[1]) == len(output):
            return _turned(*one, output)[...]
    if dtype is not None:
        result = np.dtype(dtype)
    else:
        result = arrays[0].dtype
        if any(a.dtype != result for a in arrays):
            result = np.result_type(*(a.dtype for a in arrays))
    for given in (a.dtype for a in arrays):
        if not np.can_cast(given, result, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast operand data from {given!r} to {result!r} according to the rule '{casting}'"
            )
    if out is None and len(arrays) == 1:
        return _turned(*_summed(*one, set(output), result), output)
    extents: dict[str, int] = {}
    for a, group in zip(arrays, names, strict=True):
        for extent, name in zip(a.shape, group, strict=True):
            known = extents.setdefault(name, extent)
            if 1 not in (known, extent) and known != extent:
                raise ValueError(
                    f"operands could not be broadcast together: '{name}' is {known} in one and {extent} in another"
                )
            extents[name] = extent if known == 1 else known
    work = [_without_repeats(a, group) for a, group in zip(arrays, names, strict=True)]
    path = _path([a.shape for a, _ in work], [n for _, n in work], output, optimize)
    for step in path:
        taken = [work.pop(k) for k in sorted(step, reverse=True)][::-1]
        needed = set(output).union(*(n for _, n in work))
        while taken:
            a, named = taken.pop(0)
            if not taken:
                work.append(_summed(a, named, needed, result))
                break
            b, also = taken.pop(0)
            rest = needed.union(*(n for _, n in taken))
            last = not taken and not work
            taken.insert(0, _pair(a, named, b, also, rest, output, result, out if last else None))
    a, named = work[0]
    a = _turned(a, named, output)
    if len(arrays) > 1 or a.dtype != result:
        a = a.astype(result, order=order, copy=False)
    if out is None or a is out:
        return a
    if out.shape != a.shape:
        raise ValueError(
            f"out is {out.shape}, the result is {a.shape}: give an out of exactly that shape"
        )
    out[...] = a
    return out


def _pair(
    a: ndarray,
    names: list[str],
    b: ndarray,
    also: list[str],
    needed: set[str],
    output: list[str],
    dtype: Any,
    out: ndarray | None,
) -> tuple[ndarray, list[str]]:
    """Two operands become one: what only one of them has and nobody needs is summed first."""
    a, names = _summed(a, names, needed | set(also), dtype)
    b, also = _summed(b, also, needed | set(names), dtype)
    kept = [x for x in dict.fromkeys([*names, *also]) if x in needed]
    if needed == set(output) and set(kept) == set(output):
        kept = output
    else:
        out = None
    letters = {name: k for k, name in enumerate(dict.fromkeys([*names, *also]))}
    made = _contract(
        a,
        [letters[x] for x in names],
        b,
        [letters[x] for x in also],
        [letters[x] for x in kept],
        out=out if out is not None and out.dtype == dtype else None,
        dtype=dtype,
    )
    return made, kept


def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order in which `einsum` would bring operands together, and a text on its cost. Source: numpy.einsum_path."""
    texts, output, values = _subscripts(operands)
    arrays = [np.broadcast_to(np.empty((), x.dtype), x.shape) for x in arrays_of(*values)]
    subscripts = ",".join(texts) + ("" if output is None else f"->{output}")
    return np.einsum_path(subscripts, *arrays, optimize=optimize)
