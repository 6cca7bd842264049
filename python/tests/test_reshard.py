# SPDX-License-Identifier: Apache-2.0
"""Makes plans and programs of redistributions, and runs them with NumPy and with the library."""

from __future__ import annotations

from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import weft
from weft import _core
from weft._core import ReshardEnd, ReshardPlan, ReshardProgram

Array = np.ndarray[Any, Any]
AXES = [("x", 2), ("y", 2)]


def on_mesh(*dims: list[str], partial: list[str] | None = None) -> ReshardEnd:
    return ReshardEnd.mesh(AXES, [], list(dims), partial or [])


def plan(shape: list[int], source: ReshardEnd, target: ReshardEnd, **more: Any) -> ReshardPlan:
    return _core.reshard_plan(shape, 4, "f32", source, target, **more)


def address(memory: Array) -> int:
    return int(memory.ctypes.data)


def post(programs: list[ReshardProgram], buffers: list[list[Array]]) -> None:
    """Run the programs of all devices as a transport would, one device after the other."""
    memory = [
        program.at([address(buffer) for buffer in buffers[device]])
        for device, program in enumerate(programs)
    ]
    for each in memory:
        each.fill_neutral()
    for turn in range(programs[0].turns):
        mail: dict[tuple[int, int], deque[Array]] = defaultdict(deque)
        for device, program in enumerate(programs):
            for number, (peer, size, buffer, offset) in enumerate(program.sends(turn)):
                message = np.empty(size, np.uint8)
                memory[device].pack(turn, number, address(message))
                if buffer >= 0:
                    lies = buffers[device][buffer].view(np.uint8)[offset : offset + size]
                    assert np.array_equal(message, lies)
                mail[device, peer].append(message)
        for device, program in enumerate(programs):
            memory[device].move(turn)
            for number, (peer, size, _, _) in enumerate(program.receives(turn)):
                message = mail[peer, device].popleft()
                assert len(message) == size
                memory[device].unpack(turn, number, address(message))
        assert not any(mail.values())


def room(program: ReshardProgram) -> list[Array]:
    return [np.full(size // 4, np.nan, np.float32) for size in program.buffers]


def programs_of(*plans: ReshardPlan, budget: int = 0) -> list[ReshardProgram]:
    return [_core.reshard_program(plans, device, budget) for device in plans[0].devices]


def test_a_plan_has_steps_bytes_and_time() -> None:
    made = plan([1024, 4096], on_mesh(["x", "y"], []), on_mesh([], ["x", "y"]))
    assert made.devices == [0, 1, 2, 3]
    assert made.steps == [("all_to_all", 3 << 20)]
    assert made.received == 3 << 20
    assert made.peak == 4 << 20
    # 10 us to start, plus the time of 3 MiB at 25 GB/s.
    assert made.time_us == pytest.approx(10 + 3 * 2**20 / 25e3)
    slower = plan(
        [1024, 4096], on_mesh(["x", "y"], []), on_mesh([], ["x", "y"]), link="10us,5GB/s"
    )
    assert slower.time_us == pytest.approx(10 + 3 * 2**20 / 5e3)


@pytest.mark.parametrize("budget", [0, 64, 10_000])
@pytest.mark.parametrize("whole_process", [False, True])
def test_shards_become_columns(budget: int, whole_process: bool) -> None:
    made = plan([6, 5], on_mesh(["x"], ["y"]), on_mesh([], ["x", "y"]))
    programs = programs_of(made, budget=budget)
    whole = np.arange(30, dtype=np.float32).reshape(6, 5)
    buffers = [room(program) for program in programs]
    for device, (row, column) in enumerate([(0, 0), (0, 3), (3, 0), (3, 3)]):
        buffers[device][0][:] = whole[row : row + 3, column : min(5, column + 3)].ravel()
    if whole_process:
        ends = [[address(buffer) for buffer in each[:-1]] for each in buffers]
        _core.reshard_run_all(programs, ends)
    else:
        post(programs, buffers)
    # torch divides 5 rows into 3 and 2, and then each of these in two.
    for device, (low, high) in enumerate([(0, 2), (2, 3), (3, 4), (4, 5)]):
        assert np.array_equal(buffers[device][1], whole[:, low:high].ravel())


def test_shared_memory_names_the_process_that_is_missing() -> None:
    programs = programs_of(plan([6, 5], on_mesh(["x"], ["y"]), on_mesh([], [])))
    whole = np.arange(30, dtype=np.float32).reshape(6, 5)
    buffers = [room(program) for program in programs]
    for device, (row, column) in enumerate([(0, 0), (0, 3), (3, 0), (3, 3)]):
        buffers[device][0][:] = whole[row : row + 3, column : min(5, column + 3)].ravel()
    first = _core.ReshardNeighbours.create(4)
    near = [first, *(_core.ReshardNeighbours.join(first.name, 4) for _ in range(3))]
    for number, neighbour in enumerate(near):
        neighbour.connect(number)
    with pytest.raises(weft.Unavailable):
        _core.ReshardNeighbours.join(first.name, 4)

    def run(device: int, timeout: float) -> int:
        ends = [address(buffer) for buffer in buffers[device][:-1]]
        return near[device].run(programs[device], ends, timeout)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda device: run(device, 30.0), range(4)))
    for each in buffers:
        assert np.array_equal(each[1], whole.ravel())
    with pytest.raises(weft.PeerFailed, match="device"):
        run(0, 0.2)
    with pytest.raises(weft.PeerFailed, match="device 0 gave up"):
        run(1, 30.0)


