# SPDX-License-Identifier: Apache-2.0
"""Test cases of weft.torch.refit. Every function case_* runs on four gloo ranks."""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

import weft
import weft.torch
from tests.torch.jobs.oracle import check, distributed, numbers
from tests.torch.jobs.runner import main, mesh_of, refused
from weft.torch import casting, messages, neighbours

R, S0, S1 = Replicate(), Shard(0), Shard(1)
LAYERS = 4


def model(dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """A small model of whole arrays. Each array has its own
    numbers, and no shape divides evenly."""
    arrays: dict[str, tuple[int, ...]] = {"embedding": (13, 6)}
    for layer in range(LAYERS):
        arrays |= {f"{layer}.up": (6, 11), f"{layer}.down": (11, 6), f"{layer}.norm": (6,)}
    return {
        name: (numbers(shape) + 8 * i).to(dtype) for i, (name, shape) in enumerate(arrays.items())
    }


def stages() -> list[DeviceMesh]:
    """The meshes of two pipeline stages with two
    tensor-parallel ranks each. All ranks make both."""
    return [mesh_of([0, 1]), mesh_of([2, 3])]


def tensor_and_pipeline(whole: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """This rank's state: the names of its stage only, with norms as plain tensors."""
    meshes, stage = stages(), dist.get_rank() // 2
    mesh = meshes[stage]
    state: dict[str, torch.Tensor] = {}
    for name, array in whole.items():
        layer = 0 if name == "embedding" else int(name.split(".")[0])
        if layer * 2 // LAYERS != stage:
            continue
        cut = {"up": S1, "down": S0}.get(name.split(".")[-1], S0)
        state[name] = array.clone() if "norm" in name else distributed(array, mesh, [cut])
    return state


def fully_sharded(
    whole: dict[str, torch.Tensor], ranks: list[int], dtype: torch.dtype
) -> tuple[DeviceMesh, dict[str, torch.Tensor]]:
    """Every array sharded by rows over some ranks, with wrong values to
    be overwritten. Other ranks hold nothing."""
    mesh = mesh_of(ranks)
    state: dict[str, torch.Tensor] = {}
    for name, array in whole.items() if dist.get_rank() in ranks else ():
        state[name] = distributed(torch.full_like(array, -77).to(dtype), mesh, [S0])
    return mesh, state


def check_rows(
    state: dict[str, torch.Tensor], whole: dict[str, torch.Tensor], mesh: DeviceMesh
) -> None:
    for name, array in state.items():
        assert isinstance(array, DTensor)
        check(array, whole[name].to(array.dtype), mesh, [S0])


def case_tensor_and_pipeline_to_fully_sharded() -> None:
    whole = model()
    mesh, wanted = fully_sharded(whole, [0, 1, 2, 3], torch.float32)
    weft.torch.refit(tensor_and_pipeline(whole), wanted)
    check_rows(wanted, whole, mesh)
    # Copy the arrays back into the first layout, in which some are plain tensors.
    back = {name: torch.zeros_like(array) for name, array in tensor_and_pipeline(whole).items()}
    weft.torch.refit(wanted, back)
    for name, array in tensor_and_pipeline(whole).items():
        got = back[name]
        if isinstance(array, DTensor):
            assert isinstance(got, DTensor)
            array, got = array.to_local(), got.to_local()
        assert torch.equal(array, got)


def case_fewer_ranks_in_a_narrower_type() -> None:
    """From training to inference: two ranks, bfloat16, and a
    budget for only a few arrays at once."""
    whole = model()
    mesh, wanted = fully_sharded(whole, [3, 1], torch.bfloat16)
    weft.torch.refit(tensor_and_pipeline(whole), wanted, budget=1000)
    check_rows(wanted, whole, mesh)
    text = refused(
        weft.Infeasible, lambda: weft.torch.refit(tensor_and_pipeline(whole), wanted, budget=50)
    )
    assert "allow at least" in text


def case_elements_are_widened_after_the_transfer() -> None:
    whole = model(torch.bfloat16)
    mesh, wanted = fully_sharded(whole, [0, 1, 2, 3], torch.float32)
    weft.torch.refit(tensor_and_pipeline(whole), wanted)
    check_rows(wanted, whole, mesh)
    # Elements are widened in the target's own memory, so a small budget is enough.
    _, again = fully_sharded(whole, [0, 1, 2, 3], torch.float32)
    weft.torch.refit(tensor_and_pipeline(whole), again, budget=64)
    check_rows(again, whole, mesh)


def case_elements_are_widened_in_their_own_memory() -> None:
    casts = [
        (torch.bfloat16, torch.float32), (torch.uint8, torch.int64), (torch.float32, torch.complex128),
        (torch.bool, torch.float16), (torch.float32, torch.float32), (torch.float32, torch.float16),
        (torch.float16, torch.bfloat16),
    ]  # fmt: skip
    for (travels, wanted), count in itertools.product(casts, (0, 1, 2, 1024, 1025, 3001, 70001)):
        came = torch.arange(count).remainder(251).to(travels)
        tensor = torch.zeros(3, count, dtype=wanted)[1]
        buffer = casting.receive_buffer(tensor, travels)
        assert buffer.shape == tensor.shape and buffer.dtype == travels
        buffer.copy_(came)
        casting.finish_receive(buffer, tensor)
        assert torch.equal(tensor, came.to(wanted)), (travels, wanted, count)
        own = buffer.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
        assert not count or own == (travels == wanted or travels.itemsize < wanted.itemsize)
    apart = torch.zeros(6, 4)[:, 1]
    assert casting.receive_buffer(apart, torch.float32).is_contiguous()


def case_an_elastic_restart_with_a_rank_less() -> None:
    whole = model()
    _, four = fully_sharded(whole, [0, 1, 2, 3], torch.float32)
    mesh, three = fully_sharded(whole, [0, 1, 2], torch.float32)
    weft.torch.refit(tensor_and_pipeline(whole), four)
    weft.torch.refit(four, three)
    check_rows(three, whole, mesh)
    # Then the fourth rank comes back.
    line, again = fully_sharded(whole, [0, 1, 2, 3], torch.float32)
    weft.torch.refit(three, again)
    check_rows(again, whole, line)


def case_copies_of_data_parallelism_share_the_work() -> None:
    """Ranks 0 and 1 hold the same arrays as ranks 2 and 3, each pair on its own mesh. Both pairs
    must send equal shares."""
    whole = numbers((64, 64))
    mesh = stages()[dist.get_rank() // 2]
    source = {name: distributed(whole, mesh, [S0]) for name in ("a", "b", "c", "d")}
    one = mesh_of([1])
    inside = dist.get_rank() == 1
    wanted = {name: distributed(torch.zeros(64, 64), one, [R]) for name in source if inside}
    sent: list[int] = []
    usual = messages.Links.send

    def counted(self: messages.Links, memory: torch.Tensor, peer: int) -> Any:
        sent.append(memory.numel())
        return usual(self, memory, peer)

    messages.Links.send = counted  # type: ignore[method-assign]
    shared, neighbours.neighbours_of = neighbours.neighbours_of, lambda *_: None
    try:
        weft.torch.refit(source, wanted)
    finally:
        messages.Links.send = usual  # type: ignore[method-assign]
        neighbours.neighbours_of = shared
    for array in wanted.values():
        check(array, whole, one, [R])
    # Rank 1 holds one half itself; ranks 0 and 2 send equal shares of the other half.
    total = 4 * 32 * 64 * 4
    assert sum(sent) == (total // 2 if dist.get_rank() in (0, 2) else 0)


def case_partial_values_are_added_up() -> None:
    whole = model()
    mesh, wanted = fully_sharded(whole, [0, 1, 2, 3], torch.float32)
    gradients = {name: distributed(array, mesh, [Partial()]) for name, array in whole.items()}
    weft.torch.refit(gradients, wanted)
    check_rows(wanted, whole, mesh)
    averages = {name: distributed(array, mesh, [Partial("avg")]) for name, array in whole.items()}
    weft.torch.refit(averages, wanted)
    check_rows(wanted, whole, mesh)


def case_repeated_models_need_no_further_exchange() -> None:
    whole = model()
    _, wanted = fully_sharded(whole, [0, 1, 2, 3], torch.float32)
    source = tensor_and_pipeline(whole)
    weft.torch.refit(source, wanted)
    asked: list[int] = []
    usual = dist.all_gather_object

    def counted(*given: Any) -> None:
        asked.append(1)
        usual(*given)

    dist.all_gather_object = counted
    try:
        weft.torch.refit(source, wanted)
    finally:
        dist.all_gather_object = usual
    assert not asked


def case_invalid_requests_are_refused_on_all_ranks() -> None:
    line = mesh_of([0, 1, 2, 3])
    array = {"a": distributed(numbers((4, 4)), line, [S0])}
    other = {"a": distributed(numbers((4, 5)), line, [S0])}
    missing = {"b": distributed(numbers((4, 4)), line, [S0])}
    text = refused(weft.UsageError, lambda: weft.torch.refit(array, missing))
    assert "no rank has it in src_state" in text
    assert "shape" in refused(weft.UsageError, lambda: weft.torch.refit(array, other))
    half = array if dist.get_rank() < 3 else {}
    text = refused(weft.UsageError, lambda: weft.torch.refit(half, array))
    assert "but rank 3 does not have it" in text
    weft.torch.refit({}, {})


if __name__ == "__main__":
    main(globals())
