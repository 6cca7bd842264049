# SPDX-License-Identifier: Apache-2.0
"""Test cases of weft.torch.use_for_dtensor. Every function case_* runs on four gloo ranks, and
compares DTensor with Weft with DTensor without Weft."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import weft.torch
from tests.torch.jobs.oracle import distributed, numbers
from tests.torch.jobs.runner import main, refused
from weft.torch import for_dtensor, redistribution

R, S0, S1, P = Replicate(), Shard(0), Shard(1), Partial()


def grid() -> DeviceMesh:
    return init_device_mesh("cpu", (2, 2))


def line() -> DeviceMesh:
    return init_device_mesh("cpu", (4,))


@contextmanager
def counted() -> Iterator[list[Any]]:
    """Within this block, DTensor uses Weft. Yields the targets of Weft's redistributions."""
    moves: list[Any] = []
    usual = redistribution.redistribute_local

    def noted(local: torch.Tensor, spec: Any, placements: Any) -> torch.Tensor:
        moves.append(tuple(placements))
        return usual(local, spec, placements)

    setattr(for_dtensor, "redistribute_local", noted)
    try:
        with weft.torch.use_for_dtensor():
            yield moves
    finally:
        setattr(for_dtensor, "redistribute_local", usual)


def parts(results: Any) -> list[tuple[Any, torch.Tensor]]:
    return [(tuple(each.placements), each.to_local().clone()) for each in results]


def same(work: Callable[[], Any], least: int = 1) -> None:
    """`work` returns DTensors. They have the same placements and parts with and without Weft, and
    Weft does at least this number of redistributions."""
    usual = parts(work())
    with counted() as moves:
        ours = parts(work())
    assert len(moves) >= least, moves
    assert len(usual) == len(ours)
    for (placements, part), (our_placements, our_part) in zip(usual, ours):
        assert placements == our_placements, (placements, our_placements)
        assert part.dtype == our_part.dtype
        torch.testing.assert_close(our_part, part)


def case_explicit_redistribution_and_full_tensor() -> None:
    mesh = grid()
    for shape in ((8, 4), (5, 3)):
        whole = numbers(shape)
        for source in itertools.product([R, S0, S1, P], repeat=2):
            array = distributed(whole, mesh, source)
            for target in itertools.product([R, S0, S1], repeat=2):
                moves = any(a != b and a != R for a, b in zip(source, target))
                # Torch gathers unevenly nested shards in the wrong order.
                if shape == (5, 3) and (source in ((S0, S0), (S1, S1)) or target[0] == target[1]):
                    continue
                same(lambda: [array.redistribute(mesh, target)], int(moves))
            with counted():
                assert torch.equal(array.full_tensor(), whole)


def case_gradients() -> None:
    mesh = grid()
    whole = numbers((8, 4))

    def trained(source: Any, target: Any) -> list[DTensor]:
        array = distributed(whole, mesh, source).requires_grad_()
        result = array.redistribute(mesh, target)
        (result * result).sum().backward()
        assert isinstance(array.grad, DTensor)
        return [result.detach(), array.grad]

    for source, target in (((S0, S1), (S1, R)), ((S0, R), (R, R)), ((P, S0), (S1, S0)), ((P, R), (R, R))):
        same(lambda: trained(source, target))

    def twice() -> list[DTensor]:
        array = distributed(whole, mesh, (S0, R)).requires_grad_()
        result = array.redistribute(mesh, (S1, R))
        (first,) = torch.autograd.grad((result**3).sum(), array, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), array)
        return [first.detach(), second]

    same(twice, 3)


def case_casts_differ_by_direction() -> None:
    mesh = grid()
    whole = numbers((8, 4))

    def cast() -> list[DTensor]:
        array = distributed(whole, mesh, (S0, S1)).requires_grad_()
        result = array.redistribute(
            mesh, (R, S1), forward_dtype=torch.bfloat16, backward_dtype=torch.float64
        )
        result.sum().backward()
        assert isinstance(array.grad, DTensor)
        return [result.detach(), array.grad]

    same(cast)


def case_asynchronous_redistribution() -> None:
    mesh = grid()
    array = distributed(numbers((8, 4)), mesh, (S0, S1))
    same(lambda: [array.redistribute(mesh, (R, R), async_op=True)])


def case_operators_redistribute_their_inputs() -> None:
    mesh = line()
    left, right = numbers((8, 12)), numbers((12, 4))

    def multiplied() -> list[DTensor]:
        product = distributed(left, mesh, [S1]) @ distributed(right, mesh, [S0])
        added = product + distributed(numbers((8, 4)), mesh, [S1])
        return [added, added.softmax(1)]

    same(multiplied)


def case_a_tensor_parallel_model_trains_as_before() -> None:
    mesh = line()

    def train() -> list[DTensor]:
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        plan: Any = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        parallelize_module(model, mesh, plan)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            loss = model(numbers((4, 8))).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        weights: list[Any] = list(model.parameters())
        return [weight.detach() for weight in weights]

    same(train)


def case_placements_of_torch_alone_stay_with_torch() -> None:
    mesh = line()
    torch.manual_seed(5)
    table = distribute_tensor(torch.randn(10, 6), mesh, [S0])
    rows = distribute_tensor(torch.tensor([1, 9, 4, 4]), mesh, [R])

    def embedded() -> list[DTensor]:
        return [nn.functional.embedding(rows, table).redistribute(mesh, [R])]

    same(embedded, 0)


def case_errors_are_those_of_torch() -> None:
    mesh = line()
    array = distributed(numbers((8, 4)), mesh, [S0])
    with weft.torch.use_for_dtensor():
        text = refused(RuntimeError, lambda: array.redistribute(mesh, [P]))
        assert "Can not redistribute" in text
        refused(NotImplementedError, lambda: array.redistribute(grid(), [R, R]))


def case_uses_nest_and_end() -> None:
    modules = for_dtensor.CALLERS
    usual = [getattr(module, for_dtensor.NAME) for module in modules]
    outer = weft.torch.use_for_dtensor()
    inner = weft.torch.use_for_dtensor()
    refused(weft.UsageError, outer.off)
    inner.off()
    inner.off()
    refused(ZeroDivisionError, lambda: fail_inside())
    assert getattr(modules[0], for_dtensor.NAME) is not usual[0]
    # The failed off() has not forgotten what to restore.
    outer.off()
    assert [getattr(module, for_dtensor.NAME) for module in modules] == usual


def fail_inside() -> None:
    with weft.torch.use_for_dtensor():
        raise ZeroDivisionError


if __name__ == "__main__":
    main(globals())
