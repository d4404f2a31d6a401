#!/usr/bin/env python3
"""Veneer beside PyTorch and OpenVINO: one UNet call and one decoding of SD 1.5's shapes, two threads each.

Usage: peers.py VENEER MODEL.safetensors PYTHON     MODEL from make_model.py sd15; PYTHON with torch, diffusers and
                                                    openvino (bench/peers_setup.sh makes one in build/peers)
       peers.py --run NAME                          one peer, in this interpreter; used by the first form

Prints a table in Markdown: medians of the calls behind the first, and the peak of each process. Every program runs in a
process of its own, one after the other, round by round. Peers take random weights, whose values change no time.
With --results FILE every run is kept there as soon as it ends, and a later start goes on behind what the file has.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = 2
CALLS = 4  # of the network, the first of which is not counted

AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"}
# (name in the table, peer, extra environment)
PEERS = [
    ("PyTorch float32", "torch-f32", {}),
    ("PyTorch bfloat16", "torch-bf16", {}),
    ("PyTorch float32, AVX2", "torch-f32", AVX2),
    ("OpenVINO float32", "openvino-f32", {}),
    ("OpenVINO bfloat16", "openvino-bf16", {}),
]
# (name, options, extra environment)
OURS = [
    ("Veneer", [], {}),
    ("Veneer `--strict`", ["--strict"], {}),
    ("Veneer `--compute bf16`", ["--compute", "bf16"], {}),
    ("Veneer, AVX2", [], {"DNNL_MAX_CPU_ISA": "AVX2"}),
]


def networks():
    import torch
    from diffusers import AutoencoderKL, UNet2DConditionModel
    torch.set_num_threads(THREADS)
    torch.manual_seed(1)
    unet = UNet2DConditionModel(sample_size=64, cross_attention_dim=768, attention_head_dim=8).eval()
    vae = AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
                        block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4).eval()

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.vae = vae

        def forward(self, z):
            return self.vae.decode(z, return_dict=False)[0]

    class Denoiser(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.unet = unet

        def forward(self, x, t, context):
            return self.unet(x, t, context, return_dict=False)[0]

    inputs = (torch.randn(1, 4, 64, 64), torch.tensor(500.0), torch.randn(1, 77, 768))
    return Denoiser(), Decoder(), inputs


def timed(call, calls):
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1)) * 1024


def run_torch(bf16):
    import torch
    unet, decoder, inputs = networks()
    dtype = torch.bfloat16 if bf16 else torch.float32
    unet, decoder = unet.to(dtype), decoder.to(dtype)
    inputs = tuple(value.to(dtype) for value in inputs)
    with torch.inference_mode():
        return {"unet": timed(lambda: unet(*inputs), CALLS), "decode": timed(lambda: decoder(inputs[0]), 3)}


def run_openvino(bf16):
    import openvino
    unet, decoder, inputs = networks()
    options = {"INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "bf16" if bf16 else "f32",
               "PERFORMANCE_HINT": "LATENCY"}
    core = openvino.Core()
    arrays = [value.numpy() for value in inputs]

    def compiled(network, example):
        return core.compile_model(openvino.convert_model(network, example_input=example), "CPU", options)

    start = time.perf_counter()
    network = compiled(unet, inputs)
    result = {"convert": time.perf_counter() - start, "unet": timed(lambda: network(arrays), CALLS)}
    network = compiled(decoder, (inputs[0],))
    result["decode"] = timed(lambda: network(arrays[:1]), 3)
    return result


def run_peer(name):
    kind, precision = name.split("-")
    result = (run_torch if kind == "torch" else run_openvino)(precision == "bf16")
    result["peak"] = peak_bytes()
    print(json.dumps(result))


def measured(command, environment):
    """(standard output, log, peak resident bytes) of a command that must succeed."""
    with tempfile.NamedTemporaryFile("w+") as out, tempfile.NamedTemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=out, stderr=log, env={**os.environ, **environment})
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0)
        log.seek(0)
        if status != 0:
            sys.exit(f"{' '.join(command)}: failed\n{log.read()[-2000:]}")
        return out.read(), log.read(), usage.ru_maxrss * 1024


def run_veneer(veneer, model, options, environment, folder):
    """A run without guidance calls the network once a step."""
    out, log, peak = measured([veneer, "image", "-m", model, "-W", "512", "-H", "512", "--cfg-scale", "1", "--steps",
                               str(CALLS), "-p", "x", "-t", str(THREADS), "--json", "-o",
                               os.path.join(folder, "x.png"), *options], environment)
    steps = [float(number) if unit == "s/it" else 1 / float(number)
             for number, unit in re.findall(r"sample \d+/\d+ - ([\d.]+) (s/it|it/s)", log)]
    return {"unet": statistics.median(steps[1:]), "decode": json.loads(out)["seconds"]["decode"], "peak": peak}


def run_one(name, programs, folder):
    veneer, model, python = programs
    for ours, options, environment in OURS:
        if ours == name:
            return run_veneer(veneer, model, options, environment, folder)
    peer, environment = next(peer[1:] for peer in PEERS if peer[0] == name)
    out, _, _ = measured([python, __file__, "--run", peer], {"OMP_NUM_THREADS": str(THREADS), **environment})
    return json.loads(out.splitlines()[-1])


def spread(runs, key):
    values = [run[key] for run in runs if key in run]
    return f"{min(values):.2f} to {max(values):.2f} s" if values else ""


def print_table(results):
    print("| program | UNet call | decode | peak memory | before the first call |\n| --- | --- | --- | --- | --- |")
    for name, runs in results.items():
        peak = max(run["peak"] for run in runs) / 1e9
        print(f"| {name} | {spread(runs, 'unet')} | {spread(runs, 'decode')} | {peak:.1f} GB | "
              f"{spread(runs, 'convert')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="VENEER MODEL PYTHON")
    parser.add_argument("--run", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--results", metavar="FILE")
    options = parser.parse_args()
    if options.run:
        return run_peer(options.run)
    if len(options.programs) != 3:
        parser.error("expected VENEER MODEL PYTHON")
    names = [ours[0] for ours in OURS] + [peer[0] for peer in PEERS]
    results = {name: [] for name in names}
    if options.results and os.path.exists(options.results):
        with open(options.results, encoding="utf-8") as file:
            results.update(json.load(file))
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.rounds):
            for name in names:
                if len(results[name]) > turn:
                    continue
                results[name].append(run_one(name, options.programs, folder))
                print(name, results[name][-1], file=sys.stderr)
                if options.results:
                    with open(options.results, "w", encoding="utf-8") as file:
                        json.dump(results, file, indent=1)
    print_table(results)
    return None


if __name__ == "__main__":
    main()
