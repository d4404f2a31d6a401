#!/usr/bin/env python3
"""What bfloat16 costs in quality: pictures of the embedded model against those computed in float32, here and in diffusers.

Usage: bf16_quality.py VENEER MODEL_FOLDER PYTHON   PYTHON with torch and diffusers (bench/peers_setup.sh)
       bf16_quality.py --diffusers MODEL_FOLDER OUT in that interpreter; used by the first form

50 prompts with a seed each, 20 steps of Euler at guidance 5, the same noise on both sides. Prints the median and the
lowest PSNR of each pair in a table in Markdown.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

SUBJECTS = """red apple|green apple|pizza|guitar|rocket|robot|tree|purple heart|cat face|dog face|car|yellow star|moon|sun
fish|octopus|penguin|owl|butterfly|rose|tulip|cactus|mushroom|banana|grapes|strawberry|watermelon|carrot|bread|cheese
ice cream|cookie|coffee|book|pencil|key|lock|bell|clock|umbrella|snowman|house|castle|bicycle|train|airplane|ship|anchor
crown|ghost""".replace("\n", "|").split("|")
STEPS, GUIDANCE, SIDE = 20, 5.0, 128


def run_diffusers(model, out):
    import torch
    from diffusers import EulerDiscreteScheduler, StableDiffusionPipeline
    torch.set_num_threads(2)
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        pipe = StableDiffusionPipeline.from_pretrained(model, torch_dtype=dtype, safety_checker=None,
                                                       requires_safety_checker=False)
        pipe.scheduler = EulerDiscreteScheduler.from_config(pipe.scheduler.config)
        pipe.set_progress_bar_config(disable=True)
        for seed, subject in enumerate(SUBJECTS):
            generator = torch.Generator("cpu").manual_seed(seed)
            picture = pipe(subject, height=SIDE, width=SIDE, num_inference_steps=STEPS, guidance_scale=GUIDANCE,
                           generator=generator, output_type="np").images[0]
            with open(os.path.join(out, f"{name}-{seed}.raw"), "wb") as file:
                file.write((picture * 255).round().astype("uint8").tobytes())


def run_veneer(veneer, model, out):
    for name, options in (("strict", ["--strict"]), ("auto", []), ("bf16", ["--compute", "bf16"])):
        for seed, subject in enumerate(SUBJECTS):
            path = os.path.join(out, f"{name}-{seed}.png")
            subprocess.run([veneer, "image", "-m", model, "-p", subject, "-s", str(seed), "--rng", "cpu", "-W", str(SIDE),
                            "-H", str(SIDE), "--steps", str(STEPS), "--cfg-scale", str(GUIDANCE), "--sampling-method",
                            "euler", "-t", "2", "-o", path, *options],
                           check=True, capture_output=True)


def pixels_of(path, python):
    """Bytes of a PNG, read by Pillow in the other interpreter."""
    return subprocess.run([python, "-c", "import sys; from PIL import Image; "
                           "sys.stdout.buffer.write(Image.open(sys.argv[1]).convert('RGB').tobytes())", path],
                          check=True, capture_output=True).stdout


def psnr(first, second):
    squares = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / len(first)
    return math.inf if squares == 0 else 10 * math.log10(255 ** 2 / squares)


def main():
    if sys.argv[1:2] == ["--diffusers"]:
        return run_diffusers(*sys.argv[2:])
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    veneer, model, python = sys.argv[1:]
    with tempfile.TemporaryDirectory() as out:
        run_veneer(veneer, model, out)
        subprocess.run([python, __file__, "--diffusers", model, out], check=True, capture_output=True)

        def raw(name, seed):
            with open(os.path.join(out, f"{name}-{seed}.raw"), "rb") as file:
                return file.read()

        def png(name, seed):
            return pixels_of(os.path.join(out, f"{name}-{seed}.png"), python)

        seeds = range(len(SUBJECTS))
        rows = {"diffusers, bfloat16 against float32": [psnr(raw("float32", s), raw("bfloat16", s)) for s in seeds],
                "Veneer, `--compute bf16` against `--strict`": [psnr(png("strict", s), png("bf16", s)) for s in seeds],
                "Veneer as it is (float32, Winograd) against `--strict`":
                    [psnr(png("strict", s), png("auto", s)) for s in seeds],
                "Veneer `--strict` against diffusers float32": [psnr(raw("float32", s), png("strict", s)) for s in seeds]}
    print("| pictures | median PSNR | lowest |\n| --- | --- | --- |")
    for name, values in rows.items():
        print(f"| {name} | {statistics.median(values):.1f} dB | {min(values):.1f} dB |")
    print(json.dumps(rows), file=sys.stderr)
    return None


if __name__ == "__main__":
    main()
