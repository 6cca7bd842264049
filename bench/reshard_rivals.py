#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares plans of `weft reshard` with those of XLA, Shardy and DTensor under one cost model.

Usage: reshard_rivals.py WEFT [--live] [--cases FILE] [--rivals FILE] [--show N]

For each price (cost per step and per message; always 25 GB/s per device) and each size (as in the
file, or 64 MiB per device), all cases are planned again, and every recorded plan of a rival is
priced in the same way. Limits: Weft must never be slower than the best rival plan of a case. At 64
MiB per device and with no cost per step or message, the rival's time divided by Weft's must be at
least 1.40 for XLA, 1.85 for DTensor and 1.10 for Shardy's pass, in the geometric mean.

With --live the JAX and torch in .venvs plan again (see reshard_live.py) the cases that divide evenly
and have one mesh. Their plans replace the recorded ones, and the number of equal plans is printed.

Received bytes of a rival are rounded up to whole elements: a recorded all-reduce receives
2 (g - 1) / g of the array, which for 35 elements on 4 devices contains half an element.
Exit status: 0 if the limits hold, 1 if not, 4 if the cases are missing.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "reshard"
BANDWIDTH = 25e9
LOCAL = 64 << 20
PRICES = [(0.0, 0.0), (10.0, 0.0), (0.0, 2.0)]  # microseconds per step, per message
BARS = {"xla": 1.40, "dtensor": 1.85, "shardy_pass": 1.10}
RIVALS = ["xla", "xla_uneven", "shardy_pass", "dtensor", "dtensor_mincost", "dtensor_mincost_1g"]
TOLERANCE = 1e-6  # Weft rounds prices to whole picoseconds


def messages(op: str, group: int | None, received: float, output: float) -> int:
    """The number of messages that a device receives in one collective. If the group size is not
    recorded, it is derived."""
    op = op.replace("-", "_")
    if op == "collective_permute":
        return 1
    if op not in ("all_gather", "all_to_all", "reduce_scatter", "all_reduce"):
        return 0
    size = group or max(2, round(output / max(1.0, output - received)))
    return (size - 1) * (2 if op == "all_reduce" else 1)


def rival_us(plan: dict[str, Any], item: int, step: float, message: float, scale: float) -> float:
    received = sum(math.ceil(op[2] / item - 1e-6) * item for op in plan["ops"])
    count = sum(messages(*op) for op in plan["ops"])
    return float(plan["steps"] * step + count * message + received * scale / BANDWIDTH * 1e6)


@dataclass
class Setting:
    """The comparison of Weft with its rivals for one price and one size."""

    slower: list[tuple[float, str, str]] = field(default_factory=list)  # ratio, case, rival
    logs: dict[str, list[float]] = field(default_factory=dict)

    def add(self, case: str, ours: float, rivals: dict[str, float]) -> None:
        for name, theirs in rivals.items():
            if ours > 0 and theirs > 0:
                self.logs.setdefault(name, []).append(math.log(theirs / ours))
        if rivals:
            best = min(rivals, key=lambda name: rivals[name])
            if ours > rivals[best] * (1 + TOLERANCE):
                self.slower.append((ours / max(rivals[best], 1e-12), case, best))

    def mean(self, name: str) -> float:
        logs = self.logs.get(name, [])
        return math.exp(sum(logs) / len(logs)) if logs else math.nan


def compare(
    weft: str, cases: Path, rivals: dict[str, Any], step: float, message: float, scaled: bool
) -> Setting:
    words = [weft, "reshard", "--cases", str(cases), "--json", "--link", f"{step}us,25GB/s"]
    words += ["--message-cost", f"{message}us"]
    if scaled:
        words += ["--scale-local", f"{LOCAL}"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"weft failed: {done.stderr}")
    setting = Setting()
    for case in json.loads(done.stdout)["cases"]:
        if case["status"] != "ok":
            continue
        scale = LOCAL / case["peak_bound"] if scaled and case["peak_bound"] else 1.0
        setting.add(
            case["id"],
            case["time_us"],
            {
                name: rival_us(plan, case["itemsize"], step, message, scale)
                for name in RIVALS
                if (plan := rivals[case["id"]].get(name, {})).get("status") == "ok"
                and "ran" not in plan  # these plans were executed and gave wrong results
            },
        )
    return setting


def ask_again(cases: Path, rivals: dict[str, Any]) -> None:
    """Replaces recorded plans with those of the installed planners."""
    script = Path(__file__).with_name("reshard_live.py")
    for name, framework in (("xla", "jax"), ("dtensor", "torch")):
        python = ROOT / ".venvs" / framework / "bin" / "python"
        if not python.exists():
            print(
                f"{name}: {framework} is not installed (see tools/frameworks.sh {framework}); "
                "using the recorded plans"
            )
            continue
        done = subprocess.run([python, script, name, cases], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{name} failed: {done.stderr[-2000:]}")
        same = asked = 0
        for plan in map(json.loads, done.stdout.splitlines()):
            if plan["status"] != "ok":
                continue
            recorded = rivals[plan["id"]].get(name, {})
            if recorded.get("status") == "ok":
                asked += 1
                same += (
                    recorded["steps"] == plan["steps"]
                    and abs(recorded["recv_bytes"] - plan["recv_bytes"]) < 1
                )
            rivals[plan["id"]][name] = plan
        print(f"{name}: {asked} plans were computed again, {same} of them equal the recorded ones")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--live", action="store_true", help="ask the installed JAX and torch again")
    parser.add_argument("--cases", type=Path, default=SHARED / "cases.json")
    parser.add_argument("--rivals", type=Path, default=SHARED / "rivals.jsonl.gz")
    parser.add_argument("--show", type=int, default=5, help="most cases to list in which Weft is slower")
    arguments = parser.parse_args()
    for path in (arguments.cases, arguments.rivals):
        if not path.exists():
            print(f"{path} is missing", file=sys.stderr)
            return 4
    with gzip.open(arguments.rivals, "rt") as lines:
        rivals = {plan["id"]: plan for plan in map(json.loads, lines)}
    if arguments.live:
        ask_again(arguments.cases, rivals)
    print("geometric means of the rivals' times over Weft's; slower: cases in which the best rival is faster")
    print(f"{'step':>6} {'message':>8} {'local':>7} {'slower':>7} " + " ".join(f"{n:>18}" for n in RIVALS))
    held = True
    for step, message in PRICES:
        for scaled in (False, True):
            setting = compare(arguments.weft, arguments.cases, rivals, step, message, scaled)
            size = "64 MiB" if scaled else "native"
            means = " ".join(f"{setting.mean(name):18.3f}" for name in RIVALS)
            print(f"{step:4.0f}us {message:6.0f}us {size:>7} {len(setting.slower):7} {means}")
            for ratio, case, name in sorted(setting.slower, reverse=True)[: arguments.show]:
                print(f"    {ratio:.3f}x of {name}: {case}")
            held = held and not setting.slower
            if scaled and (step, message) == (0.0, 0.0):
                for name, bar in BARS.items():
                    if not setting.mean(name) >= bar:
                        print(f"    below the limit: {name} {setting.mean(name):.3f}, must be {bar}")
                        held = False
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
