#!/usr/bin/env python3
"""Is docs/PAGE.md current? docs_test.py WARPFOLD DOCS PAGE: runs every command of its console blocks, compares the
output, and draws its pictures again."""
import filecmp
import pathlib
import shlex
import subprocess
import sys
import tempfile

tool, docs, page = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]), sys.argv[3]
errors = commands = 0
for block in (docs / f"{page}.md").read_text().split("```console\n")[1:]:
    for part in ("\n" + block.split("```")[0]).split("\n$ warpfold layout ")[1:]:
        command, _, expected = part.partition("\n")
        run = subprocess.run([tool, "layout", *shlex.split(command)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        commands += 1
        if run.stdout.strip() != expected.strip():
            errors += 1
            print(f"{command}\n  the page says: {expected.strip()}\n  the tool says: {run.stdout.strip()}")
pictures = docs / "pictures" / page
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([str((pictures / "make.sh").resolve()), tool, folder], check=True)
    for fresh in sorted(pathlib.Path(folder).iterdir()):
        kept = pictures / fresh.name
        if not kept.exists() or not filecmp.cmp(fresh, kept, shallow=False):
            errors += 1
            print(f"{kept.name} is not current")
print(f"{commands} commands, {errors} differences")
sys.exit(1 if errors else 0)
