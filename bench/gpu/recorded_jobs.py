#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predicted steps with measured ones, for NCCL jobs on one GPU.

Several NCCL ranks share one GPU under MPS. Each rank claims to be a separate host, so NCCL connects
them by sockets over loopback. Each job is recorded once with the hooks of `weft record`, and runs
three times without them, before and after the recording, because the speed of the network drifts.

    recorded_jobs.py OUT_DIR                 # on a machine with a GPU; starts its own ranks
    recorded_jobs.py --check OUT_DIR WEFT    # anywhere: prints the table, checks errors
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import one_gpu

ROOT = Path(__file__).resolve().parent.parent.parent
JOBS = [("resnet50", 2), ("resnet50", 4), ("vgg16", 2), ("vit_b_16", 2), ("vit_b_16", 4)]
STEPS, WARM_UP = 60, 30  # the network needs about twenty steps until its speed is steady
RECORDED = "32..36"
# The largest accepted error in per cent, after half of the spread of the measured steps is
# subtracted.
BAR = 5.0


def start_ranks(model: str, world: int, folder: Path | None) -> float:
    """Runs the job once. Returns milliseconds per step, over steps that run back to back."""
    hooks = {}
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        hooks = {
            "PYTHONPATH": str(ROOT / "python" / "weft" / "_bootstrap"),
            "WEFT_RECORD": str(folder.resolve()),
            "WEFT_RECORD_STEPS": RECORDED,
            "WEFT_RECORD_OPTIONS": "shapes",
        }
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, "--rank", model],
            env=env,
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
            text=True,
        )
        for rank, env in enumerate(one_gpu.environments(world, 29547, **hooks))
    ]
    one_gpu.end_within(ranks, 90)
    assert ranks[0].stdout is not None
    lines = [line for line in ranks[0].stdout if line.startswith("{")]
    if not lines:
        sys.exit(f"{model}, {world} ranks: no result")
    return float(json.loads(lines[-1])["step_ms"])


def run_rank(model_name: str) -> None:
    """An ordinary training job, without any code for Weft."""
    import torch
    import torch.distributed as dist
    import torchvision
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("nccl")
    torch.manual_seed(0)
    model = getattr(torchvision.models, model_name)().cuda()
    images = torch.randn(24, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (24,), device="cuda")
    ddp = DistributedDataParallel(model, device_ids=[0])
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-4, momentum=0.9)
    begin = 0.0
    for step in range(STEPS):
        if step == WARM_UP:
            torch.cuda.synchronize()
            dist.barrier()
            begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(ddp(images), labels).backward()
        optimizer.step()
    torch.cuda.synchronize()
    if dist.get_rank() == 0:
        step_ms = 1e3 * (time.perf_counter() - begin) / (STEPS - WARM_UP)
        print(json.dumps({"step_ms": step_ms}), flush=True)
    dist.destroy_process_group()


def measure(out: Path) -> None:
    for model, world in JOBS:
        name = f"{model}-w{world}"
        before = start_ranks(model, world, None)
        recorded = start_ranks(model, world, out / name)
        after = [start_ranks(model, world, None) for _ in range(2)]
        truth = {"plain_ms": [before, *after], "run_with_recording_ms": recorded}
        (out / f"{name}.truth.json").write_text(json.dumps(truth))
        print(name, truth, flush=True)


def check(out: Path, weft: str) -> int:
    print("| job | measured ms | noise | predicted ms | off | error beyond noise |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    worst = 0.0
    for truth in sorted(out.glob("*.truth.json")):
        times = json.loads(truth.read_text())["plain_ms"]
        measured = statistics.median(times)
        noise = 50 * (max(times) - min(times)) / measured
        folder = truth.with_name(truth.name.removesuffix(".truth.json"))
        answer = subprocess.run(
            [weft, "replay", str(folder), "--json", "-q"], capture_output=True, check=True
        )
        predicted = json.loads(answer.stdout)["baseline_step_ms"]
        off = 100 * (predicted / measured - 1)
        error = max(0.0, abs(off) - noise)
        worst = max(worst, error)
        print(
            f"| {folder.name} | {measured:.1f} | {noise:.1f} % | {predicted:.1f} | {off:+.1f} % |"
            f" {error:.1f} % |"
        )
    return 1 if worst > BAR else 0


def main() -> int:
    words = sys.argv[1:]
    if len(words) == 3 and words[0] == "--check":
        return check(Path(words[1]), words[2])
    if len(words) == 2 and words[0] == "--rank":
        run_rank(words[1])
        return 0
    if len(words) == 1:
        measure(Path(words[0]))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
