# SPDX-License-Identifier: Apache-2.0
"""What a device does in a step, one thing after the other.

Where sends never wait for receives, as with gloo, that is the order of its ops. NCCL's wait for each other,
on the GPU, which may run all it was given one by one: a device that waits for a message may then keep
another from sending it. So both ends come to messages in one order that all devices share, that of the
plan carried out on a clock, on which a message passes when the op that makes it ends. What is first on
that clock waits for nothing, hence nothing waits for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .exchange import Message, key_of, messages_between
from .plan import Op, Plan, gives, times_of
from .samples import Samples


@dataclass(frozen=True)
class Pass:
    """A message to a peer, or from it."""

    message: Message
    peer: int
    outgoing: bool


@dataclass(frozen=True)
class Sum:
    """Of the gradients of a stage, after its last op."""

    stage: int


Turn = Op | Pass | Sum


def turns_of(plan: Plan, samples: Samples, rank: int, meeting: bool) -> list[Turn]:
    """`meeting`: both ends of a message wait for each other."""
    times = times_of(plan)
    order = plan.order_of(rank)
    at: list[tuple[tuple[Any, ...], Turn]] = []
    for op in order:
        at.append(((times[op][0], 2), op))
    for stage, end in {op.stage: times[op][1] for op in order}.items():
        if len(plan.stages[stage].devices) > 1:
            at.append(((end, 1, stage), Sum(stage)))
    if meeting:
        made = {key_of(op): end for op, (_, end) in times.items() if gives(op, len(plan.stages))}
        for peer in sorted({d for stage in plan.stages for d in stage.devices} - {rank}):
            for sender, receiver in ((rank, peer), (peer, rank)):
                for message in messages_between(plan, samples, sender, receiver):
                    key = message.key
                    when = (made[key], 0, key.cut, key.kind, key.microbatch, sender, receiver)
                    at.append((when, Pass(message, peer, sender == rank)))
    return [turn for _, turn in sorted(at, key=lambda each: each[0])]
