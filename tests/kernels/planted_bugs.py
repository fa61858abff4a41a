"""What the suites of planted bugs share: a changed source is compiled and run, and its test must notice."""
import argparse
import concurrent.futures
import os
import subprocess
import sys


def compile_and_run(command, program, environment=None):
    """Compiles by `command` and runs `program`: the finished run, or a text that says why there is none."""
    compiled = subprocess.run(command, capture_output=True, text=True)
    if compiled.returncode != 0:
        return "does not compile: " + compiled.stderr[:300]
    try:
        return subprocess.run([program], env=dict(os.environ, **(environment or {})), capture_output=True, text=True,
                              timeout=300)
    except subprocess.TimeoutExpired:
        return "does not end"


def parser():
    p = argparse.ArgumentParser()
    p.add_argument("--compiler", default="c++")
    p.add_argument("--subset", action="store_true")
    p.add_argument("--only", default="")
    return p


def check(mutants, options, every, title, outcome):
    """Plants each mutant, or with --subset one in `every`; ends with 1 unless outcome(mutant, options) is "caught..." for all."""
    mutants = [m for m in mutants if options.only in title(m)][::every if options.subset else 1]
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, said in zip(mutants, pool.map(lambda m: outcome(m, options), mutants)):
            wrong += not said.startswith("caught")
            print(f"{title(mutant)}\n    {said}", flush=True)
    print(f"{len(mutants) - wrong} of {len(mutants)} caught")
    sys.exit(wrong != 0)
