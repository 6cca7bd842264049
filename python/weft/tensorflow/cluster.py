# SPDX-License-Identifier: Apache-2.0
"""Reads from TF_CONFIG which task of the cluster this process is."""

from __future__ import annotations

import json
import os
from typing import Dict, List, NamedTuple, Optional


class Task(NamedTuple):
    kind: str
    """"chief", "worker", "ps" or "evaluator"; empty if TF_CONFIG names no task."""
    number: int
    workers: int
    servers: int
    chiefs: int

    @property
    def trains(self) -> bool:
        """Whether the process runs the steps of the training script itself, rather than functions
        that a coordinator sends to it."""
        return not self.is_server and not self.coordinates

    @property
    def is_server(self) -> bool:
        """Whether a coordinator sends functions to this process, which it runs. Such a process is a
        parameter server, or a worker of a cluster that has parameter servers."""
        return self.servers > 0 and self.kind in ("ps", "worker")

    @property
    def coordinates(self) -> bool:
        return self.servers > 0 and self.kind == "chief"

    @property
    def rank(self) -> int:
        """Rank among the processes that compute. -1 for parameter servers, coordinators and
        evaluators, which do not train."""
        if self.kind == "worker":
            return self.number + (0 if self.servers else self.chiefs)
        return 0 if self.kind in ("", "chief") and not self.servers else -1

    @property
    def world(self) -> int:
        return max(1, self.workers + (0 if self.servers else self.chiefs))

    @property
    def stem(self) -> str:
        """The prefix of the names of this process's files."""
        if self.rank >= 0:
            return f"r{self.rank}"
        return f"server{self.number}" if self.kind == "ps" else self.kind


def own_task() -> Optional[Task]:
    """The task of this process; None if TF_CONFIG is missing or is not JSON."""
    try:
        config = json.loads(os.environ["TF_CONFIG"])
    except (KeyError, ValueError):
        return None
    cluster: Dict[str, List[str]] = config.get("cluster") or {}
    task = config.get("task") or {}
    return Task(
        str(task.get("type", "")),
        int(task.get("index", 0)),
        len(cluster.get("worker", [])),
        len(cluster.get("ps", [])),
        len(cluster.get("chief", [])),
    )
