# SPDX-License-Identifier: Apache-2.0
"""`weft pipeline` on errors: one clear sentence, the right exit status, and no partial files."""

from __future__ import annotations

import json
import signal
import subprocess
import xml.dom.minidom
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.session import CpuTime, wait_until_interruptible
from tests.conftest import ROOT, SLOWDOWN, Weft, clean_environment, weft_command

EXAMPLES = ROOT / "examples" / "pipeline"
MOST_CPU_S = 1.5 * SLOWDOWN
CLUSTER = ["--cluster", "2 devices, 1GB/s", "--microbatches", "4"]


def layers(count: int = 4, **changed: Any) -> dict[str, Any]:
    made: list[dict[str, Any]] = [
        {"id": f"n{i}", "forward_ms": 1, "backward_ms": 2, "activation_bytes": 1000}
        for i in range(count)
    ]
    made[0].update(changed)
    return {"layers": made}


def without_time() -> dict[str, Any]:
    profile = layers()
    del profile["layers"][1]["backward_ms"]
    return profile


def with_edges(edges: Any) -> dict[str, Any]:
    return {**layers(2), "edges": edges}


def cycle() -> dict[str, Any]:
    return {**layers(2), "edges": [["n0", "n1"], ["n1", "n0"]]}


@pytest.mark.parametrize("question", [[], ["compare"]])
@pytest.mark.parametrize(
    ("profile", "words", "code", "says"),
    [
        (layers(forward_ms=-1), CLUSTER, 3, "'n0' has a negative time"),
        (layers(activation_bytes=-5), CLUSTER, 3, "'n0' has a negative size"),
        (without_time(), CLUSTER, 3, "'n1' needs a number 'backward_ms'"),
        (cycle(), CLUSTER, 3, "cycle"),
        ({"layers": []}, CLUSTER, 3, "no layer"),
        (with_edges(5), CLUSTER, 3, "'edges' must be a list"),
        (with_edges("n0-n1"), CLUSTER, 3, "'edges' must be a list"),
        (with_edges([["n0", "n9"]]), CLUSTER, 3, "an edge names layer 'n9'"),
        (layers(forward_ms=9e12), CLUSTER, 3, "the layers up to 'n0' take 9e+09 s for one micro-batch"),
        (layers(1, forward_ms=1e8), CLUSTER, 3, "layer 'n0' takes at least 5e+04 s"),
        (layers(parameter_bytes=9e18), CLUSTER, 3, "add up to 9e+18 bytes"),
        (layers(parameter_bytes=10**9), [*CLUSTER, "--state-factor", "9" * 18], 3,
         "parameters and their state would take"),
        (layers(), [*CLUSTER, "--memory", "100MB"], 2, "write --device-memory 100MB"),
        (layers(), [*CLUSTER, "--memory=100MB"], 2, "--memory takes no value"),
        (layers(), ["--microbatches", "4", "--cluster"], 2, "--cluster needs a value"),
        (layers(), ["--cluster", "x" * 5000, "--microbatches", "4"], 2, "does not describe a cluster"),
        (layers(), ["--cluster", "2 devices 1GB/s", "--microbatches", "4"], 2,
         "a comma is missing before '1GB/s'"),
        (layers(), ["--cluster", "2 devices, 1GB/s, 80gb", "--microbatches", "4"], 2,
         "write a memory size with a capital B"),
        (layers(), [*CLUSTER, "--stages", "5"], 1, "5 stages are more than the 4 layers"),
        (layers(), ["--cluster", "2 devices, 1GB/s, 0.000000001GB", "--microbatches", "4",
                    "--memory"], 1, "no plan fits into the memory"),
        (layers(), ["--cluster", "APART", "--microbatches", "4"], 1, "not connected"),
        (layers(), ["--cluster", "2 devices, 1GB/s", "--microbatches", "0"], 2, "--microbatches"),
        (layers(), ["--cluster", "2 devices, 1GB/s"], 2, "--microbatches is missing"),
        (layers(), [*CLUSTER, "--stages", "0"], 2, "--stages must be at least 1"),
        (layers(), [*CLUSTER, "--replicas", "0"], 2, "--replicas must be at least 1"),
        (layers(), [*CLUSTER, "--device-memory", "80gb"], 2, "--device-memory: '80gb' is not a size"),
        (layers(), [*CLUSTER, "--device-memory", "1B"], 1, "no plan fits into the memory"),
        (layers(), [*CLUSTER, "--chunks", "0"], 2, "--chunks must be at least 1"),
        (layers(), [*CLUSTER, "--chunks", "1", "--schedule", "zb-v"], 2, "--schedule zb-v needs several"),
        (layers(parameter_bytes=10**10), ["--cluster", "1x T4", "--microbatches", "4", "--memory"],
         1, "layer 'n0' alone takes 40.00 GB"),
        (layers(), ["--cluster", "8x L4 nvlink", "--microbatches", "4"], 2, "L4 has no NVLink"),
        (layers(), ["--cluster", "2x H100, 2 hosts", "--microbatches", "4"], 2,
         "no rate is given between the 2 hosts"),
        (layers(), ["--cluster", "nosuch.json", "--microbatches", "4"], 3, "no such file"),
        (layers(), ["--cluster", "SEVERAL#nope", "--microbatches", "4"], 2,
         "the file holds no cluster 'nope'"),
    ],
)  # fmt: skip
def test_an_invalid_profile_gives_one_sentence(
    weft: Weft, tmp_path: Path, question: list[str], profile: Any, words: Sequence[str], code: int,
    says: str,
) -> None:  # fmt: skip
    file, apart = tmp_path / "profile.json", tmp_path / "apart.json"
    file.write_text(json.dumps(profile))
    apart.write_text('{"devices": 2, "bandwidth": 0}')
    several = tmp_path / "several.json"
    several.write_text('{"clusters": [{"name": "lab", "devices": 1}]}')
    files = {"APART": str(apart), "SEVERAL#nope": f"{several}#nope"}
    asked = [files.get(word, word) for word in words]
    done = weft("pipeline", *question, file, *asked)
    assert done.returncode == code, done.stderr
    assert says in done.stderr and done.stdout == ""
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"devices": 2.5}, "'devices' must be a whole number from 1 to 4096"),
        ({"devices": "2"}, "'devices' must be a whole number"),
        ({"bandwidth": "fast"}, "'bandwidth' is neither a number nor 2 rows"),
        ({"bandwidth": -1}, "negative"),
        ({"shared_links": 5}, "'shared_links' must be a list"),
        ({"shared_links": [{"between": [0, 1], "bytes_per_s": 1}]}, "two lists of device numbers"),
        ({"shared_links": [{"between": [[0.4], [1]], "bytes_per_s": 1}]}, "two lists of device numbers"),
        ({"shared_links": [{"between": [[0], [9]], "bytes_per_s": 1}]}, "device 9"),
        ({"speed": 1e-300}, "device 0 has a speed of 1e-300"),
        ({"speed": 0}, "device 0 has a speed of 0"),
        ({"memory_gb": -1}, "device 0 has negative memory"),
        ({"latency_us": 9e15}, "a latency of 9e+09 s is too long"),
        ({"clusters": 5}, "'clusters' must be a list"),
    ],
)
def test_an_invalid_cluster_gives_one_sentence(
    weft: Weft, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    (tmp_path / "profile.json").write_text(json.dumps(layers()))
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"devices": 2, "bandwidth": 1e9, **change}))
    done = weft("pipeline", tmp_path / "profile.json", "--cluster", cluster, "--microbatches", "4")
    assert done.returncode == 3, done.stderr
    assert says in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_plan_that_cannot_be_written_is_printed(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_text(json.dumps(layers()))
    asked = ["pipeline", tmp_path / "profile.json", *CLUSTER, "-o"]
    done = weft(*asked, tmp_path / "nowhere" / "plan.json")
    assert done.returncode == 3 and "cannot write" in done.stderr
    assert done.stdout == weft(*asked, tmp_path / "plan.json").stdout
    (tmp_path / "marked.json").write_text("\ufeff" + json.dumps(layers()))
    assert weft("pipeline", tmp_path / "marked.json", *CLUSTER).returncode == 0


def test_control_characters_in_names_are_shown_as_text(weft: Weft, tmp_path: Path) -> None:
    """Names with control characters cannot control the terminal or break the SVG file."""
    name = "a\x1b[31mred\nline\x01<b>&"
    profile, plan, picture = (tmp_path / x for x in ("profile.json", "plan.json", "picture.svg"))
    profile.write_text(json.dumps({**layers(), "name": name}))
    (tmp_path / "stages.json").write_text(
        json.dumps({"instances": {name: {"P": 2, "M": 2, "f": 1, "b": 1, "w": 1, "c": 0}}})
    )
    shown = [weft("pipeline", profile, *CLUSTER, "-o", plan),
             weft("pipeline", "gantt", plan, "--svg", picture),
             weft("pipeline", "schedule", tmp_path / "stages.json", "--gantt")]  # fmt: skip
    for done in shown:
        assert done.returncode == 0 and not set("\x1b\x01") & set(done.stdout)
        assert "a [31mred line <b>&" in done.stdout
    xml.dom.minidom.parse(str(picture))


@pytest.mark.parametrize("question", ["schedul", "exprot", "gant"])
def test_a_mistyped_sub_verb_is_suggested(weft: Weft, question: str) -> None:
    done = weft("pipeline", question, "file.json")
    assert done.returncode == 2 and "did you mean" in done.stderr


def damaged(change: str) -> str:
    plan = json.loads((EXAMPLES / "plan.json").read_text())
    if change == "order":
        plan["orders"][0] = plan["orders"][0].replace("0F0 ", "", 1)
    elif change == "op":
        plan["orders"][1] += " one"
    elif change == "deadlock":
        plan["orders"][2] = "2B0 " + plan["orders"][2].replace("2B0 ", "", 1)
    elif change == "devices":
        plan["stages"][0]["devices"] = [99]
    elif change == "layers":
        plan["stages"][0]["layers"].pop()
    elif change == "time":
        plan["layers"][0]["forward_ns"] = -1
    elif change == "cluster":
        del plan["cluster"]["bandwidth"]
    elif change == "links":
        plan["cluster"]["bandwidth"] = [[0] * 4] * 4
    return json.dumps(plan)


@pytest.mark.parametrize("question", [["export", "--to", "json"], ["gantt"]])
@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ("order", 3, "0F0 is missing"),
        ("op", 3, "'one' is not an op"),
        ("deadlock", 1, "deadlock"),
        ("devices", 3, "'devices of a stage'"),
        ("layers", 3, "'layers of a stage'"),
        ("time", 3, "negative time"),
        ("cluster", 3, "'bandwidth' is missing"),
        ("links", 1, "not connected"),
    ],
)
def test_a_damaged_plan_is_refused_with_the_reason(
    weft: Weft, tmp_path: Path, question: list[str], change: str, code: int, says: str
) -> None:
    file = tmp_path / "damaged.json"
    file.write_text(damaged(change))
    done = weft("pipeline", question[0], file, *question[1:])
    assert done.returncode == code, done.stderr
    assert says in done.stderr and "damaged.json" in done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ("none", 0, "the file is as it was written"),
        ("layers", 1, "should be"),
        ("devices", 1, "device 99 is in two groups or does not exist"),
        ("forward", 1, "forward_ms of stage 0 is 1, but should be"),
        ("schedule", 1, "the orders are not those of schedule 'gpipe'"),
        ("no_shorter_one_stage_plan", 1, "the file was changed after it was written"),
        ("time", 3, "'forward_ns' is missing or has no valid value"),
    ],
)
def test_verify_tells_a_wrong_plan_from_an_unreadable_one(
    weft: Weft, tmp_path: Path, change: str, code: int, says: str
) -> None:
    file = tmp_path / "damaged.json"
    plan = json.loads(damaged(change))
    if change == "forward":
        plan["stages"][0]["forward_ms"] = 1
    elif change == "schedule":
        plan["schedule"] = "gpipe"
    elif change == "no_shorter_one_stage_plan":
        plan["no_shorter_one_stage_plan"] = not plan["no_shorter_one_stage_plan"]
    file.write_text(json.dumps(plan, indent=1, sort_keys=True))
    done = weft("verify", file)
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert ("WRONG" in done.stdout) == (code == 1)


