#!/bin/sh
# Builds and runs every test: the release build, address + undefined behaviour sanitizers, the thread sanitizer on the
# layers with threads, and each fuzz target for 30 s. Tests that need an absent model or GPU are skipped by name.
# Ends with one summary over all of them in ctest's own form; exit status 1 when any failed.
set -eu
cd "$(dirname "$0")/.."

jobs=$(nproc)
logs=build/test-logs
mkdir -p "$logs"
failed=0
total=0

step() { printf '\n== %s\n' "$*"; }

build() {  # preset targets...
  preset=$1
  shift
  step "build $preset"
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >"$logs/$preset-configure.log" ||
    { cat "$logs/$preset-configure.log"; exit 1; }
  cmake --build "build/$preset" --target "$@"
}

tests() {  # preset ctest-arguments...
  preset=$1
  shift
  step "test $preset"
  { ctest --test-dir "build/$preset" --output-on-failure "$@" || true; } | tee "$logs/$preset.log"
  summary=$(grep '% tests passed' "$logs/$preset.log") || { echo "ctest ran no tests for $preset"; exit 1; }
  # "98% tests passed, 1 tests failed out of 57"
  failed=$((failed + $(printf %s "$summary" | sed 's/.*passed, \([0-9]*\) .*/\1/')))
  total=$((total + $(printf %s "$summary" | sed 's/.*out of \([0-9]*\).*/\1/')))
}

scripts/setup.sh test
# The demo configures this folder without tests.
cmake --preset release -DWARPFOLD_TESTS=ON >"$logs/release-configure.log" ||
  { cat "$logs/release-configure.log"; exit 1; }
grep 'CUDA:' "$logs/release-configure.log" || true
build release all
tests release -j "$jobs"
build asan all
tests asan -j "$jobs" -LE model
build tsan core_test ops_test engine_test
tests tsan -R '^(core_test|ops_test|engine_test)$'
build fuzz fuzz_targets
tests fuzz -j "$jobs" -L fuzz

step "all of them"
printf '%d%% tests passed, %d tests failed out of %d\n' $(((total - failed) * 100 / total)) "$failed" "$total"
[ "$failed" -eq 0 ]
