"""The benchmarks: `make bench`, or `python -m tests.bench --section cpu`. Timings are reported, they never fail."""
