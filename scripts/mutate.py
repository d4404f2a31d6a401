#!/usr/bin/env python3
"""Breaks one rule of the adapters at a time, in a copy of the tree, and reports the breaks that no test notices.

The rules are those of the decision table (which layers are merged, what is told) and one formula of each family. A
survivor is a missing test. Takes minutes, so it is run by hand: after changes in src/adapt, or when a rule is added,
which then gets a line below.
"""
import argparse
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

UNIT = ("unit_adapt", "*")
GOLDEN = ("golden_adapt", "*")
MATRIX = ("conformance_overlays", "*/no_f16:*/host_memory*")
STACK = "src/adapt/stack.cpp"
PROGRAMS = "src/adapt/layer_programs.cpp"
FAMILIES = "src/adapt/families/"

# A broken rule may leave a name unused, which is an error elsewhere.
KINDS = ("function", "parameter", "variable")
MAY_BE_UNUSED = "".join(f'#pragma GCC diagnostic ignored "-Wunused-{kind}"\n' for kind in KINDS)


@dataclasses.dataclass(frozen=True)
class Mutant:
    rule: str
    file: str
    old: str
    new: str
    tests: tuple  # (program, filter): at least one of them has to fail


def family(name, old, new):
    return Mutant(f"family {name}", f"{FAMILIES}{name}.cpp", old, new, (GOLDEN, UNIT))


MUTANTS = [
    Mutant("FP8 is merged", STACK, 'if (held.starts_with("f8")) return "held as FP8";',
           'if (held.starts_with("f8")) return "";', (MATRIX, UNIT)),
    Mutant("only E4M3 is held back", STACK, 'if (held.starts_with("f8")) return',
           'if (held == "f8_e5m2") return "";\n  if (held.starts_with("f8")) return', (MATRIX, UNIT)),
    Mutant("the probe is skipped", STACK, "!device.host_visible() && !device.can_add_into(held)", "false",
           (MATRIX, UNIT)),
    Mutant("the probe is asked of host memory", STACK, "!device.host_visible() && !device.can_add_into(held)",
           "!device.can_add_into(held)", (MATRIX,)),
    Mutant("the probe is the denoiser's", STACK, "return one.part == part;",
           "return one.part == io::Part::kDenoiser;", (UNIT,)),
    Mutant("auto merges", STACK, "options_.mode == ApplyMode::kImmediately", "options_.mode != ApplyMode::kAtRuntime",
           (MATRIX, UNIT)),
    Mutant("immediately ignores what holds it back", STACK, "if (result.blocker.empty()) {",
           "if (result.blocker.empty() || !layer.layer->weight.side) {", (MATRIX, UNIT)),
    Mutant("what was not merged is not told", STACK, "if (!result.blocker.empty())", "if (false)", (MATRIX, UNIT)),
    Mutant("dense terms run beside", "src/nn/overlay.cpp", "if (dense) return options_.fold_dense;",
           "if (dense) return false;", (MATRIX,)),
    Mutant("an adapted bias is forgotten", "src/nn/product.cpp", "overlay && overlay->bias ? *overlay->bias",
           "overlay && overlay->bias ? layer.bias", (MATRIX,)),
    Mutant("sums run in the order of mention", PROGRAMS, "if (combine == Combine::kSum)", "if (false)", (UNIT,)),
    Mutant("chains are sorted", PROGRAMS, "if (combine == Combine::kSum)", "if (true)", (GOLDEN,)),
    Mutant("text encoders take the denoiser's strength", PROGRAMS,
           "is_text_encoder(site.part) ? entry.text_encoder : entry.denoiser", "entry.denoiser", (UNIT,)),
    Mutant("strict forgives", STACK, "policy == Policy::kStrict && keys", "false && keys", (GOLDEN,)),
    Mutant("lenient does not", STACK, "if (fault && policy != Policy::kLenient)", "if (fault)", (GOLDEN,)),
    Mutant("broken files are drawn with", STACK, "if (!fitted.broken.empty())", "if (false)", (UNIT,)),
    family("lora", 'low_rank_term(site, factors, scale, "lora")', 'low_rank_term(site, factors, 1, "lora")'),
    family("loha", 'khatri_rao(first, second), scale, "loha"', 'khatri_rao(first, first), scale, "loha"'),
    family("lokr", "right.up, static_cast<float>(scale)}", "right.up, 1.0f}"),
    family("glora", "static_cast<float>(scale), nn::Side::kInput", "1.0f, nn::Side::kInput"),
    family("ia3", "for (float& factor : factors.values()) factor += 1;", ""),
    family("oft", "rotate_term(transposed(rotations)", "rotate_term((rotations)"),
    family("oft_peft", "for (double& value : skew.values) value = -value;", ""),
    family("boft", "interpolate(rotations, options.strength);", ""),
    family("boft_peft", "blocks_from(stored), -0.5", "blocks_from(stored), -1"),
    family("dora", "magnitude / (norm + kFloatEpsilon)", "magnitude / 1 + 0 * (norm + kFloatEpsilon)"),
    family("full", "lowered.terms.push_back(difference(weight));",
           "lowered.terms.insert(lowered.terms.end(), 2, difference(weight));"),
    family("bias", "double factor = lowered.strength_inside ? options.strength : 1;", "double factor = 1;"),
    family("adalora", "factors.down.f32()[i] *= singular.f32()[i / width];", "(void)singular.f32()[i / width];"),
    family("vera", "row_factors.f32()[i] * shared.f32()", "shared.f32()"),
    family("sparse", "dense.scale = scale_of(lowered.terms[0]);", ""),
]


