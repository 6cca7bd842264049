#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `weft pipeline schedule` with CP-SAT on the reference instances.

Usage: pipeline_schedules.py WEFT [--venv DIR] [--seconds S] [--large] [--instances DIR]

Weft's time is the time of the whole command for one pipeline. CP-SAT's time is the time of its solver
alone, with two workers. Both run in turn on the same machine. The CP-SAT model has one interval per op,
one machine per stage, a reservoir for memory, and micro-batches in order.
With --large CP-SAT also solves the pipelines with 8 stages, for at most S seconds each (default: 60).
OR-tools is installed from PyPI into its own virtual environment.

Bars: all instances of the sets "small exact schedules" and "zero bubble" are solved and proved
optimal. Schedules of instances with uneven stages are on average at most 1 % above the lower bound.
Of these instances, all with 4 stages are proved optimal, and none takes longer than CP-SAT. Those
with 8 stages and 16 micro-batches are on average at most 0.5 % above the lower bound and take at
most 60 s each.
Exit status: 0 if the bars hold, 1 if not, 4 if the instances or OR-tools are not available.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT.parent / "shared" / "pipelines" / "weft_reference"
ORTOOLS = "ortools==9.15.6755"
MEAN_GAP, MEAN_GAP_LARGE, LONGEST = 1.0, 0.5, 60.0  # percent, percent, seconds


