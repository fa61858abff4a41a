#!/usr/bin/env python3
"""Compares the answers of a conformance program, the emulator's or the chip's, with the record of the chip.

Usage: conformance_test.py --record RECORD [--complete] PROGRAM
Cases that the record does not have yet are named; --complete asks only whether there are any. Exit status: 0 equal, 1 a
case differs or is missing, 77 (a skipped test) no device, or with --complete cases not yet recorded.
"""
import argparse
import json
import subprocess
import sys

p = argparse.ArgumentParser()
p.add_argument("--record", required=True)
p.add_argument("--complete", action="store_true")
p.add_argument("program")
options = p.parse_args()

out = subprocess.run([options.program], capture_output=True, text=True)
if out.returncode == 2:
    print(out.stderr.strip())
    sys.exit(77)
got = json.loads(out.stdout)["cases"]
record = json.load(open(options.record))
want = record["cases"]
new = [name for name in got if name not in want]
for name in new:
    print(f"not yet recorded: {name}")
if options.complete:
    print(f"{len(new)} of {len(got)} cases are not yet recorded")
    sys.exit(77 if new else 0)
wrong = [name for name in want if got.get(name) != want[name]]
wrong += [name for name in new if "error" in got[name]]
for name in wrong:
    print(f"{name}: the program gives {got.get(name)}, the record says {want.get(name, 'nothing yet')}")
where = record.get("machine", {})
print(f"{len(want) - len([n for n in wrong if n in want])} of {len(want)} cases equal to the record of "
      f"{where.get('device', 'the device')}")
sys.exit(bool(wrong) or not want)
