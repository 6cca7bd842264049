#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weft.jax.reshard with jax.jit(identity, out_shardings=...) on 8 CPU devices of one process.

Usage: reshard_jax.py [--local MiB] [--repeats N] [--grow even|first|last] [--only TEXT] [--every N]
                      [--fresh] [--markdown]    (with a Python that has weft; JAX is that of .venvs/jax)

Uses the cases on 8 devices that divide evenly and are not partial. Each is scaled so that the
largest part of a device has --local MiB: the smallest dimension is doubled repeatedly (with --grow,
only the first or the last dimension), or the largest one is halved. Times are from input array to
output array and include waiting for the result. Weft and JAX take turns, and the best of --repeats
counts. Weft's plans and programs are made before the measurement, and so are XLA's compiled
programs. The two results are compared. Cases with the same boxes are measured once and count as
often as they occur. If jit refuses a case because the devices are in another order, jax.device_put
is used instead.

Limits: a ratio is XLA's time divided by Weft's. The geometric mean of the ratios must be at least
1.22, and no ratio may be below 1 by more than the noise. Exit status: 0 if the limits hold, 1 if
not, 4 if something is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
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
CASES = ROOT.parent / "shared" / "reshard" / "cases.json"
DEVICES = 8
BAR = 1.22
NOISE = 0.05
LEFT_OUT = {"uneven", "partial", "cross_device_set", "empty_array"}
DTYPES = {"f64": "float64", "bf16": "bfloat16", "i64": "int64", "ui64": "uint64", "c64": "complex64"}
Case = dict[str, Any]


def wanted(case: Case) -> bool:
    return bool(
        case["kind"] == "mesh"
        and case["shape"]
        and case["facts"]["devices"] == DEVICES
        and not LEFT_OUT & set(case["tags"])
        and not any(case[side].get("partial") for side in ("src", "dst"))
    )


def scaled(case: Case, local: int, item: int, how: str) -> list[int]:
    shape = list(case["shape"])
    part = max(case["facts"]["local_in_max"], case["facts"]["local_out_max"]) * item
    while part * 2 <= local:
        dims = {"first": [0], "last": [len(shape) - 1]}.get(how, range(len(shape)))
        shape[min(dims, key=lambda dim: shape[dim])] *= 2
        part *= 2
    while part > local and max(shape) % (2 * DEVICES) == 0:  # else halves would be uneven
        shape[shape.index(max(shape))] //= 2
        part /= 2
    return shape


