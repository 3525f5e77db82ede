"""What `import quern` brings with it and what it leaves alone; what shares a process with it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import json, os, sys
import numpy
threads_before = len(os.listdir('/proc/self/task'))
modules_before = set(sys.modules)
import quern
maps = open('/proc/self/maps').read()
print(json.dumps({
    'modules': sorted({name.partition('.')[0] for name in set(sys.modules) - modules_before}),
    'threads_started': len(os.listdir('/proc/self/task')) - threads_before,
    'opened': [name for name in ('libcuda.so', 'libnvrtc', 'libcudart', 'libquern_cc', 'libLLVM') if name in maps],
}))
"""

# What takes tens of milliseconds to import. How long ours takes is a row of the benchmarks.
SLOW_MODULES = {
    "asyncio", "concurrent", "ctypes", "email", "http", "multiprocessing", "pydoc", "subprocess", "unittest", "urllib",
}  # fmt: skip


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


def test_import_touches_nothing() -> None:
    run = json.loads(python(PROBE))
    assert run["threads_started"] == 0
    assert run["opened"] == []
    modules = set(run["modules"])
    assert modules - set(sys.stdlib_module_names) <= {"ml_dtypes", "numpy", "quern"}
    assert not modules & SLOW_MODULES


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
