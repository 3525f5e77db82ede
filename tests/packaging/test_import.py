"""What `import quern` costs and what it leaves alone; what shares a process with it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import json, os, sys, time
import numpy
threads_before = len(os.listdir('/proc/self/task'))
began = time.perf_counter()
import quern
elapsed_ms = (time.perf_counter() - began) * 1e3
maps = open('/proc/self/maps').read()
print(json.dumps({
    'elapsed_ms': elapsed_ms,
    'threads_started': len(os.listdir('/proc/self/task')) - threads_before,
    'opened': [name for name in ('libcuda.so', 'libnvrtc', 'libcudart', 'libquern_cc', 'libLLVM') if name in maps],
}))
"""


def python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_quick_and_touches_nothing() -> None:
    runs = [json.loads(python(PROBE)) for _ in range(5)]
    assert all(run["threads_started"] == 0 for run in runs)
    assert all(run["opened"] == [] for run in runs)
    # The best of five: what the import costs by itself, on a machine that others use too.
    assert min(run["elapsed_ms"] for run in runs) <= 60


def test_import_survives_a_home_that_cannot_be_used(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    python("import quern", HOME=missing, QUERN_CACHE_DIR=missing + "/cache", CUDA_PATH=missing)


LLVMLITE = """
import ctypes
import llvmlite.binding as llvm
llvm.initialize_native_target(); llvm.initialize_native_asmprinter()

def seven(k):
    module = llvm.parse_assembly(f"define i32 @f{k}(i32 %x) {{ %y = mul i32 %x, 7 ret i32 %y }}")
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    result = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(engine.get_function_address(f'f{k}'))(6)
    assert result == 42, result

BEFORE
import numpy as np, quern
x = quern.asarray(np.arange(5, dtype=np.float32))
y = quern.ElementwiseKernel('T x', 'T y', 'y = x * 3', 'beside_llvmlite')(x)
assert quern.asnumpy(y).tolist() == [0, 3, 6, 9, 12]
seven(1)
y = quern.ElementwiseKernel('T x', 'T y', 'y = sqrt(x)', 'after_llvmlite')(x)
assert quern.asnumpy(y)[4] == 2
seven(2)
print('ok')
"""


@pytest.mark.host
@pytest.mark.parametrize("before", ["", "seven(0)"])
def test_llvmlite_keeps_working_beside_us(before: str, empty_cache_dir: Path) -> None:
    """Another LLVM in the process, opened before or after ours: both compile, both run."""
    pytest.importorskip("llvmlite")
    out = python(
        LLVMLITE.replace("BEFORE", before), QUERN_DEVICE="cpu", QUERN_CACHE_DIR=str(empty_cache_dir)
    )
    assert out.strip() == "ok"
