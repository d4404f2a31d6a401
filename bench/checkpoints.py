"""Shapes of full-size models by their original tensor names, and files of them with random weights.

For measuring speed and memory: the numbers mean nothing, but they are scaled as trained weights are, so that
activations stay finite. Standard library only.
"""

import json
import math
import random
import struct


class Checkpoint:
    """Collects shapes under a prefix."""

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


# UNets: what differs between SD 1.5 and SDXL.
class UNetSizes:
    def __init__(self, widths, depths, context, linear_projections, vector=0):
        self.widths, self.depths, self.context = widths, depths, context
        self.linear_projections, self.vector = linear_projections, vector


SD15 = UNetSizes((320, 640, 1280, 1280), (1, 1, 1, 0), 768, False)
SDXL = UNetSizes((320, 640, 1280), (0, 2, 10), 2048, True, 2816)


def residual(c, name, inp, out):
    c.norm(name + ".in_layers.0", inp)
    c.conv(name + ".in_layers.2", out, inp, 3)
    c.linear(name + ".emb_layers.1", out, 1280)
    c.norm(name + ".out_layers.0", out)
    c.conv(name + ".out_layers.3", out, out, 3)
    if inp != out:
        c.conv(name + ".skip_connection", out, inp, 1)


def transformer(c, name, width, sizes, depth):
    def projection(which):
        if sizes.linear_projections:
            c.linear(f"{name}.{which}", width, width)
        else:
            c.conv(f"{name}.{which}", width, width, 1)

    c.norm(name + ".norm", width)
    projection("proj_in")
    for j in range(depth):
        block = f"{name}.transformer_blocks.{j}"
        for attention, source in (("attn1", width), ("attn2", sizes.context)):
            c.linear(f"{block}.{attention}.to_q", width, width, bias=False)
            c.linear(f"{block}.{attention}.to_k", width, source, bias=False)
            c.linear(f"{block}.{attention}.to_v", width, source, bias=False)
            c.linear(f"{block}.{attention}.to_out.0", width, width)
        c.linear(block + ".ff.net.0.proj", 8 * width, width)
        c.linear(block + ".ff.net.2", width, 4 * width)
        for i in (1, 2, 3):
            c.norm(f"{block}.norm{i}", width)
    projection("proj_out")


def unet(c, sizes):
    c.prefix = "model.diffusion_model."
    widths, levels = sizes.widths, len(sizes.widths)
    c.linear("time_embed.0", 1280, 320)
    c.linear("time_embed.2", 1280, 1280)
    if sizes.vector:
        c.linear("label_emb.0.0", 1280, sizes.vector)
        c.linear("label_emb.0.2", 1280, 1280)
    c.conv("input_blocks.0.0", 320, 4, 3)
    skips, width, number = [320], 320, 1
    for level, out in enumerate(widths):
        for _ in range(2):
            residual(c, f"input_blocks.{number}.0", width, out)
            width = out
            if sizes.depths[level]:
                transformer(c, f"input_blocks.{number}.1", width, sizes, sizes.depths[level])
            skips.append(width)
            number += 1
        if level < levels - 1:
            c.conv(f"input_blocks.{number}.0.op", width, width, 3)
            skips.append(width)
            number += 1
    residual(c, "middle_block.0", width, width)
    transformer(c, "middle_block.1", width, sizes, max(sizes.depths))
    residual(c, "middle_block.2", width, width)
    for i, level in enumerate(reversed(range(levels))):
        for j in range(3):
            name = f"output_blocks.{3 * i + j}"
            residual(c, name + ".0", width + skips.pop(), widths[level])
            width = widths[level]
            if sizes.depths[level]:
                transformer(c, name + ".1", width, sizes, sizes.depths[level])
        if level > 0:
            c.conv(f"output_blocks.{3 * i + 2}.{2 if sizes.depths[level] else 1}.conv", width, width, 3)
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


def vae(c, prefix="first_stage_model.", channels=4, quant=True):
    c.prefix = prefix
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
    c.conv("encoder.conv_out", 2 * channels, 512, 3)
    if quant:
        c.conv("quant_conv", 2 * channels, 2 * channels, 1)
        c.conv("post_quant_conv", channels, channels, 1)
    c.conv("decoder.conv_in", 512, channels, 3)
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


def clip_l(c, prefix):
    c.prefix = prefix + "text_model."
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


def open_clip_g(c, prefix):
    c.prefix = prefix
    c.tensor("token_embedding.weight", 49408, 1280)
    c.tensor("positional_embedding", 77, 1280)
    for i in range(32):
        block = f"transformer.resblocks.{i}"
        c.tensor(block + ".attn.in_proj_weight", 3840, 1280)
        c.tensor(block + ".attn.in_proj_bias", 3840)
        c.linear(block + ".attn.out_proj", 1280, 1280)
        c.linear(block + ".mlp.c_fc", 5120, 1280)
        c.linear(block + ".mlp.c_proj", 1280, 5120)
        c.norm(block + ".ln_1", 1280)
        c.norm(block + ".ln_2", 1280)
    c.norm("ln_final", 1280)
    c.tensor("text_projection", 1280, 1280)


def t5_xxl(c):
    """The encoder, by GGUF's names."""
    c.prefix = ""
    c.tensor("token_embd.weight", 32128, 4096)
    c.tensor("enc.blk.0.attn_rel_b.weight", 32, 64)
    for i in range(24):
        block = f"enc.blk.{i}"
        for part in ("attn_q", "attn_k", "attn_v", "attn_o"):
            c.linear(f"{block}.{part}", 4096, 4096, bias=False)
        for part in ("ffn_gate", "ffn_up"):
            c.linear(f"{block}.{part}", 10240, 4096, bias=False)
        c.linear(block + ".ffn_down", 4096, 10240, bias=False)
        c.tensor(block + ".attn_norm.weight", 4096)
        c.tensor(block + ".ffn_norm.weight", 4096)
    c.tensor("enc.output_norm.weight", 4096)