def test_decimals_of_times_are_exact(weft: Weft, tmp_path: Path) -> None:
    """The same pipeline in another unit has the same schedule and times in that unit."""
    whole = {"P": 3, "M": 4, "f": [500, 625, 1250], "b": [750, 500, 875], "w": [250, 500, 125],
             "c": 25, "mem_f": 20, "mem_b": -10, "mem_w": -10, "max_mem": 60}  # fmt: skip
    parts = {"P": 3, "M": 4, "f": [0.5, 0.625, 1.25], "b": [75e-2, 0.50, 0.875],
             "w": [0.25, 0.5, 0.125], "c": 0.025, "mem_f": 0.2, "mem_b": -0.1, "mem_w": -0.1,
             "max_mem": 0.6}  # fmt: skip
    file = tmp_path / "instances.json"
    file.write_text(json.dumps({"instances": {"whole": whole, "parts": parts}}))
    done = weft("pipeline", "schedule", file, "--json", "--orders", "--patterns")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)["results"]
    assert second["makespan"] == first["makespan"] / 1000
    assert second["lower_bound"] == first["lower_bound"] / 1000
    assert second["orders"] == first["orders"] and second["proved"] == first["proved"]
    assert second["patterns"] == {k: v / 1000 for k, v in first["patterns"].items()}
    text = weft("pipeline", "schedule", file, "--instance", "parts", "--gantt").stdout
    assert str(second["makespan"]) in text
    done = weft("pipeline", "export", file, "--instance", "parts", "--to", "json")
    assert json.loads(done.stdout)["unit"] == "1e-3"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"f": [-0.25, 1, 1]}, "'f' has a negative time, -0.25"),
        ({"b": [1, "x", 1]}, "'b' has an element that is not a number"),
        ({"w": 1e30}, "'w' is not a number, or is too large"),
        ({"M": 2.5}, "'M' is not a whole number"),
        ({"device": [0, 0.5, 1]}, "'device'"),
    ],
)
def test_impossible_numbers_are_refused_by_name(
    weft: Weft, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    file = tmp_path / "instances.json"
    case = {"P": 3, "M": 4, "f": 1, "b": 1, "w": 1, "c": 0, **change}
    file.write_text(json.dumps({"instances": [case]}))
    done = weft("pipeline", "schedule", file)
    assert done.returncode == 3, done.stderr
    assert says in done.stderr and done.stderr.count("\n") == 1


def start(*words: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [weft_command(), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=clean_environment(),
    )  # fmt: skip


def hard_questions(folder: Path) -> list[list[str | Path]]:
    """Commands that each run far longer than the test waits."""
    profile = {"layers": [
        {"id": str(i), "forward_ms": 1 + i * 37 % 11, "backward_ms": 2 + i * 23 % 13,
         "activation_bytes": 10**6 * (1 + i % 7), "parameter_bytes": 10**7} for i in range(1000)
    ]}  # fmt: skip
    (folder / "profile.json").write_text(json.dumps(profile))
    case = {"P": 12, "M": 48, "f": [90 + i * 37 % 23 for i in range(12)], "c": 7, "cap_F": 5,
            "b": [95 + i * 41 % 19 for i in range(12)], "w": [60 + i * 29 % 17 for i in range(12)]}  # fmt: skip
    (folder / "instances.json").write_text(json.dumps({"instances": [case] * 8}))
    cluster = ["--cluster", "8x H100 nvlink, 128 hosts, 400Gb", "--microbatches", "512"]
    return [
        [folder / "profile.json", *cluster, "-o", folder / "plan.json"],
        ["compare", folder / "profile.json", *cluster],
        ["schedule", folder / "instances.json", "--svg", folder / "picture.svg", "--instance", "0"],
        ["export", folder / "instances.json", "--instance", "0", "--to", "torch-csv", "-o",
         folder / "schedule.csv"],
    ]  # fmt: skip


@pytest.mark.parametrize("question", range(4))
def test_ctrl_c_ends_it_at_once_and_leaves_nothing(tmp_path: Path, question: int) -> None:
    process = start("pipeline", *hard_questions(tmp_path)[question])
    before = sorted(path.name for path in tmp_path.iterdir())
    wait_until_interruptible(process.pid)
    cpu = CpuTime(process.pid)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60 * SLOWDOWN)
    assert cpu.used_since() < MOST_CPU_S
    assert process.returncode == 130
    assert (out, errors) == (b"", b"weft: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        ["schedule", "instances.json", "--json", "--orders"],
        ["export", "instances.json", "--instance", "0", "--schedule", "gpipe", "--to", "json"],
    ],
)
def test_a_closed_pipe_is_not_an_error(tmp_path: Path, words: list[str]) -> None:
    """The output is larger than a pipe can hold, and the reader closes after one byte."""
    case = {"P": 4, "M": 800, "f": 5, "b": 6, "w": 4, "c": 1}
    (tmp_path / "instances.json").write_text(json.dumps({"instances": [case] * 4}))
    asked: list[str | Path] = [tmp_path / w if w == "instances.json" else w for w in words]
    process = start("pipeline", *asked, "--time-limit", "0")
    assert process.stdout and process.stdout.read(1) == b"{"
    process.stdout.close()
    assert process.stderr and process.stderr.read() == b""
    assert process.wait(timeout=60 * SLOWDOWN) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["compare", "p.json", "--planner", "gpipe"], "--planner does not go with compare"),
        (["compare", "p.json", "-o", "plan.json"], "-o does not go with compare"),
        (["p.json", "--svg", "x.svg"], "--svg does not go with planning"),
        (["p.json", "--devices", "4"], "--devices does not go with planning"),
        (["gantt", "p.json", "--microbatches", "4"], "--microbatches does not go with gantt"),
        (["compare", "p.json", "--svg", "x"], "it is a flag of schedule, gantt"),
        (["--layers", "8", "replan", "t.json"], "--layers must follow replan"),
        (["export", "p.json", "--json"], "export takes no --json; --to json"),
        (["gantt", "p.json", "--json"], "gantt draws and has no JSON; weft pipeline export"),
        (["p.json", "--model", "pipedream", "--memory"], "--memory does not go with --model"),
        (["predict", "t", "--schedule", "zb"], "'zb' is not one of 1f1b, gpipe, interleaved (see"),
        (["predict", "t", "--schedule", "zb-v"], "--schedule of predict: 'zb-v' is not one of 1f1b"),
        (["predict", "t", "--schedule", "gpip"], "did you mean 'gpipe'?"),
        (["export", "t", "--to", "json", "--schedule", "pe"], "--schedule of export: 'pe' is"),
        (["p.json", "--schedule", "zb-w"], "--schedule of planning: 'zb-w' is not one of"),
    ],
)
def test_a_flag_that_would_have_no_effect_is_refused(
    weft: Weft, words: list[str], says: str
) -> None:
    done = weft("pipeline", *words)
    assert done.returncode == 2 and says in done.stderr
    assert done.stdout == "" and done.stderr.count("\n") == 1


