"""Rows of a few runs that rise or fall, with values astray: against NumPy's stable sort."""

import numpy as np
import pytest
from sorting.oracle import in_order, order, sample

import quern
from quern import _core


def interleaved(rising, count):
    return np.concatenate([rising[k::count] for k in range(count)])


def swapped(rising, count, random):
    row = rising.copy()
    for pair in random.integers(0, len(row), (count, 2)):
        row[pair] = row[pair[::-1]]
    return row


def anew(rising, count, random):
    row = rising.copy()
    row[random.integers(0, len(row), count)] = random.permutation(rising)[:count]
    return row


def pieces(rising, random):
    """Cut anywhere, in any order, some of them falling, some with values astray."""
    parts = np.split(rising, np.sort(random.integers(0, len(rising), random.integers(1, 9))))
    parts = [part[::-1] if random.random() < 0.4 else part for part in parts]
    parts = [swapped(p, 1, random) if len(p) > 9 and random.random() < 0.4 else p for p in parts]
    return np.concatenate([parts[k] for k in random.permutation(len(parts))])


def near(rising, random):
    """Neighbours in disorder, of which none is far from its place."""
    count = len(rising)
    for share in (0.1, 0.5, 1):
        row = rising.copy()
        left = np.flatnonzero(random.random(count // 2) < share) * 2
        row[left], row[left + 1] = rising[left + 1], rising[left]
        yield row
    for far in (1, 3, 20):
        yield rising[np.argsort(np.arange(count) + random.uniform(-far, far, count), kind="stable")]
    for block in (3, 4, 17, 64):
        blocks = rising[: count // block * block].reshape(-1, block)
        yield np.concatenate([blocks[:, ::-1].ravel(), rising[blocks.size :]])
    row = rising.copy()
    row[::100] = rising[0]
    yield row


def rows_of_runs(rising, random):
    few = max(len(rising) // 100, 1)
    for count in (2, 3, 4, 8, 9, 16, 17, 40):
        yield interleaved(rising, count)
    yield np.concatenate([rising[few:], random.permutation(rising)[:few]])
    yield np.concatenate([random.permutation(rising)[:few], rising[few:]])
    yield np.concatenate([rising[::2], rising[1::2][::-1]])
    yield np.concatenate([rising[::2][::-1], rising[1::2][::-1]])
    yield rising[::-1].copy()
    yield np.roll(rising, len(rising) // 3)
    for count in (1, 2, 20):
        yield swapped(rising, count, random)
        yield swapped(rising, count, random)[::-1].copy()
    for share in (70, 200, 1000):
        yield anew(rising, max(len(rising) // share, 1), random)
    for _ in range(6):
        yield pieces(rising, random)
    yield from near(rising, random)


CASES = [(n, code) for n in (64, 65, 200, 3000, 9000) for code in "hiqQefdFD"]
CASES += [(150_001, code) for code in "?BheiqfdD"]


@pytest.mark.parametrize("distinct", [5, 300, None])
@pytest.mark.parametrize(("length", "code"), CASES)
def test_rows_of_runs(device, equal, code, length, distinct):
    """Their input is left alone, and zeros of both signs and NaN keep their order too."""
    random = np.random.default_rng([length, ord(code), distinct or 0])
    values = sample(length, np.dtype(code), 5)
    if distinct is not None:
        values = random.choice(values[:distinct], length)
    rows = list(rows_of_runs(in_order(values), random))
    for row in rows:
        ours = quern.asarray(row)
        equal(quern.sort(ours, kind="stable"), in_order(row))
        equal(quern.argsort(ours, kind="stable"), order(row))
        equal(ours, row)
    if device.is_cpu and length < 100_000:
        beside = np.stack(rows)
        for road in (1, 3):  # a row a block, rows of which blocks have parts
            equal(_core._sort(quern.asarray(beside), -1, road=road), in_order(beside))
            equal(_core._argsort(quern.asarray(beside), -1, road=road), order(beside))


@pytest.mark.parametrize("seed", range(12))
def test_runs_that_are_unlike(device, equal, seed):
    """Of every length, dense and sparse, some of few values, some with a few values far from the others."""
    random = np.random.default_rng(seed)
    for length in (256, 513, 2000, 40_000, 200_000):
        ends = np.sort(random.integers(0, length, random.integers(1, 8)))
        parts = []
        for part in np.split(np.empty(length, int), ends):
            low, width = random.integers(0, 1000), random.choice([1, 3, 50, 2000, 10**6])
            part[:] = random.integers(low, low + width, len(part))
            if random.random() < 0.3:
                part[random.random(len(part)) < 0.01] = random.integers(0, 10**6)
            parts.append(np.sort(part)[:: 1 if random.random() < 0.75 else -1])
        for dtype in ("f8", "i4", "q"):
            row = np.concatenate(parts).astype(dtype)
            ours = quern.asarray(row)
            for road in (1, 3) if device.is_cpu else (-1,):
                equal(_core._sort(ours, -1, road=road), in_order(row))
                equal(_core._argsort(ours, -1, road=road), order(row))


@pytest.mark.parametrize("seed", range(30))
def test_which_of_equal_values_was_astray(device, equal, seed):
    """Runs of few values, of which many are astray before and behind others that equal them."""
    random = np.random.default_rng(seed)
    rising = np.sort(random.integers(0, 40, 2000))
    row = rising.copy()
    for at in random.integers(1, len(row) - 40, 12):
        width = random.integers(1, 12)
        row[at : at + width] = np.roll(row[at : at + width + 3], random.integers(-3, 4))[:width]
        row[at + width + 1] += random.integers(-2, 3)
    for dtype in ("i4", "f8", "i8"):
        equal(quern.argsort(quern.asarray(row.astype(dtype)), kind="stable"), order(row))
        second = quern.asarray(rising[::-1].astype(dtype))
        equal(quern.lexsort((quern.asarray(row.astype(dtype)), second)), np.lexsort((row, rising[::-1])))


@pytest.mark.parametrize("code", "qfH")
def test_keys_that_are_in_order_at_the_places_so_far(device, equal, code):
    """`lexsort` leaves such keys out, and no others."""
    random = np.random.default_rng(ord(code))
    for length in (3000, 70_001):
        minor = random.integers(0, 500, length).astype(code)
        places = order(minor)
        alike = np.full(length, 7, code)
        follows = np.empty(length, code)
        follows[places] = np.sort(random.integers(0, 400, length)).astype(code)
        nearly = follows.copy()
        nearly[places[length // 2]] = 0
        for keys in ((minor, alike), (minor, follows), (minor, nearly), (minor, follows, nearly, alike)):
            equal(quern.lexsort([quern.asarray(key) for key in keys]), np.lexsort(keys))
