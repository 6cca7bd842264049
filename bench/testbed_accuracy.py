#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predictions with real jobs of every framework, on hosts of the testbed.

Usage: testbed_accuracy.py WEFT [--only TEXT]... [--repeats N] [--results DIR] [--markdown FILE]

A case is a job on a number of hosts whose links have a given rate. The bench records the job once
with `weft record`. It also runs the job without profiler, both unchanged and with one change per
run. These runs take turns, N times, so that other load on the machine affects all of them alike.
Weft predicts the step of each run from the recording alone. The noise of a run is half of the
spread of its repeats; the error of a prediction is its deviation minus the noise. Times and
recordings are kept in DIR, so that an interrupted bench continues where it stopped. --predict
computes the predictions again without measuring; --markdown writes the page from the results in
DIR.
Exit status: 0 the bars are met, 1 a bar is missed, 4 the user is not root. A framework that is not
installed is named and its cases are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
JOBS = ROOT / "testbed" / "jobs"
STEPS = 18
WARM_UP = 6  # steps not counted: connections open, caches fill, DDP rebuilds its buckets
RECORDED = "8..12"
SAME_BAR, CHANGED_BAR = 5.0, 7.0  # per cent


@dataclass(frozen=True)
class Change:
    """One change of the recorded job, and the what-if that predicts its effect."""

    name: str
    what_if: str
    hosts: int | None = None
    rate: float = 1.0
    slow: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    name: str
    framework: str
    script: str
    arguments: tuple[str, ...] = ()
    style: str = "torch"
    servers: int = 0
    emulate: str = "60"
    changes: tuple[Change, ...] = ()


NETWORK = (
    Change("links x2", "network.bandwidth=2x", rate=2.0),
    Change("links /2", "network.bandwidth=0.5x", rate=0.5),
)
SLOW_HOST = Change("one host at half speed", "rank:{host1}.compute=0.5x", slow="host1=0.5")
FOUR_WORKERS = Change("4 workers", "workers=4", hosts=4)
BUCKETS = tuple(
    Change(f"buckets of {size} MB", f"ddp.bucket_mb={size}", arguments=("--bucket-mb", str(size)))
    for size in (4, 100)
)

JOBS_HERE = (
    *(
        Job(f"PyTorch DDP, {model}", "torch", "torch_ddp.py", ("--model", model), changes=BUCKETS)
        for model in ("mlp", "cnn", "transformer")
    ),
    Job("TensorFlow MultiWorkerMirrored", "tensorflow", "tf_mwms.py", ("--bytes-per-pack", "1"),
        style="tensorflow"),  # fmt: skip
    Job("TensorFlow ParameterServer", "tensorflow", "tf_ps.py", style="tensorflow", servers=1),
    Job("MXNet dist_sync", "mxnet", "mxnet_ps.py", style="ps", servers=1),
    Job("JAX data parallel", "jax", "jax_dp.py"),
)


@dataclass(frozen=True)
class Case:
    """A job on hosts. Compute is emulated (a wait of fixed length) if ranks share a core."""

    job: Job
    hosts: int
    gbit: float
    emulated: bool
    skew: str = ""

    @property
    def name(self) -> str:
        parts = [self.job.name, f"{self.hosts} hosts", f"{self.gbit:g} Gbit/s"]
        parts += ["emulated"] * self.emulated + ["skewed clocks"] * bool(self.skew)
        return ", ".join(parts)

    def changes(self) -> Iterator[Change]:
        yield from NETWORK
        yield from self.job.changes
        if not self.emulated:
            yield SLOW_HOST
        elif self.hosts == 2:
            yield FOUR_WORKERS


def cases() -> Iterator[Case]:
    for job in JOBS_HERE:
        for gbit in (0.5, 1.0):
            yield Case(job, 2, gbit, emulated=False)
            yield Case(job, 2, gbit, emulated=True)
            yield Case(job, 4, gbit, emulated=True)
    for job in JOBS_HERE:
        if job.name not in ("PyTorch DDP, cnn", "PyTorch DDP, transformer"):
            yield Case(job, 2, 1.0, emulated=False, skew="host1=+50ms,50ppm")


def name_of(change: Change | None) -> str:
    return change.name if change else "as recorded"


