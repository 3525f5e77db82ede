"""Functions over functions: along axes, piece by piece, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quern import _core
from quern._creation import asarray, empty, zeros
from quern._elementwise import where
from quern._manipulation import expand_dims, moveaxis
from quern._operands import as_array, normalize_axis_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quern._core import ndarray

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "vectorize"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: object, *args: Any, **kwargs: Any
) -> ndarray:
    """What `func1d(line, *args, **kwargs)` makes of every line along `axis`, in its place.

    `func1d` is called, and launches, once per line: where it takes an axis itself, that is faster.
    Raises: ValueError if there is no line at all. Source: NumPy, `numpy.apply_along_axis`.
    """
    values = as_array(arr)
    axis = normalize_axis_index(axis, values.ndim)
    lines = moveaxis(values, axis, -1)
    places = list(np.ndindex(lines.shape[:-1]))
    if not places:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made: ndarray | None = None
    for place in places:
        found = asarray(func1d(lines[place], *args, **kwargs))
        if made is None:
            made = empty((*lines.shape[:-1], *found.shape), found.dtype, device=values.device)
        made[place] = found
    assert made is not None
    own = tuple(range(lines.ndim - 1, made.ndim))
    return moveaxis(made, own, tuple(axis + k for k in range(len(own))))


def apply_over_axes(func: Callable[..., Any], a: object, axes: Any) -> ndarray:
    """`func(a, axis)` for one axis after another; axes that it drops stay with extent 1.

    Source: NumPy, `numpy.apply_over_axes`.
    """
    values = as_array(a)
    ndim = values.ndim
    for given in axes if np.iterable(axes) else (axes,):
        axis = ndim + given if given < 0 else given
        found = func(values, axis)
        if found.ndim != values.ndim:
            found = expand_dims(found, axis)
            if found.ndim != values.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        values = found
    return values


def piecewise(x: object, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> ndarray:
    """A function given in pieces: where a condition holds, what the entry of `funclist` at its place says.

    An entry is a scalar, or a function that is called with the elements of `x` for which its condition holds: those
    calls wait for the device, scalars do not. One entry more than conditions is for where none holds.
    Raises: ValueError for another number of entries. Source: NumPy, `numpy.piecewise`.
    """
    values = as_array(x)
    if isinstance(condlist, _core.ndarray):
        condlist = [condlist] if condlist.ndim < min(values.ndim + 1, 2) else list(condlist)
    elif not isinstance(condlist, (list, tuple)) or (
        values.ndim and not isinstance(condlist[0], (list, _core.ndarray))
    ):
        condlist = [condlist]
    masks = [as_array(mask).astype(np.bool_, copy=False) for mask in condlist]
    if len(funclist) == len(masks) + 1:
        rest = masks[0]
        for mask in masks[1:]:
            rest = rest | mask
        masks.append(~rest)
    elif len(funclist) != len(masks):
        raise ValueError(
            f"with {len(condlist)} condition(s), either {len(condlist)} or {len(condlist) + 1} functions are expected"
        )
    made = zeros(values.shape, values.dtype, device=values.device)
    for mask, piece in zip(masks, funclist, strict=True):
        if callable(piece):
            chosen = values[mask]
            if chosen.size:
                made[mask] = piece(chosen, *args, **kw)
        else:
            made = where(mask, asarray(piece, made.dtype, device=made.device), made)
    return made


class vectorize(np.vectorize):
    """A Python function of scalars as one of arrays: it runs on the host, element by element, for convenience.

    Arguments come from their device and results go to it, so a call waits. Options are NumPy's; without a function it
    decorates one. What a `signature` calls an array is a quern array to the function. For speed write an
    `ElementwiseKernel`. Source: NumPy, `numpy.vectorize`.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of every element of the arguments, broadcast."""
        function: Any = self.pyfunc
        if not callable(function):  # a decorator: this call brings it
            return super().__call__(*args, **kwargs)
        arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, _core.ndarray)]
        device = arrays[0].device if arrays else None

        def fetched(value: Any) -> Any:
            return value.get() if isinstance(value, _core.ndarray) else value

        call = super().__call__
        if self.signature is not None:

            def of_arrays(*parts: Any, **options: Any) -> Any:
                given = (asarray(part, device=device) if np.ndim(part) else part for part in parts)
                made = function(*given, **options)
                return tuple(map(fetched, made)) if isinstance(made, tuple) else fetched(made)

            call = np.vectorize(
                of_arrays, self.otypes, excluded=self.excluded, signature=self.signature
            )
        found = call(*map(fetched, args), **{k: fetched(v) for k, v in kwargs.items()})
        if isinstance(found, tuple):
            return tuple(asarray(part, device=device) for part in found)
        return asarray(found, device=device)
