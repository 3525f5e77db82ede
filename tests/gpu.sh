#!/usr/bin/env bash
# For a machine with an NVIDIA GPU, and perhaps no network: builds without LLVM, runs the tests against the GPU and the
# benchmarks, and prints their table. Uses only what the machine has; about five minutes on 16 cores.
#
#   tests/gpu.sh                  everything
#   tests/gpu.sh build            one part: build, test or bench (each builds first what it needs)
#   tests/gpu.sh test -k cache    words after `test` go to pytest; after `bench`, to python -m tests.bench
#
# PYTHON=/path/to/python3 chooses the Python (with numpy, ml_dtypes, pybind11, pytest); OUT=dir also collects logs and
# figures there; JOBS=n bounds the compilers; QUERN_DEVICE=cuda:1 chooses the GPU.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
part=${1:-all}
shift || true
case $part in all | build | test | bench) ;; *) sed -n '2,10p' "$0" | cut -c3-; exit 2 ;; esac

PYTHON=${PYTHON:-$(command -v python3)}
BUILD=build-gpu
LOGS=$BUILD/logs
export QUERN_DEVICE=${QUERN_DEVICE:-cuda} PYTHONUNBUFFERED=1
mkdir -p "$LOGS"
table=()

row() { table+=("$(printf '%-28s %-8s %6s s   %s' "$1" "$2" "$3" "$4")"); }

finish() {
    printf '\n%-28s %-8s %8s   %s\n' step result time note
    printf '%s\n' "${table[@]}"
    [[ -n ${OUT:-} ]] && { mkdir -p "$OUT"; cp -f "$LOGS"/*.log out/bench/latest.json "$OUT"/ 2>/dev/null; }
    exit "$1"
}

# step NAME CURE COMMAND...: output in a log; on failure its end, the reason and the cure. Sets `status`.
step() {
    local name=$1 cure=$2 began=$SECONDS log
    shift 2
    log=$LOGS/${name// /-}.log
    printf -- '-- %s\n' "$name"
    "$@" >"$log" 2>&1
    status=$?
    if ((status)); then
        printf -- '---- the end of %s ----\n' "$log"
        tail -n "${TAIL:-40}" "$log"
        printf 'step "%s" failed with status %s\n  to do: %s\n' "$name" "$status" "$cure"
        row "$name" FAILED $((SECONDS - began)) "$log"
    else
        row "$name" ok $((SECONDS - began)) "$(grep -E 'passed|tests passed' "$log" | tail -1 | tr -d '=' | cut -c1-70)"
    fi
    return $status
}

need() { command -v "$1" >/dev/null || { row tools FAILED 0 "$1 is missing"; echo "this needs $1: $2"; finish 1; }; }
need cmake "CMake >= 3.25"
need ninja "ninja"
need c++ "a C++20 compiler (GCC 12, Clang 14)"
[[ -n $PYTHON ]] || { echo "this needs Python >= 3.11 (PYTHON=...)"; exit 1; }
"$PYTHON" - <<'PY' || { row tools FAILED 0 "Python packages"; finish 1; }
import importlib.util, sys
if sys.version_info < (3, 11):
    sys.exit(f"this needs Python >= 3.11; {sys.executable} is {sys.version.split()[0]} (PYTHON=...)")
missing = [m for m in ("numpy", "ml_dtypes", "pybind11", "pytest") if importlib.util.find_spec(m) is None]
if missing:
    sys.exit(f"{sys.executable} lacks {', '.join(missing)}: install them, or name another Python (PYTHON=...)")
PY

# pytest's options that need plugins are left away where the plugin is missing.
pytest_options=(-p no:cacheprovider)
"$PYTHON" -c 'import pytest_timeout' 2>/dev/null ||
    pytest_options+=(-o "addopts=-ra --import-mode=importlib --strict-markers" -W 'ignore::pytest.PytestConfigWarning')
"$PYTHON" -c 'import xdist' 2>/dev/null && pytest_options+=(-n 6) # most of a test's time is compiling
"$PYTHON" -c 'import hypothesis' 2>/dev/null || echo "note: hypothesis is missing; its tests are skipped"

tests_off=OFF
[[ $part == all || $part == test ]] && [[ -f /usr/include/gtest/gtest.h || -d /usr/src/googletest ]] && tests_off=ON

step configure "install what CMake asks for above; the CUDA toolkit is found by CUDA_PATH" \
    cmake -S . -B $BUILD -G Ninja -DCMAKE_BUILD_TYPE=Release -DQUERN_LLVM=OFF -DQUERN_PYTHON=ON -DQUERN_WERROR=OFF \
    -DQUERN_TESTS=$tests_off "-DPython_EXECUTABLE=$PYTHON" "-DPython3_EXECUTABLE=$PYTHON" "-DPYTHON_EXECUTABLE=$PYTHON" \
    "-Dpybind11_DIR=$("$PYTHON" -m pybind11 --cmakedir)" || finish 1
step build "the first error in the log says where" cmake --build $BUILD --parallel "${JOBS:-$(nproc)}" || finish 1
export PYTHONPATH=$PWD/$BUILD/python:$PWD${PYTHONPATH:+:$PYTHONPATH}
TAIL=60 step doctor "the lines above name what is missing" "$PYTHON" -m quern doctor || finish 1
cat "$LOGS/doctor.log"
[[ $part == build ]] && finish 0

failed=0
if [[ $part == all || $part == test ]]; then
    if [[ $tests_off == ON ]]; then
        step "C++ tests" "one test again: ctest --test-dir $BUILD -R NAME --output-on-failure" \
            ctest --test-dir $BUILD --output-on-failure --no-tests=error --parallel "${JOBS:-$(nproc)}" || failed=1
    else
        row "C++ tests" skipped 0 "no GoogleTest (libgtest-dev)"
    fi
    TAIL=120 step "Python tests" "one test again: QUERN_DEVICE=$QUERN_DEVICE PYTHONPATH=$PYTHONPATH pytest -k NAME" \
        "$PYTHON" -m pytest "${pytest_options[@]}" tests/python tests/structure "$@" || failed=1
fi
if [[ $part == all || $part == bench ]]; then
    [[ $part == all ]] && set --
    step benchmarks "the log says which row" "$PYTHON" -m tests.bench --section device "$@" || failed=1
    cat "$LOGS/benchmarks.log"
fi
finish $failed
