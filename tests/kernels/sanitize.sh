#!/bin/sh
# Runs compute-sanitizer's four tools on the device tests and writes what they found.
# Usage: tests/kernels/sanitize.sh BUILD_FOLDER RECORD [PROGRAM ...]       on a machine with a Hopper GPU
# PROGRAM: conformance, transpose, gemm, weight_only, grouped, attention; all of them by default. RECORD gets the device,
# driver, CUDA and date, and for each tool and program its exit status and summary, also those of earlier runs whose
# outputs lie in BUILD_FOLDER/sanitize. Exit status: 0 nothing found, 1 something found, 77 no tool or no GPU.
# racecheck follows neither mbarriers nor the asynchronous proxy on every driver: read what it says before believing it.
set -u
build=$1 record=$2
shift 2
programs=${*:-conformance transpose gemm weight_only grouped attention}
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v compute-sanitizer >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not installed"; exit 77; }
nvidia-smi >/dev/null 2>&1 || { echo "no GPU"; exit 77; }
mkdir -p "$build/sanitize"

# A tool slows a program tenfold and more, but nothing is timed: they all run side by side.
check() { # TOOL NAME COMMAND...
  tool=$1 name=$2
  shift 2
  log=$build/sanitize/$tool-$name
  # --error-exitcode tells a finding from a failure of the program itself.
  timeout 3000 compute-sanitizer --tool "$tool" --error-exitcode 99 --target-processes all "$@" >"$log.txt" 2>&1
  status=$?
  summary=$(grep -E "ERROR SUMMARY|RACECHECK SUMMARY" "$log.txt" | tail -1 | sed 's/^=* *//; s/"/ /g')
  echo "$tool $name: exit status $status, ${summary:-no summary}"
  echo "  {\"tool\": \"$tool\", \"program\": \"$name\", \"exit_status\": $status, \"summary\": \"$summary\"}" >"$log.json"
}
for program in $programs; do
  case $program in
    conformance) command=$build/tests/hopper/conformance_device ;;
    transpose) command=$build/examples/hopper/example_transpose_device ;;
    *) command="python3 $root/tests/kernels/${program}_device.py $build/src/c_api/libwarpfold.so --few" ;;
  esac
  # shellcheck disable=SC2086  # a program and its arguments
  for tool in memcheck racecheck synccheck initcheck; do
    check $tool $program $command &
  done
done
wait
found=0
grep -qv '"exit_status": 0,' "$build"/sanitize/*.json && found=1
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)
cuda=$(compute-sanitizer --version | sed -n 's/.*[Vv]ersion \([0-9.]*\).*/\1/p' | head -1)
printf '{\n "device": "%s",\n "driver": "%s",\n "compute_sanitizer": "%s",\n "date": "%s",\n "runs": [\n%s\n ]\n}\n' \
  "${gpu%%,*}" "${gpu#*, }" "$cuda" "$(date -u +%Y-%m-%d)" "$(cat "$build"/sanitize/*.json | paste -sd, | sed 's/,  {/,\n  {/g')" >"$record"
exit $found
