#!/usr/bin/env python3
"""Checks what the compiler does not: who includes whom, sizes, headers that compile alone, words, formatting.

Prints one line a finding. Warnings are for the reviewer; any error makes the exit code 1. The rules are those of
docs/design.md, sections 3 and 12.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = {".cpp", ".h"}
TEXT = CODE | {".c", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".case", ".yml"}
DATA = ("tests/data/", "tests/fuzz/corpus/", "models/")

# The arrows of the drawing: a folder may include itself, these, and whatever lies below them.
USES = {
    "core": [],
    "codec": ["core"],
    "io": ["codec"],
    "device": ["io"],
    "nn": ["device"],
    "adapt": ["nn"],
    "text": ["core"],
    "model": ["nn", "text"],
    "sample": ["core"],
    "pipeline": ["model", "adapt", "sample"],
    "capi": ["pipeline"],
    "apps": ["pipeline"],
}

# Headers of other projects, and the only places that may include them.
THIRD_PARTY = [
    (r"(oneapi/)?dnnl", ["src/device/cpu/"]),
    (r"hwy/", ["src/device/cpu/", "src/codec/", "tests/conformance/device/", "tests/support/", "bench/"]),
    (r"omp\.h", ["src/core/", "src/device/cpu/", "bench/"]),
    (r"nlohmann/", ["src/core/json.h"]),
    (r"openssl/", ["src/core/"]),
    (r"(spng|jpeglib|jerror|turbojpeg)\.h|webp/", ["src/io/", "tests/unit/io/"]),
    (r"zlib\.h", ["src/io/", "src/text/", "tests/unit/io/"]),
    (r"utf8proc\.h", ["src/text/"]),
    (r"CLI/", ["apps/"]),
    (r"gtest/|gmock/", ["tests/"]),
    (r"benchmark/", ["bench/"]),
]

# What is measured: (reviewer's limit, limit that fails).
LIMITS = {"file": (400, 600), "header": (200, 300), "function": (60, 100), "parameters": (5, 8)}

# (path, what is measured): the reason why it may be over the failing limit.
EXCEPTIONS = {}

# Split so that this file does not contain them.
WORDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.}>-])/(ho" r"me|ro" r"ot|wo" r"rk|Us" r"ers|fa" r"rm)/\w")
SKIPPED_TESTS = re.compile(r"\bDIS" r"ABLED_|\bGTEST_" r"SKIP\b")


def run(command, source=None):
    return subprocess.run(command, cwd=ROOT, input=source, check=False, capture_output=True, text=True)


class Findings:
    def __init__(self):
        self.errors = 0
        self.warnings = 0

    def error(self, place, message):
        self.errors += 1
        print(f"{place}: error: {message}")

    def warn(self, place, message):
        self.warnings += 1
        print(f"{place}: warning: {message}")

    def measure(self, path, place, kind, size):
        soft, hard = LIMITS[kind]
        if size > hard and (str(path), kind) not in EXCEPTIONS:
            self.error(place, f"{kind} of {size}, never over {hard}")
        elif size > soft:
            self.warn(place, f"{kind} of {size}, over {soft}")


def project_files():
    """Every file that is tracked or could be, except data; paths relative to the root."""
    listed = run(["git", "ls-files", "-co", "--exclude-standard"]).stdout
    names = [name for name in sorted(set(listed.splitlines())) if not name.startswith(DATA)]
    return [pathlib.Path(name) for name in names if (ROOT / name).is_file()]


def folder_of(path):
    """The box of the drawing that a source file belongs to, or None: tests and benchmarks may use everything."""
    if path.parts[0] == "src" and len(path.parts) > 2:
        return path.parts[1]
    return "apps" if path.parts[0] == "apps" else None


def below(folder):
    reached, open_ends = set(), [folder]
    while open_ends:
        current = open_ends.pop()
        if current not in reached:
            reached.add(current)
            open_ends += USES[current]
    return reached


def check_includes(path, text, findings):
    folder = folder_of(path)
    if folder is not None and folder not in USES:
        findings.error(path, f"folder {folder} is not in the drawing")
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)', line)
        if not match:
            continue
        place, quote, header = f"{path}:{number}", *match.groups()
        target = header.split("/")[0]
        if quote == '"' and folder and target in USES and target not in below(folder):
            findings.error(place, f"{folder} may not include {header}")
        for pattern, homes in THIRD_PARTY:
            if re.match(pattern, header) and not str(path).startswith(tuple(homes)):
                findings.error(place, f"{header} belongs in {' or '.join(homes)} only")


def without_comments(text):
    """Comments and literals emptied; line numbers stay."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    return re.sub(pattern, lambda match: "\n" * match.group().count("\n"), text, flags=re.DOTALL)