def cp_sat(case: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Solves one instance. Runs in the virtual environment of OR-tools."""
    from ortools.sat.python import cp_model  # type: ignore[import-not-found]

    stages, count, latency = case["P"], case["M"], case["c"]
    times = [case["f"], case["b"], case["w"]]
    horizon = sum(count * (f + b + w + 2 * latency) for f, b, w in zip(*times, strict=True))
    model = cp_model.CpModel()
    end = model.new_int_var(0, horizon, "end")
    start = [
        [[model.new_int_var(0, horizon, "") for _ in range(count)] for _ in range(3)]
        for _ in range(stages)
    ]
    for s in range(stages):
        spans, moments, changes = [], [], []
        for kind in range(3):
            long = times[kind][s]
            for m in range(count):
                spans.append(model.new_fixed_size_interval_var(start[s][kind][m], long, ""))
                moments.append(start[s][kind][m] + (long if kind else 0))
                changes.append(-1 if kind else 2)
                if m:
                    model.add(start[s][kind][m] >= start[s][kind][m - 1] + long)
                if kind:
                    before = times[kind - 1][s]
                    model.add(start[s][kind][m] >= start[s][kind - 1][m] + before)
        model.add_no_overlap(spans)
        model.add_reservoir_constraint(moments, changes, 0, 2 * case["cap_F"])
        model.add(end >= start[s][2][count - 1] + times[2][s])
    for s in range(stages - 1):
        for m in range(count):
            model.add(start[s + 1][0][m] >= start[s][0][m] + times[0][s] + latency)
            model.add(start[s][1][m] >= start[s + 1][1][m] + times[1][s + 1] + latency)
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    begin = time.monotonic()
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return {
        "seconds": time.monotonic() - begin,
        "makespan": round(solver.objective_value) if found else None,
        "bound": round(solver.best_objective_bound),
        "proved": status == cp_model.OPTIMAL,
    }


def install(venv: Path) -> Path | None:
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    if subprocess.run([python, "-c", "import ortools"], capture_output=True).returncode != 0:
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ORTOOLS]
        pip = subprocess.run(command, capture_output=True, text=True, check=False)
        if pip.returncode != 0:
            print(f"skipped: {ORTOOLS} cannot be installed here:\n{pip.stderr[-400:]}")
            return None
    return python


def ask_cp_sat(python: Path, case: dict[str, Any], seconds: float) -> dict[str, Any]:
    command = [str(python), str(Path(__file__).resolve()), "--cp-sat", str(seconds)]
    done = subprocess.run(command, input=json.dumps(case), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ask_weft(weft: str, instances: Any) -> list[dict[str, Any]]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"instances": instances}, file)
        file.flush()
        begin = time.monotonic()
        done = subprocess.run(
            [weft, "pipeline", "schedule", file.name, "--json", "--patterns"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        seconds = time.monotonic() - begin
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    for result in results:
        result["seconds"] = seconds
    return results


def gap(value: float, bound: float) -> float:
    return 100 * (value - bound) / bound


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


class Bars:
    held = True

    def check(self, what: str, holds: bool) -> None:
        print(f"{'ok  ' if holds else 'MISS'} {what}")
        self.held &= holds


def known_optima(weft: str, folder: Path, bars: Bars) -> None:
    small = json.loads((folder / "small_exact_schedules.json").read_text())["instances"]
    results = ask_weft(weft, small)
    reached = sum(r["proved"] and r["makespan"] == c["opt"] for c, r in zip(small, results, strict=True))
    bars.check(f"small exact schedules: {reached} of {len(small)} optimal and proved, "
               f"{results[0]['seconds'] * 1000:.0f} ms in total", reached == len(small))  # fmt: skip
    named = json.loads((folder / "zero_bubble_instances.json").read_text())["instances"]
    results = ask_weft(weft, named)
    best = [case["ref"]["memory_aware_lower_bound"] for case in named.values()]
    reached = sum(r["proved"] and r["makespan"] == b for b, r in zip(best, results, strict=True))
    bars.check(f"zero-bubble instances: {reached} of {len(named)} optimal, "
               f"{results[0]['seconds'] * 1000:.0f} ms in total", reached == len(named))  # fmt: skip


def family_table(cases: list[dict[str, Any]], results: list[dict[str, Any]], bars: Bars) -> None:
    print(f"\n{'family':18} {'pipelines':>9} {'proved':>6} {'gap %':>7} {'slowest s':>9}   "
          f"{'1F1B %':>6} {'ZB-H1 %':>7} {'ZB-auto %':>9}")  # fmt: skip
    for family in dict.fromkeys(case["family"] for case in cases):
        mine = [r for c, r in zip(cases, results, strict=True) if c["family"] == family]
        gaps = mean([r["gap_pct"] for r in mine])
        other = {
            name: f"{mean(values):.2f}" if values else "-"
            for name in ("1f1b", "zb-h1", "zb-auto")
            if (values := [gap(r["patterns"][name], r["lower_bound"]) for r in mine
                           if name in r["patterns"]]) is not None
        }  # fmt: skip
        print(f"{family:18} {len(mine):9} {sum(r['proved'] for r in mine):6} {gaps:7.3f} "
              f"{max(r['seconds'] for r in mine):9.2f}   {other['1f1b']:>6} {other['zb-h1']:>7} "
              f"{other['zb-auto']:>9}")  # fmt: skip
        bars.check(f"{family}: mean gap {gaps:.3f} %", gaps <= MEAN_GAP)


def against_cp_sat(
    cases: list[dict[str, Any]], results: list[dict[str, Any]], rivals: list[dict[str, Any] | None],
    bars: Bars,
) -> None:  # fmt: skip
    asked = [(c, r, o) for c, r, o in zip(cases, results, rivals, strict=True) if o is not None]
    if not asked:
        return
    print(f"\n{'family':18} {'weft':>6} {'s':>7}   {'CP-SAT':>6} {'bound':>6} {'s':>6} {'times':>6}")
    for case, result, other in asked:
        ratio = other["seconds"] / result["seconds"]
        print(f"{case['family']:18} {result['makespan']:6}{'' if result['proved'] else '?'} "
              f"{result['seconds']:7.3f}   {other['makespan'] or '-':>6}{' ' if other['proved'] else '?'}"
              f"{other['bound']:6} {other['seconds']:6.2f} {ratio:6.0f}")  # fmt: skip
    small = [(r, o) for c, r, o in asked if c["P"] == 4]
    bars.check("4 stages: none slower than CP-SAT",
               all(r["seconds"] <= o["seconds"] for r, o in small))  # fmt: skip
    bars.check("no lower bound exceeds a schedule found by CP-SAT",
               all(o["makespan"] is None or r["lower_bound"] <= o["makespan"] for _, r, o in asked))  # fmt: skip


def uneven(weft: str, folder: Path, python: Path | None, seconds: float, large: bool, bars: Bars) -> None:
    cases = json.loads((folder / "uneven_families.json").read_text())["instances"]
    results, rivals = [], []
    for case in cases:
        results += ask_weft(weft, [case])
        wanted = python is not None and (case["P"] == 4 or large)
        rivals.append(ask_cp_sat(python, case, seconds) if python and wanted else None)
    family_table(cases, results, bars)
    against_cp_sat(cases, results, rivals, bars)
    four = [(c, r) for c, r in zip(cases, results, strict=True) if c["P"] == 4]
    bars.check("4 stages: all proved optimal, and equal to the optima that CP-SAT proved",
               all(r["proved"] and r["makespan"] == c["cp_sat"]["makespan"] for c, r in four))  # fmt: skip
    eight = [r for c, r in zip(cases, results, strict=True) if (c["P"], c["M"]) == (8, 16)]
    gaps, longest = mean([r["gap_pct"] for r in eight]), max(r["seconds"] for r in eight)
    bars.check(f"8 stages, 16 micro-batches: mean gap {gaps:.3f} %, at most {longest:.1f} s each",
               gaps <= MEAN_GAP_LARGE and longest <= LONGEST)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("weft", nargs="?", default=str(ROOT / "build" / "weft"))
    parser.add_argument("--venv", type=Path, default=ROOT / "build" / "ortools-venv")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--instances", type=Path, default=REFERENCE)
    parser.add_argument("--cp-sat", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cp_sat is not None:
        print(json.dumps(cp_sat(json.load(sys.stdin), arguments.cp_sat)))
        return 0
    if not arguments.instances.exists():
        print(f"skipped: there are no instances in {arguments.instances}")
        return 4
    python = install(arguments.venv)
    bars = Bars()
    known_optima(arguments.weft, arguments.instances, bars)
    uneven(arguments.weft, arguments.instances, python, arguments.seconds, arguments.large, bars)
    if python is None:
        return 4 if bars.held else 1
    return 0 if bars.held else 1


if __name__ == "__main__":
    sys.exit(main())
