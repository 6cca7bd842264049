# SPDX-License-Identifier: Apache-2.0
"""The list of everything that a device does in a step, in order: ops, messages and gradient sums.

If a send never waits for its receive (gloo), the device only runs its ops in order, and the
exchange sends and receives on its own.

With NCCL, a send and its receive wait for each other on the GPU, and the GPU may run queued
messages one after the other. So a message that waits could block another message that the peer
needs first. That would be a deadlock. To prevent it, all devices handle messages in one common
order. This order comes from a simulation of the plan (times_of()): a message passes when the op
that makes its data ends. Consider the first message in this order that is not done yet. Its sender
and its receiver have done all earlier messages, so both are ready for it. So the pipeline never
stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .exchange import Message, key_of, messages_between
from .plan import Op, Plan, gives, times_of
from .samples import Samples


@dataclass(frozen=True)
class Pass:
    """Send a message to a peer (`outgoing`), or receive it."""

    message: Message
    peer: int
    outgoing: bool


@dataclass(frozen=True)
class Sum:
    """Start to add up the gradients of a stage over its replicas, after the stage's last op."""

    stage: int


Turn = Op | Pass | Sum


def turns_of(plan: Plan, samples: Samples, rank: int, meeting: bool) -> list[Turn]:
    """All turns of a device in one step. `meeting`: both ends of a message wait for each other."""
    times = times_of(plan)
    # The sort key is the time, then 0 for messages, 1 for sums, 2 for ops, then facts about the
    # message that are the same on both ends.
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
