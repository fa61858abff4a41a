"""What one run of a compiler costs: for scripts/unit_cost.py and tests/layout/compile_cost.py."""
import os
import shlex
import sys


def without_cache(command):
    """The words of a command of compile_commands.json, without the programs that launch the compiler."""
    return [word for word in shlex.split(command) if not word.endswith(("ccache", "nvcc_checked.sh"))]


def compile_one(command, folder, errors=None):
    """CPU seconds and MB of the largest process of one run in `folder`; what it says goes to the file `errors`, if given."""
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        if errors is not None:
            os.dup2(errors.fileno(), 2)
        os.execvp(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        if errors is not None:
            errors.seek(0)
            sys.stderr.write(errors.read())
        sys.exit(f"does not compile: {shlex.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
