"""Kernels of quern's own that are compiled while the program goes on: values, order, forks, ends and failures.

Each case is a process of its own with an empty cache, so that every kernel is met for the first time.
"""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.usefixtures("cpu_kernels")

HEAD = """
import os, sys, threading
import numpy as np
import quern
assert quern._core._goes_ahead(), "this process waits for every kernel"
x = np.linspace(-3, 3, 40_000)
a = quern.asarray(x)
"""


def run(tmp_path, text):
    """What a process of two threads prints that has nothing compiled before."""
    environment = dict(
        os.environ,
        QUERN_CACHE_DIR=str(tmp_path / "cache"),
        QUERN_DEVICE="cpu",
        QUERN_NUM_THREADS="2",
    )
    for name in ("QUERN_SHOW", "QUERN_CACHE_TRUST_SHARED"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(text)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout.split()


def test_values_come_in_order(tmp_path):
    assert run(
        tmp_path,
        """
        b = quern.exp(-a * a)
        c = quern.where(b > 0.5, b, a)
        c += b
        d = c.reshape(200, 200)
        total, rows, best = d.sum(), d.max(axis=1), quern.argmax(d)
        e = np.exp(-x * x)
        f = np.where(e > 0.5, e, x) + e
        np.testing.assert_allclose(c.get(), f, rtol=1e-14)
        np.testing.assert_allclose(float(total), f.sum(), rtol=1e-12)
        np.testing.assert_array_equal(rows.get(), c.get().reshape(200, 200).max(axis=1))
        assert int(best) == int(c.get().argmax())
        print("right", quern.cache.stats()["compiles"] > 5)
        """,
    ) == ["right", "True"]


def test_one_thread_compiles_where_it_is_asked(tmp_path):
    text = HEAD.replace("assert quern", "assert not quern")
    done = subprocess.run(
        [sys.executable, "-c", text + "print(float(quern.sqrt(a * a).max()))"],
        env=dict(os.environ, QUERN_DEVICE="cpu", QUERN_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert float(done.stdout) == 3


@pytest.mark.parametrize(
    "door",
    [
        "np.asarray(b)",
        "np.frombuffer(memoryview(b), dtype=float)",
        "np.from_dlpack(b)",
        "np.array(b.__array_interface__['shape']) * 0 + b.get()",
        "np.ctypeslib.as_array((__import__('ctypes').c_double * b.size).from_address(b.data.ptr))",
    ],
)
def test_who_sees_the_memory_sees_it_done(tmp_path, door):
    """Afterwards every call is done when it returns, as NumPy's are: the memory is shared."""
    assert run(
        tmp_path,
        f"""
        b = quern.cosh(a) - 1
        seen = {door}
        np.testing.assert_allclose(seen, np.cosh(x) - 1, rtol=1e-13, atol=1e-15)
        assert not quern._core._goes_ahead()
        host = np.array(x)
        shared = quern.array(host, copy=False)
        c = quern.sinh(shared)
        host[:] = 0
        np.testing.assert_allclose(c.get(), np.sinh(x), rtol=1e-13)
        print("right")
        """,
    ) == ["right"]


def test_a_shared_input_is_read_before_the_call_returns(tmp_path):
    assert run(
        tmp_path,
        """
        host = np.array(x)
        shared = quern.array(host, copy=False)
        c = quern.tanh(shared)
        host[:] = 0
        np.testing.assert_allclose(c.get(), np.tanh(x), rtol=1e-13)
        print("right")
        """,
    ) == ["right"]


def test_other_threads_and_streams(tmp_path):
    assert run(
        tmp_path,
        """
        b = quern.arctan(a)
        results = []
        worker = threading.Thread(target=lambda: results.append(quern.expm1(b).get()))
        worker.start(); worker.join()
        np.testing.assert_allclose(results[0], np.expm1(np.arctan(x)), rtol=1e-13, atol=1e-15)
        one, two = quern.cuda.Stream(non_blocking=True), quern.cuda.Stream(non_blocking=True)
        quern.synchronize()
        with one:
            c = quern.log1p(a * a)
            done = one.record()
        with two:
            two.wait_event(done)
            d = quern.hypot(c, a)
        two.synchronize()
        np.testing.assert_allclose(d.get(), np.hypot(np.log1p(x * x), x), rtol=1e-13)
        print("right")
        """,
    ) == ["right"]


def test_kernels_of_the_user_come_behind(tmp_path):
    assert run(
        tmp_path,
        """
        b = quern.cbrt(a)
        y = quern.ElementwiseKernel("T x", "T y", "y = 2 * x")(b)
        raw = quern.RawKernel('extern "C" __global__ void add(double* y) { atomicAdd(y, 1.0); }', "add")
        raw((8,), (4,), (y,))
        expected = 2 * np.cbrt(x)
        expected[0] += 32
        np.testing.assert_allclose(y.get(), expected, rtol=1e-14)
        try:
            quern.ElementwiseKernel("T x", "T y", "y = undeclared")(quern.sin(b))
        except quern.CompileError as error:
            print("told" if "undeclared" in str(error) else error)
        """,
    ) == ["told"]


def test_a_forked_child_has_what_was_computed(tmp_path):
    assert run(
        tmp_path,
        """
        b = quern.exp2(a)
        child = os.fork()
        np.testing.assert_allclose(quern.log2(b).get(), x, rtol=1e-13, atol=1e-13)
        if child == 0:
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("both")
        """,
    ) == ["both"]


def test_a_process_may_end_while_kernels_are_compiled(tmp_path):
    assert run(
        tmp_path,
        """
        b = [f(a) for f in (quern.sin, quern.cos, quern.tan, quern.exp, quern.log1p, quern.arctan)]
        c = [v.std() for v in b]
        print("end")
        """,
    ) == ["end"]


def test_memory_given_back_is_not_in_use(tmp_path):
    assert run(
        tmp_path,
        """
        for k in range(4):
            b = quern.arcsinh(a + k)
            del b
            quern.get_default_memory_pool().free_all_blocks()
        b = quern.arcsinh(a)
        np.testing.assert_allclose(b.get(), np.arcsinh(x), rtol=1e-13)
        print("right")
        """,
    ) == ["right"]


def test_figures_wait_for_what_is_on_its_way(tmp_path):
    assert run(
        tmp_path,
        """
        before = quern.cache.stats()["compiles"]
        quern.log2(quern.exp2(a))
        print(quern.cache.stats()["compiles"] - before)
        """,
    ) == ["2"]


def test_wrong_indices_are_told_by_their_call(tmp_path):
    assert run(
        tmp_path,
        """
        wrong = quern.where(a > 2.5, 50_000, 0)
        try:
            a[wrong]
        except IndexError as error:
            print("50000" in str(error))
        right = quern.where(a > 2.5, 7, 0)
        np.testing.assert_array_equal(a[right].get(), x[np.where(x > 2.5, 7, 0)])
        print("right")
        """,
    ) == ["True", "right"]
