#!/usr/bin/env python3
"""Is every atom of the device in a conformance case? Usage: every_atom_test.py INCLUDE_FOLDER CONFORMANCE_FOLDER"""
import pathlib
import re
import sys

include, cases = map(pathlib.Path, sys.argv[1:3])
atoms = set()
for header in (include / "warpfold/hopper/device").glob("*.h"):
    # What lies in namespace ptx is how atoms are made.
    text = re.sub(r"namespace ptx \{.*?\n\}  // namespace ptx", "", header.read_text(), flags=re.DOTALL)
    atoms |= set(re.findall(r"^WF_ATOM [\w:]+ (\w+)\(", text, re.MULTILINE))
used = set()
for source in cases.iterdir():
    used |= set(re.findall(r"\bhp::(\w+)", source.read_text()))
missing = sorted(atoms - used)
print(f"{len(atoms)} atoms, {len(missing)} in no conformance case{': ' if missing else ''}{', '.join(missing)}")
sys.exit(bool(missing) or len(atoms) < 50)
