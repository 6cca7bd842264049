#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weft.torch.redistribute with DTensor.redistribute on gloo ranks.

    .venv/bin/python bench/reshard_torch.py [--local 64] [--repeats 5] [--mesh 4,2x2] [--only TEXT]
        [--markdown docs/reference/reshard-torch.md]
    .venv/bin/python bench/reshard_torch.py --local 0 --repeats 100    # the overhead of a call

Measures, on each mesh, all pairs of default placements between which anything moves. The larger of
source and target has --local MiB per rank. Both functions take turns on the same array within one set
of processes. The time of a call is that of the slowest rank, and the median of the repeats counts.
With --local 0, arrays are 32 x 32, and the processor time of the calling thread of rank 0 counts
instead. The results of both functions are compared. The exit status is 1 if the geometric mean of the
ratios is below 1.5, if a ratio is below 1 / 1.1, or if results differ, and 4 if .venvs/torch does not
exist. --markdown writes the page of figures.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BAR, PARITY = 1.5, 1 / 1.1


def cases(sizes: list[int]) -> list[tuple[str, str]]:
    """Pairs of placements, one letter per mesh dimension: R, 0, 1 (a shard of that dimension) or P."""
    found = []
    for source in itertools.product("R01P", repeat=len(sizes)):
        for target in itertools.product("R01", repeat=len(sizes)):
            # Leave out pairs in which nothing moves: ranks then only drop copies, which needs no message.
            if any(a not in ("R", b) for a, b in zip(source, target)):
                found.append(("".join(source), "".join(target)))
    return found


