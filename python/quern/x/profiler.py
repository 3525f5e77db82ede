"""How long a function takes: on the host until it returns, and on its device until it is done.

And ranges by which profilers tell what a program was doing.
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quern import cuda
from quern._core import Event, get_elapsed_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

__all__ = ["PerfResult", "benchmark", "time_range"]


@dataclass(frozen=True)
class PerfResult:
    """What `benchmark` measured: seconds, one for each repetition; on the device one row (the current one's)."""

    name: str
    cpu_times: npt.NDArray[np.float64]
    gpu_times: npt.NDArray[np.float64]

    def to_str(self, show_gpu: bool = False) -> str:
        """The means in microseconds; with several repetitions their spread, least and greatest."""
        rows = [("CPU", self.cpu_times)]
        if show_gpu:
            rows.append(("GPU", self.gpu_times[0]))
        return f"{self.name:<20s}:" + "".join(_column(which, times * 1e6) for which, times in rows)

    def __str__(self) -> str:
        """Both rows of `to_str`."""
        return self.to_str(show_gpu=True)

    __repr__ = __str__


def _column(which: str, micros: npt.NDArray[np.float64]) -> str:
    text = f"    {which}: {micros.mean():9.3f} us"
    if micros.size > 1:
        spread = f" +/- {micros.std():6.3f} (min: {micros.min():9.3f} / max: {micros.max():9.3f})"
        text += spread + " us"
    return text


def benchmark(
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = math.inf,
) -> PerfResult:
    """Call `func` again and again, and tell how long each call took on the host and on the current stream.

    The `n_warmup` calls before count for nothing. Units: `max_duration` and the times are seconds; the repetitions end
    when together they have taken longer.
    Raises: ValueError for arguments of other types or below their least value.
    Source: CuPy, `cupyx.profiler.benchmark`.
    """
    if not callable(func):
        raise ValueError("`func` should be a callable object.")
    if not isinstance(args, tuple):
        raise ValueError("`args` should be of tuple type.")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise ValueError("`kwargs` should be of dict type.")
    for what, value, least in (("n_repeat", n_repeat, 1), ("n_warmup", n_warmup, 0)):
        if not isinstance(value, int):
            raise ValueError(f"`{what}` should be an integer.")
        if value < least:
            raise ValueError(f"`{what}` should be at least {least}, not {value}.")
    options = kwargs or {}
    for _ in range(n_warmup):
        func(*args, **options)
    first, last = Event(), Event()
    host: list[float] = []
    device: list[float] = []
    last.record()
    last.synchronize()
    spent = 0.0
    while len(host) < n_repeat and spent < max_duration:
        first.record()
        start = time.perf_counter()
        func(*args, **options)
        host.append(time.perf_counter() - start)
        last.record()
        last.synchronize()
        device.append(get_elapsed_time(first, last) * 1e-3)
        spent += time.perf_counter() - start
    label = name if name is not None else getattr(func, "__name__", repr(func))
    return PerfResult(label, np.array(host), np.array([device]))


class time_range:
    """Mark what runs inside a with statement, or in each call of a function that this decorates, for a profiler.

    `time_range("load")`, with a colour by number or as ARGB; a decorator may leave the name to the function. With
    `sync=True` the current device is waited for at both ends.
    Raises: ValueError for two colours, or a with statement without a name.
    Source: CuPy, `cupyx.profiler.time_range`.
    """

    def __init__(
        self,
        message: str | None = None,
        color_id: int | None = None,
        argb_color: int | None = None,
        sync: bool = False,
    ) -> None:
        if color_id is not None and argb_color is not None:
            raise ValueError("give one of color_id and argb_color, not both")
        self.message = message
        self.color_id = -1 if color_id is None else color_id
        self.argb_color = argb_color
        self.sync = sync

    def __enter__(self) -> time_range:
        if self.message is None:
            raise ValueError("time_range needs a message in a with statement")
        if self.sync:
            cuda.synchronize()
        if self.argb_color is not None:
            cuda.nvtx.RangePushC(self.message, self.argb_color)
        else:
            cuda.nvtx.RangePush(self.message, self.color_id)
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if self.sync:
                cuda.synchronize()
        finally:
            cuda.nvtx.RangePop()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """`func`, with every call inside a range of this kind."""
        if self.message is None:
            self.message = getattr(func, "__name__", repr(func))

        @functools.wraps(func)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return marked
