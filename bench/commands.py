#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the times of `weft diagnose` and `weft report` on the 8 ranks of megatron-tp8, and of
HTA's import of the same files.

Usage: commands.py WEFT [--traces DIR] [--venv DIR] [--repeats N]

Bars: `weft diagnose` prints its findings within 2 s, and `weft report` writes its page within 4 s.
HTA 0.5.0 only imports the files, on all cores, as its users would run it; it does no analysis.
Every command is a process of its own, and its time includes the start of the process. The commands
take turns, so that other load on the machine affects all of them alike. The best wall time is
compared with the bar, because longer times are mostly caused by other load. Processor time is user
plus system time.
Exit status: 0 the bars are met, 1 a bar is missed, 4 the recordings are not there. If HTA cannot be
installed, the Weft commands are measured alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from compare_hta import HTA, ROOT, install


@dataclass
class Command:
    name: str
    words: list[str]
    bar: float | None = None
    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def run(self) -> None:
        begin = time.perf_counter()
        process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall.append(time.perf_counter() - begin)
        self.processor.append(usage.ru_utime + usage.ru_stime)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"{self.name} failed:\n{errors.decode(errors='replace')}")

    def row(self) -> str:
        text = f"{self.name:18} {min(self.wall):8.2f} {statistics.median(self.wall):8.2f} "
        text += f"{min(self.processor):8.2f} {statistics.median(self.processor):8.2f}"
        if self.bar is not None:
            text += f"   bar {self.bar:.0f} s: {'pass' if self.holds() else 'FAIL'}"
        return text

    def holds(self) -> bool:
        return self.bar is None or min(self.wall) <= self.bar


def run_hta(files: list[str]) -> None:
    from hta.common.trace import Trace  # type: ignore[import-not-found]

    Trace(dict(enumerate(files)), str(Path(files[0]).parent)).load_traces()


def main() -> int:
    if len(sys.argv) > 2 and sys.argv[1] == "run-hta":
        run_hta(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared" / "traces")
    parser.add_argument("--venv", type=Path, default=ROOT / "build" / "hta-venv")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    folder = options.traces / "astra-sim_astra-sim" / "megatron-tp8"
    files = sorted(str(path) for path in folder.glob("megatron_kineto_*"))
    if not files:
        print(f"skipped: {folder} does not exist")
        return 4
    with tempfile.TemporaryDirectory() as scratch:
        page = str(Path(scratch) / "report.html")
        commands = [
            Command("weft diagnose", [options.weft, "diagnose", str(folder)], 2.0),
            Command("weft report", [options.weft, "report", str(folder), "-o", page], 4.0),
        ]
        python = install(options.venv)
        if python is not None:
            commands.append(
                Command(f"HTA {HTA.split('==')[1]} import", [str(python), __file__, "run-hta", *files])
            )
        for _ in range(options.repeats):
            for command in commands:
                command.run()
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(f"megatron-tp8, {len(files)} ranks, {options.repeats} runs; load {load:.1f} per core")
    print(f"{'seconds':18} {'wall':>8} {'median':>8} {'cpu':>8} {'median':>8}")
    for command in commands:
        print(command.row())
    if python is not None:
        weft, hta = commands[0], commands[-1]
        print(
            f"weft diagnose is faster than HTA's import: {min(hta.wall) / min(weft.wall):.0f}x in wall time, "
            f"{min(hta.processor) / min(weft.processor):.0f}x in processor time"
        )
    return 0 if all(command.holds() for command in commands) else 1


if __name__ == "__main__":
    sys.exit(main())
