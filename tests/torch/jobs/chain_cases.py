# SPDX-License-Identifier: Apache-2.0
"""Test cases of chains of collectives, which NCCL uses. They run on four gloo ranks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

import weft.torch
from tests.torch.jobs.cases import all_pairs, grid, key_of
from tests.torch.jobs.oracle import check, distributed, numbers
from tests.torch.jobs.runner import main, mesh_of
from weft.torch import backends, chains, native, redistribution, running
from weft.torch.folds import box_of
from weft.torch.layouts import Placed, Spec

R, S0, S1, P = Replicate(), Shard(0), Shard(1), Partial()


@contextmanager
def as_on_nccl(always: bool = False) -> Iterator[list[str]]:
    """Run with gloo what NCCL would run. Yields a list to which the kinds of all collectives of
    this rank are added.

    always: use chains even if messages would receive less.
    """
    usual = backends.in_groups, native.run_collective, redistribution.collectives_for
    link = running.link_of
    ran: list[str] = []

    def counted(which: native.Collective, *rest: Any, **more: Any) -> None:
        ran.append(which.kind)
        usual[1](which, *rest, **more)

    def any_chain(key: redistribution.PlanKey, groups: bool) -> chains.Chain | None:
        reduction = redistribution.reduction_of(key.source, key.target)
        rank, world = dist.get_rank(), dist.get_world_size()
        return chains.chain_of(key.source, key.target, key.dtype, reduction, rank, world, 0, 1)

    backends.in_groups = lambda device: True
    running.link_of = lambda device: running.LINKS["nccl"]
    native.run_collective = counted
    if always:
        redistribution.collectives_for = any_chain
    redistribution.prepared.clear()
    try:
        yield ran
    finally:
        backends.in_groups, native.run_collective, redistribution.collectives_for = usual
        running.link_of = link
        redistribution.prepared.clear()


def case_chains_end_at_the_target() -> None:
    with as_on_nccl(always=True) as ran:
        all_pairs((8, 4))
        assert set(ran) == set(get_args(native.Kind))


def case_chains_of_parts_that_differ_in_size() -> None:
    """Some parts are empty: 5 rows over four ranks are 2, 2, 1 and 0
    rows; over two by two ranks 2, 1, 1 and 1."""
    with as_on_nccl(always=True) as ran:
        for shape in ((5, 5), (7, 6), (1, 3), (3, 5, 2)):
            default_pairs(shape)
        for dtype in (
            torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64,
            torch.uint8, torch.complex128, torch.bool,
        ):  # fmt: skip
            default_pairs((5, 5), dtype)
        for reduction in ("avg", "min", "max", "product"):
            default_pairs((5, 5), reduction=reduction)
        assert set(ran) == set(get_args(native.Kind))


def default_pairs(
    shape: Sequence[int], dtype: torch.dtype = torch.float32, reduction: str = "sum"
) -> None:
    """All pairs of placements that move data, on meshes of 4 and 2 x 2 ranks. For sums of
    2-dimensional arrays these are 126."""
    whole = numbers(shape, dtype)
    whole = whole * 4 if dtype == torch.uint8 else whole
    shards = [Shard(dim) for dim in range(len(shape))]
    for mesh in (mesh_of([0, 1, 2, 3]), grid()):
        for source in itertools.product((R, *shards, P), repeat=mesh.ndim):
            adds = P in source
            if (adds and dtype == torch.bool) or (not adds and reduction != "sum"):
                continue
            array = of(whole, mesh, [renamed(each, reduction) for each in source])
            for target in itertools.product((R, *shards), repeat=mesh.ndim):
                if not all(one in (R, other) for one, other in zip(source, target)):
                    check(weft.torch.redistribute(array, mesh, target), whole, mesh, target)


# Together, the chains of these pairs contain every kind of collective.
PAIRS: list[tuple[list[Any], list[Any]]] = [
    ([R, S0], [S0, R]), ([S1, R], [R, S1]), ([S0, P], [R, S1]), ([P, S1], [R, R]),
    ([S0, S1], [R, R]), ([P, P], [S1, S0]), ([P, P], [R, R]), ([S0, S0], [R, S1]),
    ([S1, S0], [S0, R]), ([P, S0], [S0, S1]), ([R, S0], [S0, S1]), ([S0, R], [R, R]),
]  # fmt: skip


def case_chains_of_all_types_and_reductions() -> None:
    mesh = grid()
    with as_on_nccl(always=True) as ran:
        for shape in ((4, 8), (6, 5), (2, 4, 3), (1, 4)):
            for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.complex128):
                whole = numbers(shape, dtype)
                for source, target in PAIRS:
                    # Addends of unsigned types cannot be negative, so they are made differently.
                    first = whole * 4 if dtype == torch.uint8 else whole
                    result = weft.torch.redistribute(of(first, mesh, source), mesh, target)
                    check(result, first, mesh, target)
        for reduction in ("avg", "min", "max", "product"):
            whole = numbers((4, 8))
            for source, target in PAIRS:
                array = distributed(whole, mesh, [renamed(each, reduction) for each in source])
                check(weft.torch.redistribute(array, mesh, target), whole, mesh, target)
        assert set(ran) == set(get_args(native.Kind))


def renamed(placement: Any, reduction: str) -> Any:
    return Partial(reduction) if placement == P else placement


def of(whole: torch.Tensor, mesh: DeviceMesh, source: list[Any]) -> Any:
    """A distributed array. For unsigned types, all addends are equal, hence never negative."""
    if whole.dtype != torch.uint8:
        return distributed(whole, mesh, source)
    copies = [R if each == P else each for each in source]
    here = distributed(whole, mesh, copies).to_local()
    addends = math.prod(size for size, each in zip(mesh.shape, source) if each == P)
    return DTensor.from_local(
        here // addends, mesh, source, shape=whole.shape, stride=whole.stride()
    )


def case_meshes_of_one_dimension_and_in_another_order() -> None:
    with as_on_nccl(always=True):
        for mesh in (mesh_of([2, 0, 3, 1]), mesh_of([[3, 1], [2, 0]])):
            for shape in ((8, 8), (6, 7)):
                whole = numbers(shape)
                ends = list(itertools.product((R, S0, S1), repeat=mesh.ndim))
                for source, target in list(itertools.product(ends, ends))[:: mesh.ndim]:
                    result = weft.torch.redistribute(
                        distributed(whole, mesh, source), mesh, target
                    )
                    check(result, whole, mesh, target)


def kinds(ran: list[str], mesh: DeviceMesh, shape: Any, source: Any, target: Any) -> list[str]:
    whole = numbers(shape)
    array = distributed(whole, mesh, source)
    for _ in range(2):
        ran.clear()
        check(weft.torch.redistribute(array, mesh, target), whole, mesh, target)
    return list(ran)


def case_chains_are_used_if_they_receive_no_more_than_messages() -> None:
    mesh, shape = grid(), (1024, 1024)
    with as_on_nccl() as ran:
        # One mesh dimension takes over the sharding of another.
        assert kinds(ran, mesh, shape, [R, S0], [S0, R]) == ["broadcasts"]
        assert kinds(ran, mesh, shape, [S1, R], [R, S1]) == ["broadcasts"]
        assert kinds(ran, mesh, (1023, 1024), [S0, R], [R, R]) == ["all_gather"]
        assert kinds(ran, mesh, (3, 262144), [S0, R], [R, R]) == ["broadcasts"]
        assert kinds(ran, mesh, shape, [S0, P], [R, S1]) == ["reduce_scatter", "all_gather"]
        assert kinds(ran, mesh, shape, [P, S1], [R, R]) == ["all_reduce", "all_gather"]
        assert kinds(ran, mesh, shape, [P, S0], [R, R]) == ["all_reduce", "all_gather"]
        # Collectives of all ranks.
        assert kinds(ran, mesh, shape, [S0, S1], [R, R]) == ["all_gather"]
        assert kinds(ran, mesh, shape, [P, P], [S1, S0]) == ["reduce_scatter"]
        assert kinds(ran, mesh, shape, [P, P], [R, R]) == ["all_reduce"]
        # An exchange along one dimension of the mesh is always an all-to-all.
        assert kinds(ran, mesh, shape, [R, S0], [R, S1]) == ["all_to_all"]
        assert kinds(ran, mesh, shape, [S0, S0], [R, S1]) == ["all_to_all", "all_gather"]
        assert kinds(ran, mesh, shape, [P, S0], [S0, S1]) == ["all_to_all", "reduce_scatter"]
        # Parts that differ in size are padded.
        line, odd = mesh_of([0, 1, 2, 3]), (1029, 1027)
        assert kinds(ran, line, odd, [P], [S0]) == kinds(ran, line, odd, [P], [S1]) == ["reduce_scatter"]
        assert kinds(ran, mesh, odd, [S0, P], [R, S1]) == ["reduce_scatter", "all_gather"]
        assert kinds(ran, mesh, odd, [S1, R], [R, R]) == ["all_gather"]
        assert kinds(ran, mesh, odd, [P, P], [S0, S0]) == ["reduce_scatter"]
        assert kinds(ran, mesh, odd, [S0, S1], [R, R]) == ["all_gather"]
        assert kinds(ran, mesh, odd, [P, S0], [S0, S1]) == ["all_to_all", "reduce_scatter"]
        # In these cases, ranks receive fewer bytes with messages, or the same number of bytes in
        # one call.
        assert kinds(ran, mesh, shape, [S0, S0], [R, S0]) == []
        assert kinds(ran, mesh_of([0, 1, 2, 3]), shape, [S0], [S1]) == []
        assert kinds(ran, mesh, shape, [R, S0], [S0, S1]) == []
        # For so few bytes, starting a second collective costs more.
        assert kinds(ran, mesh, (8, 8), [S0, P], [R, S1]) == []


def case_chains_keep_to_the_memory_of_the_larger_end() -> None:
    """No intermediate array is larger than the larger of source and target. Additional memory is at
    most what is sent and received."""
    mesh, link = grid(), running.LINKS["nccl"]
    seen = 0
    ends = list(itertools.product((R, S0, S1, P), repeat=2))
    for shape, source, target in itertools.product(((512, 512), (517, 517), (5, 3)), ends, ends):
        if P in target:
            continue
        key = key_of(distributed(numbers(shape), mesh, source), mesh, target, link)
        chain = redistribution.collectives_for(key, True)
        if chain is not None:
            seen += 1
            largest = redistribution.largest_part((key,))
            rounding = chains.rounded(largest) if shape[0] % 4 else 0
            assert all(math.prod(part) * 4 <= largest + rounding for part in chain.shapes)
            assert chain.held * 4 <= 2 * largest + rounding
            received = redistribution.plan_of(key, 0).received
            assert chain.received * 4 <= received + chain.padding * 4
    assert seen > 80
    # An array of more than WHOLE bytes is gathered only if this needs no additional memory.
    usual = redistribution.WHOLE
    redistribution.WHOLE = 1 << 10
    try:
        for cut, there in ((S0, True), (S1, False)):
            key = key_of(distributed(numbers((64, 64)), mesh, [cut, R]), mesh, [R, R], link)
            assert (redistribution.collectives_for(key, True) is not None) == there
    finally:
        redistribution.WHOLE = usual


def part(whole: torch.Tensor, spec: Spec, rank: int) -> torch.Tensor:
    """The rank's part; a part of a partial array is the whole divided by the number of addends."""
    box = box_of(spec, rank)
    assert box is not None
    return whole[tuple(slice(low, high) for low, high in box)] / spec.addends


