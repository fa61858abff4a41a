#!/usr/bin/env python3
"""Are docs/layouts.md and docs/gemm.md current? docs_test.py WARPFOLD DOCS: runs every command of their console blocks,
compares the output, and draws their layouts again."""
import filecmp
import pathlib
import shlex
import subprocess
import sys
import tempfile

tool, docs = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
errors = commands = 0
for page in ("layouts.md", "gemm.md"):
    for block in (docs / page).read_text().split("```console\n")[1:]:
        for part in ("\n" + block.split("```")[0]).split("\n$ warpfold layout ")[1:]:
            command, _, expected = part.partition("\n")
            run = subprocess.run([tool, "layout", *shlex.split(command)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            commands += 1
            if run.stdout.strip() != expected.strip():
                errors += 1
                print(f"{page}: {command}\n  the page says: {expected.strip()}\n  the tool says: {run.stdout.strip()}")
for pictures in (docs / "pictures" / "layouts", docs / "pictures" / "gemm"):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str((pictures / "make.sh").resolve()), tool, folder], check=True)
        for fresh in sorted(pathlib.Path(folder).iterdir()):
            kept = pictures / fresh.name
            if not kept.exists() or not filecmp.cmp(fresh, kept, shallow=False):
                errors += 1
                print(f"{kept} is not current")
print(f"{commands} commands, {errors} differences")
sys.exit(1 if errors else 0)
