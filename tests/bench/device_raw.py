"""What launching a RawKernel with 4 arguments costs on a GPU, over a bare cuLaunchKernel loop and beside the peers."""

from collections.abc import Callable

import numpy as np

from tests.bench.floor import Floor
from tests.bench.measure import Row, Sample, alternate, call_us, have

# The kernel of floor.cpp, in CUDA C++.
CODE = r"""
extern "C" __global__ void add(const float* x, const float* y, float* z, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""
N, BLOCKS, THREADS = 1000, 8, 128
# Many short rounds: a bare launch alone moves by a tenth within a second.
ROUNDS, REPEATS = 15, 5


def launch_us(launch: Callable[..., object], args: tuple, wait: Callable[[], object]) -> Sample:
    """Microseconds a launch, as it is written in a loop."""
    return call_us(launch, wait, repeats=REPEATS, args=args)


def launch_rows(section: str, floor: Floor | None, why: str) -> list[Row]:
    """Both ways to write the launch; arguments are made once, outside the loop."""
    import quern

    x, y = quern.ones(N, np.float32), quern.ones(N, np.float32)
    z, n = quern.zeros(N, np.float32), np.uint32(N)
    add = quern.RawKernel(CODE, "add")
    grid, block, args = (BLOCKS,), (THREADS,), (x, y, z, n)
    place = add[BLOCKS, THREADS]
    calls: dict[str, Callable[[], Sample]] = {
        "called": lambda: launch_us(add, (grid, block, args), quern.synchronize),
        "placed": lambda: launch_us(place, args, quern.synchronize),
    }
    if floor:
        calls["floor"] = lambda: floor.launch_us(repeats=REPEATS)
    for name, peer in (("CuPy", cupy_launch), ("cuda.core", core_launch)):
        if call := peer():
            calls[name] = call
    samples = alternate(calls, ROUNDS)
    np.testing.assert_array_equal(quern.asnumpy(z), np.full(N, 2, np.float32))
    return [
        Row(
            section,
            f"launch of a RawKernel, 4 arguments, {form}",
            "us",
            samples[kind],
            samples.get("floor"),
            "cuLaunchKernel",
            "<= 1.15x a bare launch",
            1.15,
            peers={name: samples[name] for name in ("CuPy", "cuda.core") if name in samples},
            note=why,
        )
        for kind, form in (
            ("called", "kernel(grid, block, args)"),
            ("placed", "kernel[grid, block] kept"),
        )
    ]


def cupy_launch() -> Callable[[], Sample] | None:
    """CuPy's RawKernel."""
    if not have("cupy"):
        return None
    import cupy

    x, y, z = (cupy.ones(N, cupy.float32) for _ in range(3))
    add = cupy.RawKernel(CODE, "add")
    args = (x, y, z, np.uint32(N))
    wait = cupy.cuda.Device().synchronize
    return lambda: launch_us(add, ((BLOCKS,), (THREADS,), args), wait)


def core_launch() -> Callable[[], Sample] | None:
    """NVIDIA's cuda.core: a program compiled by NVRTC, launched on a stream of its own."""
    if not have("cuda.core"):
        return None
    try:  # names before and after cuda.core's first stable release
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}")
    kernel = Program(CODE, code_type="c++", options=options).compile("cubin").get_kernel("add")
    buffers = [device.allocate(4 * N, stream=stream) for _ in range(3)]
    config = LaunchConfig(grid=BLOCKS, block=THREADS)
    args = (*buffers, np.uint32(N))
    return lambda: launch_us(launch, (stream, config, kernel, *args), stream.sync)
