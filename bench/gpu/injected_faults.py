#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a job with and without known faults, and compares the findings of `weft diagnose` with
the real effect of each fault.

Several NCCL ranks share one GPU under MPS. Each rank claims to be a separate host, so NCCL connects
them by sockets over loopback. Each recording with a fault lies between two recordings of the same
job without it, because the speed of the network drifts.

    injected_faults.py OUT_DIR [WORLD]        # on a machine with a GPU; starts its own ranks
    injected_faults.py --check OUT_DIR WEFT   # anywhere: compares findings with the real gains
"""

import contextlib
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import one_gpu

# Maps each fault to the kind of finding that must report it, and to the rank that this finding must
# name (None: any rank).
FAULTS = {
    "sleeping-rank": ("straggler", 2),
    "busy-rank": ("straggler", 1),
    "loss-item": ("host_sync", None),
    "slow-loader": ("data_loading", None),
    "big-copies": ("memory_copies", None),
}


def start_ranks(out: str, world: int) -> int:
    ranks = [
        subprocess.Popen([sys.executable, __file__, out, str(world), str(rank)], env=env)
        for rank, env in enumerate(one_gpu.environments(world, 29541))
    ]
    in_time = one_gpu.end_within(ranks, float(os.environ.get("LIMIT_S", "480")))
    return max(rank.wait() for rank in ranks) if in_time else 1


def run_rank(out: Path, world: int, rank: int) -> None:
    import torch
    import torch.distributed as dist
    import torchvision
    from torch.nn.parallel import DistributedDataParallel
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = torchvision.models.resnet50().cuda()
    images = torch.randn(32, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (32,), device="cuda")
    host = torch.randn(48, 1024, 1024).pin_memory()
    square = torch.randn(2048, 2048, device="cuda")
    ddp = DistributedDataParallel(model, device_ids=[0], gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-4, momentum=0.9)

    def step(fault: str | None) -> None:
        if fault == "slow-loader":
            with record_function("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                time.sleep(0.06)
        if fault == "big-copies":
            host.cuda()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(ddp(images), labels)
        if fault == "sleeping-rank" and rank == 2:
            time.sleep(0.08)
        if fault == "busy-rank" and rank == 1:
            for _ in range(40):
                square @ square
        if fault == "loss-item":
            loss.item()
        loss.backward()
        optimizer.step()
        if fault == "loss-item":
            next(ddp.parameters()).sum().item()

    def record(name: str, fault: str | None) -> None:
        for _ in range(5):
            step(fault)
        torch.cuda.synchronize()
        dist.barrier()
        activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        with profile(activities=activities, schedule=schedule(wait=1, warmup=2, active=5)) as prof:
            for _ in range(8):
                step(fault)
                prof.step()
        torch.cuda.synchronize()
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        plain = folder / f"rank{rank}.json"
        prof.export_chrome_trace(str(plain))
        with plain.open("rb") as source, gzip.open(f"{plain}.gz", "wb", 9) as packed:
            shutil.copyfileobj(source, packed)
        plain.unlink()
        dist.barrier()

    for _ in range(10):
        step(None)
    for fault in FAULTS:
        record(f"{fault}.without-1", None)
        record(fault, fault)
        record(f"{fault}.without-2", None)
    dist.destroy_process_group()


def check(out: Path, weft: str) -> int:
    def diagnose(name: str) -> dict:
        answer = subprocess.run(
            [weft, "diagnose", str(out / name), "--json"], capture_output=True, check=True
        )
        return json.loads(answer.stdout)

    print(
        "| fault | step ms | recorded without fault, ms | real gain ms |"
        " finding | rank | predicted gain ms |"
    )
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: |")
    wrong = 0
    for fault, (kind, rank) in FAULTS.items():
        if not (out / fault).is_dir():
            continue
        broken = diagnose(fault)
        clean = [diagnose(f"{fault}.without-{i}")["step_ms"] for i in (1, 2)]
        gained = broken["step_ms"] - statistics.mean(clean)
        found = [f for f in broken["findings"] if f["kind"] == kind and rank in (None, f["rank"])]
        wrong += not found
        best = found[0] if found else {"rank": "-", "gain_ms": 0.0}
        print(
            f"| {fault} | {broken['step_ms']:.1f} | {clean[0]:.1f}, {clean[1]:.1f} |"
            f" {gained:.1f} | {kind if found else 'none'} | {best['rank']} |"
            f" {best['gain_ms']:.1f} |"
        )
    return 1 if wrong else 0


def main() -> int:
    words = sys.argv[1:]
    if words and words[0] == "--check" and len(words) == 3:
        return check(Path(words[1]), words[2])
    if len(words) == 3:
        run_rank(Path(words[0]), int(words[1]), int(words[2]))
        return 0
    if len(words) in (1, 2):
        with contextlib.suppress(FileExistsError):
            os.makedirs(words[0])
        return start_ranks(words[0], int(words[1]) if len(words) == 2 else 4)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
