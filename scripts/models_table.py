#!/usr/bin/env python3
"""Writes the table "tested how" of docs/models.md from the tests that a build has; with --check only compares.

Usage: models_table.py BUILD_DIR [--check]

A cell is what the tests that match its patterns say, and how many they are; a pattern that matches none is an error, so
the table cannot claim what is not tested.
"""

import argparse
import fnmatch
import pathlib
import subprocess
import sys

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "models.md"
BEGIN, END = "<!-- from the tests: scripts/models_table.py -->", "<!-- end -->"

NETWORK, RUN = "golden_model", "golden_pipeline"
COLUMNS = ["family", "network", "text encoders", "autoencoder", "whole run", "spellings of files", "adapters by name",
           "adapters in every format and mode"]


def golden(*patterns):
    return [("golden", NETWORK, pattern) for pattern in patterns]


def names(*models):
    """Every spelling of every layer of the real model's table, to exactly one layer and back."""
    return [("names", "golden_adapt", f"Models/{suite}.* {model}*") for suite, model in models]


def unit(*patterns):
    return [("properties", "unit_pipeline", pattern) for pattern in patterns]


ROWS = [
    ("SD 1.x", [golden("Forms/Sd1.UNet*"), golden("Forms/Sd1.TextEncoder*"), golden("Forms/Sd1.Autoencoder*"),
                [("golden", RUN, "Trajectory.*"), ("demo model, golden", RUN, "Runs/Demo.*")],
                golden("Forms/Sd1.*/SingleFile*"), names(("ResolvedNames", "sd15")),
                [("golden", RUN, "*TinyAdapters.*"), ("agree", RUN, "*OverlayMatrix.TinySd1*")]]),
    ("inpainting, edit and distilled models",
     [unit("UnetInputs.*") + [("golden", RUN, "UnetInputGoldens.Guidance*")], [], [],
      [("golden", RUN, "UnetInputGoldens.Inpainting"), ("golden", RUN, "UnetInputGoldens.Editing")], [], [], []]),
    ("SD 2.x", [golden("Forms/Sd2.UNet*"), golden("Forms/Sd2.TextEncoder*"), [],
                [("golden", RUN, "UnetFamilies.Sd2*")], [], names(("ResolvedNames", "sd21")), []]),
    ("SDXL", [golden("Forms/Sdxl.UNet*"), golden("Forms/Sdxl.TextEncoders*"), golden("Forms/Sdxl.Autoencoder*"),
              [("golden", RUN, "SdxlRuns.WithoutAdapters")], golden("Forms/Sdxl.*/*Original"),
              names(("ResolvedNames", "sdxl")), [("golden", RUN, "SdxlRuns.UnderAdapters")]]),
    ("SDXL refiner", [golden("Forms/Refiner.UNet*"), golden("Forms/Refiner.TextEncoder*"), [],
                      [("runs", RUN, "UnetFamilies.TheRefiner*")], [], [], []]),
    ("PixArt", [golden("*/PixArt.TwoTimesteps*", "*/PixArt.SizesAsConditions*"),
                golden("*/PixArt.ItsTextEncoder*", "*/T5.States*"), [], [("golden", RUN, "PixArtRuns.Euler*")],
                golden("*/PixArt.OriginalSpelling*"), names(("ResolvedNames", "pixart")),
                [("golden", RUN, "PixArtRuns.Adapters*"), ("agree", RUN, "*OverlayMatrix.TinyPixArt*")]]),
    ("SD3, SD3.5", [golden("Forms/Sd3.*"), golden("*/T5.States*"), golden("Forms/*Autoencoder.*"),
                    [("golden", RUN, "MmditTrajectory.TinySd3")], golden("Forms/Sd3.*Original*"),
                    names(("ResolvedNames", "sd3"), ("FusedNames", "sd3")), []]),
    ("FLUX.1", [golden("Forms/Flux.*"), golden("*/T5.States*"), golden("Forms/*Autoencoder.*"),
                [("golden", RUN, "MmditTrajectory.TinyFlux*")], golden("Forms/Flux.*Original*"),
                names(("ResolvedNames", "flux"), ("FusedNames", "flux")),
                [("agree", RUN, "*OverlayMatrix.TinyFlux*")]]),
    ("tiny autoencoders", [[], [], golden("*TinyAutoencoders.*"), [("demo model, golden", RUN, "Runs/DemoTiny.*")],
                           golden("*TinyAutoencoders.*Pair*"), [], []]),
]


def tests_of(program):
    """Names, with the parameter behind a blank where it is a text."""
    listed = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
    suite, tests = "", []
    for line in listed.splitlines():
        name, _, parameter = line.partition("#")
        name = name.strip()
        if line.startswith("  "):
            text = parameter.split('"')[1] if parameter.count('"') == 2 else ""
            tests.append(f"{suite}{name} {text}")
        elif name.endswith("."):
            suite = name
    return tests


def cell(claims, tests, family):
    words = []
    for word, program, pattern in claims:
        count = len(fnmatch.filter(tests[program], pattern if " " in pattern else pattern + " *"))
        if count == 0:
            sys.exit(f"{family}: no test of {program} matches {pattern}")
        words.append((word, count))
    merged = {}
    for word, count in words:
        merged[word] = merged.get(word, 0) + count
    return "; ".join(f"{word} ({count})" for word, count in merged.items())


def table(build):
    programs = {claim[1] for _, cells in ROWS for claims in cells for claim in claims}
    tests = {program: tests_of(build / program) for program in programs}
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    for family, cells in ROWS:
        lines.append(f"| {family} | " + " | ".join(cell(claims, tests, family) for claims in cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    made = f"{before}{BEGIN}\n{table(options.build)}\n{END}{after}"
    if options.check and made != text:
        sys.exit("docs/models.md: its table is not that of the tests; run scripts/models_table.py BUILD_DIR")
    if not options.check:
        DOCUMENT.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