def sub_axes(side: Case) -> tuple[list[tuple[str, int]], list[list[str]]]:
    """The mesh with every axis divided into its used sub-axes ("x:(2)4"), and the axes of each dimension."""
    edges: dict[str, set[int]] = {name: {1, size} for name, size in side["mesh"]["axes"]}
    used: list[list[tuple[str, int, int]]] = []  # per dimension: axis, and the bounds of the sub-axis
    for dim in side["dims"]:
        used.append([])
        for text in dim:
            name, _, rest = text.partition(":")
            before, size = 1, max(edges[name])
            if rest:
                before, size = (int(word) for word in rest[1:].split(")"))
            edges[name] |= {before, before * size}
            used[-1].append((name, before, before * size))
    axes = []
    for name, _ in side["mesh"]["axes"]:
        marks = sorted(edges[name])
        axes += [(f"{name}{a}", b // a) for a, b in zip(marks, marks[1:], strict=False)] or [(f"{name}1", 1)]
    dims = []
    for parts in used:
        dims.append([f"{name}{mark}" for name, low, high in parts
                     for mark in sorted(edges[name]) if low <= mark < high])  # fmt: skip
    return axes, dims


def sharding_of(side: Case) -> Any:
    import jax
    import numpy as np

    axes, dims = sub_axes(side)
    names, sizes = zip(*axes, strict=True)
    ids = side["mesh"].get("devices") or range(math.prod(sizes))
    devices = np.array([jax.devices()[i] for i in ids]).reshape(sizes)
    spec = jax.sharding.PartitionSpec(*(tuple(dim) or None for dim in dims))
    return jax.sharding.NamedSharding(jax.sharding.Mesh(devices, names), spec)


def made(shape: list[int], dtype: Any, sharding: Any) -> Any:
    """An array whose elements all differ, as far as the element type allows."""
    import jax
    import jax.numpy as jnp

    def numbers() -> Any:
        flat = sum(jax.lax.broadcasted_iota("uint32", shape, i) * (2654435761 >> i) for i in range(len(shape)))
        return (flat >> 8).astype(dtype) if dtype != jnp.bool_ else flat % 3 == 0

    return jax.block_until_ready(jax.jit(numbers, out_shardings=sharding)())


def same(a: Any, b: Any) -> bool:
    import numpy as np

    shards = {shard.device: shard.data for shard in b.addressable_shards}
    return a.sharding == b.sharding and all(
        np.array_equal(np.asarray(shard.data), np.asarray(shards[shard.device]))
        for shard in a.addressable_shards
    )


def rival(array: Any, target: Any) -> tuple[str, Callable[[], Any]]:
    import jax

    move: Any = jax.jit(lambda x: x, out_shardings=target)
    try:
        move(array)
    except ValueError:
        return "device_put", lambda: jax.device_put(array, target)
    return "jit", lambda: move(array)


def measure(case: Case, arguments: argparse.Namespace) -> dict[str, Any]:
    import jax
    import numpy as np

    import weft.jax

    dtype = jax.numpy.dtype(DTYPES.get(case["dtype"], "float32"))
    shape = scaled(case, arguments.local << 20, dtype.itemsize, arguments.grow)
    source, target = sharding_of(case["src"]), sharding_of(case["dst"])
    array = made(shape, dtype, source)
    name, theirs = rival(array, target)
    ways: dict[str, Callable[[], Any]] = {name: theirs, "weft": lambda: weft.jax.reshard(array, target)}
    right = same(*(jax.block_until_ready(way()) for way in ways.values()))
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(arguments.repeats):
        for way in list(ways) if turn % 2 else list(ways)[::-1]:
            start = time.perf_counter()
            result = jax.block_until_ready(ways[way]())
            times[way].append(time.perf_counter() - start)
            del result
    ms = {way: min(values) * 1e3 for way, values in times.items()}  # the minimum: other load only adds time
    item = {"shape": shape, "rival": name, "right": right, "theirs": ms[name], "weft": ms["weft"]}
    return item | {"ratio": ms[name] / ms["weft"], "bytes": int(np.prod(shape)) * dtype.itemsize}


def boxes(case: Case, arguments: argparse.Namespace) -> str:
    """Returns a key of a case. Two cases have equal keys if they have the same boxes on the same
    devices."""
    shape = scaled(case, arguments.local << 20, 4, arguments.grow)
    sides = [sharding_of(case[side]).devices_indices_map(tuple(shape)) for side in ("src", "dst")]
    return repr((DTYPES.get(case["dtype"]), [[(d.id, i) for d, i in side.items()] for side in sides]))


def kind_of(case: Case) -> str:
    facts = case["facts"]
    if facts["recv_max"] == 0:
        same = facts["local_in_max"] == facts["local_out_max"]
        return "nothing moves" if same else "slices, nothing is received"
    if facts["local_out_max"] > facts["local_in_max"]:
        return "parts grow: gathers"
    if facts["local_out_max"] < facts["local_in_max"]:
        return "parts shrink"
    return "parts keep their size: all-to-alls, permutes"


def summary(ratios: list[tuple[float, Case]]) -> None:
    print("\n| cases | number | geometric mean | least | largest |")
    print("| --- | --- | --- | --- | --- |")
    kinds: dict[str, list[float]] = {}
    for ratio, case in ratios:
        kinds.setdefault(kind_of(case), []).append(ratio)
    for kind, values in [*sorted(kinds.items()), ("all", [ratio for ratio, _ in ratios])]:
        mean = math.exp(statistics.fmean(map(math.log, values)))
        print(f"| {kind} | {len(values)} | {mean:.2f} | {min(values):.2f} | {max(values):.1f} |")


def run(arguments: argparse.Namespace) -> int:
    if arguments.fresh:
        from weft.jax import memory

        memory.pool = memory.Pool(0)
    cases = [case for case in json.loads(arguments.cases.read_text())["cases"] if wanted(case)]
    cases = [case for case in cases if arguments.only in case["id"]]
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(boxes(case, arguments), []).append(case)
    groups = dict(list(groups.items())[:: arguments.every])
    bar = "| " if arguments.markdown else ""
    print(f"{bar}case | same | shape | rival | its ms | weft ms | ratio {bar}".rstrip())
    if arguments.markdown:
        print("| --- | --- | --- | --- | --- | --- | --- |")
    ratios, wrong = [], 0
    for group in groups.values():
        got = measure(group[0], arguments)
        size = " x ".join(map(str, got["shape"]))
        line = f"{group[0]['id']} | {len(group)} | {size} | {got['rival']} | {got['theirs']:.2f}"
        line += f" | {got['weft']:.2f} | {got['ratio']:.2f}" + ("" if got["right"] else " WRONG")
        print(f"{bar}{line} {bar}".rstrip(), flush=True)
        ratios += [(got["ratio"], case, got["rival"]) for case in group]
        wrong += not got["right"]
    over_jit = [(ratio, case) for ratio, case, name in ratios if name == "jit"]
    others = [ratio for ratio, _, name in ratios if name != "jit"]
    summary(over_jit)
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in over_jit))
    below = sum(ratio < 1 - NOISE for ratio, _, _ in ratios)
    print(f"\n{len(ratios)} cases, {len(groups)} distinct, {wrong} wrong, {below} slower than JAX")
    print(f"compared with jit: geometric mean {mean:.2f}, limit {BAR}")
    if others:
        low, high = min(others), max(others)
        print(f"compared with device_put, if jit refuses: {low:.2f} to {high:.1f} in {len(others)}")
    return 0 if mean >= BAR and not below and not wrong else 1


