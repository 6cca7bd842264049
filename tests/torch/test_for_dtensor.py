# SPDX-License-Identifier: Apache-2.0
"""Tests weft.torch.use_for_dtensor with gloo ranks over loopback."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.frameworks import python_of, weft_alone
from tests.conftest import ROOT, clean_environment
from tests.torch.ranks import PATIENCE_S, Outcomes, names_in, outcomes_of


@pytest.fixture(scope="module")
def comparisons(
    tmp_path_factory: pytest.TempPathFactory, transport: dict[str, str]
) -> Iterator[Outcomes]:
    folder = tmp_path_factory.mktemp("dtensor")
    with outcomes_of("dtensor_cases", folder, last_rank=transport) as outcomes:
        yield outcomes


@pytest.mark.parametrize("name", names_in("dtensor_cases"))
def test_dtensor_gives_the_same_with_weft(comparisons: Outcomes, name: str) -> None:
    assert comparisons.failure(name) == ""


TORCH_TESTS = """
import unittest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, _redistribute, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode


class SomeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        store = dist.HashStore()
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)

    def test_values(self):
        mesh = init_device_mesh("cpu", (1,))
        array = distribute_tensor(torch.arange(6.0), mesh, [Shard(0)])
        self.assertEqual(array.full_tensor().tolist(), list(range(6)))

    def test_that_fails_without_weft(self):
        self.fail("always")

    def test_counts(self):
        mesh = init_device_mesh("cpu", (1,))
        array = distribute_tensor(torch.arange(6.0), mesh, [Shard(0)])
        with CommDebugMode():
            array.redistribute(mesh, [Replicate()])
        self.assertNotIn("weft/torch/", _redistribute.redistribute_local_tensor.__code__.co_filename)

    def test_that_weft_breaks(self):
        self.assertNotIn("weft/torch/", _redistribute.redistribute_local_tensor.__code__.co_filename)


if __name__ == "__main__":
    unittest.main()
"""


def test_the_runner_of_torch_tests_names_what_differs(tmp_path: Path) -> None:
    file = tmp_path / "test_some.py"
    file.write_text(TORCH_TESTS)
    done = subprocess.run(
        [python_of("torch"), ROOT / "tools" / "dtensor_tests.py", file],
        capture_output=True, text=True, timeout=PATIENCE_S,
        env=clean_environment(PYTHONPATH=str(weft_alone(tmp_path / "path"))),
    )  # fmt: skip
    assert done.stdout == (
        "test_some.py: 4 tests, 3 pass without Weft, 1 of these with Weft\n"
        "  counts collectives or looks at operators: SomeTest.test_counts\n"
        "  FAIL: SomeTest.test_that_weft_breaks\n"
    ), done.stdout + done.stderr
    assert done.returncode == 1
