#!/usr/bin/env python3
"""Writes a single-file checkpoint of Stable Diffusion 1.5's exact shapes (original names, F16, 2.1 GB) with random weights.

Usage: make_sd15.py OUT.safetensors [--seed N]

For measuring speed and memory: the numbers mean nothing, but they are scaled as trained weights are, so that activations stay
finite. Standard library only; takes about ten seconds.
"""

import argparse
import json
import math
import random
import struct

WIDTHS = (320, 640, 1280, 1280)
CONTEXT = 768


class Checkpoint:
    """Collects shapes under a prefix, then writes them with random values."""

    def __init__(self):
        self.shapes = {}
        self.prefix = ""

    def tensor(self, name, *shape):
        self.shapes[self.prefix + name] = shape

    def linear(self, name, out, inp, bias=True):
        self.tensor(name + ".weight", out, inp)
        if bias:
            self.tensor(name + ".bias", out)

    def conv(self, name, out, inp, kernel):
        self.tensor(name + ".weight", out, inp, kernel, kernel)
        self.tensor(name + ".bias", out)

    def norm(self, name, width):
        self.tensor(name + ".weight", width)
        self.tensor(name + ".bias", width)


def residual(c, name, inp, out):
    c.norm(name + ".in_layers.0", inp)
    c.conv(name + ".in_layers.2", out, inp, 3)
    c.linear(name + ".emb_layers.1", out, 1280)
    c.norm(name + ".out_layers.0", out)
    c.conv(name + ".out_layers.3", out, out, 3)
    if inp != out:
        c.conv(name + ".skip_connection", out, inp, 1)


def transformer(c, name, width):
    c.norm(name + ".norm", width)
    c.conv(name + ".proj_in", width, width, 1)
    block = name + ".transformer_blocks.0"
    for attention, source in (("attn1", width), ("attn2", CONTEXT)):
        c.linear(f"{block}.{attention}.to_q", width, width, bias=False)
        c.linear(f"{block}.{attention}.to_k", width, source, bias=False)
        c.linear(f"{block}.{attention}.to_v", width, source, bias=False)
        c.linear(f"{block}.{attention}.to_out.0", width, width)
    c.linear(block + ".ff.net.0.proj", 8 * width, width)
    c.linear(block + ".ff.net.2", width, 4 * width)
    for i in (1, 2, 3):
        c.norm(f"{block}.norm{i}", width)
    c.conv(name + ".proj_out", width, width, 1)


def unet(c):
    c.prefix = "model.diffusion_model."
    c.linear("time_embed.0", 1280, 320)
    c.linear("time_embed.2", 1280, 1280)
    c.conv("input_blocks.0.0", 320, 4, 3)
    skips, width, number = [320], 320, 1
    for level, out in enumerate(WIDTHS):
        for _ in range(2):
            residual(c, f"input_blocks.{number}.0", width, out)
            width = out
            if level < 3:
                transformer(c, f"input_blocks.{number}.1", width)
            skips.append(width)
            number += 1
        if level < 3:
            c.conv(f"input_blocks.{number}.0.op", width, width, 3)
            skips.append(width)
            number += 1
    residual(c, "middle_block.0", width, width)
    transformer(c, "middle_block.1", width)
    residual(c, "middle_block.2", width, width)
    for i, out in enumerate(reversed(WIDTHS)):
        for j in range(3):
            name = f"output_blocks.{3 * i + j}"
            residual(c, name + ".0", width + skips.pop(), out)
            width = out
            if i > 0:
                transformer(c, name + ".1", width)
        if i < 3:
            c.conv(f"output_blocks.{3 * i + 2}.{2 if i > 0 else 1}.conv", width, width, 3)
    c.norm("out.0", 320)
    c.conv("out.2", 4, 320, 3)