def rank_main(options: argparse.Namespace) -> None:
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

    import weft.torch

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    letters: dict[str, Any] = {"R": Replicate(), "0": Shard(0), "1": Shard(1), "P": Partial()}

    def timed(work: Any) -> tuple[float, Any]:
        dist.barrier()
        if not options.local:
            begin = time.thread_time()
            result = work()
            return time.thread_time() - begin, result
        begin = time.perf_counter()
        result = work()
        took = torch.tensor(time.perf_counter() - begin)
        dist.all_reduce(took, dist.ReduceOp.MAX)
        return float(took), result

    for text in options.mesh.split(","):
        sizes = [int(size) for size in text.split("x")]
        mesh = init_device_mesh("cpu", tuple(sizes))
        for source, target in cases(sizes):
            if options.only and options.only not in f"{source}>{target}":
                continue
            cut = [math.prod(n for n, p in zip(sizes, end) if p in "01") for end in (source, target)]
            side = math.isqrt(options.local * (1 << 20) // 4 * min(cut)) // 16 * 16 or 32
            shape = [side, side]
            for size, place in zip(sizes, source):
                if place in "01":
                    shape[int(place)] //= size
            local = torch.randint(-8, 8, shape).to(torch.float32)
            if "R" in source:  # run_check makes the copies equal
                array = DTensor.from_local(local, mesh, [letters[p] for p in source], run_check=True)
            else:
                array = DTensor.from_local(local, mesh, [letters[p] for p in source])
            wanted = [letters[p] for p in target]
            ways: dict[str, Callable[[], Any]] = {
                "weft": lambda: weft.torch.redistribute(array, mesh, wanted),
                "dtensor": lambda: array.redistribute(mesh, wanted),
            }
            results = {name: way()._local_tensor for name, way in ways.items()}
            right = torch.tensor(int(torch.equal(results["weft"], results["dtensor"])))
            results.clear()
            dist.all_reduce(right, dist.ReduceOp.MIN)
            times: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(options.repeats):
                for name, way in ways.items():
                    took, result = timed(way)
                    times[name].append(took)
                    del result
            if dist.get_rank() == 0:
                row = {name: statistics.median(list_) * 1e3 for name, list_ in times.items()}
                print(json.dumps({"mesh": text, "source": source, "target": target,
                                  "right": bool(right), "torch": torch.__version__, **row}),
                      flush=True)  # fmt: skip
    dist.destroy_process_group()


def show(row: dict[str, Any]) -> None:
    ratio = float(row["dtensor"] / row["weft"])
    note = "" if row["right"] else "  DIFFERENT RESULTS"
    print(f"{row['mesh']:>5}  {row['source']:>4} -> {row['target']:<4} {row['dtensor']:9.3f} ms "
          f"{row['weft']:9.3f} ms {ratio:7.2f}{note}", flush=True)  # fmt: skip


PAGE = """# Redistribution in PyTorch, measured

`bench/reshard_torch.py --markdown` writes this page. It compares `weft.torch.redistribute` with
`DTensor.redistribute` of torch {torch}. A time is that from the input array to the complete output array,
on {world} gloo ranks of one machine with {cores} cores, with {local} MiB per rank in the larger of source and target.
The two functions take turns, and the medians of {repeats} runs count.

**{count} pairs of placements: {mean:.2f} times as fast in the geometric mean, at least {least:.2f}, at most
{most:.2f}.** A number says how many times as fast Weft is. Rows are sources and columns are targets. Each has one
letter for each dimension of the mesh: R means replicated, 0 or 1 that this dimension of the array is sharded,
and P partial. In a pair without a number, nothing moves.
"""


def page(rows: list[dict[str, Any]], options: argparse.Namespace, world: int) -> str:
    ratios = [row["dtensor"] / row["weft"] for row in rows]
    text = PAGE.format(
        torch=rows[0]["torch"], world=world, cores=os.cpu_count(), local=options.local,
        repeats=options.repeats, count=len(rows), mean=statistics.geometric_mean(ratios),
        least=min(ratios), most=max(ratios),
    )  # fmt: skip
    for mesh in options.mesh.split(","):
        cells = {
            (row["source"], row["target"]): f"{row['dtensor'] / row['weft']:.2f}"
            for row in rows
            if row["mesh"] == mesh
        }
        targets = sorted({target for _, target in cells}, key=lambda t: ["R01".index(c) for c in t])
        text += f"\nMesh {mesh}:\n\n| | {' | '.join(targets)} |\n|{' --- |' * (len(targets) + 1)}\n"
        for source in dict.fromkeys(source for source, _ in cells):
            line = [cells.get((source, target), "") for target in targets]
            text += f"| {source} | {' | '.join(line)} |\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local", type=int, default=64, help="MiB per rank")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--mesh", default="4,2x2")
    parser.add_argument("--markdown", help="file for the page of figures")
    parser.add_argument("--only", default="", help='only cases that contain this text: "0R>1R"')
    options = parser.parse_args()
    if "RANK" in os.environ:
        rank_main(options)
        return 0

    sys.path.insert(0, str(ROOT))
    from tests.cli.frameworks import free_port, ranks_environment, weft_alone

    python = ROOT / ".venvs" / "torch" / "bin" / "python"
    if not python.exists():
        print("skipped: .venvs/torch does not exist; see tools/frameworks.sh torch", file=sys.stderr)
        return 4
    world = math.prod(int(n) for n in options.mesh.split(",")[0].split("x"))
    port = free_port()
    rows: list[dict[str, Any]] = []
    what = f"{options.local} MiB per rank" if options.local else "processor time of a call"
    print(f" mesh  from -> to       DTensor         Weft   ratio   ({world} gloo ranks, {what})")
    with tempfile.TemporaryDirectory() as folder:
        path = str(weft_alone(Path(folder) / "path"))
        ranks = [
            subprocess.Popen(
                [str(python), __file__, *sys.argv[1:]],
                env=os.environ | ranks_environment(rank, world, port) | {"PYTHONPATH": path},
                stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                text=True,
            )
            for rank in range(world)
        ]
        assert ranks[0].stdout is not None
        for line in ranks[0].stdout:
            rows.append(json.loads(line))
            show(rows[-1])
        failed = any([rank.wait() for rank in ranks])
    if failed or not rows:
        print("a rank failed, or there were no cases", file=sys.stderr)
        return 1
    if options.markdown:
        Path(options.markdown).write_text(page(rows, options, world))
    ratios = [row["dtensor"] / row["weft"] for row in rows]
    wrong = sum(not row["right"] for row in rows)
    mean = statistics.geometric_mean(ratios)
    print(f"{len(ratios)} cases: geometric mean {mean:.2f}x, least {min(ratios):.2f}x, "
          f"largest {max(ratios):.2f}x; limits: mean {BAR}x, least {PARITY:.2f}x")  # fmt: skip
    return int(mean < BAR or min(ratios) < PARITY or wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
