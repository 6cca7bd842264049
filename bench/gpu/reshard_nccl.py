#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Redistribution over NCCL: checks results, compares speed with DTensor, and tests lost ranks.

Needs one GPU, PyTorch with NCCL, and a running CUDA MPS. Ranks are processes that share the GPU.
Each rank is told that it is a separate host, so NCCL moves all data through sockets. Times are
therefore those of loopback and not of NVLink: only ratios within one run are meaningful.

usage: reshard_nccl.py check LIBRARIES          runs every case with several types, checks all
       reshard_nccl.py measure LIBRARIES [JSON] times Weft, DTensor, and DTensor once more
       reshard_nccl.py lost LIBRARIES           kills or stops a rank; all others must get an error

LIBRARIES: the folder with libweft-cuda.so and libreshard_ranks.so.
"""
import ctypes
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import one_gpu

RANKS = 4
REPEATS = 31
ERROR_BYTES = 256
#        name                  mesh       shape            from     partial to      partial
CASES = [
    ("rows to columns",        "x=4",     [4096, 4096],    "x,-",   "",     "-,x",   ""),
    ("gather",                 "x=4",     [4096, 4096],    "x,-",   "",     "-,-",   ""),
    ("turn a grid",            "x=2,y=2", [4096, 4096],    "x,y",   "",     "y,x",   ""),
    ("grid to columns",        "x=2,y=2", [4096, 4096],    "x,y",   "",     "-,x+y", ""),
    ("rows to a grid",         "x=2,y=2", [4096, 4096],    "x+y,-", "",     "x,y",   ""),
    ("copies to the other",    "x=2,y=2", [4096, 4096],    "x,-",   "",     "-,x",   ""),
    ("middle to first of 3",   "x=4",     [64, 256, 1024], "-,x,-", "",     "x,-,-", ""),
    ("reduce-scatter",         "x=4",     [2048, 4096],    "-,-",   "x",    "x,-",   ""),
    ("all-reduce",             "x=4",     [2048, 4096],    "-,-",   "x",    "-,-",   ""),
    ("partial to columns",     "x=2,y=2", [2048, 4096],    "y,-",   "x",    "-,x+y", ""),
    ("uneven rows to columns", "x=4",     [4097, 4099],    "x,-",   "",     "-,x",   ""),
    ("uneven gather",          "x=2,y=2", [4097, 4099],    "x+y,-", "",     "-,-",   ""),
    ("uneven grid, turned",    "x=2,y=2", [4097, 4099],    "x,y",   "",     "y,x",   ""),
    ("uneven reduce-scatter",  "x=4",     [2049, 4099],    "-,-",   "x",    "-,x",   ""),
]  # fmt: skip
TYPES = {"f32": 4, "bf16": 2, "i64": 8, "u8": 1, "c128": 16}


class Ranks:
    """The functions of libreshard_ranks.so for the rank of this process."""

    def __init__(self, folder: str, timeout_ms: int):
        import torch
        import torch.distributed as dist

        self.torch, self.dist = torch, dist
        torch.cuda.init()
        # Give each rank separate cores, so that the NCCL threads of different ranks do not slow
        # each other down.
        rank, cores = int(os.environ["RANK"]), sorted(os.sched_getaffinity(0))
        share = max(1, len(cores) // RANKS)
        os.sched_setaffinity(0, cores[rank * share : (rank + 1) * share] or cores)
        dist.init_process_group("nccl")
        dist.all_reduce(torch.zeros(1, device="cuda"))  # loads torch's NCCL, which Weft then uses
        self.rank, self.error = dist.get_rank(), ctypes.create_string_buffer(ERROR_BYTES)
        self.so = ctypes.CDLL(os.path.join(folder, "libreshard_ranks.so"))
        self.so.ranks_bytes.restype = self.so.ranks_rounds.restype = ctypes.c_int64
        unique = ctypes.create_string_buffer(128)
        if self.rank == 0:
            self.check(self.so.ranks_make_id(unique, self.error))
        told = [unique.raw]
        dist.broadcast_object_list(told, 0)
        self.session = ctypes.c_void_p()
        kernels = os.path.join(folder, "libweft-cuda.so").encode()
        self.check(
            self.so.ranks_open(
                kernels, told[0], self.rank, RANKS, ctypes.c_int64(timeout_ms),
                ctypes.byref(self.session), self.error,
            )
        )  # fmt: skip

    def check(self, failed: int):
        if failed:
            raise RuntimeError(self.error.value.decode())

    def plan(self, case, type_name: str, item_size: int, budget: int = 0):
        _, mesh, shape, source, source_partial, target, target_partial = case
        words = [mesh, ",".join(map(str, shape)), source, source_partial, target, target_partial]
        words += [type_name, "sum" if source_partial or target_partial else ""]
        handle = ctypes.c_void_p()
        self.check(
            self.so.ranks_plan(
                (ctypes.c_char_p * len(words))(*[word.encode() for word in words]),
                ctypes.c_int64(item_size), self.rank, ctypes.c_int64(budget), ctypes.byref(handle),
                self.error,
            )
        )  # fmt: skip
        return handle

    def run(self, handle, source, target) -> int:
        """Runs and waits for the end. Returns the largest amount of staging in use at once."""
        self.torch.cuda.current_stream().synchronize()
        staging = ctypes.c_int64()
        self.check(
            self.so.ranks_run(
                self.session, handle, ctypes.c_void_p(source.data_ptr()),
                ctypes.c_void_p(target.data_ptr()), ctypes.byref(staging), self.error,
            )
        )  # fmt: skip
        return staging.value

    def indices(self, handle, end: int, item_size: int):
        count = self.so.ranks_bytes(handle, end) // item_size
        held = self.torch.empty(count, dtype=self.torch.int64)
        self.so.ranks_indices(handle, end, ctypes.c_void_p(held.data_ptr()))
        return held.cuda()

    def groups(self, handle) -> tuple[int, int]:
        group, groups = ctypes.c_int32(), ctypes.c_int32()
        self.so.ranks_group(handle, ctypes.byref(group), ctypes.byref(groups))
        return group.value, groups.value


def value_of(torch, indices, dtype):
    """Values small enough that no type rounds their sums."""
    return (indices % 21).to(torch.float64).to(dtype)


def ends_of(ranks, handle, dtype, item_size):
    """Returns the source of the rank and its expected target. Each element is the sum, over groups
    of summands, of (group + 1) times its value."""
    torch = ranks.torch
    group, groups = ranks.groups(handle)
    before = ranks.indices(handle, 0, item_size)
    after = ranks.indices(handle, 1, item_size)
    factor = 1 if groups == 1 else group + 1
    total = 1 if groups == 1 else sum(range(1, groups + 1))
    source = (value_of(torch, before, torch.float64) * factor).to(dtype)
    expected = (value_of(torch, after, torch.float64) * total).to(dtype)
    return source, expected


def check_rank(folder):
    ranks = Ranks(folder, 20_000)
    torch = ranks.torch
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "i64": torch.int64, "u8": torch.uint8,
              "c128": torch.complex128}  # fmt: skip
    done = 0
    for case in CASES:
        small = (*case[:2], [max(5, extent // 8 + extent % 2) for extent in case[2]], *case[3:])
        for type_name, item_size in TYPES.items():
            for budget in (0, 1 << 20):
                handle = ranks.plan(small, type_name, item_size, budget)
                source, expected = ends_of(ranks, handle, dtypes[type_name], item_size)
                target = torch.full_like(expected, 77)
                for _ in range(2):
                    staging = ranks.run(handle, source, target)
                right = torch.equal(target, expected)
                if not right or (budget and staging > budget):
                    raise RuntimeError(f"{case[0]}, {type_name}, budget {budget}: wrong")
                ranks.so.ranks_forget(handle)
                done += 1
    if ranks.rank == 0:
        print(f"{done} redistributions on {RANKS} NCCL ranks are right")
    ranks.dist.barrier()


def placements_of(case, end):
    from torch.distributed.tensor import Partial, Replicate, Shard

    names = [axis.split("=")[0] for axis in case[1].split(",")]
    dims, partial = case[3 + 2 * end].split(","), case[4 + 2 * end]
    placements = []
    for name in names:
        cut = [i for i, dim in enumerate(dims) if name in dim.split("+")]
        placements.append(Shard(cut[0]) if cut else Partial() if name in partial else Replicate())
    return placements


def timed(torch, action):
    """Returns the seconds on the slowest rank, and the result."""
    dist = torch.distributed
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    result = action()
    torch.cuda.synchronize()
    slowest = torch.tensor([time.perf_counter() - begin], device="cuda")
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return slowest.item(), result


def rotated(variants, repeat):
    """Rotates the variants, so that each comes first, second and last equally often."""
    keys = list(variants)
    start = repeat % len(keys)
    return [(key, variants[key]) for key in keys[start:] + keys[:start]]


def print_means(ratios, noise):
    for name, values in (("Weft", ratios), ("DTensor to itself", noise)):
        print(
            f"{name}: geometric mean {statistics.geometric_mean(values):.2f},"
            f" {min(values):.2f} to {max(values):.2f}"
        )


def measure_rank(folder, out):
    ranks = Ranks(folder, 60_000)
    torch, dist = ranks.torch, ranks.dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor

    rows = []
    for case in CASES:
        name, mesh_text, shape, *_ = case
        handle = ranks.plan(case, "f32", 4)
        source, expected = ends_of(ranks, handle, torch.float32, 4)
        target = torch.empty_like(expected)
        sizes = tuple(int(axis.split("=")[1]) for axis in mesh_text.split(","))
        mesh = init_device_mesh("cuda", sizes)
        strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        before, after = placements_of(case, 0), placements_of(case, 1)
        local_shape = list(shape)
        coordinate = mesh.get_coordinate()
        for size, at, placement in zip(sizes, coordinate, before):
            if placement.is_shard():  # cut like torch.chunk, one axis after the other
                extent = local_shape[placement.dim]
                chunk = -(-extent // size)
                local_shape[placement.dim] = max(0, min(extent, chunk * (at + 1)) - chunk * at)
        whole = DTensor.from_local(
            source.view(local_shape), mesh, before, shape=torch.Size(shape), stride=tuple(strides)
        )

        def with_weft():
            ranks.run(handle, source, target)
            return target

        def with_dtensor():
            return whole.redistribute(mesh, after).to_local()

        # DTensor is measured twice: the difference between equal variants is noise.
        variants = {"weft": with_weft, "dtensor": with_dtensor, "again": with_dtensor}
        times, right = {key: [] for key in variants}, {}
        for repeat in range(REPEATS + 2):
            for key, action in rotated(variants, repeat):
                action()  # warm up, because another communicator used sockets and threads last
                seconds, result = timed(torch, action)
                right[key] = torch.equal(result.reshape(-1), expected)
                if repeat > 1:
                    times[key].append(seconds)
        wrong = torch.tensor([not right["weft"], not right["dtensor"]], device="cuda").int()
        dist.all_reduce(wrong)
        rows.append(
            dict(
                name=name, mesh=mesh_text, shape=shape, rounds=ranks.so.ranks_rounds(handle),
                times=times, wrong=wrong.tolist(),
            )
        )  # fmt: skip
        ranks.so.ranks_forget(handle)
    if ranks.rank == 0:
        print(f"{torch.cuda.get_device_name()}, {RANKS} NCCL ranks on one GPU, sockets over loopback")
        print("case                     ms Weft  DTensor  times faster  DTensor to itself")
        ratios, noise = [], []
        for row in rows:
            weft, other, again = (statistics.median(times) for times in row["times"].values())
            ratios.append(other / weft)
            noise.append(other / again)
            notes = ["" if not wrong else f"  ({who} is wrong)" for who, wrong in
                     zip(("Weft", "DTensor"), row["wrong"])]  # fmt: skip
            print(
                f"{row['name']:24} {weft * 1e3:7.2f} {other * 1e3:8.2f} {ratios[-1]:13.2f}"
                f" {noise[-1]:18.2f}", *notes,
            )  # fmt: skip
        print_means(ratios, noise)
        if out:
            with open(out, "w") as file:
                json.dump(rows, file)
    dist.barrier()


TIMEOUT_MS = 4000
VICTIM = 2


def lost_rank(folder, how):
    """The victim is lost after the first run. In the next two runs, all others must get an error in
    time."""
    ranks = Ranks(folder, TIMEOUT_MS)
    handle = ranks.plan(CASES[0], "f32", 4)
    source, expected = ends_of(ranks, handle, ranks.torch.float32, 4)
    target = ranks.torch.empty_like(expected)
    ranks.run(handle, source, target)
    assert ranks.torch.equal(target, expected)
    if ranks.rank == VICTIM:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(3 * TIMEOUT_MS / 1e3)  # alive, but silent
        os._exit(0)
    for attempt in range(2):
        begin = time.monotonic()
        try:
            ranks.run(handle, source, target)
        except RuntimeError as error:
            took = time.monotonic() - begin
            print(f"{how}: rank {ranks.rank} after {took:.2f} s: {error}", flush=True)
            assert took < 2 * TIMEOUT_MS / 1e3, "too late"
        else:
            print(f"{how}: rank {ranks.rank}: no error", flush=True)
            os._exit(1)
    # No stuck kernel must be left on the GPU.
    ranks.torch.cuda.synchronize()
    os._exit(0)


def spawn(port, *words, expect=(0,)):
    ranks = [
        subprocess.Popen([sys.executable, __file__, "rank", *words], env=env)
        for env in one_gpu.environments(RANKS, port, TORCH_NCCL_ENABLE_MONITORING="0")
    ]
    in_time = one_gpu.end_within(ranks, 150)
    codes = [rank.wait() for rank in ranks]
    if not in_time or any(code not in expect for code in codes):
        sys.exit(f"reshard_nccl: ranks of {words[0]} ended with {codes}")


def main():
    verb, *rest = sys.argv[1:]
    if verb == "rank":
        what, *rest = rest
        {"check": check_rank, "measure": measure_rank, "lost": lost_rank}[what](*rest)
    elif verb == "check":
        spawn(29551, "check", *rest)
    elif verb == "measure":
        with tempfile.NamedTemporaryFile(suffix=".json") as unused:
            spawn(29552, "measure", rest[0], rest[1] if len(rest) > 1 else unused.name)
    elif verb == "lost":
        for port, how in ((29553, "killed"), (29554, "silent")):
            spawn(port, "lost", rest[0], how, expect=(0, -signal.SIGKILL))


if __name__ == "__main__":
    main()
