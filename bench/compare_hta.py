#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Weft's import (files to graph) with HTA's (files to data frames) and with Python's json.

Usage: compare_hta.py IMPORT_BENCH [--traces DIR] [--venv DIR] [--repeats N]

All three read the same files on one core, one after the other, N times, each in a process of its
own. The medians of processor time are compared, because wall time would count other programs on the
machine. The start of Python and `import hta` are not counted. Peak memory is that of the process.
HTA 0.5.0 is installed from PyPI into a virtual environment of its own. Bars: Weft is 20 times
faster and needs a fifth of the memory.
Exit status: 0 the bars are met, 1 a bar is missed, 4 HTA or the recordings are not available.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HTA = "HolisticTraceAnalysis==0.5.0"
FASTER, SMALLER = 20.0, 5.0
ROOT = Path(__file__).resolve().parent.parent


def peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def run_json(files: list[str]) -> None:
    """Parses the files with Python's json. Every tool in pure Python takes at least this time."""
    begin = time.process_time()
    documents = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8", errors="replace") as text:
            documents.append(json.load(text, strict=False))
    print(f"seconds={time.process_time() - begin} peak_bytes={peak_bytes()}")


def run_hta(files: list[str]) -> None:
    from hta.common.trace import Trace  # type: ignore[import-not-found]

    begin = time.process_time()
    trace = Trace(dict(enumerate(files)), str(Path(files[0]).parent))
    trace.load_traces(use_multiprocessing=False)  # one process: peak_bytes() sees all memory
    print(f"seconds={time.process_time() - begin} peak_bytes={peak_bytes()}")


def measure(command: list[str]) -> dict[str, float]:
    """Runs a program on one core and returns the name=value pairs of its last line of output."""
    core = min(os.sched_getaffinity(0))
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr}")
    pairs = (pair.split("=") for pair in done.stdout.splitlines()[-1].split())
    return {name: float(value) for name, value in pairs}


def install(venv: Path) -> Path | None:
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    if subprocess.run([python, "-c", "import hta"], capture_output=True).returncode != 0:
        pip = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", HTA],
            capture_output=True, text=True, check=False,
        )
        if pip.returncode != 0:
            print(f"skipped: pip cannot install {HTA}:\n{pip.stderr[-400:]}")
            return None
    return python


def compare(
    name: str, files: list[str], programs: dict[str, list[str]], repeats: int, bars: bool
) -> bool:
    runs: dict[str, list[dict[str, float]]] = {program: [] for program in programs}
    for _ in range(repeats):
        for program, command in programs.items():
            runs[program].append(measure([*command, *files]))
    median = {
        program: {
            key: statistics.median(run[key] for run in of) for key in ("seconds", "peak_bytes")
        }
        for program, of in runs.items()
    }
    weft = median["weft"]
    print(f"{name}: medians of {repeats} runs, one core")
    print(f"  {'':5} {'seconds':>9} {'peak MB':>9} {'time':>8} {'memory':>8}")
    for program, figures in median.items():
        print(
            f"  {program:5} {figures['seconds']:9.3f} {figures['peak_bytes'] / 1e6:9.1f} "
            f"{figures['seconds'] / weft['seconds']:7.1f}x "
            f"{figures['peak_bytes'] / weft['peak_bytes']:7.1f}x"
        )
    faster = median["HTA"]["seconds"] / weft["seconds"]
    smaller = median["HTA"]["peak_bytes"] / weft["peak_bytes"]
    if not bars:  # on small files HTA's fixed costs would dominate the ratio
        print(f"  against HTA: {faster:.1f}x faster, {smaller:.1f}x less memory")
        return True
    good = faster >= FASTER and smaller >= SMALLER
    print(
        f"  against HTA: {faster:.1f}x faster (bar {FASTER:.0f}x), {smaller:.1f}x less memory "
        f"(bar {SMALLER:.0f}x): {'pass' if good else 'FAIL'}"
    )
    return good


def main() -> int:
    if len(sys.argv) > 2 and sys.argv[1] in ("run-json", "run-hta"):
        (run_json if sys.argv[1] == "run-json" else run_hta)(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("import_bench")
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared" / "traces")
    parser.add_argument("--venv", type=Path, default=ROOT / "build" / "hta-venv")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    resolver = "facebookresearch_HolisticTraceAnalysis/df_index_resolver/df_index_resolver.json.gz"
    megatron = "astra-sim_astra-sim/megatron-tp8/megatron_kineto_*"
    sets = {
        "df_index_resolver (54 MB of JSON)": [str(options.traces / resolver)],
        "megatron-tp8 (8 ranks)": sorted(str(path) for path in options.traces.glob(megatron)),
    }
    sets = {name: files for name, files in sets.items() if files and Path(files[0]).exists()}
    if not sets:
        print(f"skipped: the recordings are not in {options.traces}")
        return 4
    python = install(options.venv)
    if python is None:
        return 4
    programs = {
        "weft": [options.import_bench],
        "HTA": [str(python), __file__, "run-hta"],
        "json": [sys.executable, __file__, "run-json"],
    }
    results = [
        compare(name, files, programs, options.repeats, bars=resolver in files[0])
        for name, files in sets.items()
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
