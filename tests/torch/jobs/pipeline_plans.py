# SPDX-License-Identifier: Apache-2.0
"""Makes pipeline plans without the planner: several families of schedules, on any devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Group = tuple[int, ...]


def greedy(placement: Sequence[Group], microbatches: int, kinds: str, fit: int) -> list[str]:
    """The order of ops for each group of devices, from a greedy simulation in which every op takes
    one unit of time. A device always runs an op that is ready; `kinds` lists the kinds of ops by
    priority. A stage runs at most `fit` forwards ahead of its backwards."""
    last = len(placement) - 1
    backward = "I" if "I" in kinds else "B"
    groups = list(dict.fromkeys(placement))
    count = {(stage, kind): 0 for stage in range(last + 1) for kind in kinds}
    orders: dict[Group, list[str]] = {group: [] for group in groups}

    def ready(stage: int, kind: str, now: dict[tuple[int, str], int]) -> bool:
        done = count[stage, kind]
        if done == microbatches:
            return False
        if kind == "F":
            held = done - count[stage, backward]
            return held < fit and (stage == 0 or now[stage - 1, "F"] > done)
        if kind == "W":
            return now[stage, "I"] > done
        if now[stage, "F"] <= done:
            return False
        return stage == last or now[stage + 1, backward] > done

    total = microbatches * len(kinds) * (last + 1)
    while sum(count.values()) < total:
        now = dict(count)  # results of this unit of time are ready for others in the next
        moved = False
        for group in groups:
            mine = [s for s in range(last + 1) if placement[s] == group]
            found = next(
                ((s, k) for k in kinds for s in sorted(mine, reverse=True) if ready(s, k, now)),
                None,
            )
            if found is not None:
                orders[group].append(f"{found[0]}{found[1]}{count[found]}")
                count[found] += 1
                moved = True
        assert moved, "no device has an op that is ready"
    return [" ".join(orders[group]) for group in groups]


def one_by_one(placement: Sequence[Group], microbatches: int) -> list[str]:
    """GPipe: all forwards, stage by stage, and then all backwards."""
    orders = []
    for group in dict.fromkeys(placement):
        mine = [s for s, devices in enumerate(placement) if devices == group]
        ops = [f"{s}F{m}" for s in mine for m in range(microbatches)]
        ops += [f"{s}B{m}" for s in reversed(mine) for m in range(microbatches)]
        orders.append(" ".join(ops))
    return orders


def plan(
    layers: Sequence[str], cuts: Sequence[int], placement: Sequence[Group], microbatches: int,
    orders: Sequence[str], recompute: Sequence[int] = (), devices: int = 4,
) -> dict[str, Any]:  # fmt: skip
    """A plan as `weft pipeline -o` writes it. `cuts`: the index of the first layer of every stage,
    except the first stage."""
    ends = [*cuts, len(layers)]
    begins = [0, *cuts]
    return {
        "pipeline_plan_version": 1,
        "microbatches": microbatches,
        "stages": [
            {
                "layers": list(layers[begin:end]),
                "devices": list(group),
                "recompute": number in recompute,
            }
            for number, (begin, end, group) in enumerate(zip(begins, ends, placement))
        ],
        "orders": list(orders),
        "cluster": {"devices": devices},
    }
