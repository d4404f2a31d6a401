#!/usr/bin/env bash
# Makes build/peers, a Python environment with what bench/peers.py compares with (several GB). Nothing else needs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python3 -m venv build/peers
build/peers/bin/pip install --quiet torch diffusers transformers openvino
