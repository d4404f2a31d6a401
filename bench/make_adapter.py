#!/usr/bin/env python3
"""Writes an adapter with random factors for every linear and convolution layer of a checkpoint's denoiser, to measure with.

Usage: make_adapter.py MODEL.safetensors OUT.safetensors --family lora|loha|lokr|dora|oft --rank N [--size X]

MODEL has original names (model.diffusion_model.*), as make_model.py writes them; only its header is read. Factors are F16.
"""

import argparse
import json
import math
import random
import struct

PREFIX = "model.diffusion_model."


def read_layers(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    for name, entry in header.items():
        if name.startswith(PREFIX) and name.endswith(".weight") and len(entry["shape"]) in (2, 4):
            yield name[len(PREFIX):-len(".weight")], entry["shape"]


def divisor(number, near):
    return next(d for d in range(near, 0, -1) if number % d == 0)


def parts_of(family, rank, shape):
    """{part: (shape, deviation of its values around its mean, mean)}"""
    out, width = shape[0], math.prod(shape[1:])
    down = [rank] + shape[1:]
    up = [out, rank] + [1] * (len(shape) - 2)
    if family in ("lora", "dora"):
        parts = {"lora_down.weight": (down, 0.02, 0), "lora_up.weight": (up, 0.002, 0), "alpha": ([], 0, rank)}
        if family == "dora":
            # Lengths of rows of about the size that make_model.py gives them.
            parts["dora_scale"] = ([out] + [1] * (len(shape) - 1), 0.01, 1.0)
        return parts
    if family == "loha":
        parts = {"alpha": ([], 0, rank)}
        for half in ("1", "2"):
            parts[f"hada_w{half}_a"] = ([out, rank], 0.05, 0)
            parts[f"hada_w{half}_b"] = ([rank, width], 0.05, 0)
        return parts
    if family == "lokr":
        a, b = divisor(out, rank), divisor(shape[1], rank)
        return {"lokr_w1": ([a, b], 0.05, 0), "lokr_w2": ([out // a, shape[1] // b] + shape[2:], 0.02, 0), "alpha": ([], 0, rank)}
    blocks = out // divisor(out, rank)  # of rank x rank, as LyCORIS counts
    return {"oft_blocks": ([blocks, out // blocks, out // blocks], 0.001, 0), "alpha": ([], 0, 0)}


def values(shape, deviation, mean, source):
    count = math.prod(shape)
    if deviation == 0:
        return struct.pack("<e", mean) * count
    # A block of noise, repeated: what the numbers are does not matter, and drawing each would take minutes.
    block = struct.pack("<4096e", *(source.gauss(mean, deviation) for _ in range(4096)))
    return (block * (count // 4096 + 1))[:2 * count]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--family", choices=["lora", "loha", "lokr", "dora", "oft"], default="lora")
    parser.add_argument("--rank", type=int, default=16)
    arguments = parser.parse_args()
    source = random.Random(1)
    header, chunks, offset = {}, [], 0
    for layer, shape in read_layers(arguments.model):
        for part, (size, deviation, mean) in parts_of(arguments.family, arguments.rank, shape).items():
            data = values(size, deviation, mean, source)
            name = f"lora_unet_{layer.replace('.', '_')}.{part}"
            header[name] = {"dtype": "F16", "shape": size, "data_offsets": [offset, offset + len(data)]}
            chunks.append(data)
            offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(arguments.out, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))
    print(f"{arguments.out}: {len(header)} tensors, {offset / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
