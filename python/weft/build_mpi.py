# SPDX-License-Identifier: Apache-2.0
"""Compiles the parts of Weft that use MPI: `python -m weft.build_mpi`.

A program that uses MPI works only with the MPI library for which it was compiled, so wheels do not
contain such programs. This module compiles two files and puts them into the installed package: the
library that `weft record --mpi` loads into the ranks, and the program that `weft calibrate` runs
under `mpirun`. It uses the `mpicc` of this machine, or the compiler wrapper that the command line
names: `python -m weft.build_mpi mpicc.mpich`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

NATIVE = Path(__file__).parent / "_native"
SOURCES = NATIVE / "src"


def library_command(mpicc: str) -> list[str]:
    sources = sorted(
        str(file) for part in ("log", "mpi") for file in (SOURCES / "probes" / part).glob("*.c")
    )
    return [
        mpicc, "-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{SOURCES}",
        "-Wl,-z,nodelete", "-Wl,-z,defs", *sources, "-o", str(NATIVE / "lib" / "libweft-mpi.so"),
        "-lpthread", "-ldl",
    ]  # fmt: skip


def program_command(mpicc: str) -> list[str]:
    return [
        mpicc, "-std=gnu11", "-O2", str(SOURCES / "calibrate" / "mpi.c"), "-o",
        str(NATIVE / "libexec" / "weft" / "calibrate-mpi"), "-lm",
    ]  # fmt: skip


def main(arguments: list[str]) -> int:
    """Compile the two files. Returns the exit status: 0 on success, 2 for wrong arguments, or 4 if
    something is missing on this machine."""
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        print("usage: python -m weft.build_mpi [MPICC]", file=sys.stderr)
        return 2
    mpicc = arguments[0] if arguments else "mpicc"
    if not SOURCES.is_dir():
        print(f"weft: error: {SOURCES} is missing; install Weft from a wheel", file=sys.stderr)
        return 4
    if shutil.which(mpicc) is None:
        print(
            f"weft: error: there is no '{mpicc}' on the PATH; load the module of your MPI, or "
            "install one with its compiler wrapper (Debian: libopenmpi-dev)",
            file=sys.stderr,
        )
        return 4
    for command in (library_command(mpicc), program_command(mpicc)):
        out = Path(command[command.index("-o") + 1])
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            print(f"weft: error: cannot write {out.parent}: {error.strerror}", file=sys.stderr)
            return 4
        if done.returncode != 0:
            print(f"{done.stderr}weft: error: {mpicc} cannot compile {out.name}", file=sys.stderr)
            return 4
        print(f"built {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