def test_addends_are_added_up_and_made() -> None:
    whole = np.arange(8, dtype=np.float32)
    made = plan([8], on_mesh([], partial=["x", "y"]), on_mesh(["y"]), reduction="sum")
    programs = programs_of(made)
    buffers = [room(program) for program in programs]
    for device in range(4):
        buffers[device][0][:] = whole * (device + 1)
    post(programs, buffers)
    for device in range(4):
        assert np.array_equal(buffers[device][1], whole[device % 2 * 4 :][:4] * 10)

    back = plan([8], on_mesh(["x", "y"]), on_mesh([], partial=["x", "y"]), reduction="max")
    programs = programs_of(back)
    buffers = [room(program) for program in programs]
    for device in range(4):
        buffers[device][0][:] = whole[2 * device : 2 * device + 2]
    post(programs, buffers)
    assert np.array_equal(np.max([each[1] for each in buffers], axis=0), whole)


def test_parts_may_be_several_and_have_strips() -> None:
    """Rank 0 has two parts, rank 7 every other column of the rest. All of it goes to rank 2."""
    source = ReshardEnd.parts(
        {
            0: [[[(0, 1)], [(0, 4)]], [[(1, 4)], [(0, 1), (2, 3)]]],
            7: [[[(1, 4)], [(1, 2), (3, 4)]]],
        }
    )
    target = ReshardEnd.parts({2: [[[(0, 4)], [(0, 4)]]]})
    made = plan([4, 4], source, target)
    assert made.devices == [0, 2, 7]
    programs = programs_of(made)
    buffers = [room(program) for program in programs]
    whole = np.arange(16, dtype=np.float32).reshape(4, 4)
    buffers[0][0][:] = np.concatenate([whole[0], whole[1:, [0, 2]].ravel()])
    buffers[2][0][:] = whole[1:, [1, 3]].ravel()
    ends = [[address(buffer) for buffer in each[:-1]] for each in buffers]
    _core.reshard_run_all(programs, ends)
    assert np.array_equal(buffers[1][1], whole.ravel())


def test_several_arrays_move_in_one_program() -> None:
    plans = [
        plan([4, 4], on_mesh(["x"], []), on_mesh([], ["x"])),
        plan([8], on_mesh(["y"]), on_mesh([])),
        plan([3], ReshardEnd.parts({1: [[[(0, 3)]]]}), on_mesh([]), others=[0, 2, 3]),
    ]
    programs = programs_of(*plans)
    assert len({program.fingerprint for program in programs}) == 1
    assert programs[0].fingerprint != programs_of(plans[1])[0].fingerprint
    first = np.arange(16, dtype=np.float32).reshape(4, 4)
    second = np.arange(8, dtype=np.float32) + 100
    third = np.arange(3, dtype=np.float32) + 200
    buffers = [room(program) for program in programs]
    for device in range(4):
        x, y = divmod(device, 2)
        buffers[device][0][:] = first[2 * x : 2 * x + 2].ravel()
        buffers[device][2][:] = second[4 * y : 4 * y + 4]
    buffers[1][4][:] = third
    post(programs, buffers)
    for device in range(4):
        x = device // 2
        assert np.array_equal(buffers[device][1], first[:, 2 * x : 2 * x + 2].ravel())
        assert np.array_equal(buffers[device][3], second)
        assert np.array_equal(buffers[device][5], third)


@pytest.mark.parametrize(
    "work, error",
    [
        (lambda: plan([4], on_mesh(["z"]), on_mesh([])), weft.BadInput),
        (lambda: plan([4], on_mesh(["x"], []), on_mesh([])), weft.BadInput),
        (lambda: plan([4], on_mesh([]), on_mesh([]), rule="odd"), weft.UsageError),
        (lambda: plan([4], on_mesh([]), on_mesh([]), link="fast"), weft.WeftError),
        (lambda: plan([4], ReshardEnd.parts({0: [[[(0, 9)]]]}), on_mesh([])), weft.BadInput),
        (lambda: plan([4], ReshardEnd.parts({0: [[[(0, 2)]]]}), on_mesh([])), weft.Infeasible),
        (lambda: _core.reshard_program([], 0), weft.UsageError),
        (
            lambda: _core.reshard_program([plan([4], on_mesh(["x"]), on_mesh([]))], 9),
            weft.UsageError,
        ),
        (
            lambda: _core.reshard_program([plan([4], on_mesh(["x"]), on_mesh(["y"]))], 1, 1),
            weft.Infeasible,
        ),
    ],
)
def test_impossible_requests_are_refused(work: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        work()


def test_missing_buffers_are_refused() -> None:
    program = programs_of(plan([4], on_mesh(["x"]), on_mesh([])))[0]
    with pytest.raises(weft.UsageError, match="needs the addresses of 3 buffers, not of 1"):
        program.at([0])
    with pytest.raises(weft.UsageError, match="but its address is 0"):
        program.at([0, 0, 0])
    with pytest.raises(weft.UsageError, match="there is no turn 5, only"):
        program.sends(5)


def test_a_missing_kernel_library_is_named() -> None:
    with pytest.raises(weft.Unavailable, match=r"libweft-cuda\.so"):
        _core.reshard_kernels("/nowhere/libweft-cuda.so")


def test_devices_that_find_the_same_collectives_have_the_same_number() -> None:
    gather = plan([8, 8], on_mesh(["x", "y"], []), on_mesh([], []), direct=True)
    numbers = {
        _core.reshard_collectives(_core.reshard_program([gather], device)) for device in range(4)
    }
    assert len(numbers) == 1
