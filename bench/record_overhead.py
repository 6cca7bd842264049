#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what recording costs. One PyTorch job on loopback runs in turn unrecorded, with
PyTorch's own profiler alone, and under `weft record`; the step times of these runs are compared.

    bench/record_overhead.py build/weft [--repeats 5] [--bar 2.0] [-- JOB ARGUMENT...]

JOB must train with torch.optim and print {"step_ms": [...]} on rank 0. Exit status: 1 if `weft
record` costs more than --bar per cent of the step beyond what PyTorch's own profiler costs; 4 if
PyTorch is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST, LAST = 20, 49
STEPS = 60

# The shortest profiling code that a user would write. It records the same steps as `weft record`,
# with torch.profiler.
OWN_PROFILER = f"""
import runpy, sys
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.profiler import ProfilerActivity, profile, schedule
folder = sys.argv[1]
prof = profile(
    activities=[ProfilerActivity.CPU], record_shapes=True,
    schedule=schedule(wait={FIRST - 2}, warmup=1, active={LAST - FIRST + 2}, repeat=1),
    on_trace_ready=lambda p: p.export_chrome_trace(folder + "/own.json.gz"),
)
prof.start()
register_optimizer_step_post_hook(lambda *ignored: prof.step())
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
prof.stop()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(mode: str, weft: str, python: Path, job: list[str], ranks: int) -> float:
    """Runs the job in one mode and returns the median time of steps FIRST to LAST, in
    milliseconds."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        started = []
        for rank in range(ranks):
            command = [str(python), *job]
            if mode == "own profiler":
                (Path(folder) / f"{rank}").mkdir()
                command = [str(python), "-c", OWN_PROFILER, f"{folder}/{rank}", *job]
            elif mode != "unrecorded":
                flags = ["--no-wire"] if mode == "weft, no wire" else []
                command = [weft, "record", "-q", "-o", folder, "--steps", f"{FIRST}..{LAST}",
                           *flags, "--", *command]  # fmt: skip
            environment = {
                **os.environ,
                "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
            }  # fmt: skip
            started.append(
                subprocess.Popen(
                    command, env=environment, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )
            )  # fmt: skip
        outputs = [process.communicate(timeout=600)[0] for process in started]
    line = next((line for line in outputs[0].splitlines() if line.startswith('{"step_ms"')), None)
    if line is None or any(process.returncode for process in started):
        sys.exit(f"record_overhead: the job failed (mode: {mode})")
    return statistics.median(json.loads(line)["step_ms"][FIRST : LAST + 1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--bar", type=float, default=2.0)
    parser.add_argument("job", nargs="*")
    arguments = parser.parse_args()
    python = ROOT / ".venvs" / "torch" / "bin" / "python"
    if not python.exists():
        print("record_overhead: .venvs/torch is missing; run tools/frameworks.sh torch", file=sys.stderr)
        return 4
    job = arguments.job or [str(ROOT / "testbed/jobs/torch_ddp.py"), "--steps", str(STEPS)]
    modes = ["unrecorded", "own profiler", "weft, no wire", "weft"]
    taken: dict[str, list[float]] = {mode: [] for mode in modes}
    for _ in range(arguments.repeats):
        for mode in modes:
            taken[mode].append(run(mode, arguments.weft, python, job, arguments.ranks))
    base = statistics.median(taken["unrecorded"])
    print(f"{'':14}  step ms   beyond unrecorded   repeats")
    for mode in modes:
        step = statistics.median(taken[mode])
        spread = f"{min(taken[mode]):.2f}..{max(taken[mode]):.2f}"
        print(f"{mode:14}  {step:7.2f}   {100 * (step / base - 1):+16.2f}%   {spread}")
    own = statistics.median(taken["own profiler"])
    extra = 100 * (statistics.median(taken["weft"]) - own) / base
    print(f"weft record costs {extra:+.2f} % of the step beyond PyTorch's profiler (bar {arguments.bar} %)")
    return 0 if extra <= arguments.bar else 1


if __name__ == "__main__":
    sys.exit(main())
