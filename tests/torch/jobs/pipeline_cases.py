# SPDX-License-Identifier: Apache-2.0
"""Test cases of weft.torch.pipeline. Every function case_* runs on four gloo ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

import weft
import weft.torch
from tests.torch.jobs.pipeline_models import CHAIN, TEXT, Text, batch, chain, words
from tests.torch.jobs.pipeline_plans import Group, greedy, one_by_one, plan
from tests.torch.jobs.runner import main, refused
from weft.torch.pipelining import read_plan, runtime
from weft.torch.pipelining.exchange import Key
from weft.torch.pipelining.plan import Op, Plan, needed_for
from weft.torch.pipelining.samples import Samples
from weft.torch.pipelining.turns import Pass, Sum, turns_of

LINE: list[Group] = [(0,), (1,), (2,), (3,)]
LOOP: list[Group] = LINE + LINE
V: list[Group] = LINE + LINE[::-1]
MICROBATCHES = 6


def compare(
    document: Any, model: nn.Module, whole: nn.Module, data: tuple[Tensor, Tensor], steps: int = 2,
    loss: Any = functional.cross_entropy, **words: Any,
) -> None:  # fmt: skip
    """Compare loss, gradients and parameters after steps of SGD with those of the uncut model."""
    made = weft.torch.pipeline(model, document, loss=loss, **words)
    mine = dict(made.named_parameters())
    optimizers = [torch.optim.SGD(list(p), lr=0.1) if p else None
                  for p in (list(made.parameters()), list(whole.parameters()))]  # fmt: skip
    rank = dist.get_rank()
    inputs, target = data
    for _ in range(steps):
        for optimizer in optimizers:
            if optimizer:
                optimizer.zero_grad()
        found = made.step(
            *([inputs] if rank in made.plan.stages[0].devices else []),
            target=target if rank in made.plan.stages[-1].devices else None,
        )
        expected = loss(whole(inputs), target)
        expected.backward()
        assert (found is not None) == (rank in made.plan.stages[-1].devices)
        if found is not None:
            torch.testing.assert_close(found, expected.detach(), rtol=1e-5, atol=1e-6)
        for name, parameter in whole.named_parameters():
            if name in mine:
                torch.testing.assert_close(mine[name].grad, parameter.grad, rtol=1e-5, atol=1e-6)
        for optimizer in optimizers:
            if optimizer:
                optimizer.step()
    counts: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(counts, sorted(mine))
    assert {name for names in counts for name in names} == set(dict(whole.named_parameters()))


def check(
    placement: Sequence[Group], orders: Sequence[str], samples: int = 4, **extra: Any
) -> None:
    cuts = {4: [2, 4, 6], 3: [3, 5], 2: [4], 8: list(range(1, 8))}[len(placement)]
    document = plan(CHAIN, cuts, placement, MICROBATCHES, orders, **extra)
    compare(document, chain(), chain(), batch(samples * MICROBATCHES))
    document = plan(TEXT, cuts, placement, MICROBATCHES, orders, **extra)
    torch.manual_seed(4)
    model = Text()
    torch.manual_seed(4)
    compare(document, model, Text(), words(samples * MICROBATCHES))


def case_gpipe() -> None:
    check(LINE, one_by_one(LINE, MICROBATCHES))


def case_1f1b() -> None:
    check(LINE, greedy(LINE, MICROBATCHES, "BF", 4))


def case_halves_of_backwards() -> None:
    check(LINE, greedy(LINE, MICROBATCHES, "IFW", 4))


def case_interleaved() -> None:
    check(LOOP, greedy(LOOP, MICROBATCHES, "BF", 4))


def case_interleaved_gpipe() -> None:
    check(LOOP, one_by_one(LOOP, MICROBATCHES))


def case_interleaved_halves() -> None:
    check(LOOP, greedy(LOOP, MICROBATCHES, "IFW", 3))


def case_v_shaped() -> None:
    check(V, greedy(V, MICROBATCHES, "BF", 4))


def case_v_shaped_halves() -> None:
    check(V, greedy(V, MICROBATCHES, "IFW", 4))


def case_devices_in_another_order() -> None:
    placement = [(2,), (0,), (3,), (1,)]
    check(placement, greedy(placement, MICROBATCHES, "BF", 4))


def case_replicas() -> None:
    placements: list[list[Group]] = [
        [(0,), (1, 2), (3,)],
        [(0, 1, 2), (3,)],
        [(3,), (0, 1, 2)],
        [(0, 1), (2, 3)],
    ]
    for placement in placements:
        check(placement, greedy(placement, MICROBATCHES, "BF", 3))


def case_replicas_that_do_not_divide_the_samples() -> None:
    for samples in (3, 5, 7):
        placement: list[Group] = [(3, 1), (0, 2)]
        check(placement, greedy(placement, MICROBATCHES, "IFW", 3), samples=samples)


def case_interleaved_replicas() -> None:
    for placement in ([(0, 1), (2, 3)] * 4, [(0, 1), (2, 3), (2, 3), (0, 1)]):
        check(placement, greedy(placement, MICROBATCHES, "BF", 3))
        check(placement, greedy(placement, MICROBATCHES, "IFW", 3))


def case_recomputed_stages() -> None:
    check(LINE, greedy(LINE, MICROBATCHES, "BF", 4), recompute=[0, 2])
    check(LINE, greedy(LINE, MICROBATCHES, "IFW", 4), recompute=[1, 3])
    placement: list[Group] = [(0,), (1, 2), (3,)]
    check(placement, greedy(placement, MICROBATCHES, "BF", 3), recompute=[0, 1, 2])


PLACEMENTS: list[tuple[list[Group], str]] = [
    (LINE, "BF"),
    (LINE, "IFW"),
    (LOOP, "BF"),
    (V, "IFW"),
    ([(0,), (1, 2), (3,)], "BF"),
    ([(3, 1), (0, 2)], "IFW"),
    ([(0, 1), (2, 3), (2, 3), (0, 1)], "IFW"),
]


def case_messages_whose_ends_wait_for_each_other() -> None:
    """The order of messages for NCCL, whose sends and receives
    wait for each other, run with gloo."""
    with mock.patch.object(runtime, "in_groups", return_value=True):
        for placement, kinds in PLACEMENTS:
            check(placement, greedy(placement, MICROBATCHES, kinds, 3))


def case_common_order_of_messages_has_no_deadlock() -> None:
    for placement, kinds in PLACEMENTS:
        for fit in (2, 3, 6):
            orders = greedy(placement, MICROBATCHES, kinds, fit)
            document = plan(CHAIN, list(range(1, len(placement))), placement, MICROBATCHES, orders)
            simulate(read_plan(document))


def simulate(planned: Plan) -> None:
    """Simulate all turns of all devices in order. A message
    passes when both of its ends reach it."""
    devices = sorted(device for group in planned.orders for device in group)
    left = {d: turns_of(planned, Samples(planned, 4), d, meeting=True)[::-1] for d in devices}
    received: set[tuple[int, Key]] = set()
    while any(left.values()):
        heads = {d: turns[-1] for d, turns in left.items() if turns}
        able = []
        for device, turn in heads.items():
            if isinstance(turn, Op):
                needed = needed_for(turn, len(planned.stages))
                if needed is not None and planned.stages[needed[0]].devices != planned.stages[turn.stage].devices:
                    cut = min(needed[0], turn.stage)
                    assert (device, Key(cut, needed[1], turn.microbatch)) in received
                able.append(device)
            elif isinstance(turn, Sum):
                if all(heads.get(d) == turn for d in planned.stages[turn.stage].devices):
                    able.append(device)
            elif heads.get(turn.peer) == Pass(turn.message, device, not turn.outgoing):
                able.append(device)
                received.add((turn.peer if turn.outgoing else device, turn.message.key))
        assert able, f"all devices wait: {heads}"
        for device in able:
            left[device].pop()


def case_in_the_runtime_of_torch() -> None:
    orders = {
        "gpipe": (LINE, one_by_one(LINE, MICROBATCHES)),
        "1f1b": (LINE, greedy(LINE, MICROBATCHES, "BF", 4)),
        "halves": (LINE, greedy(LINE, MICROBATCHES, "IFW", 4)),
        "interleaved": (LOOP, greedy(LOOP, MICROBATCHES, "BF", 4)),
        "v": (V, greedy(V, MICROBATCHES, "IFW", 4)),
    }
    for placement, order in orders.values():
        cuts = [2, 4, 6] if len(placement) == 4 else list(range(1, 8))
        document = plan(CHAIN, cuts, placement, MICROBATCHES, order)
        compare(document, chain(), chain(), batch(4 * MICROBATCHES), runtime="torch")
    placement, order = orders["1f1b"]
    document = plan(CHAIN, [2, 4, 6], placement, MICROBATCHES, order, recompute=[0, 2])
    compare(document, chain(), chain(), batch(4 * MICROBATCHES), runtime="torch")


def case_what_torch_cannot_run_raises_a_clear_error() -> None:
    def error_of(placement: list[Group]) -> str:
        document = plan(CHAIN, [4], placement, 2, greedy(placement, 2, "BF", 2))
        return refused(weft.Infeasible, lambda: start(document, chain(), runtime="torch"))

    assert error_of([(0,), (1, 2, 3)]).startswith("stage 1 has 3 devices, but torch.distributed.pip")
    assert error_of([(0,), (3,)]).startswith("device 1 has no stage")


def case_layers_of_a_recording_are_found_by_their_classes() -> None:
    orders = greedy(LINE, MICROBATCHES, "BF", 4)
    recorded = ["0.Linear_0", *(f"{n}.Block_{n - 1}" for n in range(1, 7)), "7.Linear_13"]
    document = plan(recorded, [2, 4, 6], LINE, MICROBATCHES, orders)
    compare(document, chain(), chain(), batch(4 * MICROBATCHES))
    recorded[3] = "3.Tanh_0"
    document = plan(recorded, [2, 4, 6], LINE, MICROBATCHES, orders)
    said = refused(weft.UsageError, lambda: start(document, chain()))
    assert "no module for the recorded layer '3.Tanh_0'" in said, said


def case_devices_without_a_stage() -> None:
    placement: list[Group] = [(2,), (0,)]
    check(placement, greedy(placement, MICROBATCHES, "BF", 2))


def case_gradients_are_added_to_those_that_are_there() -> None:
    placement: list[Group] = [(0,), (1, 2, 3)]
    document = plan(CHAIN, [4], placement, MICROBATCHES, greedy(placement, MICROBATCHES, "BF", 2))
    inputs, target = batch(18)
    made = weft.torch.pipeline(chain(), document, loss=functional.cross_entropy)
    for _ in range(3):
        made.step(inputs, target=target)
    whole = chain()
    (3 * functional.cross_entropy(whole(inputs), target)).backward()
    expected = {name: p.grad for name, p in whole.named_parameters()}
    for name, parameter in made.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-5, atol=1e-6)


def case_a_loss_that_is_a_sum() -> None:
    placement: list[Group] = [(0,), (1, 2, 3)]
    document = plan(CHAIN, [4], placement, MICROBATCHES, greedy(placement, MICROBATCHES, "BF", 2))

    def total(outputs: Tensor, target: Tensor) -> Tensor:
        loss: Tensor = functional.cross_entropy(outputs, target, reduction="sum")
        return loss

    compare(document, chain(), chain(), batch(24), loss=total, reduction="sum", steps=1)


def case_layers_that_share_parameters() -> None:
    """Layers of one stage may share parameters. A split backward counts each use once."""

    def tied() -> nn.Sequential:
        model = chain()
        model[2].wide.weight = model[3].wide.weight
        model[4].narrow = model[5].narrow
        return model

    document = plan(CHAIN, [2, 4, 6], LINE, MICROBATCHES, greedy(LINE, MICROBATCHES, "IFW", 4))
    compare(document, tied(), tied(), batch(24))
    document = plan(CHAIN, [2, 3, 6], LINE, MICROBATCHES, greedy(LINE, MICROBATCHES, "BF", 4))
    said = refused(weft.UsageError, lambda: start(document, tied()))
    assert said.startswith("parameter '2.wide.weight' is used by stages 1 and 2: "), said


def case_layers_that_write_into_their_inputs() -> None:
    def eager() -> nn.Sequential:
        torch.manual_seed(1)
        layers: list[nn.Module] = []
        for _ in range(4):
            layers += [nn.Linear(8, 8), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers)

    for placement in (LINE, V[2:6]):
        document = plan(
            CHAIN, [3, 5, 7], placement, MICROBATCHES, greedy(placement, MICROBATCHES, "BF", 4)
        )
        compare(document, eager(), eager(), batch(24), loss=lambda y, t: y.square().mean())


def start(document: Any, model: nn.Module, **words: Any) -> Any:
    return weft.torch.pipeline(model, document, loss=functional.cross_entropy, **words)


def case_wrong_plans_raise_a_clear_error() -> None:
    right = plan(CHAIN, [2, 4, 6], LINE, 2, greedy(LINE, 2, "BF", 4))

    def error_of(change: dict[str, Any], kind: type[Exception] = weft.BadInput) -> str:
        return refused(kind, lambda: start(right | change, chain()))

    orders = right["orders"]
    assert "for 5 devices, but the job has 4 ranks" in error_of(
        {"cluster": {"devices": 5}}, weft.UsageError
    )
    assert "the model has no module named 'x'" in refused(
        weft.UsageError, lambda: start(plan(["x", *CHAIN[1:]], [2, 4, 6], LINE, 2, orders), chain())
    )
    assert "never calls layer 'words'" in refused(
        weft.UsageError, lambda: start(plan(TEXT, [2, 4, 6], LINE, 2, orders), Silent())
    )
    assert "cannot be cut: torch.fx cannot trace its forward" in refused(
        weft.UsageError, lambda: start(plan(TEXT, [2, 4, 6], LINE, 2, orders), Choosy())
    )
    back = plan([*CHAIN[6:], *CHAIN[:6]], [2, 4, 6], LINE, 2, orders)
    assert "layer '6' of stage 0 needs an output of the later stage 3" in refused(
        weft.UsageError, lambda: start(back, chain())
    )
    assert "0F7, but only 2 micro-batches" in error_of({"orders": ["0F7", *orders[1:]]})
    assert "wait for each other forever" in error_of(
        {"orders": ["0F0 0B0 0F1 0B1", "1F0 1F1 1B1 1B0", *orders[2:]]}
    )
    assert "runs F for micro-batch 1 on stage 3" in error_of({"orders": [*orders[:3], "3F0 3B0 3F1"]})
    assert "version 2 of the format" in error_of({"pipeline_plan_version": 2})
    assert "has 3 orders for 4 groups" in error_of({"orders": orders[:3]})
    assert "no such file" in refused(weft.NotFound, lambda: start("nowhere.json", chain()))


class Silent(Text):
    def forward(self, ids: Tensor, scale: float = 0.5, bias: Tensor | None = None) -> Tensor:
        x = self.words.weight[ids]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(x)
        return logits


class Choosy(Text):
    def forward(self, ids: Tensor, scale: float = 0.5, bias: Tensor | None = None) -> Tensor:
        x = self.words(ids)
        if x.sum() > 0:
            x = -x
        return super().forward(x)


def case_wrong_batches_raise_a_clear_error() -> None:
    document = plan(CHAIN, [2, 4, 6], LINE, 2, greedy(LINE, 2, "BF", 4))
    made = start(document, chain())
    inputs, target = batch(4)
    made.step(inputs, target=target)
    if dist.get_rank() == 0:
        assert "samples cannot be cut into 2 equal" in refused(
            weft.UsageError, lambda: made.step(inputs[:3])
        )
        assert "in the first step" in refused(weft.UsageError, lambda: made.step(inputs[:2]))
        assert "need the inputs" in refused(weft.UsageError, lambda: made.step(target=target))
    if dist.get_rank() == 3:
        assert "need the target" in refused(weft.UsageError, lambda: made.step(inputs))


def case_different_plans_are_noticed() -> None:
    fit = 2 + dist.get_rank() // 2
    document = plan(CHAIN, [2, 4, 6], LINE, MICROBATCHES, greedy(LINE, MICROBATCHES, "BF", fit))
    assert "different plans" in refused(weft.UsageError, lambda: start(document, chain()))


if __name__ == "__main__":
    main(globals())
