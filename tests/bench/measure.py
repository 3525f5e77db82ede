"""Timing: the same protocol for quern, its floors and its peers. Medians with quartiles."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field


@dataclass
class Sample:
    """Repeated measurements of one thing, in one unit."""

    median: float
    low: float  # first quartile
    high: float  # third quartile
    count: int

    @classmethod
    def of(cls, values: list[float]) -> "Sample":
        if len(values) < 2:
            return cls(values[0], values[0], values[0], len(values))
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(middle, low, high, len(values))

    def map(self, convert: Callable[[float], float]) -> "Sample":
        """The same sample in another unit; quartiles stay in order."""
        low, high = sorted((convert(self.low), convert(self.high)))
        return Sample(convert(self.median), low, high, self.count)


@dataclass
class Row:
    """One line of the table: ours beside what it is held against."""

    section: str
    what: str
    unit: str
    ours: Sample | None = None
    reference: Sample | None = None  # the floor or the peer of the demand
    reference_name: str = ""
    demand: str = ""  # in words: "<= 1.35x floor"
    limit: float | None = None  # of `ratio`, or of `ours` where there is no reference
    higher_is_better: bool = False
    peers: dict[str, Sample] = field(default_factory=dict)
    beats_peers: bool = False  # the demand asks for the best of them too
    skipped: str = ""  # why there is no figure
    note: str = ""

    @property
    def ratio(self) -> float | None:
        if self.ours is None or self.reference is None:
            return None
        return self.ours.median / self.reference.median

    @property
    def verdict(self) -> str:
        if self.skipped:
            return "skipped"
        value = (
            self.ratio if self.reference is not None else (self.ours.median if self.ours else None)
        )
        if value is None or self.limit is None:
            return ""
        bounds = [(value, self.limit)]
        if self.beats_peers and self.ours is not None:
            bounds += [(self.ours.median, peer.median) for peer in self.peers.values()]
        met = all(a >= b if self.higher_is_better else a <= b for a, b in bounds)
        return "met" if met else "MISSED"

    def as_json(self) -> str:
        return json.dumps({**asdict(self), "ratio": self.ratio, "verdict": self.verdict})


def row_from_json(line: str) -> Row:
    """The row that `as_json` wrote."""
    data = json.loads(line)
    data.pop("ratio"), data.pop("verdict")
    for name in ("ours", "reference"):
        data[name] = Sample(**data[name]) if data[name] else None
    data["peers"] = {name: Sample(**sample) for name, sample in data["peers"].items()}
    return Row(**data)


def call_us(
    call: Callable[..., object],
    wait: Callable[[], object] = lambda: None,
    calls: int = 2000,
    repeats: int = 15,
    clock: Callable[[], int] = time.perf_counter_ns,
    args: tuple = (),
) -> Sample:
    """Microseconds a call: batches of `call(*args)` in a plain loop, one wait at the end of each batch. Where a
    tenth of a microsecond counts, pass `args` and no lambda, whose own call would be measured too. With the clock
    time.process_time_ns it is the CPU time of all threads, which other processes disturb less.
    """
    for _ in range(min(calls, 200)):
        call(*args)
    wait()
    values = []
    for _ in range(repeats):
        began = clock()
        for _ in range(calls):
            call(*args)
        wait()
        values.append((clock() - began) / calls / 1e3)
    return Sample.of(values)


def alternate(calls: dict[str, Callable[[], Sample]], rounds: int = 5) -> dict[str, Sample]:
    """Runs the measurements in turn, several rounds, so that a noisy minute hits all of them; the round with the
    median of medians speaks for each. Every second round goes backwards, so that none always follows one that leaves
    caches and pages to others (a call on 10^7 elements behind NumPy's, which gives its pages back: 1.1 to 1.6 times).
    """
    rounds_of: dict[str, list[Sample]] = {name: [] for name in calls}
    for k in range(rounds):
        for name, call in list(calls.items())[:: -1 if k % 2 else 1]:
            rounds_of[name].append(call())
    return {
        name: sorted(s, key=lambda sample: sample.median)[len(s) // 2]
        for name, s in rounds_of.items()
    }


def have(module: str) -> bool:
    """Whether a peer can be imported and used."""
    import importlib

    try:
        importlib.import_module(module)
    except Exception:
        return False
    return True
