# SPDX-License-Identifier: Apache-2.0
"""Runs pipeline plans over torch.distributed.

Each device runs the ops of the plan in their order. Before an op it waits only for the data that
the op needs; it sends results to other devices as soon as they are ready.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ...errors import UsageError
from ..backends import backend_of, in_groups, seconds_of, two_groups
from ..messages import Deadline, Links
from .cutting import StageModule
from .exchange import Exchange, Key, key_of
from .part import Part
from .plan import Op, Plan
from .reduction import GradientSum
from .samples import Samples
from .stage import Loss, Stage
from .turns import Sum, Turn, turns_of

LossFunction = Callable[[Any, Any], Tensor]


class Pipeline(Part):
    """This rank's stages of a model, and the training steps that all ranks make together."""

    def __init__(
        self, plan: Plan, modules: Sequence[StageModule], loss: LossFunction, *,
        reduction: str, device: torch.device, timeout: float | None,
    ) -> None:  # fmt: skip
        super().__init__(plan, modules, device)
        self._loss, self._mean, self._device = loss, reduction == "mean", device
        self._timeout = seconds_of(backend_of(device)) if timeout is None else timeout
        self._watch = timeout is not None
        # The tag of all messages: a hash of the plan, by which
        # ranks notice that their plans differ.
        text = repr((plan.microbatches, plan.devices, plan.stages, sorted(plan.orders.items())))
        self._tag = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 34
        _check_same(self._tag, device)
        self._stages = {
            number: Stage(module, plan.stages[number].recompute, device)
            for number, module in self.stages.items()
        }
        self._groups = {g: dist.new_group(list(g)) for g in plan.groups if len(g) > 1}
        self._meeting = in_groups(device)  # whether a send waits for its receive, as with NCCL
        self._directions = two_groups() if self._meeting else (None, None)
        self._share_parameters()
        self._exchange: Exchange | None = None
        self._samples = Samples(plan, 0)
        self._turns: list[Turn] = []

    def step(self, *inputs: Tensor, target: Any = None) -> Tensor | None:
        """Run forward and backward of a batch, which is divided into micro-batches along the first
        dimension.

        The ranks of the first stage must pass the inputs, those of the last stage the target; other
        ranks may omit them. The gradients of the whole batch are added to the .grad of the
        parameters. Returns the loss of the batch on the ranks of the last stage, and None on all
        others.
        """
        deadline = Deadline(self._timeout, queued=self._device.type != "cpu", watch=self._watch)
        if self._exchange is None:
            self._learn_samples(inputs)
        exchange = self._exchange
        assert exchange is not None
        batch = _Batch(self, inputs, target)
        sums = self._sums()
        exchange.begin(*(Links(deadline, self._tag, group) for group in self._directions))
        losses: list[Tensor] = []
        for turn in self._turns:
            if isinstance(turn, Op):
                self._run(turn, exchange, batch, losses)
            elif isinstance(turn, Sum):
                sums[turn.stage].start()
            elif turn.outgoing:
                exchange.send(turn.peer, turn.message)
            else:
                exchange.receive(turn.peer, turn.message)
        exchange.end()
        for total in sums.values():
            total.finish(deadline)
        return self._batch_loss(losses, deadline)

    def _run(self, op: Op, exchange: Exchange, batch: _Batch, losses: list[Tensor]) -> None:
        stage, last = self._stages[op.stage], len(self.plan.stages) - 1
        if op.kind == "W":
            stage.backward_weights(op.microbatch)
            return
        if op.kind == "F":
            if op.stage == 0:
                inputs: Sequence[Any] = batch.inputs(op.microbatch)
            else:
                inputs = exchange.take(Key(op.stage - 1, "F", op.microbatch))
            loss = batch.loss(op.microbatch) if op.stage == last else None
            outputs = stage.forward(op.microbatch, inputs, loss)
            if op.stage == last:
                losses.append(outputs[0].detach())
            else:
                exchange.give(key_of(op), outputs)
            return
        gradients = [] if op.stage == last else exchange.take(Key(op.stage, "B", op.microbatch))
        backward = stage.backward if op.kind == "B" else stage.backward_inputs
        found = backward(op.microbatch, gradients)
        if op.stage > 0:
            exchange.give(key_of(op), found)

    def _learn_samples(self, inputs: Sequence[Tensor]) -> None:
        """Learn in the first step how many samples a micro-batch has. Ranks without inputs get the
        number from the first stage. It must be the same in all steps."""
        source = self.plan.stages[0].devices[0]
        count = torch.zeros(1, dtype=torch.int64, device=self._device)
        if self.rank == source:
            count += samples_in(inputs, self.plan.microbatches)
        dist.broadcast(count, source)
        self._samples = Samples(self.plan, int(count))
        most = max(len(stage.devices) for stage in self.plan.stages)
        if self._samples.count < most:
            raise UsageError(
                f"a micro-batch of {self._samples.count} samples cannot be divided among {most} "
                "replicas: use larger batches or fewer micro-batches"
            )
        self._exchange = Exchange(
            self.plan, self._samples, self.rank, self._device, self._meeting
        )
        self._turns = turns_of(self.plan, self._samples, self.rank, self._meeting)

    def _sums(self) -> dict[int, GradientSum]:
        return {
            number: GradientSum(list(stage.parameters()), self._groups[group], group[0])
            for number, stage in self.stages.items()
            if len(group := self.plan.stages[number].devices) > 1
        }

    def _batch_loss(self, losses: list[Tensor], deadline: Deadline) -> Tensor | None:
        if not losses:
            return None
        loss = torch.stack(losses).sum()
        devices = self.plan.stages[-1].devices
        if len(devices) > 1:
            work = dist.all_reduce(loss, group=self._groups[devices], async_op=True)
            deadline.wait(work, devices[0])
        return loss

    def _share_parameters(self) -> None:
        """Give all replicas of a stage the parameters and buffers of its first replica."""
        for number, module in self.stages.items():
            devices = self.plan.stages[number].devices
            if len(devices) > 1:
                for tensor in (*module.parameters(), *module.buffers()):
                    dist.broadcast(tensor.detach(), devices[0], group=self._groups[devices])