def vae_residual(c, name, inp, out):
    c.norm(name + ".norm1", inp)
    c.conv(name + ".conv1", out, inp, 3)
    c.norm(name + ".norm2", out)
    c.conv(name + ".conv2", out, out, 3)
    if inp != out:
        c.conv(name + ".nin_shortcut", out, inp, 1)


def vae_middle(c, side):
    vae_residual(c, side + ".mid.block_1", 512, 512)
    c.norm(side + ".mid.attn_1.norm", 512)
    for part in ("q", "k", "v", "proj_out"):
        c.conv(f"{side}.mid.attn_1.{part}", 512, 512, 1)
    vae_residual(c, side + ".mid.block_2", 512, 512)


def vae(c):
    c.prefix = "first_stage_model."
    widths = (128, 256, 512, 512)
    c.conv("encoder.conv_in", 128, 3, 3)
    width = 128
    for i, out in enumerate(widths):
        for j in range(2):
            vae_residual(c, f"encoder.down.{i}.block.{j}", width, out)
            width = out
        if i < 3:
            c.conv(f"encoder.down.{i}.downsample.conv", width, width, 3)
    vae_middle(c, "encoder")
    c.norm("encoder.norm_out", 512)
    c.conv("encoder.conv_out", 8, 512, 3)
    c.conv("quant_conv", 8, 8, 1)
    c.conv("post_quant_conv", 4, 4, 1)
    c.conv("decoder.conv_in", 512, 4, 3)
    vae_middle(c, "decoder")
    width = 512
    for i in reversed(range(4)):
        for j in range(3):
            vae_residual(c, f"decoder.up.{i}.block.{j}", width, widths[i])
            width = widths[i]
        if i > 0:
            c.conv(f"decoder.up.{i}.upsample.conv", width, width, 3)
    c.norm("decoder.norm_out", 128)
    c.conv("decoder.conv_out", 3, 128, 3)


def clip(c):
    c.prefix = "cond_stage_model.transformer.text_model."
    c.tensor("embeddings.token_embedding.weight", 49408, 768)
    c.tensor("embeddings.position_embedding.weight", 77, 768)
    for i in range(12):
        layer = f"encoder.layers.{i}"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            c.linear(f"{layer}.self_attn.{part}", 768, 768)
        c.linear(layer + ".mlp.fc1", 3072, 768)
        c.linear(layer + ".mlp.fc2", 768, 3072)
        c.norm(layer + ".layer_norm1", 768)
        c.norm(layer + ".layer_norm2", 768)
    c.norm("final_layer_norm", 768)


def write(checkpoint, path, seed):
    header, offset = {}, 0
    for name, shape in checkpoint.shapes.items():
        size = 2 * math.prod(shape)
        header[name] = {"dtype": "F16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    generator = random.Random(seed)
    unit = [generator.gauss(0, 1) for _ in range(1 << 16)]
    blocks = {}

    def values(name, shape):
        """Bytes of one tensor: norm gains 1, vectors 0, weights of deviation 1/sqrt(inputs)."""
        count = math.prod(shape)
        if len(shape) == 1:
            one = struct.pack("<e", 1.0 if name.endswith(".weight") else 0.0)
            return one * count
        scale = 0.02 if "embedding" in name else 1 / math.sqrt(count / shape[0])
        key = round(scale, 6)
        if key not in blocks:
            blocks[key] = struct.pack(f"<{len(unit)}e", *(v * scale for v in unit))
        block = blocks[key]
        start = 2 * generator.randrange(len(unit))  # so that equal shapes differ
        block = block[start:] + block[:start]
        return (block * (2 * count // len(block) + 1))[: 2 * count]

    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, shape in checkpoint.shapes.items():
            out.write(values(name, shape))
    return offset


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    checkpoint = Checkpoint()
    for part in (unet, vae, clip):
        part(checkpoint)
    size = write(checkpoint, arguments.out, arguments.seed)
    print(f"{arguments.out}: {len(checkpoint.shapes)} tensors, {size / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
