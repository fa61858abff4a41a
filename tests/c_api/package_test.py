#!/usr/bin/env python3
"""Installs the library, moves the installation, and builds and runs a program against it that knows only find_package(warpfold).

Usage: package_test.py CMAKE BUILD_FOLDER LIBRARY_FOLDER CONSUMER_SOURCE. LIBRARY_FOLDER: as CMake names it, lib or lib64.
"""
import pathlib
import subprocess
import sys
import tempfile

cmake, build, libraries, source = sys.argv[1:]


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    first, place, consumer = (pathlib.Path(folder, x) for x in ("first", "place", "consumer"))
    call(cmake, "--install", build, "--component", "library", "--prefix", first)
    first.rename(place)  # no file may know where it was installed
    installed = {str(p.relative_to(place)) for p in place.rglob("*") if not p.is_dir()}
    headers = {p for p in installed if p.endswith(".h")}
    assert headers == {"include/warpfold/warpfold.h"}, headers
    assert any(p.startswith(f"{libraries}/libwarpfold.so") for p in installed), installed
    call(cmake, "-S", source, "-B", consumer, f"-DCMAKE_PREFIX_PATH={place}")
    call(cmake, "--build", consumer)
    print(call(consumer / "consumer").strip(), "by a program elsewhere;", len(installed), "files installed")
    refused = subprocess.run([cmake, "-S", source, "-B", pathlib.Path(folder, "other"), f"-DCMAKE_PREFIX_PATH={place}/nowhere"],
                             capture_output=True, text=True)
    assert refused.returncode != 0 and "warpfold" in refused.stderr, "found without an installation"
