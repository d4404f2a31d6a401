#!/usr/bin/env python3
"""Writes tests/data/tiny-sd1/inputs.safetensors: what diffusers computes with UNets that take more than latent and text.

Usage: unet_inputs.py [TINY_SD1 [OUT]]      needs torch, diffusers and transformers; the tests do not

The tiny Stable Diffusion 1 model gets input channels for inpainting (9) and editing (8), and a guidance number as LCM's
have it (time_embedding.cond_proj). The weights of what is new are a formula, which the tests repeat: extra().
"""

import os
import sys

import numpy
import torch
from diffusers import (AutoencoderKL, DDIMScheduler, EulerDiscreteScheduler, LatentConsistencyModelPipeline,
                       StableDiffusionInpaintPipeline, StableDiffusionInstructPix2PixPipeline, UNet2DConditionModel)
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import CLIPTextModel, CLIPTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
SIDE, STEPS, PROMPT, NEGATIVE = 32, 4, "a photo of a cat", "blurry background"


def extra(count):
    """count numbers around 0: the same in the tests."""
    return torch.tensor([0.15 * numpy.sin(1.7 * i + 0.4) for i in range(count)], dtype=torch.float32)


def unet_with(folder, channels=4, guidance_width=None):
    config = UNet2DConditionModel.load_config(os.path.join(folder, "unet"))
    config["in_channels"], config["time_cond_proj_dim"] = channels, guidance_width
    unet = UNet2DConditionModel.from_config(config).eval()
    state = load_file(os.path.join(folder, "unet", "diffusion_pytorch_model.safetensors"))
    state = {name: value.float() for name, value in state.items()}
    first = state["conv_in.weight"]
    more = extra(first.shape[0] * (channels - 4) * 9).reshape(first.shape[0], channels - 4, 3, 3)
    state["conv_in.weight"] = torch.cat([first, more], 1)
    if guidance_width:
        width = unet.time_embedding.cond_proj.weight.shape[0]
        state["time_embedding.cond_proj.weight"] = extra(width * guidance_width).reshape(width, guidance_width)
    unet.load_state_dict(state)
    return unet


def parts_of(folder, unet, scheduler=EulerDiscreteScheduler):
    config = DDIMScheduler.load_config(os.path.join(folder, "scheduler"))
    return {"vae": AutoencoderKL.from_pretrained(os.path.join(folder, "vae")).float().eval(),
            "text_encoder": CLIPTextModel.from_pretrained(os.path.join(folder, "text_encoder")).float().eval(),
            "tokenizer": CLIPTokenizer.from_pretrained(os.path.join(folder, "tokenizer")), "unet": unet,
            "scheduler": scheduler.from_config(config, timestep_spacing="linspace"), "safety_checker": None,
            "feature_extractor": None, "requires_safety_checker": False}


def picture():
    """[32, 32, 3] bytes with slopes that differ in every direction and colour; the same in the tests."""
    y, x, c = numpy.mgrid[0:SIDE, 0:SIDE, 0:3]
    return ((5 * x + 3 * y + 80 * c) % 256).astype(numpy.uint8)


def mask():
    """1 where x + y is at least 28, in squares of a latent pixel: repaint."""
    y, x = numpy.mgrid[0:SIDE, 0:SIDE]
    return (x // 2 * 2 + y // 2 * 2 >= 28).astype(numpy.uint8) * 255


def run(pipeline, noise, **more):
    pipeline.set_progress_bar_config(disable=True)
    latents = pipeline(PROMPT, negative_prompt=NEGATIVE, num_inference_steps=STEPS, latents=noise.clone(),
                       output_type="latent", **more).images
    return latents, pipeline.scheduler.sigmas.float()


def inpaint(folder, noise, out):
    pipeline = StableDiffusionInpaintPipeline(**parts_of(folder, unet_with(folder, 9)))
    pixels = torch.from_numpy(picture()).permute(2, 0, 1)[None].float() / 127.5 - 1
    repaint = torch.from_numpy(mask())[None, None].float() / 255
    hidden = pipeline.vae.encode(pixels * (repaint < 0.5)).latent_dist.mode() * pipeline.vae.config.scaling_factor
    out["inpaint/masked_latents"] = hidden
    out["inpaint/mask"] = torch.nn.functional.interpolate(repaint, size=noise.shape[-2:])
    out["inpaint/latents"], out["sigmas"] = run(
        pipeline, noise, image=Image.fromarray(picture()), mask_image=Image.fromarray(mask()), height=SIDE, width=SIDE,
        strength=1.0, masked_image_latents=hidden, guidance_scale=5.0)
    out["context"], out["negative"] = pipeline.encode_prompt(PROMPT, "cpu", 1, True, NEGATIVE)


def edit(folder, noise, out):
    parts = parts_of(folder, unet_with(folder, 8))
    pipeline = StableDiffusionInstructPix2PixPipeline(**parts)
    out["edit/latents"], _ = run(pipeline, noise, image=Image.fromarray(picture()), guidance_scale=6.0,
                                 image_guidance_scale=1.5)


def distilled(folder, noise, out):
    unet = unet_with(folder, 4, 16)
    embed = LatentConsistencyModelPipeline.get_guidance_scale_embedding
    number = embed(None, torch.tensor([7.5]), embedding_dim=16)
    out["distilled/prediction"] = unet(noise, torch.tensor(499.0), out["context"], timestep_cond=number).sample


@torch.no_grad()
def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "data", "tiny-sd1")
    target = sys.argv[2] if len(sys.argv) > 2 else os.path.join(folder, "inputs.safetensors")
    noise = torch.randn(1, 4, SIDE // 2, SIDE // 2, generator=torch.Generator().manual_seed(7))
    out = {"noise": noise}
    inpaint(folder, noise, out)
    edit(folder, noise, out)
    distilled(folder, noise, out)
    save_file({name: value.contiguous() for name, value in out.items()}, target)


if __name__ == "__main__":
    main()
