#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how an installed framework redistributes the cases of a file.

Usage: reshard_live.py xla|dtensor CASES     (with a Python that has jax, or torch)

The output has one line of JSON per case: `id` and `status`; if the status is ok, also `steps`,
`recv_bytes` and `ops`, a list of [name, group size, received bytes, output bytes]. Recorded plans of
rivals have the same form. Only cases that divide evenly and have one mesh are planned, because for
others the received bytes depend on the padding of each framework. For XLA, the plan is the program to
which jit with input and output shardings compiles. For DTensor, it is the list of steps of its
planner, under a process group that does not communicate.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

MOST_DEVICES = 64
ITEM = {"f32": 4, "f64": 8, "bf16": 2, "i32": 4, "s32": 4, "i64": 8, "ui32": 4, "ui64": 8, "int": 4}
Case = dict[str, Any]
Op = tuple[str, int | None, float, float]
COLLECTIVES = "all-gather|all-to-all|collective-permute|all-reduce|reduce-scatter"
HLO_OP = re.compile(rf"= (?P<out>\(.*?\)|\S+) (?P<op>{COLLECTIVES})(?:-start)?\(.*")
HLO_SHAPE = re.compile(r"[a-z]+(\d+)\[([\d,]*)\]")
GROUPS = re.compile(r"replica_groups=(?:\{\{(?P<list>[\d,]*)\}|\[\d+,(?P<size>\d+)\]<=)")
NAMED_GROUPS = re.compile(r"replica_groups=mesh\[(?P<mesh>[^\]]*)\][^{]*\{(?P<axes>[^}]*)\}")
NAMED_AXIS = re.compile(r"'(?P<name>\w+)'(?:=(?P<size>\d+)|:\(\d+\)(?P<part>\d+))?")
PAIRS = re.compile(r"\{(\d+),(\d+)\}")


def askable(case: Case) -> bool:
    tags = set(case["tags"]) & {"uneven", "cross_device_set", "device_order", "sub_axis"}
    return (
        case["kind"] == "mesh"
        and not tags
        and case["facts"]["devices"] <= MOST_DEVICES
        and case["dtype"] in ITEM
        and math.prod(case["shape"]) > 0
    )


def received(op: str, group: int, output: float) -> float:
    """Bytes that a device receives in a collective whose result has `output` bytes per device."""
    if op == "collective_permute":
        return output
    if op == "reduce_scatter":
        return output * (group - 1)
    return output * (group - 1) / group * (2 if op == "all_reduce" else 1)


def group_size(line: str) -> int:
    """The group size of a collective, in any of the three notations of XLA."""
    if found := GROUPS.search(line):
        return int(found["size"]) if found["size"] else int(found["list"].count(",") + 1)
    found = NAMED_GROUPS.search(line)
    if found is None:
        raise ValueError(f"no groups in {line}")
    sizes = {axis["name"]: int(axis["size"]) for axis in NAMED_AXIS.finditer(found["mesh"])}
    axes = NAMED_AXIS.finditer(found["axes"])
    return math.prod(int(axis["part"] or sizes[axis["name"]]) for axis in axes)


def hlo_ops(text: str) -> Iterator[Op]:
    for match in HLO_OP.finditer(text):
        op, line = match["op"].replace("-", "_"), match[0]
        output = float(
            sum(
                int(bits) // 8 * math.prod(map(int, filter(None, shape.split(","))))
                for bits, shape in HLO_SHAPE.findall(match["out"])
            )
        )
        if op == "collective_permute":
            pairs = PAIRS.findall(line.partition("source_target_pairs=")[2])
            yield op, None, output if any(a != b for a, b in pairs) else 0.0, output
            continue
        group = group_size(line)
        yield op, group, received(op, group, output), output


