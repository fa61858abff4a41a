#!/usr/bin/env python3
"""Does libwarpfold.so export what its header declares and nothing else? Usage: exports_test.py LIBRARY HEADER"""
import re
import subprocess
import sys

library, header = sys.argv[1:3]
text = open(header).read()
declared = set(re.findall(r"^[a-z].*?\b(wf_\w+)\(", text, re.MULTILINE))
lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
exported = {line.split()[-1].split("@")[0] for line in lines.splitlines()}
dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
soname = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
want = "libwarpfold.so." + re.search(r"^#define WF_ABI_VERSION (\d+)", text, re.MULTILINE).group(1)
problems = [f"{name} is declared and not exported" for name in sorted(declared - exported)]
problems += [f"{name} is exported and not declared" for name in sorted(exported - declared)]
if soname is None or soname.group(1) != want:
    problems.append(f"the soname is {soname and soname.group(1)}, not {want}")
print("\n".join(problems) or f"{want} exports {len(exported)} functions")
sys.exit(bool(problems) or not declared)
