#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares plans of `weft pipeline` with torch's own schedules on hosts with unequal links.

    .venv/bin/python bench/pipeline_torch.py [WEFT] [--repeats 9] [--only TEXT]
        [--markdown docs/reference/pipeline-torch.md]

For each model and each set of links the benchmark goes the whole way from recording to running:
`weft record` and `weft pipeline profile` measure the layers, `weft pipeline` makes a plan, and four gloo
ranks run the plan (in weft.torch.pipeline), torch's GPipe, 1F1B and interleaved 1F1B with even cuts, and
even cuts in Weft's runtime. All of them run in turn in the same processes. A time is that of the slowest
rank; the median over the repeats counts. The four ranks share two cores, so layers sleep instead of
computing.
Exit status: 0 if the bars hold, 1 if not, 4 if there is no .venvs/torch. Creating hosts with links of
their own needs root; without root all ranks communicate over loopback.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
JOB = ROOT / "bench" / "pipeline_torch_job.py"
PYTHON = ROOT / ".venvs" / "torch" / "bin" / "python"
sys.path.insert(0, str(ROOT))

MODELS = ("transformer", "convolutions")
MICROBATCHES = 8
# Mbit/s of the link between each host and the switch.
LINKS: dict[str, tuple[int, ...]] = {
    "one slow host": (1000, 1000, 200, 1000),
    "four speeds": (400, 1000, 150, 600),
}
LOOPBACK: dict[str, tuple[int, ...]] = {"loopback": (8000, 8000, 8000, 8000)}
PAYLOAD = 1448 / 1514  # share of the payload in an Ethernet frame
LATENCY_US = 200  # of gloo, from the sender being ready to the receiver being ready
BAR = 10.0  # largest difference between measured and predicted step, in per cent
RIVALS = ("gpipe", "1f1b", "interleaved")
EVEN = ("gpipe", "1f1b")  # schedules that also run in Weft's runtime, with even cuts


@dataclass(frozen=True)
class Row:
    model: str
    links: str
    stages: str
    predicted: dict[str, float]
    times: dict[str, list[float]]
    torch: str

    def measured(self, name: str) -> float:
        return statistics.median(self.times[name])

    @property
    def off(self) -> float:
        return 100 * (self.measured("plan") / self.predicted["plan"] - 1)

    @property
    def fastest_rival(self) -> float:
        return min(self.measured(name) for name in RIVALS)

    @property
    def holds(self) -> bool:
        return abs(self.off) <= BAR and self.measured("plan") < self.fastest_rival


def cluster(name: str, megabits: tuple[int, ...]) -> dict[str, Any]:
    """The description of the cluster for the planner. All messages of a host share its link to the
    switch."""
    rates = [m * 1e6 / 8 * PAYLOAD for m in megabits]
    all_of = range(len(rates))
    return {
        "name": name,
        "devices": len(rates),
        "bandwidth": [[0 if i == j else min(rates[i], rates[j]) for j in all_of] for i in all_of],
        "latency_us": LATENCY_US,
        "shared_links": [
            {"between": [[i], [j for j in all_of if j != i]], "bytes_per_s": rates[i]}
            for i in all_of
        ],
    }


def even(plan: dict[str, Any], schedule: str) -> dict[str, Any]:
    """A plan for the same model on the same devices, with equally many layers per stage and a
    standard schedule."""
    devices, layers = plan["cluster"]["devices"], [layer["id"] for layer in plan["layers"]]
    ends = [len(layers) * (stage + 1) // devices for stage in range(devices)]
    stage = {
        "recompute": False,
        "forward_ms": 0,
        "backward_ms": 0,
        "all_reduce_ms": 0,
        "sends_bytes": 0,
    }
    orders = []
    for number in range(devices):
        first = MICROBATCHES if schedule == "gpipe" else min(devices - number, MICROBATCHES)
        ops = [f"{number}F{m}" for m in range(first)]
        for m in range(MICROBATCHES):
            ops.append(f"{number}B{m}")
            ops += [f"{number}F{m + first}"] * (m + first < MICROBATCHES)
        orders.append(" ".join(ops))
    stages = [
        {**stage, "layers": layers[begin:end], "devices": [number]}
        for number, (begin, end) in enumerate(zip([0, *ends], ends))
    ]
    return {**plan, "schedule": schedule, "stages": stages, "orders": orders}


def run(words: list[Any], **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=600,
        env=os.environ | environment,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(map(str, words))}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        )
    return done.stdout


