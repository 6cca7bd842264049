# SPDX-License-Identifier: Apache-2.0
"""A simple replay of plans of `weft pipeline -o`, written from docs/formats/pipeline.md alone."""

from __future__ import annotations

import math
import re
from typing import Any

Plan = dict[str, Any]


class Wrong(Exception):
    """The plan is not valid: a layer has no stage, for example, or an op never runs."""


def rounded(value: float) -> int:
    """Rounds to the nearest integer; halves are rounded up."""
    below = math.floor(value)
    return below + (1 if value - below >= 0.5 else 0)


class Replay:
    """Computes the correct values of `step_ns`, `memory_bytes` and the fields of the stages."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.stages: list[dict[str, Any]] = plan["stages"]
        self.layers: dict[str, dict[str, Any]] = {}
        for layer in plan["layers"]:
            if layer["id"] in self.layers:
                raise Wrong("a layer is listed twice")
            self.layers[layer["id"]] = layer
        self.order = [layer["id"] for layer in plan["layers"]]
        if [i for stage in self.stages for i in stage["layers"]] != self.order:
            raise Wrong("the stages do not have all layers in order")
        if not all(stage["layers"] and stage["devices"] for stage in self.stages):
            raise Wrong("a stage has no layers or no devices")
        self.place = {name: i for i, name in enumerate(self.order)}
        if any(self.place[a] >= self.place[b] for a, b in plan["edges"]):
            raise Wrong("a layer is before a layer whose output it needs")
        self.groups: list[frozenset[int]] = []
        for stage in self.stages:
            devices = frozenset(stage["devices"])
            if len(devices) != len(stage["devices"]) or max(devices) >= plan["cluster"]["devices"]:
                raise Wrong("a device is listed twice, or does not exist")
            if devices not in self.groups:
                if any(devices & other for other in self.groups):
                    raise Wrong("groups of devices overlap")
                self.groups.append(devices)
        self.group = [self.groups.index(frozenset(stage["devices"])) for stage in self.stages]
        self.times = [self.stage_times(s) for s in range(len(self.stages))]
        self.orders = [self.parse(line) for line in plan["orders"]]
        self.check_orders()

    def carried(self, cut: int) -> int:
        """Bytes of one micro-batch that cross a cut after the first `cut` layers."""
        last = dict.fromkeys(self.order, -1)
        for a, b in self.plan["edges"]:
            last[a] = max(last[a], self.place[b])
        return sum(self.layers[i]["activation_bytes"] for i in self.order[:cut] if last[i] >= cut)

    def first(self, s: int) -> int:
        return sum(len(stage["layers"]) for stage in self.stages[:s])

    def sum_of(self, s: int, field: str) -> int:
        return sum(self.layers[i][field] for i in self.stages[s]["layers"])

    def worst_link(self, senders: frozenset[int], receivers: frozenset[int]) -> tuple[float, int]:
        """Returns the nanoseconds per byte of the slowest pair of devices, and the largest
        latency."""
        cluster = self.plan["cluster"]
        pairs = [(a, b) for a in senders for b in receivers if a != b]
        slowest = min((cluster["bandwidth"][a][b] for a, b in pairs), default=1)
        if slowest == 0:
            raise Wrong("two devices have no link")
        return 1e9 / slowest, max((cluster["latency_ns"][a][b] for a, b in pairs), default=0)

    def crossings(
        self, senders: frozenset[int], receivers: frozenset[int]
    ) -> list[tuple[tuple[int, bool], float, float]]:
        """Returns, for each used direction of a shared link, its share of the bytes and its
        nanoseconds per byte."""
        found = []
        for number, link in enumerate(self.plan["cluster"]["shared_links"]):
            for back in (False, True):
                one, other = link["between"][back], link["between"][not back]
                part = len(senders & set(one)) * len(receivers & set(other))
                if part:
                    share = part / (len(senders) * len(receivers))
                    found.append(((number, back), share, 1e9 / link["bytes_per_s"]))
        return found

    def stage_times(self, s: int) -> dict[str, int]:
        stage, devices = self.stages[s], frozenset(self.stages[s]["devices"])
        r = len(devices)
        work = 1 / (r * min(self.plan["cluster"]["speed"][d] for d in devices))
        forward, backward = self.sum_of(s, "forward_ns"), self.sum_of(s, "backward_ns")
        again = stage["recompute"]
        weight = 0 if again else rounded(self.sum_of(s, "weight_ns") * work)
        whole = rounded((backward + (forward if again else 0)) * work)
        reduce = 0
        parameters = self.sum_of(s, "parameter_bytes")
        if r > 1:
            rate, latency = self.worst_link(devices, devices)
            inside = {number for (number, _), _, _ in self.crossings(devices, devices)}
            for number in inside:
                link = self.plan["cluster"]["shared_links"][number]
                rate = max(rate, 1e9 / link["bytes_per_s"])
            if parameters:
                reduce = rounded(2 * (r - 1) / r * rate * parameters) + 2 * (r - 1) * latency
        kept = self.carried(self.first(s)) if again else self.sum_of(s, "stash_bytes")
        return {"F": rounded(forward * work), "I": whole - weight, "W": weight, "B": whole,
                "reduce": reduce, "kept": -(-kept // r)}  # fmt: skip

    @staticmethod
    def parse(line: str) -> list[tuple[int, str, int]]:
        ops = []
        for word in line.split():
            match = re.fullmatch(r"(\d+)([FIWB])(\d+)", word)
            if not match:
                raise Wrong(f"{word} is not an op")
            ops.append((int(match[1]), match[2], int(match[3])))
        return ops

    def check_orders(self) -> None:
        if len(self.orders) != len(self.groups):
            raise Wrong("the numbers of orders and groups differ")
        seen = [op for order in self.orders for op in order]
        for g, order in enumerate(self.orders):
            if any(s >= len(self.stages) or self.group[s] != g for s, _, _ in order):
                raise Wrong("an op is in the order of another group")
        if len(set(seen)) != len(seen):
            raise Wrong("an op occurs twice")
        due = 0
        for s in range(len(self.stages)):
            for m in range(self.plan["microbatches"]):
                kinds = {kind for kind in "FIWB" if (s, kind, m) in set(seen)}
                if kinds not in ({"F", "B"}, {"F", "I", "W"}):
                    raise Wrong("a gradient is missing or occurs twice")
                due += len(kinds)
        if due != len(seen):
            raise Wrong("an op has a micro-batch that does not exist")

    def message(self, s: int, to: int) -> tuple[int, int, list[Any]]:
        """Returns the time and the latency of a message to a neighbouring stage, and the links that
        it uses."""
        a, b = self.groups[self.group[s]], self.groups[self.group[to]]
        if a == b:
            return 0, 0, []
        rate, latency = self.worst_link(a, b)
        crossed = self.crossings(a, b)
        # If each of the two groups has devices on both sides of a shared link, the message uses
        # both directions of the link.
        rate = max([rate / (len(a) * len(b))] + [share * each for _, share, each in crossed])
        time = rounded(rate * self.carried(self.first(max(s, to))))
        return time, latency, [("pair", self.group[s], self.group[to])] + [k for k, _, _ in crossed]

    def step(self) -> int:
        count, micros = len(self.stages), self.plan["microbatches"]
        neighbours = {frozenset((self.group[s], self.group[s + 1])) for s in range(count - 1)}
        ready: dict[tuple[int, str, int], int] = {}
        for m in range(micros):
            ready[0, "input", m] = 0
            ready[count - 1, "gradient", m] = 0
        position, free = [0] * len(self.groups), [0] * len(self.groups)
        left = [micros] * count
        links: dict[Any, int] = {}
        waiting: list[tuple[int, int, int, str, int]] = []
        end_of_step = 0

        def run(g: int) -> bool:
            nonlocal end_of_step
            if position[g] == len(self.orders[g]):
                return False
            s, kind, m = self.orders[g][position[g]]
            needs = {"F": ["input"], "W": ["input gradient"]}.get(kind, ["forward", "gradient"])
            if any((s, need, m) not in ready for need in needs):
                return False
            end = max([free[g]] + [ready[s, need, m] for need in needs]) + self.times[s][kind]
            free[g], position[g] = end, position[g] + 1
            end_of_step = max(end_of_step, end)
            if kind == "F":
                ready[s, "forward", m] = end
                if s + 1 < count:
                    waiting.append((end, 2 * s, m, "there", s))
            if kind in "IB":
                ready[s, "input gradient", m] = end
                if s > 0:
                    waiting.append((end, 2 * s - 1, m, "back", s))
            if kind in "WB":
                left[s] -= 1
                if left[s] == 0 and self.times[s]["reduce"]:
                    waiting.append((end, 2 * count + s, 0, "reduce", s))
            return True

        while True:
            while any([run(g) for g in range(len(self.groups))]):
                pass
            if not waiting:
                break
            waiting.sort()
            at, _, m, what, s = waiting.pop(0)
            g = self.group[s]
            if what == "reduce":
                time, latency = self.times[s]["reduce"], 0
                held: list[Any] = [("reduces", g)]
                if self.group.count(g) > 1:
                    for other in {x for pair in neighbours if g in pair for x in pair} - {g}:
                        held += [("pair", g, other), ("pair", other, g)]
                    held += [k for k, _, _ in self.crossings(self.groups[g], self.groups[g])]
            else:
                to = s + 1 if what == "there" else s - 1
                time, latency, held = self.message(s, to)
            start = max([at] + [links.get(link, 0) for link in held])
            for link in held:
                links[link] = start + time
            if what == "reduce":
                end_of_step = max(end_of_step, start + time)
            else:
                ready[to, "input" if what == "there" else "gradient", m] = start + time + latency
        if any(position[g] < len(self.orders[g]) for g in range(len(self.groups))):
            raise Wrong("the orders deadlock")
        return end_of_step

    def memory(self) -> list[int]:
        """Returns for each stage the largest number of bytes that one of its devices holds at any
        time, counted over all stages of this device."""
        held = []
        for g, order in enumerate(self.orders):
            own = [s for s in range(len(self.stages)) if self.group[s] == g]
            always = sum(self.plan["state_factor"] * self.sum_of(s, "parameter_bytes") for s in own)
            again = [-(-self.sum_of(s, "stash_bytes") // len(self.groups[g])) for s in own
                     if self.stages[s]["recompute"]]  # fmt: skip
            now = most = 0
            for s, kind, _ in order:
                now += {"F": 1, "I": 0}.get(kind, -1) * self.times[s]["kept"]
                most = max(most, now)
            held.append(always + max(again, default=0) + most)
        return [held[g] for g in self.group]

    def fits(self) -> bool:
        limits = self.plan["cluster"]["memory_bytes"]
        return not self.plan["limit_memory"] or all(
            limits[device] == 0 or held <= limits[device]
            for stage, held in zip(self.stages, self.memory(), strict=True)
            for device in stage["devices"]
        )

    def sends(self, s: int) -> int:
        return self.carried(self.first(s + 1)) if s + 1 < len(self.stages) else 0
