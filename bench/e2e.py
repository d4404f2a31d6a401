#!/usr/bin/env python3
"""Times whole commands, with their peak memory, and writes what it saw as JSON.

Usage: e2e.py VENEER OUT.json [--runs N] [--model FILE --size 512 --steps 2]

Without --model the model that ships with the program draws at its own size with 20 steps. Every case runs once to warm the file
cache, then N times; the table shows medians. Memory is the largest resident set of the process, mapped weights included.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile


def run_once(command):
    """The program's own account (--json), with wall seconds and peak bytes of the process."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        text = output.read().decode()
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed\n{text}")
    report = json.loads(text)
    return {**report["seconds"], "peak_bytes": usage.ru_maxrss * 1024, "cpu": usage.ru_utime + usage.ru_stime}


def measure(name, command, runs, steps):
    run_once(command)
    samples = [run_once(command) for _ in range(runs)]
    case = {"name": name, "steps": steps, "runs": runs}
    for key in samples[0]:
        case[key] = statistics.median(sample[key] for sample in samples)
        case[key + "_all"] = [sample[key] for sample in samples]
    case["step"] = case["sample"] / steps
    return case


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("veneer")
    parser.add_argument("out")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--model")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=2)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "out.png")
        common = [arguments.veneer, "image", "--json", "-p", "red apple", "-o", picture, "--sampling-method", "euler"]
        cases = []
        if arguments.model:
            size = str(arguments.size)
            command = common + ["-m", arguments.model, "-W", size, "-H", size, "--steps", str(arguments.steps)]
            cases.append(measure(f"{os.path.basename(arguments.model)} {size}x{size}", command, arguments.runs, arguments.steps))
        else:
            cases.append(measure("emoji-v1 128x128", common, arguments.runs, 20))
    report = {"processor": processor(), "cores": os.cpu_count(), "cases": cases}
    with open(arguments.out, "w", encoding="utf-8") as out:
        json.dump(report, out, indent=1)
    print(f"{report['processor']}, {report['cores']} cores, median of {arguments.runs}")
    print(f"{'case':32} {'load s':>8} {'text s':>8} {'step s':>8} {'decode s':>9} {'total s':>8} {'peak MB':>8}")
    for case in cases:
        print(f"{case['name']:32} {case['load']:8.3f} {case['text']:8.3f} {case['step']:8.3f} {case['decode']:9.3f} {case['total']:8.3f} {case['peak_bytes'] / 1e6:8.0f}")


if __name__ == "__main__":
    main()