class Bench:
    def __init__(self, weft: Path, repeats: int, folder: Path) -> None:
        self.weft, self.repeats, self.folder = weft, repeats, folder
        folder.mkdir(parents=True, exist_ok=True)

    def recording(self, case: Case) -> Path:
        return self.folder / "".join(c if c.isalnum() else "-" for c in case.name)

    def run(self, case: Case, change: Change | None = None, record: bool = False) -> float:
        """Runs the job once and returns its median step in ms, without the warm-up steps."""
        job = case.job
        hosts = (change and change.hosts) or case.hosts
        rate = case.gbit * (change.rate if change else 1.0)
        words: list[str | Path] = []
        if record:
            words += [self.weft, "record", "-o", self.recording(case), "--force"]
            words += ["--steps", RECORDED, "-q", "--"]
        words += [self.weft, "testbed", "run", self.cluster(hosts, rate)]
        words += ["--style", job.style]
        if job.servers:
            words += ["--servers", str(job.servers)]
        if change and change.slow:
            words += ["--slow", change.slow]
        if case.skew:
            words += ["--skew", case.skew]
        python = ROOT / ".venvs" / job.framework / "bin" / "python"
        words += ["--", python, JOBS / job.script, *job.arguments, "--steps", str(STEPS)]
        if case.emulated:
            words += ["--emulate", job.emulate]
        if change:
            words += change.arguments
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, timeout=300
        )
        for line in done.stdout.splitlines():
            start = line.find('{"step_ms"')
            if start >= 0:
                steps = json.loads(line[start:])["step_ms"]
                return float(statistics.median(steps[WARM_UP:]))
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")

    def cluster(self, hosts: int, gbit: float) -> Path:
        """A description in which every host has a core of its own if there are enough cores."""
        cores = os.cpu_count() or 1
        description = {
            "rate": f"{round(1000 * gbit)}mbit",
            "hosts": [{"name": f"host{i}", "cores": [i % cores]} for i in range(hosts)],
        }
        path = self.folder / f"c{hosts}-{round(1000 * gbit)}.json"
        path.write_text(json.dumps(description))
        return path

    def ranks(self, case: Case) -> dict[str, int]:
        """The rank on each host. Launchers differ in how they number ranks."""
        words = [str(self.weft), "info", str(self.recording(case)), "--json", "-q"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        (run,) = json.loads(done.stdout)["runs"]
        return {rank["host"]: rank["rank"] for rank in run["ranks"]}

    def predict(self, case: Case, what_if: str = "") -> float:
        what_if = what_if.format(**self.ranks(case)) if "{" in what_if else what_if
        words = [str(self.weft), "replay", str(self.recording(case)), "--json", "-q"]
        if what_if:
            words += ["--what-if", what_if]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        answer = json.loads(done.stdout)
        return float(answer["predicted_step_ms" if what_if else "baseline_step_ms"])

    def measure(self, case: Case) -> dict[str, Any]:
        settings: list[Change | None] = [None, *case.changes()]
        measured: dict[str, list[float]] = {}
        for repeat in range(self.repeats):
            for change in settings:
                measured.setdefault(name_of(change), []).append(self.run(case, change))
            if repeat == 0:
                self.run(case, record=True)
        return {"case": case.name, "times": measured, "rows": self.predictions(case, measured)}

    def predictions(self, case: Case, measured: dict[str, list[float]]) -> list[dict[str, Any]]:
        """A row with the prediction for each measured setting."""
        rows = []
        for change in [None, *case.changes()]:
            # Times in DIR may come from an older version of this file with other changes.
            if name_of(change) not in measured:
                continue
            row = Row(name_of(change), measured[name_of(change)])
            try:
                row.predicted = self.predict(case, change.what_if if change else "")
            except RuntimeError as error:
                row.refused = str(error)
            rows.append(asdict(row))
        return rows


@dataclass
class Row:
    setting: str
    times: list[float]
    predicted: float = 0.0
    refused: str = ""
    truth: float = field(init=False)
    noise: float = field(init=False)

    def __post_init__(self) -> None:
        self.truth = statistics.median(self.times)
        self.noise = 50 * (max(self.times) - min(self.times)) / self.truth

    @property
    def off(self) -> float:
        return 100 * (self.predicted / self.truth - 1)

    @property
    def error(self) -> float:
        return max(0.0, abs(self.off) - self.noise)


@dataclass
class Summary:
    same: list[float] = field(default_factory=list)
    changed: list[float] = field(default_factory=list)
    wrong_way: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def add(self, case: str, base: Row, row: Row) -> str:
        """Counts the row and returns the remark that the page shows for it."""
        if row.refused:
            self.refused.append(f"{case}: {row.setting}")
            return "cannot be answered"
        if row is base:
            self.same.append(row.error)
            return "" if row.error <= SAME_BAR else "off"
        self.changed.append(row.error)
        real, predicted = row.truth / base.truth - 1, row.predicted / base.predicted - 1
        # The direction of the change is known only if the change is larger than the noise of the two runs.
        if abs(real) * 100 > row.noise + base.noise and real * predicted <= 0 and abs(real) > 0.01:
            self.wrong_way.append(f"{case}: {row.setting}")
            return "wrong direction"
        return "" if row.error <= CHANGED_BAR else "off"

    def verdict(self) -> tuple[str, bool]:
        good = sum(error <= SAME_BAR for error in self.same)
        share = good / len(self.same) if self.same else 0.0
        mean = statistics.mean(self.changed) if self.changed else 0.0
        holds = share >= 0.9 and mean <= CHANGED_BAR and not self.wrong_way and not self.refused
        lines = [
            f"- unchanged setting: the error beyond noise is at most {SAME_BAR:g} % in {good} of "
            f"{len(self.same)} cases (bar: nine of ten)",
            f"- changed setting: the mean error beyond noise is {mean:.1f} % over "
            f"{len(self.changed)} predictions (bar: {CHANGED_BAR:g} %)",
            f"- changes predicted in the wrong direction: {len(self.wrong_way)} (bar: none)"
            + "".join(f"; {case}" for case in self.wrong_way),
            f"- what-ifs that Weft refused to answer: {len(self.refused)}"
            + "".join(f"; {case}" for case in self.refused),
        ]
        return "\n".join(lines), holds


def table_of(result: dict[str, Any], summary: Summary) -> list[str]:
    lines = []
    rows = rows_of(result)
    for row in rows:
        remark = summary.add(result["case"], rows[0], row)
        figures = f"{row.predicted:.1f} | {row.off:+.1f} % | {row.error:.1f} %"
        name = result["case"] if row is rows[0] else ""
        lines.append(
            f"| {name} | {row.setting} | {row.truth:.1f} | {row.noise:.1f} % |"
            f" {'| |' if row.refused else figures} | {remark} |"
        )
    return lines


def rows_of(result: dict[str, Any]) -> list[Row]:
    return [Row(r["setting"], r["times"], r["predicted"], r["refused"]) for r in result["rows"]]


def by_scheme(results: list[dict[str, Any]]) -> list[str]:
    """A table with one line per framework and communication scheme."""
    lines = ["| scheme | cases | as recorded: worst | changed: mean | changed: worst |",
             "| --- | --- | --- | --- | --- |"]  # fmt: skip
    schemes: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        schemes.setdefault(result["case"].partition(", ")[0], []).append(result)
    for scheme, own in schemes.items():
        same = [row.error for result in own for row in rows_of(result)[:1]]
        changed = [row.error for result in own for row in rows_of(result)[1:] if not row.refused]
        lines.append(
            f"| {scheme} | {len(own)} | {max(same):.1f} % | "
            f"{statistics.mean(changed):.1f} % of {len(changed)} | {max(changed):.1f} % |"
        )
    return lines


def page(results: list[dict[str, Any]]) -> tuple[str, bool]:
    summary = Summary()
    table = ["| case | setting | measured ms | noise | predicted ms | off | error beyond noise | |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for result in results:
        table += table_of(result, summary)
    text, holds = summary.verdict()
    intro = (
        "# Predictions compared with real jobs\n\n"
        "Jobs of every framework ran on hosts of the [testbed](../guide/testbed.md), which share two\n"
        "cores. Each job was recorded once with `weft record`, and every prediction comes from that\n"
        "recording alone. Columns of the table of cases:\n\n"
        "- `measured ms`: the median step of a run without profiler; if there were several such\n"
        "  runs, the median over these runs. Runs of the settings of one case took turns.\n"
        "- `noise`: half of the difference between the slowest and the fastest of these runs, in per\n"
        "  cent of the measured step.\n"
        "- `error beyond noise`: the error of the prediction minus the noise; 0 if the error is\n"
        "  smaller than the noise.\n\n"
        "Compute is real if every host has a core of its own, and otherwise *emulated*: the rank\n"
        "waits for a fixed time instead. The direction of a change is checked only if the measured\n"
        "step changed by more than the noise and by more than 1 %.\n\n"
        "    bench/testbed_accuracy.py build/weft --markdown docs/reference/testbed-accuracy.md\n\n"
        "measures the cases again (hours on two cores) and writes this page. So far\n"
        f"{len(results)} of {len(list(cases()))} cases were measured.\n\n"
    )
    schemes = "\n".join(by_scheme(results))
    return f"{intro}{text}\n\n{schemes}\n\n" + "\n".join(table) + "\n", holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("weft", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only cases whose name contains TEXT (repeatable)")  # fmt: skip
    parser.add_argument("--repeats", type=int, default=3, help="runs of each setting (default: 3)")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "testbed-accuracy")
    parser.add_argument("--predict", action="store_true", help="predict again, measure nothing")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--again", action="store_true", help="measure cases again that have results")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("testbed_accuracy: network namespaces need root; run it as root", file=sys.stderr)
        return 4
    bench = Bench(options.weft.resolve(), options.repeats, options.results)
    results: dict[str, dict[str, Any]] = {}
    for case in cases():
        kept = bench.recording(case).with_suffix(".json")
        wanted = all(text in case.name for text in options.only)
        if kept.exists():
            results[case.name] = json.loads(kept.read_text())
        if not wanted or (options.predict and not kept.exists()):
            continue
        if not (ROOT / ".venvs" / case.job.framework / "bin" / "python").exists():
            print(f"{case.name}: run tools/frameworks.sh {case.job.framework}", file=sys.stderr)
            continue
        try:
            if options.again or not kept.exists():
                print(f"{case.name} ...", file=sys.stderr, flush=True)
                results[case.name] = bench.measure(case)
            elif options.predict:
                times = results[case.name]["times"]
                results[case.name]["rows"] = bench.predictions(case, times)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{case.name}: {error}", file=sys.stderr)
            continue
        kept.write_text(json.dumps(results[case.name]))
        print("\n".join(table_of(results[case.name], Summary())), flush=True)
    ordered = [results[case.name] for case in cases() if case.name in results]
    text, holds = page(ordered)
    if options.markdown:
        options.markdown.write_text(text)
    print(text.partition("| case | setting")[0].partition("were measured.\n\n")[2])
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
