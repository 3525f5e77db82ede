"""The wheel: built from build/, put into a place with no compiler, LLVM or CUDA in reach, and used there."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        not (ROOT / "build" / "CMakeCache.txt").exists(),
        reason="nothing is built in build/ (make build)",
    ),
]

# What a wheel may ask of the machine: the C and C++ run-time libraries and two that every distribution's base has.
SYSTEM_LIBRARIES = {
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libmvec.so.1",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
    "libtinfo.so.6",
    "libz.so.1",
    "libzstd.so.1",
    "linux-vdso.so.1",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [ROOT / ".ci" / "wheel", out], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = out.glob("quern-*.whl")
    return made


def test_one_wheel_with_everything(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("quern/_core.") and name.endswith(".so") for name in names)
    assert "quern/__main__.py" in names
    assert "quern/_demo/photo.py" in names
    assert any(name.endswith("LICENSE") for name in names)
    strangers = [n for n in names if not n.startswith(("quern/", "quern-"))]
    assert not strangers
    assert not [n for n in names if "__pycache__" in n or n.endswith((".a", ".o", ".cpp"))]


@pytest.mark.host
def test_compiler_is_inside(wheel: Path) -> None:
    assert "quern/libquern_cc.so" in zipfile.ZipFile(wheel).namelist()


def test_links_only_what_every_machine_has(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    if not shutil.which("ldd"):
        pytest.skip("no ldd")
    for library in (tmp_path / "quern").glob("*.so"):
        needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
        names = {Path(line.split()[0]).name for line in needed.splitlines() if line.strip()}
        assert names <= SYSTEM_LIBRARIES, f"{library.name} also needs {names - SYSTEM_LIBRARIES}"


FIRST_KERNEL = """
import time
began = time.perf_counter()
import numpy as np, quern
x = quern.asarray(np.arange(1000, dtype=np.float32))
y = quern.ElementwiseKernel('T x, float32 a', 'T y', 'y = a * x + 1', 'first')(x, 2.0)
assert quern.asnumpy(y)[10] == 21
elapsed = time.perf_counter() - began
import json, os, sys
maps = open('/proc/self/maps').read().split() if os.path.exists('/proc/self/maps') else []
print(json.dumps({
    'elapsed': elapsed,
    'where': quern.__file__,
    'libraries': sorted({p for p in maps if p.startswith('/') and '.so' in p}),
    'compilers': [p for p in ('/usr/bin/gcc', '/usr/bin/cc', '/usr/bin/clang', '/usr/bin/ld') if os.path.exists(p)],
    'toolkits': [p for p in ('/usr/local/cuda', '/usr/lib/llvm-19', '/usr/include/stdio.h') if os.path.exists(p)],
    'compiles': quern.cache.stats()['compiles'],
}))
"""


def copy_with_libraries(root: Path, binary: Path) -> None:
    """A program or library and what the loader needs for it, into a small root folder."""
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
    for word in [str(binary), *listed.split()]:
        if word.startswith("/") and Path(word).is_file():
            target = root / word.lstrip("/")
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(word, target)


def small_root(root: Path, wheel: Path) -> list[str]:
    """A folder that holds Python, NumPy and the wheel, and nothing else of this machine; the command for inside."""
    python = Path(os.path.realpath(sys.executable))
    copy_with_libraries(root, python)
    stdlib = Path(sysconfig.get_path("stdlib"))
    skip = shutil.ignore_patterns(
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "__pycache__",
        "idlelib",
        "tkinter",
        "config-*",
        "*.a",
    )
    shutil.copytree(stdlib, root / str(stdlib).lstrip("/"), ignore=skip, dirs_exist_ok=True)
    for module in stdlib.glob("lib-dynload/*.so"):
        copy_with_libraries(root, module)
    site = root / "site"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            site,
            wheel,
        ],
        check=True,
    )
    here = Path(sysconfig.get_path("purelib"))
    for name in ("numpy", "numpy.libs", "ml_dtypes"):
        if (here / name).exists():
            ignore = shutil.ignore_patterns("tests", "__pycache__", "*.a", "include")
            shutil.copytree(here / name, site / name, ignore=ignore)
    for library in site.rglob("*.so"):
        copy_libraries_of(root, library)
    for folder in ("tmp", "proc", "dev", "sys", "home/user/.cache"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    return ["/" + str(python).lstrip("/"), "-c", FIRST_KERNEL]


def copy_libraries_of(root: Path, library: Path) -> None:
    """The system libraries that a copied library needs."""
    listed = subprocess.run(["ldd", library], capture_output=True, text=True, check=False).stdout
    for word in listed.split():
        if word.startswith("/") and Path(word).is_file() and not word.startswith(str(root)):
            target = root / word.lstrip("/")
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(word, target)


def enter(root: Path) -> list[str] | None:
    """A command prefix that runs inside the folder, with /proc if that can be had; None if this machine allows none."""
    mount = f'mount -t proc proc "{root}/proc" 2>/dev/null || mount --bind /proc "{root}/proc"'
    inside = f'{mount}; exec chroot "{root}" "$@"'
    user = [] if os.geteuid() == 0 else ["--map-root-user", "--user"]
    ways = [
        ["unshare", *user, "--mount", "--pid", "--fork", "sh", "-c", inside, "sh"],
        [
            "unshare",
            *user,
            "--mount",
            "--pid",
            "--fork",
            "--propagation",
            "unchanged",
            "chroot",
            str(root),
        ],
        ["chroot", str(root)],
    ]
    search = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONHOME": sys.base_prefix}
    python = os.path.realpath(sys.executable)
    for prefix in ways:
        try:
            tried = subprocess.run(
                [*prefix, python, "-c", ""], capture_output=True, check=False, env=search
            )
        except FileNotFoundError:
            continue
        if tried.returncode == 0:
            return prefix
    return None


@pytest.mark.host
def test_first_kernel_without_compiler_llvm_or_cuda(wheel: Path, tmp_path: Path) -> None:
    """Import, compile, run in under 2 s, with an empty cache, in a root that holds only Python, NumPy and the wheel."""
    root = tmp_path / "root"
    command = small_root(root, wheel)
    prefix = enter(root)
    if prefix is None:
        pytest.skip("this machine lets nobody change the root folder (unshare, chroot)")
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/home/user",
        "PYTHONPATH": "/site",
        "PYTHONHOME": sys.base_prefix,
        "QUERN_DEVICE": "cpu",
    }
    best = 1e9
    for _ in range(3):  # others use this machine too; each try starts with an empty cache
        shutil.rmtree(root / "home/user/.cache")
        (root / "home/user/.cache").mkdir(mode=0o700)
        done = subprocess.run(
            [*prefix, *command], capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["where"].startswith("/site/")
        assert found["compilers"] == []
        assert found["toolkits"] == []
        assert found["compiles"] >= 1
        assert not [
            p for p in found["libraries"] if "libLLVM" in p or "libclang" in p or "cuda" in p
        ]
        best = min(best, found["elapsed"])
    assert best < 2, f"the first kernel took {best:.2f} s"


def test_source_distribution_holds_what_a_build_needs(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--sdist",
            "--no-isolation",
            "--skip-dependency-check",
            "--outdir",
            tmp_path,
            ROOT,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = tmp_path.glob("quern-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames() if "/" in name}
    tracked = subprocess.run(
        [
            "git",
            "ls-files",
            "compiler",
            "runtime",
            "python",
            "cmake",
            "CMakeLists.txt",
            "pyproject.toml",
            "LICENSE",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    ).stdout.splitlines()
    missing = [name for name in tracked if name not in names and (ROOT / name).exists()]
    assert not missing
    assert not [name for name in names if name.endswith(".so") or name.startswith("build")]