class Copy:
    """A copy of the tree, as it lies on disk, with a build folder of its own."""

    def __init__(self, folder, jobs):
        self.tree, self.build, self.jobs = folder / "tree", folder / "build", jobs

    def make(self):
        shutil.rmtree(self.tree, ignore_errors=True)
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                check=True, stdout=subprocess.PIPE, text=True).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
        if shutil.which("ccache"):
            options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        subprocess.run(["cmake", "-S", self.tree, "-B", self.build, "--log-level=WARNING", *options], check=True,
                       stdout=subprocess.DEVNULL)

    def builds(self, programs):
        environment = {**os.environ, "CCACHE_BASEDIR": str(self.tree.parent)}
        command = ["ninja", "-C", self.build, f"-j{self.jobs}", *programs]
        done = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print(done.stdout[-3000:])
        return done.returncode == 0

    def passes(self, program, pattern):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [self.build / program, f"--gtest_filter={pattern}", "--gtest_fail_fast"]
        return subprocess.run(command, check=False, **quiet).returncode == 0

    def judge(self, mutant):
        """Returns what became of the mutant: "killed by PROGRAM", "SURVIVED" or "DOES NOT APPLY"."""
        path = self.tree / mutant.file
        original = path.read_text(encoding="utf-8")
        if original.count(mutant.old) != 1:
            return "DOES NOT APPLY"
        path.write_text(MAY_BE_UNUSED + original.replace(mutant.old, mutant.new), encoding="utf-8")
        try:
            if not self.builds([program for program, _ in mutant.tests]):
                return "DOES NOT APPLY"
            for program, pattern in mutant.tests:
                if not self.passes(program, pattern):
                    return f"killed by {program}"
            return "SURVIVED"
        finally:
            path.write_text(original, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="TEXT", default="", help="the rules that contain the text")
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / "build" / "mutate", metavar="FOLDER")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    chosen = [mutant for mutant in MUTANTS if options.only in mutant.rule]
    programs = {test for mutant in chosen for test in mutant.tests}
    copy = Copy(options.scratch, options.jobs)
    copy.make()
    if not copy.builds(sorted({program for program, _ in programs})):
        return "the tree does not build"
    for program, pattern in sorted(programs):
        if not copy.passes(program, pattern):
            return f"{program} fails before anything is broken"
    bad = 0
    for mutant in chosen:
        start = time.monotonic()
        verdict = copy.judge(mutant)
        bad += not verdict.startswith("killed")
        print(f"{verdict:32} {mutant.rule} ({mutant.file}), {time.monotonic() - start:.0f} s", flush=True)
    print(f"{len(chosen) - bad} killed, {bad} not")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
