"""Kernels whose threads wait are compiled twice on the CPU: what changes is the time they take."""

import os
import threading
import time

import numpy
import pytest

import quern

pytestmark = pytest.mark.skipif(
    quern.cuda.is_available() and os.environ.get("QUERN_DEVICE") != "cpu",
    reason="a GPU has one tier",
)

SOURCE = r"""
static __device__ unsigned launches;          // known to this file only: both tiers must share it
__device__ unsigned blocks_seen[64];
__constant__ int weight = 3;
extern "C" __global__ void turn(const int* x, int* y, int rounds) {
    __shared__ int kept[128];
    int t = threadIdx.x, value = x[blockIdx.x * 128 + t];
    for (int round = 0; round < rounds; ++round) {
        kept[t] = value;
        __syncthreads();
        value = kept[(t + 1) % 128] + (t == round % 128 ? weight : 0);
        __syncthreads();
    }
    y[blockIdx.x * 128 + t] = value;
    if (t == 0) {
        blocks_seen[blockIdx.x]++;
        if (blockIdx.x == 0) launches++;
    }
}
extern "C" __global__ void count(unsigned* out) { out[0] = launches; out[1] = blocks_seen[5]; }
"""


def turned(x, rounds, weight=3):
    value = x.reshape(-1, 128).astype(numpy.int64)
    for step in range(rounds):
        value = numpy.roll(value, -1, axis=1)
        value[:, step % 128] += weight
    return value.astype(numpy.int32).ravel()


def test_variables_outlive_the_change_of_tiers():
    module = quern.RawModule(code=SOURCE)
    turn, count = module.get_function("turn"), module.get_function("count")
    x = numpy.random.default_rng(1).integers(-1000, 1000, 64 * 128, dtype=numpy.int32)
    given, made = quern.asarray(x), quern.zeros(x.size, "int32")
    for _ in range(60):
        turn((64,), (128,), (given, made, 200))
        numpy.testing.assert_array_equal(quern.asnumpy(made), turned(x, 200))
        time.sleep(0.01)
    seen = quern.zeros(2, "uint32")
    count((1,), (1,), (seen,))
    assert quern.asnumpy(seen).tolist() == [60, 60]


def test_threads_launch_while_the_tier_changes():
    module = quern.RawModule(code=SOURCE)
    turn = module.get_function("turn")
    x = numpy.random.default_rng(2).integers(-1000, 1000, 16 * 128, dtype=numpy.int32)
    expected, wrong = turned(x, 100), []

    def work():
        given, made = quern.asarray(x), quern.zeros(x.size, "int32")
        for _ in range(40):
            turn((16,), (128,), (given, made, 100))
            if not numpy.array_equal(quern.asnumpy(made), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_child_and_the_process_end_in_time():
    module = quern.RawModule(code=SOURCE)
    turn = module.get_function("turn")
    given, made = quern.ones(64 * 128, "int32"), quern.zeros(64 * 128, "int32")
    for _ in range(5):
        turn((64,), (128,), (given, made, 300))  # a compilation may be under way now
    child = os.fork()
    if child == 0:
        del module, turn
        os._exit(0)
    deadline = time.monotonic() + 20
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def next_tier(kernel):
    line = next(line for line in kernel.explain().splitlines() if line.startswith("  next tier"))
    return line.removeprefix("  next tier").strip()


def heat(turn, x):
    """Launches until the background has had its say."""
    given, made = quern.asarray(x), quern.zeros(x.size, "int32")
    deadline = time.monotonic() + 60
    while next_tier(turn).startswith("regions"):
        assert time.monotonic() < deadline, turn.explain()
        turn((64,), (128,), (given, made, 200))
        numpy.testing.assert_array_equal(quern.asnumpy(made), turned(x, 200))


def test_explain_tells_the_tier_and_what_comes_next():
    source = SOURCE + f"// {time.time_ns()}"  # nothing has compiled it
    turn, count = quern.RawKernel(source, "turn"), quern.RawKernel(source, "count")
    text = turn.explain()
    assert "fibers: each thread has a stack of its own, optimised at O" in text
    assert next_tier(turn) == "regions, once it has run for a while"
    assert "runs as     loops over threads, optimised at O" in count.explain()
    heat(turn, numpy.random.default_rng(4).integers(-1000, 1000, 64 * 128, dtype=numpy.int32))
    told = next_tier(turn)
    assert told.startswith("in use: regions: ")
    assert "optimised at O3, vectors of up to " in told
    assert "compiled in the background in " in told
    module = quern.RawModule(code=source)
    assert "the toolchain had taken " in module.get_function("turn").explain()


def test_a_background_compile_past_its_limit_leaves_fibers_and_says_so():
    steps = "".join(
        f"kept[t] = value + {k}; __syncthreads(); if (t > {k % 5}) value = kept[t - {k % 5}]; __syncthreads();\n"
        for k in range(40)
    )
    source = SOURCE.replace(
        "    for (int round", f"    if (rounds < 0) {{ {steps} }}\n    for (int round"
    )
    turn = quern.RawKernel(source, "turn", ("--quern-optimise-limit=60",))
    heat(turn, numpy.random.default_rng(5).integers(-1000, 1000, 64 * 128, dtype=numpy.int32))
    assert next_tier(turn) == "given up: the best level took too long"
    assert "fibers" in turn.explain()


@pytest.mark.parametrize("tier", ["fibers", "regions"])
def test_a_program_may_choose_its_tier(tier):
    turn = quern.RawKernel(SOURCE, "turn", (f"--quern-waiting={tier}",))
    x = numpy.random.default_rng(3).integers(-1000, 1000, 3 * 128, dtype=numpy.int32)
    made = quern.zeros(x.size, "int32")
    turn((3,), (128,), (quern.asarray(x), made, 7))
    numpy.testing.assert_array_equal(quern.asnumpy(made), turned(x, 7))
    text = turn.explain()
    assert f"runs as     {tier}: " in text
    assert "next tier" not in text
