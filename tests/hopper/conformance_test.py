#!/usr/bin/env python3
"""Compares the emulator's answers with the chip's. Usage: conformance_test.py PROGRAM RECORD"""
import json
import subprocess
import sys

program, record = sys.argv[1:3]
out = subprocess.run([program], capture_output=True, text=True)
got = json.loads(out.stdout)["cases"]
want = json.load(open(record))["cases"]
wrong = [name for name in want if got.get(name) != want[name]]
wrong += [name for name in got if name not in want]
for name in wrong:
    print(f"{name}: the emulator gives {got.get(name)}, the record says {want.get(name)}")
print(f"{len(want) - len([n for n in wrong if n in want])} of {len(want)} cases equal")
sys.exit(bool(wrong) or not want)
