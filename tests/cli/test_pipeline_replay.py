# SPDX-License-Identifier: Apache-2.0
"""Compares `weft verify` with plan_replay.py, an independent replay, on random valid and damaged plans."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.plan_replay import Plan, Replay, Wrong
from tests.conftest import Weft

SCHEDULES = ["1f1b", "1f1b-2", "pe", "gpipe", "interleaved", "zb-h1", "zb-v", "dualpipe-v",
             "zb-auto", "eager"]  # fmt: skip
PLANNERS = ["spp", "pipedream", "dapple", "gpipe", "1f1b", "zb-h1", "zb-auto", "interleaved",
            "zb-v", "dualpipe-v"]  # fmt: skip
#: Fields that no other field determines: statements of the planner, and text for readers.
FREE = {"profile", "schedule", "no_shorter_one_stage_plan", "lower_bound_ns", "lower_bound_ms", "gap_pct",
        "one_stage_bound_ns", "one_stage_bound_ms", "orders", "pipeline_plan_version",
        "fixed_stages", "most_replicas", "most_chunks", "cluster"}  # fmt: skip


def some_layers(dice: random.Random) -> dict[str, Any]:
    count, idle, halves = dice.randint(1, 12), dice.random() < 0.1, dice.random() < 0.5
    layers: list[dict[str, Any]] = []
    for i in range(count):
        forward = 0 if idle or dice.random() < 0.1 else dice.randint(100, 3000) / 1000
        layers.append({
            "id": f"l{i}", "forward_ms": forward,
            "backward_ms": round(forward * dice.randint(15, 25) / 10, 6),
            "activation_bytes": dice.randint(0, 20_000_000),
            "parameter_bytes": dice.choice([0, dice.randint(0, 40_000_000)]),
            "stash_bytes": dice.randint(0, 60_000_000),
        })  # fmt: skip
        if halves:
            layers[i]["weight_ms"] = round(layers[i]["backward_ms"] * dice.random(), 6)
    edges = [[f"l{i - 1}", f"l{i}"] for i in range(1, count) if dice.random() < 0.9]
    for _ in range(dice.choice([0, 0, 3]) if count > 2 else 0):
        a, b = sorted(dice.sample(range(count), 2))
        edges.append([f"l{a}", f"l{b}"])
    return {"name": "random", "layers": layers, "edges": edges}


def some_cluster(dice: random.Random) -> dict[str, Any]:
    n = dice.choice([1, 2, 2, 3, 4, 4, 5, 6, 8, 9])
    alike = dice.random() < 0.3
    rates = [[0 if i == j else 10**10 if alike else dice.randint(1, 50) * 10**9 for j in range(n)]
             for i in range(n)]  # fmt: skip
    latencies = [[dice.randint(0, 30) for _ in range(n)] for _ in range(n)]
    cluster: dict[str, Any] = {"devices": n, "bandwidth": rates,
                               "latency_us": dice.choice([0, 2, latencies])}  # fmt: skip
    if dice.random() < 0.4:
        cluster["speed"] = [dice.choice([1, 0.5, 0.7, 1.3]) for _ in range(n)]
    if n > 2 and dice.random() < 0.5:
        order = dice.sample(range(n), n)
        cut = dice.randint(1, n - 1)
        cluster["shared_links"] = [
            {"between": [order[:cut], order[cut:]], "bytes_per_s": dice.randint(1, 5) * 10**9},
            {"between": [[order[0]], [order[1]]], "bytes_per_s": dice.randint(1, 3) * 10**9},
        ][: dice.randint(1, 2)]
    return cluster


def some_plan(weft: Weft, folder: Path, seed: int) -> Plan | None:
    """Returns a random plan, or None if there is no plan. In the second case, checks that the
    command says so in one sentence."""
    dice = random.Random(seed)
    (folder / "profile.json").write_text(json.dumps(some_layers(dice)))
    (folder / "cluster.json").write_text(json.dumps(some_cluster(dice)))
    path = folder / "plan.json"
    words: list[str | Path] = ["pipeline", folder / "profile.json", "--cluster",
                               folder / "cluster.json", "--microbatches",
                               str(dice.randint(1, 9)), "-o", path]  # fmt: skip
    kind = dice.random()
    if kind < 0.3:
        words += ["--planner", dice.choice(PLANNERS)]
    elif kind < 0.6:
        words += ["--schedule", dice.choice(SCHEDULES)]
    if kind >= 0.3 and dice.random() < 0.3:
        words += ["--stages", str(dice.randint(1, 4))]
    if kind >= 0.3 and dice.random() < 0.3:
        words += ["--replicas", str(dice.randint(1, 3))]
    if dice.random() < 0.3:
        words += ["--chunks", str(dice.randint(1, 4))]
    done = weft(*words, "--device-memory", "100GB")
    if done.returncode != 0:
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        return None
    plan: Plan = json.loads(path.read_text())
    most = max(stage["memory_bytes"] for stage in plan["stages"])
    if dice.random() < 0.6:  # the smallest of four sizes of memory that has a plan
        for share in (0.5, 0.7, 0.9, 1):
            if weft(*words, "--device-memory", str(max(1, int(share * most)))).returncode == 0:
                return json.loads(path.read_text())  # type: ignore[no-any-return]
    return plan


def false_claims(plan: Plan) -> list[str]:
    """The fields of a plan that do not follow from its layers, cluster and orders."""
    replay = Replay(plan)
    wrong = [] if replay.step() == plan["step_ns"] else ["step_ns"]
    wrong += [] if plan["step_ms"] == pytest.approx(plan["step_ns"] / 1e6, rel=1e-12) else ["step_ms"]
    for s, (stage, held) in enumerate(zip(plan["stages"], replay.memory(), strict=True)):
        for field, kind in (("forward_ms", "F"), ("backward_ms", "B"), ("all_reduce_ms", "reduce")):
            if stage[field] != pytest.approx(replay.times[s][kind] / 1e6, rel=1e-12):
                wrong.append(field)
        wrong += [] if stage["sends_bytes"] == replay.sends(s) else ["sends_bytes"]
        wrong += [] if stage["memory_bytes"] == held else ["memory_bytes"]
    return wrong + ([] if replay.fits() else ["does not fit"])


@pytest.mark.parametrize("part", range(8))
def test_plans_agree_with_the_independent_replay(weft: Weft, tmp_path: Path, part: int) -> None:
    for seed in range(5 * part, 5 * part + 5):
        plan = some_plan(weft, tmp_path, seed)
        if plan is None:
            continue
        assert false_claims(plan) == [], seed
        done = weft("verify", tmp_path / "plan.json")
        assert done.returncode == 0, (seed, done.stdout, done.stderr)


def damaged(plan: Plan, dice: random.Random) -> Plan:
    """A plan with one changed value or order, and without a checksum that would show it."""
    other = copy.deepcopy(plan)
    del other["checksum"]
    if dice.random() < 0.4:
        g = dice.randrange(len(other["orders"]))
        words = other["orders"][g].split()
        i, j = dice.randrange(len(words)), dice.randrange(len(words))
        how = dice.randrange(4)
        if how == 0:
            words[i], words[j] = words[j], words[i]
        elif how == 1:
            words.insert(j, words.pop(i))
        elif how == 2:
            words.pop(i)
        else:
            words[i] += dice.choice(["0", ".4", "e0", "x"])
        other["orders"][g] = " ".join(words)
        return other
    spot, key = dice.choice(list(numbers(other)))
    value = spot[key]
    spot[key] = dice.choice([value + 1, value * 2 + 1, value / 2, 0, 10 * value, 10**18])
    if isinstance(value, bool):
        spot[key] = not value
    return other


def numbers(value: Any, top: bool = True) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in items:
        if top and key in FREE:
            continue
        if isinstance(each, (dict, list)):
            yield from numbers(each, False)
        elif isinstance(each, (int, float)):
            yield value, key


@pytest.mark.parametrize("seed", range(100, 900, 100))
def test_verify_finds_every_damage_that_changes_a_result(weft: Weft, tmp_path: Path, seed: int) -> None:
    plans = (some_plan(weft, tmp_path, each) for each in range(seed, seed + 100))
    plan = next(plan for plan in plans if plan is not None)
    dice = random.Random(seed)
    for _ in range(12):
        other = damaged(plan, dice)
        (tmp_path / "other.json").write_text(json.dumps(other))
        try:
            wrong = false_claims(other)
        except (Wrong, IndexError, TypeError) as why:
            wrong = [str(why)]
        done = weft("verify", tmp_path / "other.json", "--json")
        assert done.returncode in (0, 1, 3), done.stderr
        if wrong:
            assert done.returncode != 0, wrong
        if done.returncode == 1 and not wrong:
            rejected = {one["about"] for one in json.loads(done.stdout)["findings"] if not one["right"]}
            assert not rejected & {"layers", "devices", "time", "memory"}, rejected
