#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the NCCL probe costs, and checks that it records everything. Needs a GPU and
PyTorch with NCCL.

Two ranks share one GPU. Each rank is told that it is a separate host, so NCCL moves data through
sockets and its proxy. For sizes from 8 bytes to 64 MiB, `measure` times all-reduces back to back:
without the plug-in, with the plug-in while its window is closed, and while it records (with the
default WEFT_NCCL_EVENTS and with "all"). The last three alternate within one job. Another short job
is recorded together with torch.profiler.

usage: nccl_probe.py measure PLUGIN OUT    prints a table and writes OUT/costs.json;
                                           logs and profiles of the short job go to OUT
       nccl_probe.py check OUT WEFT        checks that `weft` finds in OUT what the job did
"""
import collections
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import one_gpu

SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
REPEATS = 7
RANKS = 2
CHECKED = {"allreduce": [4096, 1 << 20, 4096], "allgather": [2 << 20], "broadcast": [300_000]}


def spawn(arguments, **more):
    """Runs this script once per rank. No rank outlives the call."""
    ranks = [
        subprocess.Popen([sys.executable, __file__, *arguments], env=env)
        for env in one_gpu.environments(RANKS, 29541, **more)
    ]
    one_gpu.end_within(ranks, 120)
    if any(rank.wait() != 0 for rank in ranks):
        sys.exit(f"nccl_probe: a rank of {arguments} failed")


def start_job():
    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl")
    dist.all_reduce(torch.zeros(1, device="cuda"))
    torch.cuda.synchronize()
    return torch, dist


def window(on):
    """Opens or closes the plug-in's window, which is the time in which it records. NCCL has loaded
    the plug-in by its path, so loading the same path gives the same library."""
    path = os.environ.get("NCCL_PROFILER_PLUGIN")
    if path:
        ctypes.CDLL(path).weft_nccl_record(on)


def time_sizes(out):
    """Runs on each rank. Returns the microseconds per all-reduce for each size, with the window
    open and closed."""
    torch, dist = start_job()
    windows = [0, 1] if "NCCL_PROFILER_PLUGIN" in os.environ else [0]
    times = collections.defaultdict(list)
    for size in SIZES:
        data = torch.zeros(size // 4, device="cuda")
        count = 200 if size <= 1 << 20 else 10
        for repeat in range(REPEATS + 1):
            for on in windows:
                window(on)
                dist.barrier()
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(count):
                    dist.all_reduce(data)
                torch.cuda.synchronize()
                if repeat > 0:
                    times[size, on].append((time.perf_counter() - begin) / count * 1e6)
    window(0)
    if os.environ["RANK"] == "0":
        with open(out, "w") as file:
            json.dump([[size, on, values] for (size, on), values in times.items()], file)
    dist.destroy_process_group()


def recorded_job(out):
    """Runs on each rank. Runs known collectives in three steps, recorded by the plug-in and by
    torch.profiler."""
    torch, dist = start_job()
    from torch.profiler import ProfilerActivity, profile

    def step():
        for size in CHECKED["allreduce"]:
            dist.all_reduce(torch.zeros(size // 4, device="cuda"))
        for size in CHECKED["allgather"]:
            whole = torch.zeros(size // 4, device="cuda")
            dist.all_gather_into_tensor(whole, whole[: whole.numel() // RANKS].clone())
        for size in CHECKED["broadcast"]:
            dist.broadcast(torch.zeros(size // 4, device="cuda"), 0)

    step()
    torch.cuda.synchronize()
    window(1)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(3):
            step()
            profiler.step()
        torch.cuda.synchronize()
    window(0)
    profiler.export_chrome_trace(os.path.join(out, f"r{os.environ['RANK']}.kineto.json.gz"))
    dist.destroy_process_group()


def measure(plugin, out):
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, extra in {
            "none": {},
            "default": {"NCCL_PROFILER_PLUGIN": plugin},
            "all": {"NCCL_PROFILER_PLUGIN": plugin, "WEFT_NCCL_EVENTS": "all"},
        }.items():
            path = os.path.join(folder, name + ".json")
            log = {"WEFT_RECORD": os.path.join(folder, name), "WEFT_RECORD_WAIT": "1"}
            spawn(["time", path], **extra, **log)
            with open(path) as file:
                for size, on, values in json.load(file):
                    results[name, size, on] = values
    spawn(["record", out], NCCL_PROFILER_PLUGIN=plugin, WEFT_RECORD=out, WEFT_RECORD_WAIT="1")
    median = {key: statistics.median(values) for key, values in results.items()}
    print("us per all-reduce, median of", REPEATS)
    print("bytes      no plug-in  closed  records   cost  closed(all)  records all   cost")
    for size in SIZES:
        none, closed, on = median["none", size, 0], median["default", size, 0], median["default", size, 1]
        closed_all, on_all = median["all", size, 0], median["all", size, 1]
        print(
            f"{size:<10} {none:10.1f} {closed:7.1f} {on:8.1f} {on / closed - 1:6.1%}"
            f" {closed_all:12.1f} {on_all:12.1f} {on_all / closed_all - 1:6.1%}"
        )
    with open(os.path.join(out, "costs.json"), "w") as file:
        json.dump([[*key, values] for key, values in results.items()], file)


def check(out, weft):
    """Checks that the logs alone contain all collectives with their sizes, and that logs and
    profiles together contain the transfers."""
    expected = collections.Counter()
    for name, sizes in CHECKED.items():
        for size in sizes:
            expected[name, size] += 3
    logs = [os.path.join(out, f"r{rank}.nccl.weftlog") for rank in range(RANKS)]
    profiles = [os.path.join(out, f"r{rank}.kineto.json.gz") for rank in range(RANKS)]

    def ask(*words):
        return json.loads(subprocess.run([weft, *words], check=True, capture_output=True, text=True).stdout)

    alone = ask("diagnose", "--json", *logs)
    found = collections.Counter((c["name"], c["bytes"]) for c in alone["collectives"])
    assert found == expected, f"{found} instead of {expected}"
    ((run,),) = [ask("info", "--json", *logs, *profiles)["runs"]]
    for rank in run["ranks"]:
        assert rank["format"] == "kineto", rank["format"]
        wire = rank["transfers"]
        print(f"rank {rank['rank']}: {wire['count']} transfers, {wire['sent_bytes']} bytes sent")
        # In a ring of two ranks, a rank sends as many bytes as the whole array for an all-reduce,
        # and half as many for an all-gather.
        least = 3 * (sum(CHECKED["allreduce"]) + sum(CHECKED["allgather"]) // 2)
        assert wire["sent_bytes"] >= least, f"{wire['sent_bytes']} bytes of at least {least}"
    print("all collectives were recorded with their sizes")


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    {"measure": measure, "check": check, "time": time_sizes, "record": recorded_job}[verb](*rest)
