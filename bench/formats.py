#!/usr/bin/env python3
"""Converts the model that ships with the program to each format and draws with it; prints a table in Markdown.

Usage: formats.py VENEER [--runs N]

Size is that of the model's weights on disk. PSNR compares the pictures of three prompts with those of the model as it ships (F16),
same seed; higher is nearer. The step ratio is the median sampling step of N runs against F16, run turn by turn.
"""

import argparse
import json
import math
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib

PROMPTS = ["red apple", "cat face", "fire"]
STEPS = 20

# (what the table calls it, name of the output, options of convert)
FORMATS = [
    ("`f16` (as it ships)", None, []),
    ("`f32`", "f32.safetensors", ["--type", "f32"]),
    ("`bf16`", "bf16.safetensors", ["--type", "bf16"]),
    ("`f8_e4m3`", "e4m3.safetensors", ["--type", "f8_e4m3"]),
    ("`f8_e5m2`", "e5m2.safetensors", ["--type", "f8_e5m2"]),
    ("`f8_e4m3_scaled`", "scaled.safetensors", ["--type", "f8_e4m3_scaled"]),
    ("`f8_e4m3_scaled_rows`", "rows.safetensors", ["--type", "f8_e4m3_scaled_rows"]),
    ("`q8_0`", "q8_0.gguf", ["--type", "q8_0"]),
    ("`q5_1`", "q5_1.gguf", ["--type", "q5_1"]),
    ("`q5_0`", "q5_0.gguf", ["--type", "q5_0"]),
    ("`q4_1`", "q4_1.gguf", ["--type", "q4_1"]),
    ("`q4_0`", "q4_0.gguf", ["--type", "q4_0"]),
    ("`sdnq_int8`", "int8", ["--type", "sdnq_int8"]),
    ("`sdnq_uint4`", "uint4", ["--type", "sdnq_uint4"]),
    ("`sdnq_uint4_svd`", "uint4_svd", ["--type", "sdnq_uint4_svd"]),
]


def run(command):
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: failed\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def weights_bytes(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    folders = ("unet", "vae", "text_encoder")
    return sum(os.path.getsize(os.path.join(path, folder, name)) for folder in folders
               for name in os.listdir(os.path.join(path, folder)) if name.endswith(".safetensors"))


def paeth(left, up, corner):
    guess = left + up - corner
    nearest = min((abs(guess - left), 0), (abs(guess - up), 1), (abs(guess - corner), 2))[1]
    return (left, up, corner)[nearest]


def png_pixels(path):
    """The samples of an 8-bit RGB picture without interlacing, as this program writes them."""
    with open(path, "rb") as file:
        data = file.read()
    position, packed, width = 8, b"", 0
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position:position + 8])
        content = data[position + 8:position + 8 + length]
        if kind == b"IHDR":
            width = struct.unpack(">I", content[:4])[0]
        elif kind == b"IDAT":
            packed += content
        position += length + 12
    raw, stride = zlib.decompress(packed), width * 3
    pixels, before = bytearray(), bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        method, row = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride):
            left = row[i - 3] if i >= 3 else 0
            corner = before[i - 3] if i >= 3 else 0
            add = (0, left, before[i], (left + before[i]) // 2, paeth(left, before[i], corner))[method]
            row[i] = (row[i] + add) & 255
        pixels += row
        before = row
    return pixels


def psnr(pictures, references):
    squares = count = 0
    for picture, reference in zip(pictures, references):
        squares += sum((a - b) ** 2 for a, b in zip(picture, reference))
        count += len(reference)
    return math.inf if squares == 0 else 10 * math.log10(255 ** 2 * count / squares)


def command_for(veneer, model, tokenizer):
    own = os.path.isdir(model)
    return [veneer, "image", "--json", "-m", model, "--steps", str(STEPS), "--sampling-method", "euler"] + (
        [] if own else ["--tokenizer", tokenizer])


def draw(command, folder):
    """The samples of the pictures of all prompts."""
    path = os.path.join(folder, "picture.png")
    pictures = []
    for prompt in PROMPTS:
        run(command + ["-p", prompt, "-s", "7", "-o", path])
        pictures.append(png_pixels(path))
    return pictures


def step_ratio(command, reference, folder, runs):
    """The median step of `command` over that of `reference`, turn by turn so that both meet the same machine."""
    seconds = ([], [])
    for _ in range(runs):
        for each, of in zip((command, reference), seconds):
            report = run(each + ["-p", PROMPTS[0], "-o", os.path.join(folder, "picture.png")])
            of.append(report["seconds"]["sample"])
    return statistics.median(seconds[0]) / statistics.median(seconds[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("veneer")
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    shipped = run([arguments.veneer, "inspect", "emoji-v1", "--json"])["path"]
    tokenizer = os.path.join(shipped, "tokenizer")
    reference = command_for(arguments.veneer, shipped, tokenizer)
    print("| format | size | relative error added | PSNR, dB | step against F16 |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        references = draw(reference, folder)
        for name, output, options in FORMATS:
            model, errors = shipped, []
            if output:
                model = os.path.join(folder, output)
                report = run([arguments.veneer, "convert", "--json", "-m", shipped, "-o", model] + options)
                errors = [row["relative_error"] for row in report["types"]]
            command = command_for(arguments.veneer, model, tokenizer)
            noise = psnr(draw(command, folder), references)
            ratio = step_ratio(command, reference, folder, arguments.runs)
            error = f"{max(errors):.2g}" if errors and max(errors) > 0 else "none"
            same = "same pixels" if math.isinf(noise) else f"{noise:.1f}"
            print(f"| {name} | {weights_bytes(model) / 1e6:.1f} MB | {error} | {same} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
