"""One function of the corpus under NumPy and under quern: results, arguments afterwards, and what shares memory. And
how a fused function is called that has been called before."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from fuse.corpus.cases import Drawn, Part, Run, walk
from fuse.corpus.loader import functions, unchanged

import quern

WIDER = {"e": "d", "f": "d", "d": "g", "F": "D", "D": "G"}


def check(
    run: Run, device: quern.Device, fuse: Callable[..., Any] = unchanged, calls: int = 1
) -> None:
    """Call the function as quern runs it, `fuse`d or not, and hold each of its calls against NumPy."""
    function, plain = functions(quern, str(device), fuse)[run.name], functions()[run.name]
    calls_of = [Called(run, quern, call) for call in [fuse(made(run, function))] * calls]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        times = calls if run.case.made else 1  # what was made for these calls may remember them
        answers = [Called(run, np, call) for call in [made(run, plain)] * times]
        wide = answers
        if run.case.oracle == "wide":
            wide = [Called(run, np, call, widened) for call in [made(run, plain)] * times]
    for number, ours in enumerate(calls_of):
        theirs, wider = (known[min(number, times - 1)] for known in (answers, wide))
        for kind in ("result", "args", "wholes"):
            agree(getattr(ours, kind), getattr(theirs, kind), getattr(wider, kind), run, kind)
        assert shared(ours, quern) == shared(theirs, np)


def third_call(fused: Any, *args: Any) -> Any:
    """What a fused function gives that has been called before, when nothing of it runs by itself."""
    for _ in range(2):
        fused(*[arg.copy(order="K") for arg in args])
    return fused(*args)


def made(run: Run, function: Callable[..., Any]) -> Any:
    """The function itself, or what it makes."""
    return function() if run.case.made else function


class Called:
    """A call: its result, and its arguments as they are afterwards."""

    def __init__(
        self,
        run: Run,
        np: Any,
        function: Callable[..., Any],
        widen: Callable[[Any], Any] = lambda a: a,
    ) -> None:
        self.wholes: list[Any] = []

        def laid(value: Any) -> Any:
            if not isinstance(value, Drawn):
                return value
            array, whole = value.laid(np, widen)
            self.wholes.append(whole)
            return array

        args, kwargs = walk(laid, run.draw())
        args = tuple(args[a.of][a.at] if isinstance(a, Part) else a for a in args)
        self.args = (args, kwargs)
        self.result = function(*args, **kwargs)


def widened(array: Any) -> Any:
    """The same numbers in a type with more digits, if there is one."""
    letter = "e" if array.dtype == ml_dtypes.bfloat16 else array.dtype.char
    return array.astype(WIDER.get(letter, array.dtype))


def leaves(value: Any) -> Iterator[Any]:
    found: list[Any] = []
    walk(found.append, value)
    yield from found


def shared(called: Called, np: Any) -> list[tuple[int, int, str]]:
    """Which results are arguments or lie in their memory, by their places among the arrays."""
    found = []
    for i, result in enumerate(leaves(called.result)):
        for j, arg in enumerate(leaves(called.args)):
            if isinstance(result, np.ndarray) and isinstance(arg, np.ndarray) and result.ndim:
                if result is arg:
                    found.append((i, j, "is"))
                elif result.size and np.may_share_memory(result, arg):
                    found.append((i, j, "shares"))
    return found


def agree(ours: Any, theirs: Any, wide: Any, run: Run, where: str) -> None:
    """The same structure, dtypes, shapes and values; floats as near to the wide answer as NumPy's, within tolerance."""
    if isinstance(theirs, (tuple, list, dict)):
        assert type(ours).__name__ == type(theirs).__name__, where
        assert len(ours) == len(theirs), where
        keys = theirs if isinstance(theirs, dict) else range(len(theirs))
        for key in keys:
            agree(ours[key], theirs[key], wide[key], run, f"{where}[{key!r}]")
        return
    if not isinstance(theirs, (np.ndarray, np.generic)):
        assert type(ours) is type(theirs), where
        if not isinstance(theirs, (int, float, complex)):
            assert ours == theirs, where
            return
    elif isinstance(ours, np.generic):  # a scalar argument
        assert isinstance(theirs, np.generic), where
    else:
        assert isinstance(ours, quern.ndarray), f"{where}: {type(ours)}"
        assert ours.dtype == theirs.dtype, where
        assert ours.shape == theirs.shape, where
        ours = quern.asnumpy(ours)
    near(np.asarray(ours), np.asarray(theirs), np.asarray(wide), run, where)


def near(ours: Any, theirs: Any, wide: Any, run: Run, where: str) -> None:
    floats = theirs.dtype.kind in "fc" or theirs.dtype == ml_dtypes.bfloat16
    if not floats:
        np.testing.assert_array_equal(ours, theirs, where)
        return
    case = run.case
    eps = float(
        ml_dtypes.finfo(run.dtype_of(case.epsilon_of) if case.epsilon_of else theirs.dtype).eps
    )
    ours, theirs, wide = (
        a.astype("G" if a.dtype.kind == "c" else "g") for a in (ours, theirs, wide)
    )
    finite = np.isfinite(theirs)
    np.testing.assert_array_equal(ours[~finite], theirs[~finite], where)
    ours, theirs, wide = ours[finite], theirs[finite], wide[finite]
    if ours.size:
        noise = 8 * np.max(np.abs(theirs - wide))
        allowed = noise + case.tolerance * eps * (np.abs(wide) + case.near_zero)
        away = np.abs(ours - wide)
        worst = np.argmax(away - allowed)
        assert np.all(away <= allowed), (
            f"{where}: {ours[worst]} for {wide[worst]} (NumPy {theirs[worst]}), "
            f"{np.count_nonzero(~(away <= allowed))} of {away.size} are away"
        )