def test_every_sub_verb_has_a_help_page_of_its_own(weft: Weft) -> None:
    page = weft("pipeline", "compare", "--help").stdout
    assert page.startswith("weft pipeline compare: ") and "--svg" not in page
    assert page == weft("help", "pipeline", "compare").stdout
    assert page == weft("pipeline", "compare", "profile.json", "-h").stdout
    overview = weft("pipeline", "--help").stdout
    for name in ("compare", "schedule", "gantt", "export", "profile", "predict", "replan"):
        assert f"\n  {name} " in overview
        assert weft("pipeline", name, "--help").stdout.startswith(f"weft pipeline {name}: ")
    refused = weft("help", "pipeline", "comapre")
    assert refused.returncode == 2 and "did you mean 'compare'?" in refused.stderr


def test_unknown_memory_gives_a_note(weft: Weft, tmp_path: Path) -> None:
    """--memory cannot limit devices whose memory the cluster does not give."""
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(layers(parameter_bytes=10**6)))
    unknown = weft("pipeline", file, *CLUSTER, "--memory", "--json")
    assert unknown.returncode == 0 and "pipeline-memory-unknown (2x)" in unknown.stderr
    (note,) = json.loads(unknown.stdout)["diagnostics"]
    assert note["id"] == "pipeline-memory-unknown" and "--device-memory" in note["advice"]
    done = weft("pipeline", "compare", file, *CLUSTER, "--memory", "--json")
    assert json.loads(done.stdout)["diagnostics"][0]["id"] == "pipeline-memory-unknown"
    for words in (["2 devices, 1GB/s, 100MB", "--memory"], ["2 devices, 1GB/s, 0.1GB", "--memory"],
                  ["2 devices, 1GB/s", "--device-memory", "100MB"],
                  ["2 devices, 1GB/s, 80GB", "--device-memory", "0.1GB"]):  # fmt: skip
        plan = tmp_path / "plan.json"
        done = weft("pipeline", file, "--cluster", *words, "--microbatches", "4", "-o", plan)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        written = json.loads(plan.read_text())
        assert written["cluster"]["memory_bytes"] == [10**8] * 2 and written["limit_memory"]
        assert weft("verify", plan).returncode == 0


def test_bandwidths_may_have_any_unit(weft: Weft, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(layers(activation_bytes=10**9)))
    answers = set()
    for rates in ("8e9,1.25e9", "8GB/s,10Gbit", "8000000000,1250MB/s", "64Gb,10Gb/s"):
        done = weft("pipeline", file, "--model", "pipedream", "--devices", "2x2", "--bandwidth",
                    rates, "--json")  # fmt: skip
        assert done.returncode == 0, done.stderr
        answers.add(json.loads(done.stdout)["bottleneck_s"])
    assert len(answers) == 1