class Bench:
    def __init__(self, weft: Path, folder: Path, repeats: int) -> None:
        from tests.cli.frameworks import weft_alone

        self.weft, self.folder, self.repeats = weft, folder, repeats
        self.path = str(weft_alone(folder / "path"))

    def profile(self, model: str) -> Path:
        """Makes the profile of a model from a recording on one device."""
        recording, profile = self.folder / model, self.folder / f"{model}.json"
        if not profile.exists():
            run([self.weft, "record", "-o", recording, "--stacks", "--steps", "8..12", "-q", "--",
                 PYTHON, JOB, "record", model], OMP_NUM_THREADS="1")  # fmt: skip
            run([self.weft, "pipeline", "profile", recording, "-o", profile])
        return profile

    def measure(self, model: str, links: str, megabits: tuple[int, ...], testbed: bool) -> Row:
        described, plan = self.folder / "cluster.json", self.folder / "plan.json"
        described.write_text(json.dumps(cluster(links, megabits)))
        run([self.weft, "pipeline", self.profile(model), "--cluster", described, "--microbatches",
             MICROBATCHES, "-o", plan])  # fmt: skip
        document = json.loads(plan.read_text())
        plans = {"plan": plan}
        for name in EVEN:
            plans[f"weft {name}"] = self.folder / f"{name}.json"
            plans[f"weft {name}"].write_text(json.dumps(even(document, name)))
        predicted = {name: self.simulated(file) for name, file in plans.items()}
        job = [PYTHON, JOB, model, self.repeats, *(f"{n}={file}" for n, file in plans.items())]
        text = self.on_hosts(job, megabits) if testbed else self.on_loopback(job, len(megabits))
        line = next(line for line in text.splitlines() if '{"torch"' in line)
        found = json.loads(line[line.index("{") :])
        stages = "; ".join(
            f"{len(stage['layers'])} on {','.join(map(str, stage['devices']))}"
            for stage in document["stages"]
        )
        return Row(model, links, stages, predicted, found["ms"], found["torch"])

    def simulated(self, plan: Path) -> float:
        """The simulated step in ms. `export` simulates anew and ignores the step in the file."""
        words = [self.weft, "pipeline", "export", plan, "--to", "json"]
        return float(json.loads(run(words))["step"]) / 1e6

    def on_hosts(self, job: list[Any], megabits: tuple[int, ...]) -> str:
        hosts = self.folder / "hosts.json"
        hosts.write_text(json.dumps({"hosts": [{"rate": f"{rate}mbit"} for rate in megabits]}))
        return run([self.weft, "testbed", "run", hosts, "--", *job], PYTHONPATH=self.path,
                   OMP_NUM_THREADS="1")  # fmt: skip

    def on_loopback(self, job: list[Any], world: int) -> str:
        from tests.cli.frameworks import free_port, ranks_environment

        port = free_port()
        ranks = [
            subprocess.Popen(
                [str(word) for word in job],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | ranks_environment(rank, world, port) | {"PYTHONPATH": self.path},
            )  # fmt: skip
            for rank in range(world)
        ]
        try:
            outputs = [rank.communicate(timeout=600)[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        return outputs[0]


def show(row: Row) -> None:
    print(f"{row.model}, {row.links}: {row.stages}")
    measured, predicted = row.measured("plan"), row.predicted["plan"]
    print(f"  plan        {measured:8.0f} ms, predicted {predicted:.0f} ({row.off:+.1f} %)")
    for name in RIVALS:
        line = f"  {name:11} {row.measured(name):8.0f} ms, "
        line += f"{row.measured(name) / measured:.2f} times as long"
        if name in EVEN:
            own = f"weft {name}"
            line += f"; by Weft {row.measured(own):.0f} ms, predicted {row.predicted[own]:.0f}"
        print(line, flush=True)


PAGE = """# Pipelines in PyTorch, measured

`bench/pipeline_torch.py --markdown` writes this page. It compares steps of {microbatches} micro-batches on four gloo ranks (torch {torch},
{where}). Times are medians over {repeats} steps, in ms; all variants run in turn. The layers were measured by `weft record` and `weft
pipeline profile`, and planned by `weft pipeline`; [weft.torch.pipeline](../guide/pipeline-torch.md) runs the plans. GPipe, 1F1B
and interleaved are torch's own schedule classes, with equally many layers in every stage. The four ranks share {cores} cores, so
layers sleep for their time instead of computing; messages, gradients and all-reduces are real.

**{holds} of {count} plans are within {bar:g} % of the prediction and faster than all three. The largest error is {off:.1f} %. The
fastest of the three takes {least:.2f} to {most:.2f} times as long as the plan.**

| model | links, Mbit/s | stages: layers on devices | predicted | plan | error | GPipe | 1F1B | interleaved |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

AFTER = """
How much of this difference is due to the runtime? The table below shows the same even cuts and schedules, run by torch
and by Weft, and their predicted steps. In Weft's runtime, messages never block compute.

| model | links | GPipe: torch | Weft | predicted | 1F1B: torch | Weft | predicted |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def page(rows: list[Row], links: dict[str, tuple[int, ...]], testbed: bool, repeats: int) -> str:
    ratios = [row.fastest_rival / row.measured("plan") for row in rows]
    text = PAGE.format(
        microbatches=MICROBATCHES, torch=rows[0].torch, repeats=repeats, cores=os.cpu_count(), bar=BAR,
        where="hosts of the [testbed](../guide/testbed.md)" if testbed else "loopback",
        holds=sum(row.holds for row in rows), count=len(rows), off=max(abs(row.off) for row in rows),
        least=min(ratios), most=max(ratios),
    )  # fmt: skip
    for row in rows:
        figures = " | ".join(f"{row.measured(name):.0f}" for name in RIVALS)
        speeds = ", ".join(map(str, links[row.links]))
        text += (f"| {row.model} | {row.links}: {speeds} | {row.stages} | {row.predicted['plan']:.0f} | "
                 f"{row.measured('plan'):.0f} | {row.off:+.1f} % | {figures} |\n")  # fmt: skip
    text += AFTER
    for row in rows:
        cells = [
            f"{row.measured(name):.0f} | {row.measured(own):.0f} | {row.predicted[own]:.0f}"
            for name, own in ((name, f"weft {name}") for name in EVEN)
        ]
        text += f"| {row.model} | {row.links} | {' | '.join(cells)} |\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft", nargs="?", type=Path, default=ROOT / "build" / "weft")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--only", default="", help='only cases that contain this text, e.g. "transformer, one"')
    parser.add_argument("--markdown", type=Path, help="write the page of figures to this file")
    options = parser.parse_args()
    if not PYTHON.exists():
        print("skipped: there is no .venvs/torch; run tools/frameworks.sh torch", file=sys.stderr)
        return 4
    testbed = os.geteuid() == 0
    links = LINKS if testbed else LOOPBACK
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.weft.resolve(), Path(folder), options.repeats)
        for model in MODELS:
            for name, megabits in links.items():
                if options.only in f"{model}, {name}":
                    rows.append(bench.measure(model, name, megabits, testbed))
                    show(rows[-1])
    if options.markdown and rows:
        options.markdown.write_text(page(rows, links, testbed, options.repeats))
    holds = sum(row.holds for row in rows)
    print(
        f"{holds} of {len(rows)} within {BAR:g} % of the prediction and faster than all three rivals"
    )
    return int(holds < len(rows))


if __name__ == "__main__":
    sys.exit(main())
