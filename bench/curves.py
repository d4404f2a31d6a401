#!/usr/bin/env python3
"""How a step's time grows: threads, picture size, calls in one batch, rank and number of adapters. Draws docs/curves/*.svg.

Usage: curves.py VENEER MODEL.safetensors [--out FOLDER] [--results FILE]     MODEL from make_model.py sd15

Every point is `veneer bench --json` in a process of its own; adapters are made beside the model. With --results, what
was measured is kept in that file and not measured again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = (256, 384, 512, 768, 1024)
RANKS = (4, 16, 64, 128)


class Runs:
    """Steps that were timed, by what was asked for."""

    def __init__(self, veneer, model, file):
        self.veneer, self.model, self.file, self.known = veneer, model, file, {}
        if file and os.path.exists(file):
            with open(file, encoding="utf-8") as text:
                self.known = json.load(text)

    def row(self, size=512, threads=2, cfg=1, adapters=(), steps=3):
        key = f"{size} {threads} {cfg} {' '.join(os.path.basename(path) for path in adapters)}"
        if key not in self.known:
            command = [self.veneer, "bench", "--json", "-q", "-m", self.model, "-W", str(size), "-H", str(size), "-t",
                       str(threads), "--cfg-scale", str(cfg), "--steps", str(steps)]
            for path in adapters:
                command += ["--adapter", path]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}:\n{done.stderr[-2000:]}")
            self.known[key] = json.loads(done.stdout)["rows"]
            print(key, [row["seconds"]["step"] for row in self.known[key]], file=sys.stderr)
            if self.file:
                with open(self.file, "w", encoding="utf-8") as text:
                    json.dump(self.known, text, indent=1)
        return self.known[key]

    def step(self, **asked):
        return self.row(**asked)[0]["seconds"]["step"]

    def adapted(self, adapters):
        """A step with adapters over the bare step of the same run."""
        bare, with_adapters = self.row(adapters=adapters)
        return with_adapters["seconds"]["step"] / bare["seconds"]["step"]


def adapters_for(model, folder, count, rank):
    paths = []
    for number in range(count):
        path = os.path.join(folder, f"lora-{rank}-{number + 1}.safetensors")
        subprocess.run([sys.executable, os.path.join(HERE, "make_adapter.py"), model, path, "--family", "lora", "--rank",
                        str(rank)], check=True)
        paths.append(path)
    return paths


def ticks(top):
    step = next(step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if top / step <= 6)
    return [step * i for i in range(int(top / step) + 1)]


def svg(title, x_title, y_title, series):
    """A chart as text; `series` is {name: [(label of x, y)]}, x at equal distances, y from 0."""
    left, top, width, height = 52, 34, 360, 190
    labels = [label for label, _ in next(iter(series.values()))]
    most = 1.1 * max(y for points in series.values() for _, y in points)
    colours = ("#1f6feb", "#d1242f", "#8250df")

    def x_at(i):
        return left + width * (i + 0.5) / len(labels)

    def y_at(value):
        return top + height * (1 - value / most)

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {top + height + 62}" '
             'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="18" font-size="13">{title}</text>']
    for value in ticks(most):
        y = y_at(value)
        lines.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for i, label in enumerate(labels):
        lines.append(f'<text x="{x_at(i):.1f}" y="{top + height + 16}" text-anchor="middle">{label}</text>')
    lines.append(f'<text x="{left + width / 2}" y="{top + height + 34}" text-anchor="middle">{x_title}</text>')
    lines.append(f'<text x="14" y="{top + height / 2}" text-anchor="middle" '
                 f'transform="rotate(-90 14 {top + height / 2})">{y_title}</text>')
    for (name, points), colour in zip(series.items(), colours, strict=False):
        path = " ".join(f"{x_at(i):.1f},{y_at(y):.1f}" for i, (_, y) in enumerate(points))
        dash = ' stroke-dasharray="5 4"' if name.startswith("in proportion") else ""
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        if not dash:
            for i, (_, y) in enumerate(points):
                lines.append(f'<circle cx="{x_at(i):.1f}" cy="{y_at(y):.1f}" r="3" fill="{colour}"/>')
                lines.append(f'<text x="{x_at(i):.1f}" y="{y_at(y) - 7:.1f}" text-anchor="middle">{y:.2f}</text>')
    if len(series) > 1:
        for (name, _), colour, i in zip(series.items(), colours, range(3), strict=False):
            lines.append(f'<text x="{left + 150 * i}" y="{top + height + 54}" fill="{colour}">{name}</text>')
    return "\n".join(lines) + "\n</svg>\n"


def measure(runs, folder):
    """{file name: chart}"""
    sizes = [runs.row(size=size)[0] for size in SIZES]
    whole = sizes[SIZES.index(512)]
    proportional = [row["flops"]["step"] / whole["flops"]["step"] * whole["seconds"]["step"] for row in sizes]
    threads = [("1", runs.step(threads=1)), ("2", runs.step(threads=2))]
    ranks = [(str(rank), runs.adapted(adapters_for(runs.model, folder, 1, rank))) for rank in RANKS]
    several = adapters_for(runs.model, folder, 5, 16)
    counts = [(str(count), runs.adapted(several[:count])) for count in range(1, 6)]
    batch = [("1", runs.step(cfg=1)), ("2", runs.step(cfg=7))]
    return {
        "threads": svg("One model call, 512x512", "threads", "seconds", {"measured": threads}),
        "sizes": svg("One model call by picture size", "pixels a side", "seconds",
                     {"measured": [(str(s), row["seconds"]["step"]) for s, row in zip(SIZES, sizes, strict=True)],
                      "in proportion to operations": [(str(s), y) for s, y in zip(SIZES, proportional, strict=True)]}),
        "batch": svg("Conditions in one model call, 512x512", "conditions (2: with guidance)", "seconds",
                     {"measured": batch}),
        "ranks": svg("A LoRA on every layer, over the bare step", "rank", "ratio", {"measured": ranks}),
        "adapters": svg("LoRAs of rank 16 at once, over the bare step", "adapters", "ratio", {"measured": counts}),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("veneer")
    parser.add_argument("model")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "docs", "curves"))
    parser.add_argument("--results", metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        charts = measure(Runs(options.veneer, options.model, options.results), folder)
    os.makedirs(options.out, exist_ok=True)
    for name, chart in charts.items():
        with open(os.path.join(options.out, name + ".svg"), "w", encoding="utf-8") as file:
            file.write(chart)


if __name__ == "__main__":
    main()
