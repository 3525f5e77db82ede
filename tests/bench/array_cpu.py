"""Every array function at 10^6 elements beside NumPy, by the clock on the wall and with all threads of both. Prints a
line of JSON for each function: its dtype of the worst ratio, the other ratios beside it, and last, on stderr, which are
above the limit.

`python -m tests.bench.array_cpu sort unique` runs the functions whose names begin so; with QUERN_NUM_THREADS=1 and
OPENBLAS_NUM_THREADS=1 on one thread. QUERN_BENCH_DTYPES=uint8,int16,float16 has others than the usual six.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from tests.bench.measure import Row, Sample
from tests.bench.reductions_cpu import two_times

SECTION = "array-cpu"
LIMIT = 1.2
SIZE, SIDE = 10**6, 1000
USUAL = "float32,float64,int32,int64,bool,complex64"
DTYPES = os.environ.get("QUERN_BENCH_DTYPES", USUAL).split(",")

# Expressions of `np` over arrays of one dtype: `a`, `b` with values in (0, 1) or 1..100, `M` the same as a matrix,
# `x`, `N` to be written to, `S` rising, `F` falling, `A` of values all alike, `v`, `w` rows of a matrix, `R` copies of
# its rows; and over `m`, a mask half true, `o`, one all true, `p`, positions below 10^6, `q`, those in order, `k`, `K`,
# ints below 1000, `s`, those in order, `z`, zeros, `c`, bytes, `t`, 101 edges, `T`, 100 000 rising numbers.
EVERY = """
copy(a)|M.T.copy()|a.astype(np.float64)|a.astype(np.int32)|a.astype(bool)|zeros_like(a)|ones_like(a)
full_like(a, 3)|empty_like(a)|array(a)|ascontiguousarray(M.T)|x.fill(1)|copyto(x, a)|M.T.ravel()|a.tobytes()
concatenate(R)|stack(R, 1)|array(R)
concatenate((a, b))|stack((a, b))|stack((a, b), 1)|hstack((a, b))|vstack((a, b))|dstack((a, b))
column_stack((a, b))|tile(v, 1000)|repeat(a, 2)|repeat(v, 1000)|repeat(M, 2, 1)|roll(a, 7)|roll(M, 3, 1)
pad(a, 5)|pad(M, 2, "edge")|pad(M, 2, "reflect")|delete(a, 5)|insert(a, 5, 1)|append(a, b)
insert(a, p[:3], 1)|insert(a, p[:1000], b[:1000])|delete(a, p[:3])|delete(a, p[:1000])
resize(v, (1000, 1000))|trim_zeros(a)|tril(M)|triu(M)|diag(v)|rot90(M).copy()|flip(a).copy()|fliplr(M).copy()
array_split(a, 3)|broadcast_to(v, (1000, 1000)).copy()|where(m, a, b)|where(m, a, 0)|nonzero(a)|flatnonzero(m)
argwhere(m)|a[m]|a[p]|M[k[:1000]]|take(a, p)|take(M, k[:1000], 1)|compress(m, a)|extract(m, a)|choose(m, (a, b))
select((m,), (a,), b)|take_along_axis(M, K, 1)|put(x, p, b)|place(x, m, b)|putmask(x, m, b)|diagonal(M).copy()
count_nonzero(a)|all(a)|any(a)|sum(a)|sum(M, 0)|sum(M, 1)|prod(a)|mean(a)|mean(M, 0)|max(a)|max(M, 0)|min(M, 1)
argmax(a)|argmin(M, 1)|cumsum(a)|cumsum(M, 0)|cumprod(M, 1)|array_equal(a, b)|isin(a, v)|unique(a)|sort(a)
sort(M, 0)|argsort(a)|searchsorted(S, a)|M[::2, ::2] + 1|M[:, ::-1] + M|a + b|a * 3|a == b|M + v|M.T + M
clip(a, 0, 1)|logical_and(a, b)|maximum(a, b)|iscomplexobj(a)|isreal(a)|real(a).copy()|fill_diagonal(N, 1)
nan_to_num(a)|trace(M)
"""
PRODUCTS = """
dot(a, b)|vdot(a, b)|inner(M, v)|outer(v, w)|v @ M|M @ v|einsum("ij->j", M)|einsum("ij,j->i", M, v)|kron(v, w)
tensordot(M, v, 1)
"""
NUMBERS = """
average(a)|average(a, weights=b)|var(a)|std(M, 0)|std(M, 1)|diff(a)|diff(M, axis=0)
ediff1d(a)|gradient(a)|trapezoid(a)|convolve(a, v[:15])|correlate(a, v[:15])
cross(a[:999999].reshape(-1, 3), b[:999999].reshape(-1, 3))|nansum(a)|nanmean(a)|allclose(a, b)|isclose(a, b)
angle(a)|around(a, 2)|vander(v, 1000)|a // 7|a % 7|divmod(a, 7)|a ** 2|a / 7
"""
REALS = """
ptp(a)|nanmax(a)|nanmin(M, 0)|nancumsum(a)|median(a)|median(M, 1)|percentile(a, 30)|quantile(M, 0.3, 1)
partition(a, 500)|argpartition(a, 500)|lexsort((a, b))|digitize(a, t)|histogram(a)|histogram(a, 100)
histogram(a, t)|histogram2d(a, b)|interp(a, t, t)|union1d(a, b)|intersect1d(a, b)|setdiff1d(a, b)|unwrap(a)
sinc(a)|i0(a)|heaviside(a, b)|apply_along_axis(np.sum, 1, M[:100])
"""
ORDERED = """
sort(S)|sort(F)|sort(A)|argsort(S)|argsort(F)|argsort(A)|argsort(S, kind="stable")|argsort(A, kind="stable")
argsort(a, kind="stable")|sort(a, kind="stable")|lexsort((M, M))
lexsort((S, S))|lexsort((a, S))|lexsort((S, a))|lexsort((A, F))|lexsort((A, A))|unique(S)|unique(A)
unique(a, return_index=True)|unique(S, return_index=True)|unique(A, return_index=True)
unique(a, return_inverse=True)|unique(S, return_inverse=True)|unique(A, return_inverse=True)
unique(a, return_counts=True)|unique(S, return_counts=True)|unique(A, return_counts=True)|searchsorted(S, S)
searchsorted(S, F)|searchsorted(S, A)|searchsorted(t, S)|digitize(S, t)|digitize(A, t)|partition(S, 500)
partition(A, 500)|argpartition(S, 500)|median(S)|median(A)|percentile(F, 30)|union1d(S, F)|intersect1d(S, F)
intersect1d(A, A)|setdiff1d(S, A)|isin(S, S)|isin(A, A)|isin(a, S)|histogram(S)|histogram(F, t)|histogram(A, 100)
interp(S, t, t)|interp(F, t, t)|interp(A, t, t)|interp(S, T, T)|interp(S, S, T[0] + S)|argmax(S)|argmin(F)
sort(H, kind="stable")|argsort(H, kind="stable")|lexsort((H, A))|sort(H)|sort(Q, kind="stable")
argsort(Q, kind="stable")|lexsort((Q, A))|sort(E, kind="stable")|argsort(E, kind="stable")|lexsort((E, A))
sort(W, kind="stable")|argsort(W, kind="stable")|lexsort((W, A))|sort(Y, kind="stable")|argsort(Y, kind="stable")
sort(J, kind="stable")|argsort(J, kind="stable")|lexsort((S, J))|unique(H, return_index=True)
"""
PLACES = """
a[o]|a[q]|a[z]|take(a, q)|take(a, z)|put(x, q, b)|put(x, z, b)|nonzero(o)|where(o, a, b)|place(x, o, b)
add.reduceat(a, q[::7])|add.reduceat(a, q[::1000])|maximum.reduceat(a, q[::1000])|putmask(x, o, b)
maximum.reduceat(a, q[::30])|maximum.reduceat(a, q[::60])
add.at(x, p, b)|add.at(x, q, b)|add.at(x, z, b)|add.at(x, k, b)
"""
ALONE = """
arange(1000000)|arange(0, 1, 1e-6)|linspace(0, 1, 1000000)|logspace(0, 1, 1000000)|geomspace(1, 10, 1000000)
zeros(1000000)|ones(1000000)|full(1000000, 2.5)|eye(1000)|identity(1000)|tri(1000)|indices((1000, 1000))
mgrid[0:1000, 0:1000]|meshgrid(v, v)|fromfunction(lambda i, j: i + j, (1000, 1000))|hanning(1000000)
hamming(1000000)|blackman(1000000)|bartlett(1000000)|kaiser(1000000, 5)|bincount(k)|bincount(k, b)|packbits(m)
bincount(s)|bincount(s, b)|bincount(z)|bincount(z, b)
unpackbits(c)|tril_indices(1000)|unravel_index(p, (1000, 1000))|ravel_multi_index((k, k), (1000, 1000))
ix_(v, v)|frombuffer(buffer)|modf(b)|frexp(b)|divmod(k, 7)|ldexp(b, k)
"""
BLAS_SPINS = 0.2  # seconds that OpenBLAS's threads take a core after their work, at most
ONLY_INTEGERS = {"gcd", "lcm", "left_shift", "right_shift"}


def of_kinds(kinds: str) -> list[str]:
    return [dtype for dtype in DTYPES if np.dtype(dtype).kind in kinds]


def expressions() -> Iterator[tuple[str, list[str]]]:
    """Expressions with the dtypes that they are timed on."""
    import quern

    for name in sorted(vars(np)):
        function = getattr(np, name)
        if not isinstance(function, np.ufunc) or function.__name__ != name or function.signature:
            continue
        if not isinstance(getattr(quern, name, None), quern.ufunc):
            continue
        arguments = ", ".join("ab"[: function.nin])
        yield f"{name}({arguments})", of_kinds("iu") if name in ONLY_INTEGERS else DTYPES
    numbers, reals = of_kinds("iufc"), of_kinds("iuf")
    for text, dtypes in (
        (EVERY, DTYPES),
        (PRODUCTS, numbers),
        (NUMBERS, numbers),
        (REALS, reals),
        (ORDERED, reals),
        (PLACES, numbers),
    ):
        for line in text.split("\n"):
            yield from ((expression, dtypes) for expression in line.split("|") if expression)
    for line in ALONE.split("\n"):
        yield from ((expression, ["float64"]) for expression in line.split("|") if expression)


def values(dtype: str) -> dict[str, Any]:
    """NumPy arrays by the names in the expressions."""
    random = np.random.default_rng(0)
    kind = np.dtype(dtype)

    def some(count: int) -> np.ndarray:
        if kind.kind in "biu":
            return random.integers(
                0 if kind.kind == "b" else 1, 2 if kind.kind == "b" else 100, count
            ).astype(kind)
        found = random.uniform(0.05, 0.95, count)
        return (
            found + 1j * random.uniform(0.05, 0.95, count) if kind.kind == "c" else found
        ).astype(kind)

    a, b, v = some(SIZE), some(SIZE), some(SIDE)
    k = random.integers(0, 1000, SIZE)
    rising = np.sort(a)
    swapped, near = rising.copy(), rising.copy()
    for pair in random.integers(0, SIZE, (10, 2)):
        swapped[pair] = swapped[pair[::-1]]
    left = np.flatnonzero(random.random(SIZE // 2) < 0.1) * 2
    near[left], near[left + 1] = rising[left + 1], rising[left]
    return {
        "a": a,
        "b": b,
        "M": some(SIZE).reshape(SIDE, SIDE),
        "N": some(SIZE).reshape(SIDE, SIDE),
        "S": rising,
        "F": rising[::-1].copy(),
        "A": np.full(SIZE, a[0]),
        "H": np.concatenate([rising[::2], rising[1::2]]),
        "Q": np.concatenate([rising[k::4] for k in range(4)]),
        "E": np.concatenate([rising[1000:], a[:1000]]),
        "W": swapped,
        "Y": np.concatenate([rising[::2], rising[1::2][::-1]]),
        "J": near,
        "v": v,
        "w": some(SIDE),
        "x": some(SIZE),
        "m": random.integers(0, 2, SIZE).astype(bool),
        "o": np.ones(SIZE, bool),
        "p": random.permutation(SIZE),
        "q": np.arange(SIZE),
        "k": k,
        "s": np.sort(k),
        "z": np.zeros(SIZE, int),
        "K": k.reshape(SIDE, SIDE),
        "c": random.integers(0, 256, SIZE).astype(np.uint8),
        "t": np.linspace(*((0, 1) if kind.kind == "f" else (1, 100)), 101).astype(kind),
        "T": np.sort(random.uniform(0, 1, 10**5)),
        "buffer": a.tobytes(),
    }


def call_of(expression: str, module: ModuleType, names: dict[str, Any]) -> Callable[[], object]:
    """The expression as a function; a leading name is one of the module's."""
    head = expression.partition("(")[0].partition("[")[0]
    name = head.partition(".")[0]
    text = f"np.{expression}" if name.isidentifier() and name not in names else expression
    scope = dict(names, np=module)
    return eval(f"lambda: {text}", scope)  # type: ignore[no-any-return]