def functions(lines):
    """Yields (first line, lines) of each body. In formatted code a function ends with a brace alone on its line, in the
    column where its head begins; types end with a semicolon after it and namespaces with a comment."""
    for end, line in enumerate(lines):
        match = re.fullmatch(r"((?:  )?)\}", line)
        if not match:
            continue
        start = end - 1
        while start > 0 and not re.match(match.group(1) + r"[^\s}#/]", lines[start]):
            start -= 1
        yield start + 1, end - start + 1


def parameter_lists(code):
    """Yields (offset, count) of what looks like a function's parameters: every part is a type and a name."""
    for match in re.finditer(r"\b\w+\(", code):
        depth, at, parts = 1, match.end(), [""]
        while at < len(code) and depth > 0:
            depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(code[at], 0)
            if code[at] == "," and depth == 1:
                parts.append("")
            else:
                parts[-1] += code[at]
            at += 1
        if all(re.match(r"\s*(const )?[\w:]+(<.*>)?[ &*]+\w+\s*(=|\)|$)", part, re.DOTALL) for part in parts):
            yield match.start(), len(parts)


def check_sizes(path, text, findings):
    lines = text.splitlines()
    findings.measure(path, path, "header" if path.suffix == ".h" else "file", len(lines))
    code = without_comments(text)
    for start, length in functions(lines):
        findings.measure(path, f"{path}:{start}", "function", length)
    for offset, count in parameter_lists(code):
        findings.measure(path, f"{path}:{code.count(chr(10), 0, offset) + 1}", "parameters", count)


def check_words(path, text, findings):
    for number, line in enumerate(text.splitlines(), 1):
        if WORDS.search(line):
            findings.error(f"{path}:{number}", "unfinished work is an issue, not a note in the code")
        if MACHINE_PATHS.search(line):
            findings.error(f"{path}:{number}", "names a path of one machine")
        if path.parts[0] == "tests" and SKIPPED_TESTS.search(line):
            findings.error(f"{path}:{number}", "a test that does not run is no test")


def check_headers(paths, findings):
    folders = [f"-I{folder}" for folder in ("src", "apps", "include", ".")]
    places = [f'-DVENEER_{name}_DIR=""' for name in ("SOURCE", "BUILD", "DATA")]  # what CMake gives to tests
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", *folders, *places, "-xc++", "-"]

    def compile_alone(path):
        source = f'#include "{path}"\n#include "{path}"\n'  # twice: it must also guard itself
        return path, run(command, source)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, result in pool.map(compile_alone, paths):
            if result.returncode != 0:
                findings.error(path, f"does not compile alone\n{result.stderr.strip()}")


def check_format(paths, findings):
    result = run(["clang-format", "--dry-run", "-Werror", *map(str, paths)])
    for name in sorted(set(re.findall(r"^([^:\s]+):\d+:\d+: error", result.stderr, re.MULTILINE))):
        findings.error(name, "is not formatted; run clang-format -i on it")
    if result.returncode != 0 and not result.stderr:
        findings.error("clang-format", "failed without a message")


def main():
    findings = Findings()
    files = project_files()
    code = [path for path in files if path.suffix in CODE]
    for path in files:
        if path.suffix not in TEXT and path.name not in ("Makefile", "CMakeLists.txt", "run"):
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        check_words(path, text, findings)
        if path.suffix in CODE:
            check_includes(path, text, findings)
            check_sizes(path, text, findings)
    check_format(code, findings)
    check_headers([path for path in code if path.suffix == ".h" and not path.name.endswith("-inl.h")], findings)
    print(f"check: {len(files)} files, {findings.errors} errors, {findings.warnings} warnings")
    return 1 if findings.errors else 0


if __name__ == "__main__":
    sys.exit(main())
