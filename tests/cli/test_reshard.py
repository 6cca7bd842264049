# SPDX-License-Identifier: Apache-2.0
"""`weft reshard`: single problems, files of problems, and plans that an independent checker replays."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Weft

SHARED = ROOT.parent / "shared"
SMALL = ["reshard", "--mesh", "x=2,y=2", "--shape", "8,8", "--from", "x+y,-", "--to", "-,x+y"]
CASE: dict[str, Any] = {
    "id": "rows-to-columns",
    "kind": "mesh",
    "dtype": "f32",
    "shape": [8, 8],
    "split_rule": "ceil_flat",
    "src": {"mesh": {"axes": [["x", 4]]}, "dims": [["x"], []]},
    "dst": {"mesh": {"axes": [["x", 4]]}, "dims": [[], ["x"]]},
}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.json"
    odd = {**CASE, "id": "odd", "src": {**CASE["src"], "partial": {"x": "sum"}, "dims": [[], []]},
           "dst": {**CASE["dst"], "partial": {"x": "min"}, "dims": [[], []]}}  # fmt: skip
    path.write_text(json.dumps({"cases": [CASE, odd]}))
    return path


def replay(case: dict[str, Any], rounds: list[list[list[Any]]]) -> dict[int, set[tuple[int, int]]]:
    """Returns the elements of each device at the end. Fails if a device sends elements that it does
    not hold."""
    rows, columns = case["shape"]
    have = {d: {(2 * d + r, c) for r in range(2) for c in range(columns)} for d in range(4)}
    for transfers in rounds:
        before = {device: set(elements) for device, elements in have.items()}
        for sender, receiver, ((low, high), (left, right)) in transfers:
            box = {(r, c) for r in range(low, high) for c in range(left, right)}
            assert box <= before[sender]
            have[receiver] |= box
    return have


def test_the_report_of_a_problem_has_steps_bytes_and_bounds(weft: Weft) -> None:
    done = weft(*SMALL)
    assert done.returncode == 0, done.stderr
    assert "all_to_all" in done.stdout and "which no plan can beat" in done.stdout


def test_the_plan_depends_on_prices(weft: Weft) -> None:
    words = [*SMALL, "--json", "--link", "0us,25GB/s"]
    direct = json.loads(weft(*words).stdout)["cases"][0]
    assert [step["messages"] for step in direct["steps"]] == [3]
    assert direct["recv_max"] == direct["recv_bound"] == 48
    cheap = json.loads(weft(*words, "--message-cost", "2us").stdout)["cases"][0]
    assert [step["messages"] for step in cheap["steps"]] == [1, 1]
    assert cheap["peak"] == cheap["peak_bound"]
    assert cheap["time_us"] == pytest.approx(4 + 64 / 25e3)


def test_scale_local_prices_larger_sizes(weft: Weft) -> None:
    words = [*SMALL, "--json", "--link", "0us,25GB/s", "--scale-local", "64MiB"]
    scaled = json.loads(weft(*words).stdout)["cases"][0]
    assert scaled["time_us"] == pytest.approx((64 << 20) * 3 / 4 / 25e3)


def test_a_file_of_problems_is_planned_and_counted(weft: Weft, cases: Path) -> None:
    done = weft("reshard", "--cases", cases)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("2 cases: 1 ok, 1 refused, 0 wrong\n")
    assert "two different reductions" in done.stdout
    result = json.loads(weft("reshard", "--cases", cases, "--json").stdout)
    assert (result["ok"], result["refused"], result["wrong"]) == (1, 1, 0)
    assert [case["status"] for case in result["cases"]] == ["ok", "refused"]


@pytest.mark.parametrize("price", ["0us", "2us"])
def test_written_transfers_give_every_device_its_target(weft: Weft, cases: Path, tmp_path: Path, price: str) -> None:
    plans = tmp_path / "plans.jsonl"
    assert weft("reshard", "--cases", cases, "--plans", plans, "--message-cost", price).returncode == 0
    (line,) = plans.read_text().splitlines()
    plan = json.loads(line)
    assert plan["id"] == CASE["id"]
    have = replay(CASE, plan["rounds"])
    for device in range(4):
        wanted = {(r, c) for r in range(8) for c in range(2 * device, 2 * device + 2)}
        assert wanted <= have[device]


def test_summands_are_added_and_kept(weft: Weft, tmp_path: Path) -> None:
    plans = tmp_path / "plans.jsonl"
    words = ["reshard", "--mesh", "x=2", "--shape", "4", "--plans", plans]
    assert weft(*words, "--from", "-", "--from-partial", "x", "--to", "x").returncode == 0
    rounds = json.loads(plans.read_text())["rounds"]
    assert rounds == [[[1, 0, [[0, 2]], "add"], [0, 1, [[2, 4]], "add"]]]
    assert weft(*words, "--from", "x", "--to", "-", "--to-partial", "x").returncode == 0
    plan = json.loads(plans.read_text())
    assert plan["rounds"] == [] and plan["keeps"] == [[0, [[0, 2]]], [1, [[2, 4]]]]


def test_direct_plans_that_meet_the_bound_are_counted(weft: Weft, cases: Path) -> None:
    words = ["reshard", "--cases", cases, "--direct"]
    assert "1 of 1 plans without summands receive no more than the lower bound" in weft(*words).stdout
    assert json.loads(weft(*words, "--json").stdout)["direct"] == {"plans": 1, "meet_bound": 1}


def test_the_problem_with_the_largest_peak_is_named(weft: Weft, cases: Path) -> None:
    text = weft("reshard", "--cases", cases, "--budget", "1MB").stdout
    assert "most memory, for rows-to-columns:\nmemory    " in text


def test_new_labels_are_reported(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=2,y=2", "--shape", "8,8", "--from", "x,y", "--to", "y,x", "--relabel"]
    text = weft(*words).stdout
    assert "x,y -> y,x" in text and "labels    1 as 2, 2 as 1" in text
    assert json.loads(weft(*words, "--json").stdout)["labels"] == [[0, 0], [1, 2], [2, 1], [3, 3]]


def test_direct_also_applies_in_place(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=2,y=2", "--shape", "8,8", "--from", "x,y", "--to", "-,x+y"]
    done = json.loads(weft(*words, "--message-cost", "2us", "--direct", "--in-place", "--json").stdout)
    assert [step["op"] for step in done["cases"][0]["steps"]] == ["exchange"]


@pytest.mark.parametrize(
    ("before", "after", "op"),
    [("x,-", "-,-", "all_gather"), ("x,-", "-,x", "all_to_all"), ("x,y", "y,x", "all_permute")],
)
def test_direct_plans_have_the_names_of_collectives(
    weft: Weft, before: str, after: str, op: str
) -> None:
    words = ["reshard", "--mesh", "x=2,y=2", "--shape", "8,8", "--direct", "--json"]
    done = json.loads(weft(*words, "--from", before, "--to", after).stdout)
    assert [step["op"] for step in done["cases"][0]["steps"]] == [op]


def test_the_result_does_not_depend_on_threads(weft: Weft, cases: Path) -> None:
    words = ["reshard", "--cases", cases, "--json"]
    assert weft(*words, "--threads", "1").stdout == weft(*words, "--threads", "4").stdout


def test_a_picture_shows_both_ends(weft: Weft, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    assert weft(*SMALL, "--svg", picture).returncode == 0
    text = picture.read_text()
    assert text.startswith("<svg") and text.count("<rect") == 8


def test_a_budget_divides_messages(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=2", "--shape", "1048576", "--from", "x", "--to", "-"]
    text = weft(*words, "--budget", "1MB").stdout
    assert "memory    at most 7.3 MB per device: 2.1 MB in and 4.2 MB out" in text
    assert "1.0 MB for messages of at most 250 kB" in text


def test_intermediate_layouts_stay_within_the_budget(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=2,y=2", "--shape", "64,64", "--from", "x+y,-", "--to", "-,x+y",
             "--message-cost", "20us", "--json"]  # fmt: skip
    free, tight = (json.loads(weft(*words, "--budget", size).stdout) for size in ("1MB", "2kB"))
    assert free["memory"][0]["staging"] == 4096 and tight["memory"][0]["staging"] == 0
    assert len(free["cases"][0]["steps"]) == 2 and len(tight["cases"][0]["steps"]) == 1
    for plan, budget in ((free, 1_000_000), (tight, 2000)):
        memory = plan["memory"][0]
        assert memory["live"] <= memory["in"] + memory["out"] + budget


def test_a_budget_makes_plans_slower_but_not_infeasible(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=4,y=4", "--shape", "2048,96", "--link", "0us,25GB/s", "--json"]
    words += ["--message-cost", "2us"]
    for before, after in (("x+y,-", "-,x+y"), ("x,y", "y,x"), ("-,x", "y,-"), ("x,y", "-,-")):
        ends = ["--from", before, "--to", after]
        free = json.loads(weft(*words, *ends).stdout)["cases"][0]
        done = weft(*words, *ends, "--budget", "4kB")
        assert done.returncode == 0, done.stderr
        tight = json.loads(done.stdout)["cases"][0]
        assert tight["time_us"] > free["time_us"]
        assert sum(step["messages"] for step in tight["steps"]) > sum(
            step["messages"] for step in free["steps"]
        )
        assert tight["time_bound_us"] <= tight["time_us"]


def test_casts_need_no_copy_of_the_array(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=4", "--shape", "1024,1024", "--dtype", "f32", "--json"]
    words += ["--to-dtype", "bf16", "--budget", "64kB"]
    for ends in (["--from", "x,-", "--to", "-,x"], ["--from", "-,-", "--from-partial", "x", "--to", "-,x"],
                 ["--from", "-,-", "--from-partial", "x", "--to", "-,-"]):  # fmt: skip
        done = weft(*words, *ends)
        assert done.returncode == 0, done.stderr
        memory = json.loads(done.stdout)["memory"][0]
        assert memory["live"] <= memory["in"] + memory["out"] + 64_000


def test_a_budget_of_0_allows_only_plans_that_move_nothing(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=4", "--shape", "16,4", "--budget", "0"]
    assert weft(*words, "--from", "-,-", "--to", "x,-").returncode == 0
    done = weft(*words, "--from", "x,-", "--to", "-,-")
    assert done.returncode == 1 and "allow at least 16 bytes" in done.stderr


def test_errors_name_the_case_and_the_field(weft: Weft, tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    odd = {**CASE, "id": "odd", "shape": [8.7, 8]}
    path.write_text(json.dumps({"cases": [CASE, odd, CASE]}))
    done = weft("reshard", "--cases", path)
    assert done.returncode == 0, done.stderr
    assert "3 cases: 1 ok, 2 refused, 0 wrong" in done.stdout
    found = json.loads(weft("reshard", "--cases", path, "--json").stdout)["cases"]
    assert found[1]["reason"] == "'shape' contains 8.7 instead of a whole number of at least 0"
    assert found[2]["reason"].startswith("case 1 of the file has the same 'id'")


def test_gaps_are_null_if_the_bound_is_0_and_the_value_is_not(weft: Weft) -> None:
    found = json.loads(weft(*SMALL, "--link", "0us", "--json").stdout)["cases"][0]
    assert (found["recv_gap_pct"], found["peak_gap_pct"], found["time_gap_pct"]) == (0, 0, 0)
    words = ["reshard", "--mesh", "x=2,y=2", "--shape", "8", "--from", "-", "--from-partial", "x"]
    unknown = json.loads(weft(*words, "--to", "-", "--to-partial", "y", "--json").stdout)["cases"][0]
    assert unknown["recv_max"] > 0 and unknown["recv_bound"] == 0
    assert unknown["recv_gap_pct"] is None and unknown["time_gap_pct"] is None


def test_in_place_needs_the_larger_end_and_staging(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=4", "--shape", "256,256", "--json", "--in-place", "--budget", "16kB"]
    for before, after in (("x,-", "-,x"), ("x,-", "-,-"), ("-,-", "-,x")):
        memory = json.loads(weft(*words, "--from", before, "--to", after).stdout)["memory"][0]
        assert memory["in_place"] and memory["reason"] == ""
        assert memory["live"] <= max(memory["in"], memory["out"]) + 16_000
    both = json.loads(weft(*words, "--from", "x,-", "--to", "-,-", "--to-partial", "x").stdout)
    assert not both["memory"][0]["in_place"] and "separate buffers for source and target" in both["memory"][0]["reason"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--shape", "4"], 2, "--mesh is missing"),
        (["--mesh", "x=2", "--shape", "4", "--from", "x", "--to", "-", "--devices", "0"], 2,
         "--devices: a mesh of 2 positions needs exactly 2 devices"),
        (["--mesh", "x=2", "--shape", "4,4", "--from", "x,x", "--to", "-,-"], 2,
         "--from: axis 'x' is used twice"),
        (["--mesh", "x", "--shape", "4", "--from", "x", "--to", "-"], 2, "write x=2,y=4"),
        (["--mesh", "x=2", "--shape", "4", "--from", "z", "--to", "-"], 2, "no axis 'z'"),
        (["--mesh", "x=2", "--shape", "4", "--from", "x,x", "--to", "-"], 2, "one entry per dimension"),
        (["--mesh", "x=2", "--shape", "4", "--from", "x+x", "--to", "-"], 2, "used twice"),
        (["--mesh", "x=2", "--shape", "4", "--from", "x", "--to", "-", "--dtype", "f3"], 2, "f3"),
        (["--link", "fast"], 2, "--link: 'fast' is not a link; write 10us,25GB/s"),
        (["--link", "1e300us,25GB/s"], 2, "--link: '1e300us' is not a time; write 10us"),
        (["--link", "10us,-1GB/s"], 2, "--link: '-1GB/s' is not a bandwidth; write 25GB/s"),
        (["--message-cost", "2"], 2, "--message-cost: '2' is not a time; write 10us"),
        (["--message-cost", "nanus"], 2, "--message-cost: 'nanus' is not a time; write 10us"),
        (["--topology", "4,nanGB/s"], 2, "--topology: 'nanGB/s' is not a bandwidth; write 25GB/s"),
        (["--topology", "1e300,50GB/s"], 2, "--topology: '1e300,50GB/s' is not a topology; write"),
        (["--budget", "few"], 2, "--budget: 'few' is not a size; write 64KiB"),
        (["--budget", "1e300"], 2, "--budget: '1e300' is not a size; write 64KiB, 512MB or 1.5GiB, at most 8TiB"),
        (["--budget", "-1"], 2, "--budget: '-1' is not a size; write 64KiB"),
        (["--scale-local", "0"], 2, "--scale-local: '0' is not a size; write 64KiB"),
        (["--mesh", "x=9223372036854775808", "--shape", "4", "--from", "x", "--to", "-"], 2,
         "--mesh: 'x=9223372036854775808' is not an axis; write x=2,y=4"),
        (["--mesh", "x=2", "--shape", "1e300", "--from", "x", "--to", "-"], 2,
         "--shape: '1e300' is not a dimension size; write 1024,4096"),
        (["--mesh", "x=2", "--shape", "4000000000,4000000000", "--from", "x,-", "--to", "-,-"], 2,
         "--shape: an array must have at most 9007199254740992 elements"),
        (["--cases", "missing.json"], 3, "missing.json"),
    ],
)
def test_invalid_flags_are_refused(
    weft: Weft, words: list[str], code: int, message: str
) -> None:
    done = weft("reshard", *words)
    assert done.returncode == code, done.stderr
    assert message in done.stderr


def test_plans_of_shared_cases_pass_the_independent_checker(weft: Weft, tmp_path: Path) -> None:
    checker, file = SHARED / "tools" / "reshard_check.py", SHARED / "reshard" / "cases.json"
    if not checker.exists() or not file.exists():
        pytest.skip("the folder with shared cases and their checker is not beside this checkout")
    sys.path.insert(0, str(checker.parent))
    import reshard_check  # type: ignore[import-not-found]

    plans = tmp_path / "plans.jsonl"
    done = weft("reshard", "--cases", file, "--plans", plans, "--message-cost", "2us")
    assert done.returncode == 0, done.stderr
    known = {case["id"]: case for case in json.loads(file.read_text())["cases"]}
    replayed = 0
    for plan in map(json.loads, plans.read_text().splitlines()):
        case = known[plan["id"]]
        if reshard_check.checkable(case) and case["facts"]["devices"] <= 64:
            assert reshard_check.replay(case, plan["rounds"]) is None, plan["id"]
            replayed += 1
    assert replayed > 500


def test_senders_are_balanced_over_all_arrays(weft: Weft, tmp_path: Path) -> None:
    mesh = {"axes": [["x", 4]]}
    to = {"axes": [["z", 1]], "devices": [7]}
    arrays = [
        {**CASE, "id": f"a{i}", "src": {"mesh": mesh, "dims": [[], []]},
         "dst": {"mesh": to, "dims": [[], []]}}
        for i in range(4)
    ]  # fmt: skip
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"cases": arrays}))
    found = json.loads(weft("reshard", "--cases", path, "--together", "--json").stdout)["together"]
    assert found["arrays"] == 4 and found["sent_total"] == 4 * 256
    assert (found["sent_max"], found["sent_max_apart"]) == (256, 4 * 256)
    done = weft("reshard", "--cases", path, "--together")
    assert "together  4 arrays" in done.stdout
    # A device that already has the arrays takes over the part of the one that does not.
    kept = json.loads(weft("reshard", "--cases", path, "--together", "--relabel", "--json").stdout)
    assert kept["together"]["sent_total"] == 0
    odd = {**arrays[0], "src": {"mesh": mesh, "dims": [[], []], "partial": {"x": "sum"}}}
    path.write_text(json.dumps({"cases": [odd]}))
    done = weft("reshard", "--cases", path, "--relabel")
    assert done.returncode == 2 and "summands" in done.stderr


def test_cast_elements_are_sent_in_the_smaller_type(weft: Weft) -> None:
    words = [*SMALL, "--link", "0us,25GB/s", "--json"]
    whole = json.loads(weft(*words).stdout)["cases"][0]
    half = json.loads(weft(*words, "--to-dtype", "bf16").stdout)["cases"][0]
    assert half["recv_max"] * 2 == whole["recv_max"] and half["peak"] == whole["peak"]
    assert (half["itemsize"], half["itemsize_from"], half["itemsize_to"]) == (2, 4, 2)
    done = weft(*SMALL, "--dtype", "c64", "--to-dtype", "f32")
    assert done.returncode == 2 and "imaginary" in done.stderr


def test_a_plan_in_a_file_is_replayed_and_refused_if_damaged(weft: Weft, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    made = weft(*SMALL, "--message-cost", "2us", "-o", path)
    assert made.returncode == 0, made.stderr
    again = weft("reshard", "--plan", path)
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[1:] == made.stdout.splitlines()[1:]
    copy = tmp_path / "copy.json"
    weft("reshard", "--plan", path, "-o", copy)
    assert copy.read_bytes() == path.read_bytes()
    plan = json.loads(path.read_text())
    plan["reshard"][0]["steps"].pop()
    path.write_text(json.dumps(plan))
    done = weft("reshard", "--plan", path)
    assert done.returncode == 3 and "plan.json" in done.stderr
    done = weft("replay", ROOT / "examples" / "resnet50-w4", "--plan", copy)
    assert done.returncode == 3 and "weft reshard --plan" in done.stderr


def test_no_plan_file_is_written_if_a_case_has_no_plan(weft: Weft, tmp_path: Path) -> None:
    side = {"mesh": {"axes": [["x", 2], ["y", 2]]}, "dims": [[]]}
    torn = {**side, "partial": {"x": "sum", "y": "min"}}
    cases = tmp_path / "cases.json"
    base = {"kind": "mesh", "dtype": "f32", "shape": [4], "split_rule": "ceil_flat", "dst": side}
    listed = [{**base, "id": "whole", "src": side}, {**base, "id": "torn", "src": torn}]
    cases.write_text(json.dumps({"cases": listed}))
    plan = tmp_path / "plan.json"
    assert weft("reshard", "--cases", cases).returncode == 0
    done = weft("reshard", "--cases", cases, "-o", plan)
    assert done.returncode == 1 and "torn" in done.stderr and not plan.exists()
    done = weft(*SMALL, "--cases", cases)
    assert done.returncode == 2 and "give one" in done.stderr


def test_a_dash_stands_for_the_dimensions_of_a_scalar(weft: Weft) -> None:
    done = weft("reshard", "--mesh", "x=4", "--shape", "-", "--from", "-", "--to", "-",
                "--from-partial", "x")  # fmt: skip
    assert done.returncode == 0 and "a scalar" in done.stdout, done.stderr


def test_a_note_says_that_times_are_scaled_and_bytes_are_not(weft: Weft, cases: Path) -> None:
    words = ["--scale-local", "64MiB"]
    line = "scaled    times are for parts of at most 67 MB per device; bytes are unscaled\n"
    assert line in weft(*SMALL, *words).stdout
    assert line in weft("reshard", "--cases", cases, "--all", *words).stdout
    assert "scaled" not in weft(*SMALL).stdout


def test_nodes_that_differ_in_size_are_reported(weft: Weft, cases: Path) -> None:
    uneven = ["--topology", "3,50GB/s"]
    assert "nodes     2, which differ in size: 1 to 3 devices\n" in weft(*SMALL, *uneven).stdout
    nodes = json.loads(weft(*SMALL, *uneven, "--json").stdout)["cases"][0]["nodes"]
    assert nodes == {"count": 2, "least": 1, "most": 3}
    assert "differ" not in weft(*SMALL, "--topology", "2,50GB/s").stdout
    text = weft("reshard", "--cases", cases, *uneven).stdout
    assert "nodes     differ in size in 1 of the problems\n" in text


def test_steps_that_move_nothing_say_so(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=2", "--shape", "8", "--to", "-", "--to-partial", "x"]
    assert "make_partial   nothing         -     -\n" in weft(*words, "--from", "x").stdout
    assert "nothing to do\n" in weft(*words, "--from", "-", "--from-partial", "x").stdout


def test_a_scalar_with_summands_is_described_by_their_axes(weft: Weft) -> None:
    words = ["reshard", "--mesh", "x=2", "--shape", "-", "--from", "-", "--to", "-"]
    assert "devices: partial x -> copies\n" in weft(*words, "--from-partial", "x").stdout


def test_partial_axes_of_size_one_keep_everything(weft: Weft, tmp_path: Path) -> None:
    plans = tmp_path / "plans.jsonl"
    words = ["reshard", "--mesh", "x=1,y=2", "--shape", "8", "--from", "y", "--plans", plans]
    assert weft(*words, "--to", "y", "--to-partial", "x").returncode == 0
    assert json.loads(plans.read_text())["keeps"] == [[0, [[0, 4]]], [1, [[4, 8]]]]


def test_a_file_that_is_not_a_case_file_is_refused(weft: Weft, tmp_path: Path) -> None:
    for text in ("# Notes\n", '{"steps": []}'):
        path = tmp_path / "notes.md"
        path.write_text(text)
        done = weft("reshard", "--cases", path)
        assert done.returncode == 3, done.stderr
        assert "not a case file: a case file is JSON with a list 'cases' of problems" in done.stderr