def samples_in(inputs: Sequence[Any], microbatches: int) -> int:
    """The number of samples in a micro-batch."""
    if not inputs:
        raise UsageError("the ranks of the first stage need the inputs: step(inputs, target=...)")
    batch = len(inputs[0])
    if batch == 0 or batch % microbatches:
        raise UsageError(
            f"a batch of {batch} samples cannot be cut into {microbatches} equal micro-batches"
        )
    return batch // microbatches


class _Batch:
    """The inputs, targets and loss functions that this rank
    needs for each micro-batch of a batch."""

    def __init__(self, pipeline: Pipeline, inputs: Sequence[Any], target: Any) -> None:
        self._of = pipeline
        plan, rank = pipeline.plan, pipeline.rank
        self._count = pipeline._samples.count
        self._inputs, self._target = inputs, target
        if rank in plan.stages[0].devices:
            found = samples_in(inputs, plan.microbatches)
            if found != self._count:
                raise UsageError(
                    f"micro-batches have {found} samples, but had {self._count} in the first "
                    "step: shapes must not change between steps"
                )
        if rank in plan.stages[-1].devices and target is None:
            raise UsageError("the ranks of the last stage need the target: step(..., target=...)")

    def inputs(self, microbatch: int) -> list[Any]:
        return [self._mine(value, 0, microbatch) for value in self._inputs]

    def loss(self, microbatch: int) -> Loss:
        pipeline = self._of
        last = len(pipeline.plan.stages) - 1
        target = self._mine(self._target, last, microbatch)
        mine = len(pipeline._samples.of(last, pipeline.rank))
        weight = mine / self._count / pipeline.plan.microbatches if pipeline._mean else 1.0
        return lambda outputs: pipeline._loss(outputs, target) * weight

    def _mine(self, value: Any, stage: int, microbatch: int) -> Any:
        if not isinstance(value, Tensor):
            raise UsageError(f"inputs and targets must be tensors, not {type(value).__name__}")
        plan = self._of.plan
        total = self._count * plan.microbatches
        if value.dim() == 0 or value.shape[0] % total:
            raise UsageError(
                f"the first dimension of an input or target of shape {tuple(value.shape)} must be "
                f"the {total} samples of the batch"
            )
        rows = value.view(plan.microbatches, self._count, -1, *value.shape[1:])[microbatch]
        samples = self._of._samples.of(stage, self._of.rank)
        part = rows[samples.start : samples.stop : samples.step].to(self._of._device)
        return part.reshape(-1, *value.shape[1:])


def _check_same(tag: int, device: torch.device) -> None:
    """Check that all ranks have the same plan. If they do not, the function raises an error on all
    ranks, so no rank waits for messages that never come."""
    # One all-reduce gives both the largest tag and, negated, the smallest.
    ends = torch.tensor([tag, -tag], dtype=torch.int64, device=device)
    dist.all_reduce(ends, dist.ReduceOp.MAX)
    if int(ends[0]) != -int(ends[1]):
        raise UsageError("ranks have different plans: give the same file to all of them")
