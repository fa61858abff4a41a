"""What the suites of planted bugs share: a changed source is compiled and run, and its test must notice."""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


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


def check_headers(mutants, every):
    """Plants bugs (what is wrong, header, text, replacement[, test]) in kernels whose tests are compiled from their headers.

    The test that must notice is --test, or the given one beside it.
    Each mutant is compiled with the changed header in front of the include path. A mutant that survives is a failure, and
    so is one that no longer compiles or whose text is not in the source.
    """
    p = parser()
    p.add_argument("--test", required=True)
    p.add_argument("--libraries", nargs="+", required=True)
    p.add_argument("--seeds", type=int, default=6)

    def outcome(mutant, options):
        _, file, old, new, *other = mutant
        test = str(pathlib.Path(options.test).with_name(other[0])) if other else options.test
        source = (ROOT / "include" / file).read_text()
        if old not in source:
            return "the text is not in " + file
        with tempfile.TemporaryDirectory() as folder:
            changed = pathlib.Path(folder, file)
            changed.parent.mkdir(parents=True)
            changed.write_text(source.replace(old, new))
            program = str(pathlib.Path(folder, "test"))
            run = compile_and_run(
                [options.compiler, "-std=c++20", "-O1", "-w", f"-I{folder}", f"-I{ROOT}/include", f"-I{ROOT}/tests", test,
                 *options.libraries, "-lgtest", "-lgtest_main", "-lboost_context", "-lpthread", "-o", program],
                program, {"WF_SEEDS": str(options.seeds)})
        if isinstance(run, str):
            return run
        if run.returncode == 0:
            return "SURVIVES"
        said = [line for line in run.stdout.splitlines() if "Which is:" in line]
        return "caught: " + (said[0].split("Which is:")[1].strip()[:150] if said else f"exit status {run.returncode}")

    check(mutants, p.parse_args(), every, lambda m: m[0], outcome)
