#!/usr/bin/env python3
"""Sets two runs of the same machine side by side: medians, ratio, and an arrow where they differ by more than three per cent.

Usage: compare.py BEFORE.json AFTER.json

Reads what e2e.py writes, and what bench_micro writes with --benchmark_out=FILE --benchmark_repetitions=5.
"""

import json
import statistics
import sys

NOTABLE = 0.03


def medians(path):
    """{name: seconds} of one file."""
    with open(path, encoding="utf-8") as text:
        report = json.load(text)
    out = {}
    for case in report.get("cases", []):
        for key in ("load", "text", "step", "decode", "total", "peak_bytes"):
            out[f"{case['name']} {key}"] = case[key]
    samples = {}
    for run in report.get("benchmarks", []):
        if run.get("run_type", "iteration") == "iteration":
            samples.setdefault(run["name"], []).append(run["real_time"])
    out.update({name: statistics.median(times) for name, times in samples.items()})
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    before, after = medians(sys.argv[1]), medians(sys.argv[2])
    for name in before:
        if name not in after:
            continue
        ratio = after[name] / before[name] if before[name] else 1.0
        mark = "  slower" if ratio > 1 + NOTABLE else "  faster" if ratio < 1 - NOTABLE else ""
        print(f"{name:60} {before[name]:12.4g} {after[name]:12.4g} {ratio:7.3f}{mark}")
    missing = sorted(set(before) ^ set(after))
    if missing:
        print("only in one of the two: " + ", ".join(missing))


if __name__ == "__main__":
    main()
