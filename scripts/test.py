#!/usr/bin/env python3
"""Builds the named presets and runs their tests with ctest; ends with one line of counts over all of them.

A preset that does not build counts as one failed test, and the others are still built and run.
"""
import argparse
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent


def runs(*command):
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test(preset, only):
    """Returns (passed, failed names) of one preset."""
    if not runs("cmake", "--preset", preset, "--log-level=WARNING") or not runs("cmake", "--build", "--preset", preset):
        return 0, [f"{preset}: build"]
    report = ROOT / "build" / preset / "report.xml"
    report.unlink(missing_ok=True)
    ended_well = runs("ctest", "--preset", preset, "--output-junit", str(report), *(["-R", only] if only else []))
    if not report.is_file():
        return 0, [f"{preset}: ctest"]
    cases = ElementTree.parse(report).getroot().findall("testcase")
    failed = [f"{preset}: {case.get('name')}" for case in cases if case.get("status") != "run"]
    if not ended_well and not failed:
        failed = [f"{preset}: ctest"]
    return len(cases) - len(failed), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="+", metavar="PRESET")
    parser.add_argument("--only", metavar="PATTERN", help="run the tests whose names match")
    options = parser.parse_args()

    passed, failed, lines = 0, [], []
    for preset in options.presets:
        start = time.monotonic()
        count, names = test(preset, options.only)
        passed += count
        failed += names
        lines.append(f"{preset:8} {count} passed, {len(names)} failed, {time.monotonic() - start:.0f} s")
    print("\n" + "\n".join(lines + [f"failed   {name}" for name in failed]))
    print(f"{passed} passed, {len(failed)} failed", flush=True)
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
