# SPDX-License-Identifier: Apache-2.0
"""Which task of the cluster this process is, as TF_CONFIG tells it."""

from __future__ import annotations

import json
import os
from typing import Dict, List, NamedTuple, Optional


class Task(NamedTuple):
    kind: str
    """chief, worker, ps, evaluator; empty without TF_CONFIG."""
    number: int
    workers: int
    servers: int
    chiefs: int

    @property
    def trains(self) -> bool:
        """Runs the training script's steps itself, rather than on behalf of a coordinator."""
        return not self.is_server and not self.coordinates

    @property
    def is_server(self) -> bool:
        """Does what a coordinator tells it."""
        return self.servers > 0 and self.kind in ("ps", "worker")

    @property
    def coordinates(self) -> bool:
        return self.servers > 0 and self.kind == "chief"

    @property
    def rank(self) -> int:
        """Among those that compute. -1 for those that do not: parameter servers, coordinators."""
        if self.kind == "worker":
            return self.number + (0 if self.servers else self.chiefs)
        return 0 if self.kind in ("", "chief") and not self.servers else -1

    @property
    def world(self) -> int:
        return max(1, self.workers + (0 if self.servers else self.chiefs))

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        if self.rank >= 0:
            return f"r{self.rank}"
        return f"server{self.number}" if self.kind == "ps" else self.kind


def own_task() -> Optional[Task]:
    """None without TF_CONFIG."""
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