def xla_planner() -> Callable[[Case], list[Op] | None]:
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={MOST_DEVICES}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.config.update("jax_enable_x64", True)
    dtypes = {"f64": "float64", "bf16": "bfloat16", "i64": "int64", "ui64": "uint64"}

    def sharding(side: Case) -> NamedSharding:
        names, sizes = zip(*side["mesh"]["axes"], strict=True)
        devices = np.array(jax.devices()[: math.prod(sizes)]).reshape(sizes)
        return NamedSharding(Mesh(devices, names), PartitionSpec(*map(tuple, side["dims"])))

    def plan(case: Case) -> list[Op] | None:
        if case["src"].get("partial") or case["dst"].get("partial"):
            return None
        source, target = sharding(case["src"]), sharding(case["dst"])
        array = jax.ShapeDtypeStruct(
            case["shape"], dtypes.get(case["dtype"], "float32"), sharding=source
        )
        move = jax.jit(lambda x: x, in_shardings=source, out_shardings=target)
        return list(hlo_ops(move.lower(array).compile().as_text()))

    return plan


def dtensor_planner() -> Callable[[Case], list[Op] | None]:
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    from torch.distributed.tensor._redistribute import _gen_transform_infos_non_cached
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=MOST_DEVICES)
    meshes: dict[tuple[int, ...], DeviceMesh] = {}

    def placements(side: Case) -> list[Any] | None:
        """None if axes cut a dimension in an order that differs from the mesh: torch has no such type."""
        names = [name for name, _ in side["mesh"]["axes"]]
        if any(dim != sorted(dim, key=names.index) for dim in side["dims"]):
            return None
        place = {axis: Shard(i) for i, dim in enumerate(side["dims"]) for axis in dim}
        place |= {axis: Partial(how) for axis, how in side.get("partial", {}).items()}
        return [place.get(name, Replicate()) for name in names]

    def plan(case: Case) -> list[Op] | None:
        if case["src"]["mesh"] != case["dst"]["mesh"]:
            return None
        before, after = placements(case["src"]), placements(case["dst"])
        if before is None or after is None:
            return None
        sizes = tuple(size for _, size in case["src"]["mesh"]["axes"])
        if sizes not in meshes:
            ranks = torch.arange(math.prod(sizes)).reshape(sizes)
            meshes[sizes] = DeviceMesh("cpu", ranks, _init_backend=False)
        meta = TensorMeta(torch.Size(case["shape"]), torch.empty(case["shape"], device="meta").stride(),
                          torch.float32)  # fmt: skip
        specs = [DTensorSpec(meshes[sizes], tuple(side), tensor_meta=meta) for side in (before, after)]
        now, ops = list(before), []
        for info in _gen_transform_infos_non_cached(*specs):
            left, now[info.mesh_dim] = info.src_dst_placements
            if left.is_shard() and now[info.mesh_dim].is_partial():
                return None  # torch plans such a placement, but refuses to run the plan
            parts = math.prod(
                size for size, place in zip(sizes, now, strict=True) if place.is_shard()
            )
            output = math.prod(case["shape"]) * ITEM[case["dtype"]] / parts
            group, op = sizes[info.mesh_dim], info._comm_type_key()
            ops.append((op or "local", group, received(op, group, output) if op else 0.0, output))
        return ops

    return plan


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in ("xla", "dtensor"):
        print(__doc__, file=sys.stderr)
        return 2
    ask = {"xla": xla_planner, "dtensor": dtensor_planner}[sys.argv[1]]()
    with open(sys.argv[2]) as file:
        cases = [case for case in json.load(file)["cases"] if askable(case)]
    for case in cases:
        line: Case = {"id": case["id"]}
        try:
            ops = ask(case)
        except Exception as error:  # frameworks raise many types of exceptions when they refuse a case
            print(json.dumps(line | {"status": "error", "reason": str(error)[:200]}))
            continue
        if ops is None:
            print(json.dumps(line | {"status": "skip"}))
            continue
        moving = [op for op in ops if op[0] != "local" and op[2] > 0]
        total = sum(op[2] for op in moving)
        print(json.dumps(line | {"status": "ok", "steps": len(moving), "recv_bytes": total, "ops": ops}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
