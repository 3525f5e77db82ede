"""A drop falls into a basin: a physics step from eager to fused. Run me: `python examples/shallow_water.py`.

The step below is plain NumPy code, and nothing in it was changed for `fuse`: on NumPy arrays it runs as ever, on
quern's eagerly, one kernel for each operator, and decorated it takes two. All are held against each other, timed,
and put under the roof of this machine: what its memory and its arithmetic allow.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import quern

Array = Any  # NumPy's or quern's
State = list[Array]  # height of the water, and its momentum in both directions

GRAVITY = 9.81
COURANT = 0.15  # time step over cell size, s/m


def step(old: State, new: State) -> None:
    """One step of the shallow-water equations after Lax and Friedrichs, into `new`; the frame stays as it is."""
    height, across, down = old
    pressure = 0.5 * GRAVITY * height * height
    both = across * down / height
    flows = [  # of each quantity: to the right, and down
        (across, down),
        (across * across / height + pressure, both),
        (both, down * down / height + pressure),
    ]
    for was, becomes, (right, below) in zip(old, new, flows, strict=True):
        around = was[1:-1, 2:] + was[1:-1, :-2] + was[2:, 1:-1] + was[:-2, 1:-1]
        gain = right[1:-1, 2:] - right[1:-1, :-2] + below[2:, 1:-1] - below[:-2, 1:-1]
        becomes[1:-1, 1:-1] = 0.25 * around - (0.5 * COURANT) * gain


fused_step = quern.fuse(step)


def drop(size: int) -> State:
    """Still water of 1 m with a drop of half a metre at a third of the basin, NumPy, float32."""
    y, x = np.mgrid[:size, :size] / size - 1 / 3
    height = 1 + 0.5 * np.exp(-2000 * (x * x + y * y))
    return [height.astype("f4"), np.zeros((size, size), "f4"), np.zeros((size, size), "f4")]


def flow(one: Callable[[State, State], None], state: State, steps: int) -> State:
    old, new = [part.copy() for part in state], [part.copy() for part in state]
    for _ in range(steps):
        one(old, new)
        old, new = new, old
    return old


class Tally(np.ndarray):
    """Counts what eager operators compute and move."""

    operations = moved = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Any, **more: Any) -> Any:
        plain = [np.asarray(one) if isinstance(one, Tally) else one for one in given]
        result = np.asarray(getattr(ufunc, method)(*plain, **more))
        Tally.operations += result.size
        Tally.moved += result.nbytes + sum(one.nbytes for one in plain if np.ndim(one))
        return result.view(Tally)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        Tally.moved += 2 * value.nbytes


def seconds(call: Callable[[], object], at_least: float = 0.3) -> float:
    """The median time of a call, after it has been called twice."""
    taken: list[float] = []
    for _ in range(2):
        call()
    quern.synchronize()
    while sum(taken) < at_least or len(taken) < 5:
        begin = time.perf_counter()
        call()
        quern.synchronize()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def roof() -> tuple[float, float]:
    """What this device can do: bytes/s of a copy that no cache holds, and float32 operations/s of multiply-adds."""
    x = quern.ones(1 << 25, "f4")
    y = quern.empty_like(x)
    memory = 2 * x.nbytes / seconds(lambda: quern.copyto(y, x))
    rounds = 32
    spin = quern.ElementwiseKernel(
        "T x",
        "T y",
        f"""
        T a = x, b = x + 1, c = x + 2, d = x + 3;
        #pragma unroll
        for (int n = 0; n < {rounds}; ++n) {{
            a = fmaf(a, (T)0.999, (T)0.001);
            b = fmaf(b, (T)0.999, (T)0.001);
            c = fmaf(c, (T)0.999, (T)0.001);
            d = fmaf(d, (T)0.999, (T)0.001);
        }}
        y = a + b + c + d;
        """,
        "spin",
    )
    return memory, x.size * rounds * 8 / seconds(lambda: spin(x, y))


def picture(
    state: State, points: dict[str, tuple[float, float]], roofs: tuple[float, float], to: Path
) -> None:
    """The water, and the roofline: operations/s over operations for each byte."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6))
    left.imshow(quern.asnumpy(state[0])[::4, ::4], cmap="Blues_r")
    left.set_axis_off()
    left.set_title("height of the water")
    memory, arithmetic = roofs
    intensity = np.geomspace(0.02, 200, 200)
    right.loglog(intensity, np.minimum(memory * intensity, arithmetic) / 1e9, color="black")
    for name, (intense, speed) in points.items():
        right.plot(intense, speed / 1e9, "o", markersize=9, label=f"{name}: {speed / 1e9:.3g}")
    right.set_xlabel("operations for each byte that moves")
    right.set_ylabel("$10^9$ operations a second")
    right.set_title(f"roof: {memory / 1e9:.3g} GB/s, {arithmetic / 1e9:.3g} GFLOP/s")
    right.legend()
    figure.tight_layout()
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048, help="cells along a side")
    parser.add_argument("--steps", type=int, default=400, help="that are pictured")
    parser.add_argument("--out", type=Path, default=Path("out/shallow_water.png"))
    given = parser.parse_args(arguments)

    start = drop(given.size)
    here = [quern.asarray(part) for part in start]
    theirs = flow(step, start, 4)
    for one in step, fused_step:
        for found, wanted in zip(flow(one, here, 4), theirs, strict=True):
            assert np.abs(quern.asnumpy(found) - wanted).max() < 1e-5

    told = fused_step.explain(here, [part.copy() for part in here])
    print(told, "\n")
    step([part.view(Tally) for part in start], [part.copy().view(Tally) for part in start])
    fused_moves = sum(kernel["read"] + kernel["written"] for kernel in told.kernels)
    copies = [part.copy() for part in here]
    times = {
        "NumPy": seconds(partial(step, start, [part.copy() for part in start])),
        "eager": seconds(partial(step, here, copies)),
        "fused": seconds(partial(fused_step, here, copies)),
    }
    moved = {"NumPy": Tally.moved, "eager": Tally.moved, "fused": fused_moves}
    print(f"{'':8}{'ms a step':>12}{'MB moved':>12}{'GB/s':>8}{'x NumPy':>10}")
    for name, taken in times.items():
        print(
            f"{name:8}{1e3 * taken:12.3f}{moved[name] / 1e6:12.1f}{moved[name] / taken / 1e9:8.1f}"
            f"{times['NumPy'] / taken:10.1f}"
        )
    points = {
        name: (Tally.operations / moved[name], Tally.operations / taken)
        for name, taken in times.items()
    }
    picture(flow(fused_step, here, given.steps), points, roof(), given.out)
    print(f"\n{given.out}: the water after {given.steps} steps, and the roofline")


if __name__ == "__main__":
    main()
