# SPDX-License-Identifier: Apache-2.0
"""Connects the processes of a JAX job, so that they can send data to each other.

JAX has no function that sends data to one particular process. So the processes use Weft's TCP
transport. They exchange their addresses through the key-value store that jax.distributed starts.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Any, Dict, List, Sequence, Tuple

import jax

from .. import _core
from ..errors import PeerFailed, Unavailable

PREFIX = "weft/reshard"


def _job() -> Any:
    """JAX's global state of the job: the client of the key-value
    store and the coordinator's address."""
    from jax._src import distributed

    if distributed.global_state.client is None:
        raise Unavailable(
            "an array over several processes can be moved only if each of them has called "
            "jax.distributed.initialize()"
        )
    return distributed.global_state


def _host(job: Any) -> str:
    """The address at which the other processes can reach this machine. This is the address of the
    network interface that leads to the coordinator."""
    name, _, port = job.coordinator_address.rpartition(":")
    family, kind, protocol, _, place = socket.getaddrinfo(
        name.strip("[]"), int(port), type=socket.SOCK_DGRAM
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(place)  # on a UDP socket this sends nothing; it only chooses the interface
        return str(probe.getsockname()[0])


def _awaited(job: Any, key: str, who: str, end: float, timeout: float) -> str:
    """Wait for the value that another process puts into the store. The wait consists of waits of at
    most one second each, so that Ctrl-C can interrupt it."""
    while True:
        left = end - time.monotonic()
        try:
            wait_ms = max(1, int(min(left, 1.0) * 1000))
            return str(job.client.blocking_key_value_get(key, wait_ms))
        except jax.errors.JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error) or left <= 1.0:
                raise PeerFailed(f"{who} did not connect within {timeout:g} s") from error


class Peers:
    """Connections between the processes of a given set. After one of these processes has failed,
    every later use raises the same PeerFailed."""

    def __init__(self, processes: Tuple[int, ...]) -> None:
        self._processes = processes
        self._lock = threading.Lock()
        self._endpoint: Any = None
        self._failure: Any = None

    def run(self, program: Any, addresses: Sequence[int], timeout: float) -> int:
        """Run a ReshardProcess. Returns the most bytes of staging memory in use at any time."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            try:
                if self._endpoint is None:
                    self._endpoint = self._connect(timeout)
                return int(self._endpoint.run(program, addresses, timeout))
            except BaseException as error:
                self._failure = error if isinstance(error, PeerFailed) else self._failure
                raise

    def _connect(self, timeout: float) -> Any:
        job = _job()
        end = time.monotonic() + timeout
        endpoint = _core.ReshardPeers(_host(job))
        folder = f"{PREFIX}/{'-'.join(map(str, self._processes))}"
        job.client.key_value_set(f"{folder}/{jax.process_index()}", endpoint.address)
        addresses = [
            _awaited(job, f"{folder}/{process}", f"process {process}", end, timeout)
            for process in self._processes
        ]
        number = self._processes.index(jax.process_index())
        endpoint.connect(number, addresses, max(0.001, end - time.monotonic()))
        return endpoint


_known: Dict[Tuple[int, ...], Peers] = {}
_known_in: List[Any] = [None]
_lock = threading.Lock()


def peers_of(processes: Tuple[int, ...]) -> Peers:
    """The connections between these processes. They are made again if the job calls
    jax.distributed.shutdown() and then jax.distributed.initialize()."""
    client = _job().client
    with _lock:
        if _known_in[0] is not client:
            _known.clear()
            _known_in[0] = client
        return _known.setdefault(processes, Peers(processes))
