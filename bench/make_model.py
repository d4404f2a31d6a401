#!/usr/bin/env python3
"""Writes models of exact published shapes with random weights, to measure speed and memory with.

Usage: make_model.py sd15|sdxl OUT.safetensors     one file in F16: 2.1 GB, 6.9 GB
       make_model.py flux|flux-dev FOLDER          Q4_0: the transformer (6.7 GB) and T5 (2.7 GB) as GGUF; CLIP and
                                                   the autoencoder in F16

Takes seconds for a gigabyte; a seed (--seed N) changes the numbers.
"""

import argparse
import os

from checkpoints import (SD15, SDXL, Checkpoint, clip_l, flux, open_clip_g, t5_xxl, unet, vae, write_gguf,
                         write_safetensors)


def say(path, checkpoint, size):
    print(f"{path}: {len(checkpoint.shapes)} tensors, {size / 1e9:.2f} GB")


def single_file(model, path, seed):
    c = Checkpoint()
    unet(c, SDXL if model == "sdxl" else SD15)
    vae(c)
    if model == "sdxl":
        clip_l(c, "conditioner.embedders.0.transformer.")
        open_clip_g(c, "conditioner.embedders.1.model.")
    else:
        clip_l(c, "cond_stage_model.transformer.")
    say(path, c, write_safetensors(c, path, seed))


def flux_files(folder, guidance, seed):
    os.makedirs(folder, exist_ok=True)

    def part(name, describe, write):
        c, path = Checkpoint(), os.path.join(folder, name)
        describe(c)
        say(path, c, write(c, path))

    part("flux.gguf", lambda c: flux(c, guidance), lambda c, path: write_gguf(c, path, "flux", seed))
    part("t5xxl.gguf", t5_xxl, lambda c, path: write_gguf(c, path, "t5encoder", seed))
    part("clip_l.safetensors", lambda c: clip_l(c, ""), lambda c, path: write_safetensors(c, path, seed))
    part("ae.safetensors", lambda c: vae(c, "", 16, quant=False), lambda c, path: write_safetensors(c, path, seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["sd15", "sdxl", "flux", "flux-dev"])
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.model.startswith("flux"):
        flux_files(arguments.out, arguments.model == "flux-dev", arguments.seed)
    else:
        single_file(arguments.model, arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