def slots(step: Any, array: torch.Tensor, count: int) -> Sequence[torch.Tensor]:
    """Returns the slots into which the input of a rank for a collective is divided."""
    view = step.sent
    room = torch.full((view.total,), math.nan)
    for part, slot in view.pairs(array, room):
        slot.copy_(part)
    sizes = list(step.splits[1]) if step.splits else [view.total // count] * count
    return list(room.split(sizes))


def fill(out: torch.Tensor, view: Any, room: Sequence[torch.Tensor]) -> None:
    for part, slot in view.pairs(out, torch.cat(list(room))):
        part.copy_(slot)


def run_on_all(
    spec: Spec, chosen: Sequence[chains.Chain], whole: torch.Tensor
) -> list[torch.Tensor]:
    """Simulate a chain of all ranks in this process."""
    parts = [part(whole, spec, rank) for rank in spec.ranks]
    for number, step in enumerate(chosen[0].steps):
        mine = [chain.steps[number] for chain in chosen]
        given = [parts[rank].reshape(each.shape)[each.taken] for rank, each in enumerate(mine)]
        outs = [torch.full(chain.shapes[number], math.nan) for chain in chosen]
        for line in native.lines(spec, step.axes) if step.axes else [(rank,) for rank in spec.ranks]:
            total = sum(given[rank] for rank in line) if "reduce" in step.kind else None
            for place, rank in enumerate(line):
                each: Any = mine[rank]
                out = outs[rank]
                if step.kind == "all_reduce":
                    out.copy_(total)
                elif step.kind == "reduce_scatter":
                    added = slots(each, total, len(line))[place]
                    out.copy_(added[: out.numel()].view(out.shape))
                elif step.kind == "all_gather":
                    room = torch.full((len(line), each.got.slot), math.nan)
                    for slot, other in zip(room, line):
                        slot[: given[other].numel()] = given[other].reshape(-1)
                    fill(out, each.got, list(room))
                elif step.kind == "all_to_all":
                    sent = [slots(mine[other], given[other], len(line)) for other in line]
                    fill(out, each.got, [apart[place] for apart in sent])
                elif step.kind == "broadcasts":
                    for root, where in each.parts:
                        out[where] = given[root]
                else:
                    out.copy_(given[rank])
        parts = outs
    return parts


def case_larger_meshes() -> None:
    """Chains on meshes with more ranks than there are processes, simulated in one process."""
    numbers_of_steps = set()
    for sizes, shape in (
        ((2, 4), (16, 8)), ((3, 2), (18, 12)), ((2, 2, 2), (8, 16)), ((8,), (3, 16)),
        ((2, 4), (17, 9)), ((3, 2), (7, 5)), ((2, 2, 2), (9, 5)), ((8,), (3, 10)), ((4, 2), (5, 3)),
    ):  # fmt: skip
        ranks = tuple(range(math.prod(sizes)))
        whole = numbers(shape)
        kinds_of = [Placed(), Placed(reduce="sum"), *(Placed(dim=dim) for dim in range(len(shape)))]
        ends = [
            Spec(shape, sizes, ranks, placed)
            for placed in itertools.product(kinds_of, repeat=len(sizes))
        ]
        pairs = itertools.product(ends, [end for end in ends if not end.reduction])
        for source, target in itertools.islice(pairs, 3, None, 7 if len(sizes) < 3 else 61):
            found = [
                chains.chain_of(source, target, whole.dtype, "sum", rank, len(ranks), 1e-3, 1.0)
                for rank in ranks
            ]
            chosen = [chain for chain in found if chain is not None]
            assert len(chosen) in (0, len(ranks))
            if not chosen or source == target:
                continue
            facts = {(c.received, c.held, tuple(s.kind for s in c.steps)) for c in chosen}
            assert len(facts) == 1, facts
            numbers_of_steps.add(len(chosen[0].steps))
            results = run_on_all(source, chosen, whole)
            for rank in ranks:
                assert torch.allclose(results[rank], part(whole, target, rank)), (source, target)
    assert numbers_of_steps >= {1, 2, 3}


if __name__ == "__main__":
    main(globals())