def in_jax_environment() -> int:
    """Runs the same command with the Python of .venvs/jax and the weft package of this Python."""
    python = ROOT / ".venvs" / "jax" / "bin" / "python"
    weft = importlib.util.find_spec("weft")
    if not python.exists() or weft is None or weft.origin is None:
        what = "weft is not installed"
        if not python.exists():
            what = ".venvs/jax is missing (see tools/frameworks.sh jax)"
        print(f"skipped: {what}", file=sys.stderr)
        return 4
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "weft").symlink_to(Path(weft.origin).parent)
        for facts in Path(weft.origin).parent.parent.glob("weft-*.dist-info"):
            (Path(folder) / facts.name).symlink_to(facts)
        environment = os.environ | {
            "PYTHONPATH": folder,
            "JAX_PLATFORMS": "cpu",
            "JAX_ENABLE_X64": "1",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}",
            "TF_CPP_MIN_LOG_LEVEL": "2",  # XLA logs a warning for every full rematerialisation
            "WEFT_BENCH_CHILD": "1",
        }
        return subprocess.run([python, __file__, *sys.argv[1:]], env=environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--local", type=int, default=64, help="MiB of the largest part of a device")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--grow", choices=("even", "first", "last"), default="even")
    parser.add_argument("--fresh", action="store_true", help="do not reuse memory of deleted arrays")
    parser.add_argument("--every", type=int, default=1, help="measure only every N-th distinct case")
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    arguments = parser.parse_args()
    if not arguments.cases.exists():
        print(f"{arguments.cases} is missing", file=sys.stderr)
        return 4
    return run(arguments) if os.environ.get("WEFT_BENCH_CHILD") else in_jax_environment()


if __name__ == "__main__":
    sys.exit(main())