def ratio_of(
    expression: str, ours: dict[str, Any], theirs: dict[str, Any]
) -> tuple[Sample, Sample] | str | None:
    """Both times in ms; a word where quern cannot; nothing where NumPy refuses."""
    import quern

    by_numpy, by_us = call_of(expression, np, theirs), call_of(expression, quern, ours)
    try:
        by_numpy()
    except TypeError:
        return None
    try:
        by_us()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    pause = BLAS_SPINS if expression in PRODUCTS else 0
    us, numpy = two_times(by_us, by_numpy, LIMIT, least=0.02, clock=time.perf_counter, pause=pause)
    return Sample.of(us).map(lambda s: s * 1e3), Sample.of(numpy).map(lambda s: s * 1e3)


def rows(parts: list[str]) -> Iterator[Row]:
    """A row for each expression whose text begins with one of `parts`; all of them where there is none."""
    import quern

    theirs: dict[str, dict[str, Any]] = {dtype: values(dtype) for dtype in {*DTYPES, "float64"}}
    ours = {
        dtype: {
            name: quern.array(x) if isinstance(x, np.ndarray) else x for name, x in names.items()
        }
        for dtype, names in theirs.items()
    }
    for names in (*theirs.values(), *ours.values()):
        names["R"] = [names["M"][k].copy() for k in range(SIDE)]
    for expression, dtypes in expressions():
        if parts and not any(expression.startswith(part) for part in parts):
            continue
        row = Row(
            SECTION,
            expression,
            "ms",
            reference_name="NumPy",
            demand=f"<= {LIMIT:g}x NumPy",
            limit=LIMIT,
        )
        notes = []
        for dtype in dtypes:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = ratio_of(expression, ours[dtype], theirs[dtype])
            if isinstance(found, str):
                notes.append(f"{dtype} {found}")
            elif found:
                us, numpy = found
                notes.append(f"{dtype} {us.median / numpy.median:.2f}")
                if row.ratio is None or us.median / numpy.median > row.ratio:
                    row.ours, row.reference = us, numpy
        row.note = ", ".join(notes)
        if row.ours is None:
            row.skipped = row.note or "NumPy has it for none of the dtypes"
        yield row


def main() -> None:
    above = []
    count = 0
    for row in rows(sys.argv[1:]):
        print(row.as_json(), flush=True)
        count += 1
        if row.verdict == "MISSED":
            above.append((row.ratio or 0, f"{row.ratio:.2f} {row.what} ({row.note})"))
    print(f"{count} functions, {len(above)} above {LIMIT:g}x NumPy:", file=sys.stderr)
    for _, line in sorted(above, reverse=True):
        print(f"  {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
