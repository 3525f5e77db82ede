"""What kernels print: printf reaches sys.stdout, failed assertions sys.stderr and the error."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import quern

HELLO = r"""
extern "C" __global__ void hello(const float* x, int* counts) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    counts[i] = printf("%d: %.2f %s %lld%%\n", i, x[i], i % 2 ? "odd" : "even", 1ll << 40);
}
"""

WAITING = r"""
extern "C" __global__ void waiting(int* out) {
    __shared__ int all[64];
    all[threadIdx.x] = threadIdx.x;
    printf("before %d %d\n", blockIdx.x, threadIdx.x);
    __syncthreads();
    printf("after %d %d %f\n", blockIdx.x, all[63 - threadIdx.x], 1e300);
    out[threadIdx.x] = all[63 - threadIdx.x];
}
"""

CHECKED = r"""
#include <assert.h>
__global__ void checked(const int* x, int limit) { assert(x[threadIdx.x] < limit); }
"""

HEAP = r"""
struct Node { int value; Node* next; __device__ Node(int v, Node* n) : value(v), next(n) {} };
extern "C" __global__ void heap(int* out) {
    Node* list = nullptr;
    for (int i = 0; i <= (int)threadIdx.x; ++i) list = new Node(i, list);
    int sum = 0;
    while (list) { Node* next = list->next; sum += list->value; delete list; list = next; }
    int* squares = (int*)malloc(8 * sizeof(int));
    int* more = new int[4];
    for (int i = 0; i < 8; ++i) squares[i] = i * i;
    for (int i = 0; i < 4; ++i) more[i] = squares[2 * i];
    out[threadIdx.x] = sum + more[3];
    free(squares);
    delete[] more;
}
"""


@pytest.fixture
def cpu(cpu_kernels):
    with quern.Device("cpu") as device:
        yield device


def test_printf_reaches_stdout_in_thread_order(cpu, capsys):
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    counts = quern.zeros(64, np.int32)
    quern.RawKernel(HELLO, "hello")((2,), (32,), (quern.asarray(x), counts))
    quern.cuda.get_current_stream().synchronize()
    seen = capsys.readouterr().out
    wanted = [f"{i}: {x[i]:.2f} {'odd' if i % 2 else 'even'} {1 << 40}%" for i in range(64)]
    assert sorted(seen.splitlines()) == sorted(wanted)
    assert seen.splitlines()[:32] in (wanted[:32], wanted[32:])
    assert (counts.get() == 4).all()


def test_text_comes_before_what_python_prints_next(cpu, capsys):
    x = quern.zeros(2, np.float32)
    kernel = quern.RawKernel(HELLO, "hello")
    for turn in range(3):
        kernel((1,), (2,), (x, quern.zeros(2, np.int32)))
        print("python", turn)
    lines = capsys.readouterr().out.splitlines()
    assert [n for n, line in enumerate(lines) if line.startswith("python")] == [2, 5, 8]


def test_threads_that_wait_print_in_order(cpu, capsys):
    out = quern.zeros(64, np.int32)
    quern.RawKernel(WAITING, "waiting")((3,), (64,), (out,))
    lines = capsys.readouterr().out.splitlines()
    for block in range(3):
        mine = [line for line in lines if line.split()[1] == str(block)]
        assert mine[:64] == [f"before {block} {t}" for t in range(64)]
        assert mine[64:] == [f"after {block} {63 - t} {1e300:f}" for t in range(64)]


def test_another_thread_is_served_when_it_waits(cpu, capsys):
    def work():
        with quern.Device("cpu"):
            quern.RawKernel(HELLO, "hello")(
                (1,), (4,), (quern.zeros(4, np.float32), quern.zeros(4, np.int32))
            )
            quern.cuda.get_current_stream().synchronize()
            seen.append(capsys.readouterr().out)

    seen: list[str] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len("".join([*seen, capsys.readouterr().out]).splitlines()) == 4


def test_failed_assertion_is_named(cpu, capsys):
    x = quern.asarray(np.arange(8, dtype=np.int32))
    kernel = quern.RawKernel(CHECKED, "checked")
    kernel((1,), (8,), (x, np.int32(8)))
    quern.cuda.get_current_stream().synchronize()
    kernel((1,), (8,), (x, np.int32(5)))
    said = r"CUDA_ERROR_ASSERT.*thread: \[5,0,0\] Assertion `x\[threadIdx.x\] < limit` failed"
    with pytest.raises(RuntimeError, match=said):
        quern.cuda.get_current_stream().synchronize()
    told = capsys.readouterr().err
    assert ":3: " in told
    assert "void checked(const int *, int): block: [0,0,0], thread: [5,0,0] Assertion" in told
    kernel((1,), (8,), (x, np.int32(8)))
    quern.cuda.get_current_stream().synchronize()


def test_a_console_that_cannot_write_does_no_harm(cpu, monkeypatch):
    class Broken:
        def write(self, text):
            raise ValueError("no console")

        def flush(self):
            pass

    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    counts = quern.zeros(4, np.int32)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Broken())
        quern.RawKernel(HELLO, "hello")((1,), (4,), (quern.zeros(4, np.float32), counts))
        quern.cuda.get_current_stream().synchronize()
    assert (counts.get() == 4).all()
    assert [str(c.exc_value) for c in complaints] == ["no console"]


def test_text_is_not_lost_at_exit(cpu_kernels):
    script = (
        "import quern, numpy\n"
        "quern.Device('cpu').use()\n"
        "k = quern.RawKernel('extern \"C\" __global__ void k() { printf(\"bye %d\\\\n\", 7); }', 'k')\n"
        "k((1,), (1,), ())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.returncode) == ("bye 7\n", 0), done.stderr


def test_device_heap(device):
    out = quern.zeros(50, np.int32)
    quern.RawKernel(HEAP, "heap")((1,), (50,), (out,))
    i = np.arange(50)
    np.testing.assert_array_equal(out.get(), i * (i + 1) // 2 + 36)