def flux(c, guidance):
    c.prefix = ""
    width = 3072
    c.linear("img_in", width, 64)
    c.linear("txt_in", width, 4096)
    for name, inp in (("time_in", 256), ("vector_in", 768)) + ((("guidance_in", 256),) if guidance else ()):
        c.linear(name + ".in_layer", width, inp)
        c.linear(name + ".out_layer", width, width)
    for i in range(19):
        for stream in ("img", "txt"):
            block = f"double_blocks.{i}.{stream}"
            c.linear(block + "_mod.lin", 6 * width, width)
            c.linear(block + "_attn.qkv", 3 * width, width)
            for norm in ("query", "key"):
                c.tensor(f"{block}_attn.norm.{norm}_norm.scale", 128)
            c.linear(block + "_attn.proj", width, width)
            c.linear(block + "_mlp.0", 4 * width, width)
            c.linear(block + "_mlp.2", width, 4 * width)
    for i in range(38):
        block = f"single_blocks.{i}"
        c.linear(block + ".modulation.lin", 3 * width, width)
        c.linear(block + ".linear1", 7 * width, width)
        c.linear(block + ".linear2", width, 5 * width)
        for norm in ("query", "key"):
            c.tensor(f"{block}.norm.{norm}_norm.scale", 128)
    c.linear("final_layer.linear", 64, width)
    c.linear("final_layer.adaLN_modulation.1", 2 * width, width)


class Values:
    """Bytes of tensors: gains 1, other vectors 0, weights of deviation 1/sqrt(inputs), in repeated random runs."""

    RUN = 1 << 16  # values

    def __init__(self, seed):
        self.generator = random.Random(seed)
        self.normal = [self.generator.gauss(0, 1) for _ in range(self.RUN)]
        self.nibbles = self.generator.randbytes(self.RUN // 2)
        self.runs = {}

    def repeated(self, key, make, unit, size):
        """`size` bytes of the run of that key, from a random place on (in whole units), so that equal shapes differ."""
        if key not in self.runs:
            self.runs[key] = make()
        run = self.runs[key]
        start = unit * self.generator.randrange(len(run) // unit)
        run = run[start:] + run[:start]
        return (run * (size // len(run) + 1))[:size]

    def vector(self, name, shape, code):
        gain = name.endswith((".weight", ".scale")) and "attn_rel_b" not in name
        return struct.pack("<" + code, 1.0 if gain else 0.0) * math.prod(shape)

    @staticmethod
    def deviation(name, shape):
        return 0.02 if "embed" in name or "embd" in name else 1 / math.sqrt(math.prod(shape) / shape[0])

    def f16(self, name, shape):
        if len(shape) == 1:
            return self.vector(name, shape, "e")
        scale = round(self.deviation(name, shape), 6)
        return self.repeated(("f16", scale), lambda: struct.pack(f"<{self.RUN}e", *(v * scale for v in self.normal)), 2,
                             2 * math.prod(shape))

    def q4_0(self, name, shape):
        # Nibbles are even over -8 to 7: their deviation is 4.6.
        scale = struct.pack("<e", self.deviation(name, shape) / 4.6)

        def make():
            return b"".join(scale + self.nibbles[i:i + 16] for i in range(0, len(self.nibbles), 16))

        return self.repeated(("q4_0", scale), make, 18, math.prod(shape) // 32 * 18)


def write_safetensors(checkpoint, path, seed=1):
    """All of it in F16; returns the number of bytes."""
    header, offset = {}, 0
    for name, shape in checkpoint.shapes.items():
        size = 2 * math.prod(shape)
        header[name] = {"dtype": "F16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    values = Values(seed)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, shape in checkpoint.shapes.items():
            out.write(values.f16(name, shape))
    return offset


def write_gguf(checkpoint, path, architecture, seed=1):
    """Matrices of whole blocks in Q4_0, other tensors in F32; returns the number of bytes."""
    alignment, f32, q4_0 = 32, 0, 2

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    records, offset, types = [], 0, {}
    for name, shape in checkpoint.shapes.items():
        blocks = len(shape) == 2 and shape[1] % 32 == 0 and shape[0] > 64
        types[name] = q4_0 if blocks else f32
        size = math.prod(shape) // 32 * 18 if blocks else 4 * math.prod(shape)
        records.append(text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape)) +
                       struct.pack("<IQ", types[name], offset))
        offset += size + -size % alignment
    head = b"GGUF" + struct.pack("<IQQ", 3, len(records), 1) + text("general.architecture") + struct.pack(
        "<I", 8) + text(architecture) + b"".join(records)
    values = Values(seed)
    with open(path, "wb") as out:
        out.write(head + b"\0" * (-len(head) % alignment))
        for name, shape in checkpoint.shapes.items():
            if types[name] == q4_0:
                data = values.q4_0(name, shape)
            elif len(shape) == 1:
                data = values.vector(name, shape, "f")
            else:
                data = struct.pack("<f", 0.0) * math.prod(shape) if "attn_rel_b" in name else struct.pack(
                    f"<{math.prod(shape)}f",
                    *(values.normal[i % Values.RUN] * values.deviation(name, shape) for i in range(math.prod(shape))))
            out.write(data + b"\0" * (-len(data) % alignment))
    return offset
