#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the results of weft.torch.redistribute for CUDA DTensors over NCCL, and measures its
speed.

Ranks are processes that share one GPU, as in reshard_nccl.py, and the cases are the same. Weft must
be installed for this Python (or lie on PYTHONPATH). Four variants alternate in the same processes,
over the same process group: Weft with its kernels, Weft with torch's own strided copies,
DTensor.redistribute, and DTensor.redistribute again; the difference between the last two is noise.
After the first run, waiting for the GPU is an error, so no data can pass through the host.

usage: reshard_torch.py check              every case and all pairs, with several types
       reshard_torch.py measure [JSON]     the table
       reshard_torch.py pairs [JSON [BYTES [MORE]]]
                                           all pairs of default placements on meshes of 4 and 2 x 2, as
                                           ../reshard_torch.py has them for gloo. BYTES: per rank,
                                           default 32 MiB. MORE: rows and columns beyond a size that
                                           divides evenly, default 0.

WEFT_CUDA_LIBRARY: the path of libweft-cuda.so, if it is not installed with Weft.
"""
import collections
import itertools
import json
import math
import os
import statistics
import subprocess
import sys

import one_gpu
from reshard_nccl import CASES, RANKS, rotated, placements_of, print_means, timed

REPEATS = 15
PAIR_BYTES = 32 << 20


def pair_cases(size, more):
    """Cases in the form of CASES. A name has one letter per axis of the mesh: R (replicated), 0 or
    1 (that dimension of the array is sharded), or P (partial)."""
    for axes, sizes in (("x", [4]), ("xy", [2, 2])):
        mesh = ",".join(f"{axis}={size}" for axis, size in zip(axes, sizes))
        for ends in itertools.product(
            itertools.product("R01P", repeat=len(axes)), itertools.product("R01", repeat=len(axes))
        ):
            if all(a in ("R", b) for a, b in zip(*ends)):
                continue  # nothing moves
            cuts = [math.prod(n for n, p in zip(sizes, end) if p in "01") for end in ends]
            side = math.isqrt(size // 4 * min(cuts)) // 16 * 16 + more
            words = []
            for end in ends:
                on = ["+".join(a for a, p in zip(axes, end) if p == dim) or "-" for dim in "01"]
                words += [",".join(on), "".join(a for a, p in zip(axes, end) if p == "P")]
            name = " -> ".join("".join(end) for end in ends)
            yield (f"{'x'.join(map(str, sizes))} {name}", mesh, [side, side], *words)


class Rank:
    def __init__(self):
        import torch
        import torch.distributed as dist

        self.torch, self.dist = torch, dist
        torch.cuda.init()
        rank, cores = int(os.environ["RANK"]), sorted(os.sched_getaffinity(0))
        share = max(1, len(cores) // RANKS)
        os.sched_setaffinity(0, cores[rank * share : (rank + 1) * share] or cores)
        dist.init_process_group("nccl")
        self.rank = dist.get_rank()
        self.meshes = {}  # mesh of each shape; kept, because each new mesh makes new communicators

    def mesh_of(self, case):
        from torch.distributed.device_mesh import init_device_mesh

        sizes = tuple(int(axis.split("=")[1]) for axis in case[1].split(","))
        if sizes not in self.meshes:
            self.meshes[sizes] = init_device_mesh("cuda", sizes)
        return self.meshes[sizes]

    def part(self, full, mesh, placements):
        """This rank's part, cut like torch.chunk along one axis after the other; if it is partial,
        this rank's summand."""
        factor = 1
        for size, at, placement in zip(mesh.shape, mesh.get_coordinate(), placements):
            if placement.is_shard():
                chunk = -(-full.shape[placement.dim] // size)
                low = min(chunk * at, full.shape[placement.dim])
                high = min(low + chunk, full.shape[placement.dim])
                full = full.narrow(placement.dim, low, high - low)
            elif placement.is_partial():
                factor *= at + 1
        return (full * factor).contiguous()

    def ends(self, case, shape, dtype):
        """The distributed array, and the part of the result that this rank should get."""
        from torch.distributed.tensor import DTensor

        torch = self.torch
        mesh = self.mesh_of(case)
        before, after = placements_of(case, 0), placements_of(case, 1)
        count = math.prod(shape)
        full = (torch.arange(count, device="cuda") % 21).to(dtype).view(shape)
        strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
        array = DTensor.from_local(
            self.part(full, mesh, before), mesh, before, shape=torch.Size(shape), stride=strides
        )
        total = math.prod(
            sum(range(1, size + 1)) for size, p in zip(mesh.shape, before) if p.is_partial()
        )
        return array, mesh, after, (self.part(full, mesh, after) * total).contiguous()

    def all_right(self, found, expected):
        wrong = self.torch.tensor([not self.torch.equal(found, expected)], device="cuda").int()
        self.dist.all_reduce(wrong)
        return wrong.item() == 0


def check_rank():
    import weft.torch
    from weft.torch import native

    rank = Rank()
    torch, done = rank.torch, 0
    collectives, run_collective = collections.Counter(), native.run_collective

    def counted(which, *rest, **more):
        collectives[which.kind + (" of filled parts" if which.padding else "")] += 1
        run_collective(which, *rest, **more)

    native.run_collective = counted
    small = [
        (*case[:2], [max(5, extent // 8 + extent % 2) for extent in case[2]], *case[3:])
        for case in CASES
    ]
    # The pairs are large enough for chains of several collectives.
    for case in (*small, *pair_cases(8 << 20, 0), *pair_cases(8 << 20, 5)):
        budgets = (None, 1 << 20) if case in small else (None,)
        for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.complex128):
            array, mesh, after, expected = rank.ends(case, case[2], dtype)
            for budget in budgets:
                for _ in range(2):
                    found = weft.torch.redistribute(array, mesh, after, budget=budget).to_local()
                    if not rank.all_right(found, expected):
                        raise RuntimeError(f"{case[0]}, {dtype}, budget {budget}: wrong")
                done += 1
    if rank.rank == 0:
        print(f"{done} redistributions of CUDA DTensors on {RANKS} NCCL ranks are right")
        print("rank 0 ran", ", ".join(f"{n} {kind}" for kind, n in sorted(collectives.items())))
    rank.dist.destroy_process_group()


def measure_rank(what, out="", size=str(PAIR_BYTES), more="0"):
    import weft.torch
    from weft.torch import redistribution, running

    rank = Rank()
    torch, dist = rank.torch, rank.dist
    with_kernels = running.kernels
    prepared = {}  # the prepared redistributions with (True) and without (False) kernels
    if with_kernels() is None:
        sys.exit("reshard_torch: libweft-cuda.so is not installed, and WEFT_CUDA_LIBRARY names none")

    rows = []
    cases, repeats = CASES, REPEATS
    if what == "pairs":
        cases, repeats = list(pair_cases(int(size), int(more))), REPEATS // 2
    for case in cases:
        array, mesh, after, expected = rank.ends(case, case[2], torch.float32)

        def weft_with(kernels, again):
            running.kernels = kernels
            fresh = type(redistribution.prepared)()
            redistribution.prepared = prepared.setdefault(kernels is with_kernels, fresh)
            torch.cuda.set_sync_debug_mode("error" if again else "default")
            try:
                return weft.torch.redistribute(array, mesh, after).to_local()
            finally:
                torch.cuda.set_sync_debug_mode("default")

        def dtensor(again):
            return array.redistribute(mesh, after).to_local()

        variants = {
            "weft": lambda again: weft_with(with_kernels, again),
            "copies": lambda again: weft_with(lambda: None, again),
            "dtensor": dtensor,
            "again": dtensor,
        }
        if what == "pairs":
            variants.pop("copies")
        times, right = {key: [] for key in variants}, {}
        for repeat in range(repeats + 2):
            for key, variant in rotated(variants, repeat):
                seconds, result = timed(torch, lambda: variant(repeat > 0))
                if repeat in (0, repeats + 1):
                    right[key] = rank.all_right(result, expected)
                if repeat > 1:
                    times[key].append(seconds)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated()
        result = variants["weft"](True)
        torch.cuda.synchronize()
        staging = torch.cuda.max_memory_allocated() - held - result.numel() * 4
        rows.append(dict(name=case[0], times=times, right=right, staging=staging))
    if rank.rank == 0:
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: {RANKS} NCCL ranks on one GPU")
        print(
            "case                     ms Weft  torch's copies  DTensor  times faster  DTensor to itself"
            "  staging MiB"
        )
        ratios, noise = [], []
        for row in rows:
            weft_ms, copies, other, again = (
                statistics.median(row["times"].get(key, [math.nan])) * 1e3
                for key in ("weft", "copies", "dtensor", "again")
            )
            ratios.append(other / weft_ms)
            noise.append(other / again)
            notes = [f"({who} is wrong)" for who, fine in row["right"].items() if not fine]
            print(
                f"{row['name']:24} {weft_ms:7.2f} {copies:15.2f} {other:8.2f} {ratios[-1]:13.2f}"
                f" {noise[-1]:18.2f} {row['staging'] / 2**20:12.1f}", *notes,
            )  # fmt: skip
        print_means(ratios, noise)
        if out:
            with open(out, "w") as file:
                json.dump(rows, file)
    dist.destroy_process_group()


def spawn(port, *words):
    ranks = [
        subprocess.Popen([sys.executable, __file__, "rank", *words], env=env)
        for env in one_gpu.environments(RANKS, port, TORCH_NCCL_ENABLE_MONITORING="0")
    ]
    in_time = one_gpu.end_within(ranks, 300)
    codes = [rank.wait() for rank in ranks]
    if not in_time or any(codes):
        sys.exit(f"reshard_torch: ranks of {words[0]} ended with {codes}")


def main():
    verb, *rest = sys.argv[1:]
    if verb == "rank":
        what, *rest = rest
        check_rank() if what == "check" else measure_rank(what, *rest)
    elif verb == "check":
        spawn(29561, "check")
    elif verb in ("measure", "pairs"):
        spawn(29562, verb, *rest)


if __name__ == "__main__":
    main()
