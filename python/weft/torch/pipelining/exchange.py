# SPDX-License-Identifier: Apache-2.0
"""Sends and receives activations and gradients between the devices of a pipeline.

Sender and receiver know from the plan which messages pass between them. Messages are sent in the
order in which the sender produces them. There are two cases, depending on the back-end. In both
cases, data moves while devices compute.

- A send does not wait for its receive (gloo). Then receives are posted a few messages ahead.
- Both ends wait for each other (NCCL, "meeting"). Then turns.py gives both ends a common order, and
  calls send() and receive() accordingly.

A message from a peer shows how far the peer has come in its order of ops. From this, the device
knows which of its earlier sends to the peer must have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..messages import Links
from .plan import Op, Plan, gives
from .samples import Piece, Samples
from .specs import HEADER, Spec, check, pack, spec_of, unpack

AHEAD = 4  # number of receives from one peer that are posted before they are needed


@dataclass(frozen=True)
class Key:
    """The values (kind F) or gradients (kind B) of a micro-batch that cross one cut."""

    cut: int  # the cut between stages `cut` and `cut` + 1
    kind: str
    microbatch: int


@dataclass(frozen=True)
class Message:
    key: Key
    piece: Piece
    made_by: int  # position in the sender's order of the op that makes the values
    used_by: int  # position of the op that uses the values, in the receiver's order


def key_of(op: Op) -> Key:
    """The key of the values or gradients that an op produces."""
    return Key(
        op.stage if op.kind == "F" else op.stage - 1, "F" if op.kind == "F" else "B", op.microbatch
    )


def messages_between(plan: Plan, samples: Samples, sender: int, receiver: int) -> list[Message]:
    """The messages of one step from sender to receiver, in the order in which they are sent."""
    used = {}
    for position, op in enumerate(plan.order_of(receiver)):
        if op.kind == "F":
            used[Key(op.stage - 1, "F", op.microbatch)] = position
        elif op.kind in "BI":
            used[Key(op.stage, "B", op.microbatch)] = position
    found = []
    for position, op in enumerate(plan.order_of(sender)):
        if gives(op, len(plan.stages)) is None:
            continue
        key = key_of(op)
        for piece in samples.pieces(key.cut):
            ends = (piece.lower, piece.upper) if key.kind == "F" else (piece.upper, piece.lower)
            if ends == (sender, receiver):
                found.append(Message(key, piece, position, used[key]))
    return found


class _Incoming:
    """The values that one message brings, while the pieces of the message arrive."""

    def __init__(self, specs: Sequence[Spec], samples: int, device: torch.device) -> None:
        self.specs = specs
        self.values = [
            torch.empty(s.shape_for(samples), dtype=s.dtype, device=device)
            if s.is_tensor
            else s.constant
            for s in specs
        ]
        self.works: list[tuple[Any, int]] = []
        self.late: list[tuple[Tensor, Tensor]] = []  # (place, received): copies to make at the end
        self.samples = samples

    def complete(self) -> list[Any]:
        """The values, when everything has arrived."""
        for value in self.values:
            # The memory was allocated on the side stream. Tell the allocator that the current
            # stream uses it too.
            if isinstance(value, Tensor) and value.is_cuda:
                value.record_stream(torch.cuda.current_stream(value.device))
        for place, arrived in self.late:
            place.copy_(arrived)
        for spec, value in zip(self.specs, self.values):
            if spec.gradient:
                value.requires_grad_()
        return self.values


def part_of(value: Tensor, spec: Spec, samples: int, part: slice) -> Tensor:
    """The rows of a value that belong to some of its samples."""
    if not spec.rows:
        return value
    return value.view(samples, spec.rows, *value.shape[1:])[part]


class Exchange:
    """All messages of one device, for any number of steps."""

    def __init__(
        self, plan: Plan, samples: Samples, rank: int, device: torch.device, meeting: bool
    ) -> None:
        self._plan, self._samples, self._rank, self._device = plan, samples, rank, device
        self._meeting = meeting
        # Receives are queued on a stream of their own, so that they do not wait for the computation
        # that is queued on the current stream.
        self._side_stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        peers = sorted({d for stage in plan.stages for d in stage.devices} - {rank})
        self._incoming = {p: messages_between(plan, samples, p, rank) for p in peers}
        self._outgoing: dict[Key, list[tuple[int, Message]]] = {}
        for peer in peers:
            for message in messages_between(plan, samples, rank, peer):
                self._outgoing.setdefault(message.key, []).append((peer, message))
        self._where = {
            (message.key, peer): position
            for peer, messages in self._incoming.items()
            for position, message in enumerate(messages)
        }
        self._senders: dict[Key, list[int]] = {}
        for key, peer in self._where:
            self._senders.setdefault(key, []).append(peer)
        self._specs: dict[int, list[Spec]] = {}
        self._header_passed: set[tuple[int, int]] = set()  # (cut, peer)
        self._begin_step()

    def _begin_step(self) -> None:
        self._posted = dict.fromkeys(self._incoming, 0)
        self._taken = dict.fromkeys(self._incoming, 0)
        self._arriving: dict[Key, _Incoming] = {}
        self._here: dict[Key, list[Any]] = {}
        self._given: dict[Key, tuple[Sequence[Spec], Sequence[Any]]] = {}
        self._sent: dict[int, list[tuple[int, Any, Tensor]]] = {peer: [] for peer in self._incoming}

    def begin(self, upwards: Links, downwards: Links) -> None:
        """Begin a step. `upwards` carries messages to higher ranks and `downwards` those to lower
        ranks, so that a back-end that queues messages never mixes both directions."""
        self._links_to = {p: upwards if p > self._rank else downwards for p in self._incoming}
        self._links_from = {p: downwards if p > self._rank else upwards for p in self._incoming}
        self._begin_step()
        for peer in [] if self._meeting else self._incoming:
            self._post(peer, -1)

    def end(self) -> None:
        """End a step: wait until all sends are done."""
        for peer, sends in self._sent.items():
            for _, work, _ in sends:
                self._links_to[peer].deadline.wait(work, peer)
        self._begin_step()

    def give(self, key: Key, values: Sequence[Any]) -> None:
        """Pass values to all devices that need a part of them; this device may be one of them. If
        sends do not wait for receives, the values are sent at once. Otherwise they are only stored,
        and send() sends them."""
        cut, upwards = key.cut, key.kind == "F"
        stage = self._plan.stages[cut + (0 if upwards else 1)]
        other = self._plan.stages[cut + (1 if upwards else 0)]
        if other.devices == stage.devices:
            self._here[key] = list(values)
            return
        samples = len(self._samples.of(cut + (0 if upwards else 1), self._rank))
        if upwards:
            specs = self._specs_out(cut, values, samples)
        else:
            specs = [spec for spec in self._specs[cut] if spec.gradient]
        self._given[key] = (specs, values)
        if not self._meeting:
            for peer, message in self._outgoing[key]:
                self.send(peer, message)

    def send(self, peer: int, message: Message) -> None:
        """Send one message: some of the samples of the values that give() was called with. The
        first message over a cut is preceded by a header that describes the values."""
        cut, upwards = message.key.cut, message.key.kind == "F"
        specs, values = self._given[message.key]
        if upwards and (cut, peer) not in self._header_passed:
            self._header_passed.add((cut, peer))
            self._send(peer, message.used_by, pack(specs, self._device))
        samples = len(self._samples.of(cut + (0 if upwards else 1), self._rank))
        part = message.piece.lower_part if upwards else message.piece.upper_part
        for spec, value in zip(specs, values):
            if spec.is_tensor:
                whole = value.detach().contiguous()
                self._send(peer, message.used_by, part_of(whole, spec, samples, part))
        if (peer, message) == self._outgoing[message.key][-1]:
            del self._given[message.key]

    def _specs_out(self, cut: int, values: Sequence[Any], samples: int) -> list[Spec]:
        known = self._specs.get(cut)
        where = [f"value {n} from stage {cut} to stage {cut + 1}" for n in range(len(values))]
        if known is None:
            divided = len(self._samples.pieces(cut)) > 1
            known = [spec_of(v, samples, divided, name) for v, name in zip(values, where)]
            self._specs[cut] = known
        for spec, value, name in zip(known, values, where):
            check(spec, value, samples, name)
        return known

    def _send(self, peer: int, used_by: int, memory: Tensor) -> None:
        memory = memory.contiguous()
        self._sent[peer].append((used_by, self._links_to[peer].send(memory, peer), memory))

    def take(self, key: Key) -> list[Any]:
        """Wait for the values of a key and return them. For a key of kind F, values that need
        gradients have requires_grad set. For a key of kind B, the result is the gradients of these
        values, in the same order."""
        if key in self._here:
            return self._here.pop(key)
        for peer in [] if self._meeting else self._senders[key]:
            self._post(peer, self._where[key, peer])
        arriving = self._arriving.pop(key)
        for work, peer in arriving.works:
            self._links_from[peer].deadline.wait(work, peer)
        for peer in self._senders[key]:
            self._taken[peer] += 1
            self._finish_sends(peer, self._incoming[peer][self._where[key, peer]].made_by)
            if not self._meeting:
                self._post(peer, -1)
        return arriving.complete()

    def _finish_sends(self, peer: int, position: int) -> None:
        """Call this when the peer has reached this position of its order of ops. Everything that
        the peer's earlier ops used has arrived at the peer. So the sends of these values are done,
        and this function frees the memory of the values."""
        left = []
        for sent in self._sent[peer]:
            if sent[0] <= position:
                self._links_to[peer].deadline.wait(sent[1], peer)
            else:
                left.append(sent)
        self._sent[peer] = left

    def _post(self, peer: int, needed: int) -> None:
        """Post the receives of a peer up to position `needed`, and after that up to AHEAD more, as
        far as the shapes of their values are known."""
        messages = self._incoming[peer]
        while self._posted[peer] < len(messages):
            position = self._posted[peer]
            message = messages[position]
            if position > needed and (
                position >= self._taken[peer] + AHEAD or not self._known(message.key, peer)
            ):
                return
            self._posted[peer] += 1
            self.receive(peer, message)

    def _known(self, key: Key, peer: int) -> bool:
        """Whether the shapes of the key's values are known before its message arrives."""
        if key.cut not in self._specs:
            return False
        return key.kind == "B" or (key.cut, peer) in self._header_passed

    def receive(self, peer: int, message: Message) -> None:
        """Start to receive one message. take() waits for it."""
        with self._on_side_stream():
            self._receive(peer, message)

    def _on_side_stream(self) -> AbstractContextManager[Any]:
        side = self._side_stream
        return torch.cuda.stream(side) if side is not None else nullcontext()

    def _receive(self, peer: int, message: Message) -> None:
        key, links = message.key, self._links_from[peer]
        upwards = key.kind == "F"
        if upwards and (key.cut, peer) not in self._header_passed:
            self._header_passed.add((key.cut, peer))
            header = torch.empty(HEADER, dtype=torch.uint8, device=self._device)
            links.deadline.wait(links.receive(header, peer), peer)
            self._specs[key.cut] = unpack(header)
        if key not in self._arriving:
            specs = [s for s in self._specs[key.cut] if upwards or s.gradient]
            mine = len(self._samples.of(key.cut + (1 if upwards else 0), self._rank))
            if not upwards:  # gradients themselves require no gradients
                specs = [Spec(s.shape, s.rows, s.dtype) for s in specs]
            self._arriving[key] = _Incoming(specs, mine, self._device)
        arriving = self._arriving[key]
        part = message.piece.upper_part if upwards else message.piece.lower_part
        for spec, value in zip(arriving.specs, arriving.values):
            if not spec.is_tensor:
                continue
            place = part_of(value, spec, arriving.samples, part)
            memory = place
            if not place.is_contiguous():
                memory = place.new_empty(place.shape)
                arriving.late.append((place, memory))
            arriving.works.append((links.receive(memory, peer), peer))
