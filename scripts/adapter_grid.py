#!/usr/bin/env python3
"""Draws the demo's adapters on the demo model held in several formats, as one picture: a row a format, a column an adapter.

Usage: adapter_grid.py VENEER OUT.png [--prompt TEXT] [--seed N]

Standard library only. The first column has no adapter; rows are F16, FP8, Q4_0 and SDNQ uint4.
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import zlib

ADAPTERS = [None, "lineart-lora", "night-locon", "sepia-loha", "pastel-lokr", "mosaic-dora"]
FORMATS = [None, "f8_e4m3", "q4_0", "sdnq_uint4"]
GAP = 4


def rows_of(path):
    """The rows of an 8-bit RGB picture without interlacing, each as bytes."""
    with open(path, "rb") as file:
        data = file.read()
    at, body, width, height = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", chunk[:8])
        elif kind == b"IDAT":
            body += chunk
        at += 12 + size
    raw, stride, rows, before = zlib.decompress(body), 3 * width, [], bytearray(3 * width)
    for y in range(height):
        method, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left, up, corner = (line[x - 3], before[x], before[x - 3]) if x >= 3 else (0, before[x], 0)
            guess = left + up - corner
            paeth = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            line[x] = (line[x] + (0, left, up, (left + up) // 2, paeth)[method]) % 256
        rows.append(bytes(line))
        before = line
    return rows


def write_png(path, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b""))


def draw(arguments, kind, adapter, folder):
    out = os.path.join(folder, "one.png")
    command = [arguments.veneer, "image", "-p", arguments.prompt, "-s", str(arguments.seed), "--cfg-scale", "5", "-q", "-o", out]
    if kind:
        command += ["--type", kind]
    if adapter:
        models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "adapters")
        command += ["--adapter", os.path.join(models, adapter + ".safetensors")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return rows_of(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("veneer")
    parser.add_argument("out")
    parser.add_argument("--prompt", default="cat face")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    grid = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in FORMATS:
            pictures = [draw(arguments, kind, adapter, folder) for adapter in ADAPTERS]
            if grid:
                grid += [b"\xff" * len(grid[0])] * GAP
            grid += [(b"\xff" * 3 * GAP).join(picture[y] for picture in pictures) for y in range(len(pictures[0]))]
    write_png(arguments.out, grid)


if __name__ == "__main__":
    main()
