#!/bin/sh
# Compiles a CUDA file and fails where ptxas says that it made WGMMAs wait for one another (C7510 to C7515): it only
# calls that information. Usage: nvcc_checked.sh nvcc ARGUMENTS...
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
"$@" 2>"$errors"
status=$?
cat "$errors" >&2
if grep -q '(C751[0-5])' "$errors"; then
  echo "nvcc_checked: WGMMAs are serialised (above); the build stops" >&2
  exit 1
fi
exit $status
