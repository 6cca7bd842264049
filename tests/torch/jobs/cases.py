# SPDX-License-Identifier: Apache-2.0
"""Test cases of weft.torch.redistribute. Every function case_* runs on four gloo ranks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

import weft
import weft.torch
from tests.torch.jobs.oracle import check, distributed, local, numbers
from tests.torch.jobs.runner import main, mesh_of, refused
from weft.torch import backends, grouped, native, neighbours, packing, redistribution, running
from weft.torch.layouts import Placed, Spec
from weft.torch.messages import Links

R, S0, S1 = Replicate(), Shard(0), Shard(1)
COPIES = [R, R]


def grid() -> DeviceMesh:
    return init_device_mesh("cpu", (2, 2))


def all_pairs(shape: Sequence[int], reduction: str = "sum", dtype: Any = torch.float32) -> None:
    mesh = grid()
    whole = numbers(shape, dtype)
    partial = Partial(reduction)
    kinds = [R, partial, *(Shard(dim) for dim in range(len(shape)))]
    for source in itertools.product(kinds, kinds):
        array = distributed(whole, mesh, source)
        for target in itertools.product(kinds, kinds):
            if reduction != "sum" and partial not in source + target:
                continue
            result = weft.torch.redistribute(array, mesh, target)
            if partial in target:
                assert tuple(result.placements) == target
                assert result.to_local().shape == local(whole, mesh, target).shape
                result = weft.torch.redistribute(result, mesh, COPIES)
                check(result, whole, mesh, COPIES)
            else:
                check(result, whole, mesh, target)


def case_all_pairs_of_placements_even() -> None:
    all_pairs((8, 4))


def case_all_pairs_of_placements_uneven() -> None:
    all_pairs((5, 3))
    all_pairs((7, 1))


def case_all_pairs_of_placements_in_three_dimensions() -> None:
    all_pairs((3, 4, 5))


def case_averages() -> None:
    all_pairs((5, 4), "avg")


def case_smallest_largest_and_products() -> None:
    all_pairs((5, 2), "min")
    all_pairs((4, 3), "max", torch.int64)
    all_pairs((5, 2), "product")


def case_uneven_nested_gather_that_dtensor_gets_wrong() -> None:
    """Both mesh dimensions shard the 5 rows, so the ranks have 2, 1, 1 and 1 rows."""
    mesh = grid()
    whole = numbers((5, 3))
    array = distributed(whole, mesh, [S0, S0])
    check(weft.torch.redistribute(array, mesh, COPIES), whole, mesh, COPIES)
    check(weft.torch.redistribute(array, mesh, [S1, S1]), whole, mesh, [S1, S1])


def case_strided_shards() -> None:
    mesh = grid()
    kinds: list[list[Any]] = [
        [_StridedShard(0, split_factor=2), S0],
        [_StridedShard(1, split_factor=2), S1],
        [_StridedShard(0, split_factor=3), R],
        [S1, _StridedShard(0, split_factor=2)],
    ]
    for shape in ((8, 8), (9, 5)):
        whole = numbers(shape)
        for strided in kinds:
            array = distributed(whole, mesh, strided)
            for plain in ([S0, S1], COPIES, [S0, S0]):
                result = weft.torch.redistribute(array, mesh, plain)
                check(result, whole, mesh, plain)
                check(weft.torch.redistribute(result, mesh, strided), whole, mesh, strided)


def case_negative_dimensions_count_from_the_end() -> None:
    mesh, line, first = grid(), mesh_of([0, 1, 2, 3]), mesh_of([0, 1])
    whole = numbers((4, 6))
    pairs: list[tuple[DeviceMesh, list[Any], list[Any]]] = [
        (mesh, [Shard(-1), R], [S1, R]),
        (mesh, [Shard(-2), Shard(-1)], [S0, S1]),
        (mesh, [R, Shard(-1)], [R, S1]),
        (mesh, [_StridedShard(-1, split_factor=2), Shard(-1)],
         [_StridedShard(1, split_factor=2), S1]),
        (line, [Shard(-1)], [S1]),
        (first, [Shard(-1)], [S1]),
    ]  # fmt: skip
    for target, placements, counted in pairs:
        for source in (COPIES, [S0, S1], [S1, S0], [Partial(), R]):
            array = distributed(whole, mesh, source)
            result = weft.torch.redistribute(array, target, placements)
            check(result, whole, target, counted)
            check(weft.torch.redistribute(result, mesh, COPIES), whole, mesh, COPIES)
    same = distributed(whole, mesh, [S1, R])
    check(weft.torch.redistribute(same, mesh, [Shard(-1), R]), whole, mesh, [S1, R])
    array = distributed(whole, mesh, [S0, R]).requires_grad_()
    weft.torch.redistribute(array, mesh, [Shard(-1), R]).sum().full_tensor().backward()
    assert array.grad is not None
    check(array.grad, torch.ones_like(whole), mesh, [S0, R])
    outside = dist.get_rank() > 1
    rows = distributed(whole, first, [S1])
    if outside:
        rows = weft.torch.absent((4, 6), first, [Shard(-1)], whole.dtype)
        assert tuple(rows.placements) == (S1,)
    check(weft.torch.redistribute(rows, line, [Shard(-2)]), whole, line, [S0])
    for dim in (-3, 2):
        refused(weft.UsageError, lambda: weft.torch.redistribute(array, mesh, [Shard(dim), R]))


def case_a_part_with_the_wrong_shape_is_refused() -> None:
    """A part of 2 x 6 has as many bytes as the part of 4 x 3 that the placements ask for."""
    mesh = grid()
    array = DTensor.from_local(
        torch.ones(2, 6), mesh, [S1, R], run_check=False, shape=(4, 6), stride=(6, 1)
    )
    for target in ([S1, R], [S0, R], COPIES):
        text = refused(weft.UsageError, lambda: weft.torch.redistribute(array, mesh, target))
        assert "the shape (2, 6), but by its placements it should have (4, 3)" in text
    good = {"a": distributed(numbers((4, 6)), mesh, [S0, R])}
    for source, wanted in (({"a": array}, good), (good, {"a": array})):
        text = refused(weft.UsageError, lambda: weft.torch.refit(source, wanted))
        assert "rank's a has the shape (2, 6)" in text


def case_between_meshes() -> None:
    """Moves between meshes with other shapes, orders and numbers of
    ranks. Ranks outside a mesh hold nothing."""
    line, first, last = mesh_of([0, 1, 2, 3]), mesh_of([0, 1]), mesh_of([2, 3])
    three, mixed = mesh_of([3, 0, 2]), mesh_of([[3, 1], [2, 0]])
    ends: list[tuple[DeviceMesh, list[Any]]] = [
        (line, [S0]), (line, [S1]), (line, [R]), (first, [S0]), (first, [R]), (last, [S1]),
        (last, [R]), (three, [S0]), (three, [S1]), (mixed, [S0, S1]), (mixed, [S1, S1]),
        (mixed, [R, S0]), (grid(), [S0, R]),
    ]  # fmt: skip
    whole = numbers((7, 6))
    for (one, source), (other, target) in itertools.product(ends, ends):
        array = distributed(whole, one, source)
        result = weft.torch.redistribute(array, other, target)
        check(result, whole, other, target)


def case_partial_values_between_meshes() -> None:
    whole = numbers((6, 5))
    first, last, line = mesh_of([0, 1]), mesh_of([2, 3]), mesh_of([0, 1, 2, 3])
    for one, other in itertools.permutations([first, last, line], 2):
        for reduction in ("sum", "max"):
            array = distributed(whole, one, [Partial(reduction)])
            for target in (S0, S1, R):
                check(weft.torch.redistribute(array, other, [target]), whole, other, [target])


def case_a_rank_outside_the_mesh_passes_an_absent_array() -> None:
    first, last = mesh_of([0, 1]), mesh_of([1, 2, 3])
    whole = numbers((5, 4))
    if dist.get_rank() in (0, 1):
        array = distributed(whole, first, [S0])
        refused(weft.UsageError, lambda: weft.torch.absent((5, 4), first, [S0], whole.dtype))
    else:
        array = weft.torch.absent((5, 4), first, [S0], whole.dtype)
    check(weft.torch.redistribute(array, last, [S1]), whole, last, [S1])


def case_types_of_elements() -> None:
    mesh = grid()
    for dtype in (
        torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int16, torch.uint8,
        torch.bool, torch.complex64, torch.complex128,
    ):  # fmt: skip
        whole = numbers((5, 6), dtype)
        for source, target in (([S0, S1], [S1, R]), ([S0, S0], COPIES)):
            array = distributed(whole, mesh, source)
            check(weft.torch.redistribute(array, mesh, target), whole, mesh, target)
    for dtype in (torch.float64, torch.bfloat16, torch.int64, torch.complex64):
        whole = numbers((5, 6), dtype)
        array = distributed(whole, mesh, [Partial(), S0])
        check(weft.torch.redistribute(array, mesh, [S1, R]), whole, mesh, [S1, R])
    eight = numbers((5, 6)).to(torch.float8_e4m3fn)
    array = distributed(eight.view(torch.uint8), mesh, [S0, S1])
    moved = weft.torch.redistribute(array, mesh, COPIES)
    assert torch.equal(moved.to_local(), eight.view(torch.uint8))


def case_a_cast_during_the_redistribution() -> None:
    mesh = grid()
    whole = numbers((6, 5)) / 3
    array = distributed(whole, mesh, [S0, S1])
    narrow = weft.torch.redistribute(array, mesh, [S1, S0], dtype=torch.bfloat16)
    check(narrow, whole.to(torch.bfloat16), mesh, [S1, S0])
    wide = weft.torch.redistribute(narrow, mesh, COPIES, dtype=torch.float64)
    check(wide, whole.to(torch.bfloat16).to(torch.float64), mesh, COPIES)
    # Addends must be added up before they are narrowed: bfloat16 cannot represent 256 + 1.
    parts = [torch.full((4, 4), 256.0), torch.ones(4, 4)]
    where = mesh.get_coordinate() or [0, 0]
    partial = DTensor.from_local(parts[where[0]], mesh, [Partial(), R])
    sums = weft.torch.redistribute(partial, mesh, [S0, R], dtype=torch.bfloat16)
    check(sums, torch.full((4, 4), 257.0).to(torch.bfloat16), mesh, [S0, R])


def case_scalars_and_empty_arrays() -> None:
    mesh = grid()
    one = numbers(())
    check(weft.torch.redistribute(distributed(one, mesh, COPIES), mesh, COPIES), one, mesh, COPIES)
    summed = weft.torch.redistribute(distributed(one, mesh, [Partial(), R]), mesh, COPIES)
    check(summed, one, mesh, COPIES)
    none = numbers((0, 3))
    for target in (COPIES, [S1, S0], [S0, S0]):
        check(weft.torch.redistribute(distributed(none, mesh, [S0, S1]), mesh, target), none, mesh,
              target)  # fmt: skip


def case_memory_that_is_not_dense() -> None:
    mesh = grid()
    whole = numbers((6, 8))
    part = local(whole, mesh, [S0, S1])
    array = DTensor.from_local(part.t().contiguous().t(), mesh, [S0, S1])
    assert not array.to_local().is_contiguous()
    check(weft.torch.redistribute(array, mesh, [S1, S0]), whole, mesh, [S1, S0])


def case_an_array_whose_collective_still_runs() -> None:
    mesh = grid()
    whole = numbers((6, 8))
    array = distributed(whole, mesh, [S0, S1]).redistribute(mesh, COPIES, async_op=True)
    check(weft.torch.redistribute(array, mesh, [S1, S0]), whole, mesh, [S1, S0])


def case_the_same_distribution_shares_memory() -> None:
    mesh = grid()
    array = distributed(numbers((4, 4)), mesh, [S0, R])
    same = weft.torch.redistribute(array, mesh, [S0, R])
    assert same.to_local().data_ptr() == array.to_local().data_ptr()


def case_a_budget_is_kept() -> None:
    mesh = grid()
    whole = numbers((64, 48))
    array = distributed(whole, mesh, [S0, S0])
    for target in ([S1, S1], COPIES, [S1, S0]):
        for budget in (64, 1000, 1 << 20):
            result = weft.torch.redistribute(array, mesh, target, budget=budget)
            check(result, whole, mesh, target)
            transport = running.transport_between(range(4), torch.device("cpu"), None)
            key = key_of(array, mesh, target, transport.link(torch.device("cpu")))
            program = redistribution.program_of((key,), dist.get_rank(), budget, transport.kind())
            assert 4 * program.longest_packed + program.buffers[-1] <= budget
    partial = distributed(whole, mesh, [Partial(), Partial()])
    check(weft.torch.redistribute(partial, mesh, [S0, S1], budget=256), whole, mesh, [S0, S1])
    text = refused(
        weft.Infeasible, lambda: weft.torch.redistribute(array, mesh, [S1, S1], budget=4)
    )
    assert "allow at least" in text


def case_the_budget_in_an_error_is_enough() -> None:
    """The budget that an error recommends is enough, for every kind of
    transport, and for one and several arrays."""
    link, seen = running.LINKS["gloo"], 0
    ten, four = (tuple(range(count)) for count in (10, 4))
    summand, whole = Placed(reduce="sum"), Placed()
    kinds: tuple[running.Kind, ...] = ("memory", "groups", "messages")
    for kind, budget in itertools.product(kinds, (2, 20, 40)):
        keys = tuple(
            redistribution.PlanKey(
                Spec(shape, (2, 5), ten, placed), Spec(shape, (4,), four, (end,)), torch.float32, link
            )
            for shape in ((7, 4), (5, 3))
            for placed in ((summand, summand), (whole, summand), (Placed(dim=0), whole))
            for end in (summand, Placed(dim=1))
        )
        for some in (*((key,) for key in keys), keys):
            try:
                redistribution.program_of(some, 1, budget, kind)
            except weft.Infeasible as refusal:
                seen += 1
                advised = int(str(refusal).split()[-2])
                assert advised > budget, refusal
                redistribution.program_of(some, 1, advised, kind)
    assert seen > 50


def key_of(
    array: DTensor, mesh: DeviceMesh, target: Sequence[Any], link: tuple[str, str]
) -> redistribution.PlanKey:
    from weft.torch.layouts import spec_for, spec_of

    return redistribution.PlanKey(
        spec_of(array), spec_for(array.shape, mesh, target), array.dtype, link
    )


def case_programs_are_made_once() -> None:
    mesh = grid()
    array = distributed(numbers((12, 12)), mesh, [S0, S1])
    weft.torch.redistribute(array, mesh, [S1, S0])
    before = redistribution.program_of.cache_info()
    weft.torch.redistribute(array, mesh, [S1, S0])
    after = redistribution.program_of.cache_info()
    assert (after.hits, after.misses) == (before.hits, before.misses)


def case_prepared_calls_are_told_apart() -> None:
    """Prepared redistributions differ by type, placements, mesh, shape and budget. Changing a
    result does not affect later calls."""
    for _ in range(2):
        for mesh in (grid(), mesh_of([[3, 1], [0, 2]])):
            for shape in ((8, 4), (4, 8)):
                for dtype in (torch.float32, torch.int64):
                    whole = numbers(shape, dtype)
                    for source in ([S0, S1], [S0, R], [Partial(), S0]):
                        array = distributed(whole, mesh, source)
                        for target in (COPIES, [S1, S0]):
                            for budget in (None, 1 << 20):
                                result = weft.torch.redistribute(array, mesh, target, budget=budget)
                                check(result, whole, mesh, target)
                                result.to_local().zero_()


def case_a_result_keeps_no_one_elses_specification() -> None:
    mesh = grid()
    array = distributed(numbers((4, 4)), mesh, [S0, R])
    first, second = (weft.torch.redistribute(array, mesh, [S1, R]) for _ in range(2))
    assert first._spec == second._spec and first._spec is not second._spec


def case_one_collective_is_the_whole_redistribution() -> None:
    """Without shared memory, a redistribution along one mesh dimension is one collective."""
    usual, shared = native.run_collective, neighbours.neighbours_of
    ran: list[str] = []

    def counted(which: native.Collective, *rest: Any, **more: Any) -> None:
        ran.append(which.kind)
        usual(which, *rest, **more)

    def kinds(shape: Sequence[int], mesh: DeviceMesh, source: Any, target: Any) -> list[str]:
        ran.clear()
        whole = numbers(shape)
        array = distributed(whole, mesh, source)
        for _ in range(2):
            check(weft.torch.redistribute(array, mesh, target), whole, mesh, target)
        return ran[1:]

    native.run_collective, neighbours.neighbours_of = counted, lambda *_: None
    redistribution.prepared.clear()
    P = Partial()
    turned = mesh_of([[3, 1], [2, 0]])
    try:
        assert kinds((8, 4), grid(), [P, S0], [R, S0]) == ["all_reduce"]
        assert kinds((5, 3), grid(), [S1, P], [S1, R]) == ["all_reduce"]
        assert kinds((5, 3), turned, [P, S1], [R, S1]) == ["all_reduce"]
        assert kinds((8, 4), grid(), [S0, S0], [S0, R]) == ["all_gather"]
        assert kinds((8, 4), grid(), [R, P], [R, S0]) == ["reduce_scatter"]
        # Parts that interleave in memory are put in order before or after the collective.
        assert kinds((8, 4), grid(), [S1, R], COPIES) == ["all_gather"]
        assert kinds((3, 8, 5), grid(), [S1, S1], [S1, R]) == ["all_gather"]
        assert kinds((3, 8, 5), grid(), [R, P], [R, S1]) == ["reduce_scatter"]
        assert kinds((3, 8), grid(), [P, S1], [S1, S1]) == []
        assert kinds((3, 8), grid(), [S1, P], [S1, S1]) == ["reduce_scatter"]
        # Ranks that hold copies of the same part take part only with the piece that they need.
        assert kinds((8, 4), grid(), [S0, R], [R, S1]) == ["all_gather"]
        assert kinds((8, 4), grid(), [R, P], [S0, S0]) == ["reduce_scatter"]
        assert kinds((8, 6), grid(), [R, P], [S1, R]) == ["all_reduce"]
        assert kinds((8, 4), grid(), [R, S0], [S0, R]) == []
        # No single collective is used here: the parts differ in size, or are not in the order of
        # the ranks.
        assert kinds((5, 4), grid(), [S0, R], COPIES) == []
        assert kinds((8, 4), grid(), [S0, S0], [R, S0]) == []
        assert kinds((8, 4), turned, [S0, R], COPIES) == []
        # This change needs two collectives.
        assert kinds((8, 4), grid(), [P, P], COPIES) == []
    finally:
        native.run_collective, neighbours.neighbours_of = usual, shared
        redistribution.prepared.clear()


def case_torch_packs_as_the_library_does() -> None:
    """The packing for GPUs, run on the host and with messages."""

    def by_torch(program: Any, buffers: Any, arrays: Any) -> packing.Packing:
        return packing.TorchPacking(program, buffers, *zip(*arrays))

    usual, shared = running.packing_for, neighbours.neighbours_of
    running.packing_for = by_torch
    neighbours.neighbours_of = lambda *_: None
    redistribution.prepared.clear()
    try:
        all_pairs((5, 3))
        all_pairs((4, 6), "max", torch.int64)
        case_strided_shards()
        case_partial_values_between_meshes()
        case_types_of_elements()
    finally:
        running.packing_for, neighbours.neighbours_of = usual, shared
        redistribution.prepared.clear()


def case_groups_of_messages_give_the_same_result_as_single_ones() -> None:
    """The groups of messages that NCCL gets, run by gloo."""
    usual = backends.in_groups

    backends.in_groups = lambda device: True
    redistribution.prepared.clear()
    try:
        all_pairs((5, 3))
        case_between_meshes()
        case_partial_values_between_meshes()
        mesh = grid()
        whole = numbers((64, 48))
        array = distributed(whole, mesh, [S0, S0])
        for budget in (100, 5000):
            result = weft.torch.redistribute(array, mesh, [S1, S1], budget=budget)
            check(result, whole, mesh, [S1, S1])
        refused(
            weft.Infeasible, lambda: weft.torch.redistribute(array, mesh, [S1, S1], budget=4)
        )
    finally:
        backends.in_groups = usual
        redistribution.prepared.clear()


def case_agreement_has_the_same_result_on_all_ranks() -> None:
    """agree() has the same result on all ranks, even if one rank has messages for all others, but
    the others have none for each other."""
    everyone, cpu = mesh_of([0, 1, 2, 3]), torch.device("cpu")
    first = mesh_of([0])
    whole = numbers((64, 48))
    rank = dist.get_rank()

    def agreed(array: DTensor, target: Sequence[Any], found: int) -> bool:
        key = key_of(array, everyone, target, ("1us,1GB/s", "1us"))
        program = redistribution.program_of((key,), rank, None, "groups")
        links = Links(running.deadline_of(cpu, None), program.fingerprint % (1 << 30))
        return grouped.agree(program, links, cpu, found)

    assert not agreed(distributed(whole, first, [R]), [S0], 7)
    rows = distributed(whole, everyone, [S0])
    assert agreed(rows, [S1], 7)
    taller = distributed(numbers((128, 48)), everyone, [S0])
    assert not agreed(taller, [S1], 7 + rank % 2)


def case_gradients_are_redistributed_back() -> None:
    mesh = grid()
    whole = numbers((6, 4))
    factor = numbers((6, 4)) * 3
    for source, target in (([S0, S1], [S1, R]), ([R, S0], [S0, S0]), ([Partial(), S0], [S1, R])):
        array = distributed(whole, mesh, source).requires_grad_()
        result = weft.torch.redistribute(array, mesh, target)
        (result * distributed(factor, mesh, target)).sum().full_tensor().backward()
        assert array.grad is not None
        wanted = [R if isinstance(each, Partial) else each for each in source]
        check(array.grad, factor, mesh, wanted)
    line = mesh_of([0, 1, 2, 3])
    array = distributed(whole, line, [S0]).requires_grad_()
    moved = weft.torch.redistribute(array, mesh, [S1, S0])
    moved.backward(distributed(factor, mesh, [S1, S0]))
    assert array.grad is not None
    check(array.grad, factor, line, [S0])


def case_invalid_requests_are_refused() -> None:
    mesh = grid()
    array = distributed(numbers((4, 4)), mesh, [S0, R])
    text = refused(weft.UsageError, lambda: weft.torch.redistribute(array, mesh, [S0]))
    assert "2 dimensions needs 2 placements, not 1" in text
    refused(weft.UsageError, lambda: weft.torch.redistribute(array, mesh, [Shard(2), R]))
    refused(weft.UsageError, lambda: weft.torch.redistribute(array, mesh, [Partial("bor"), R]))
    refused(
        weft.Infeasible,
        lambda: weft.torch.redistribute(array, mesh, [Partial("sum"), Partial("max")]),
    )
    sums = distributed(numbers((4, 4)), mesh, [Partial("sum"), R])
    refused(weft.Infeasible, lambda: weft.torch.redistribute(sums, mesh, [Partial("max"), R]))


if __name__ == "__main__":
    main(globals())
