# SPDX-License-Identifier: Apache-2.0
"""Compares weft.jax.reshard between several processes with NumPy.

Usage: processes.py CHECK DEVICES, where CHECK is the name of a function of this file. Each process
has DEVICES devices. RANK, WORLD_SIZE and MASTER_PORT say which process this is.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import time
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

import weft
import weft.jax
from weft.jax import on_host

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    most = 1 << 20 if np.dtype(dtype).itemsize > 2 else 100
    flat = np.random.default_rng(1).integers(0, most, shape)
    return (flat % 3 == 0) if dtype == np.bool_ else flat.astype(dtype)


def put(whole: Any, sharding: Any) -> Any:
    """A distributed array, made without communication because every process has the whole array."""
    parts = [
        jax.device_put(whole[index], device)
        for device, index in sharding.addressable_devices_indices_map(whole.shape).items()
    ]
    return jax.make_array_from_single_device_arrays(whole.shape, sharding, parts, dtype=whole.dtype)


def expect(result: Any, whole: Any, sharding: Any) -> None:
    assert result.sharding == sharding and result.dtype == whole.dtype
    places = sharding.addressable_devices_indices_map(whole.shape)
    assert {shard.device for shard in result.addressable_shards} == set(places)
    for shard in result.addressable_shards:
        got, want = np.asarray(shard.data), whole[places[shard.device]]
        assert got.tobytes() == want.tobytes(), (sharding, shard.device)


def line(devices: list[Any] | None = None) -> Mesh:
    return Mesh(np.array(devices or jax.devices()), ("x",))


def pairs() -> None:
    """Random pairs of shardings on meshes of all devices in two
    orders, with and without a budget."""
    devices = np.array(jax.devices())
    grids = [Mesh(devices.reshape(2, -1), ("x", "y")), Mesh(devices[::-1].reshape(-1, 2), ("x", "y"))]
    dims: list[Any] = [None, "x", "y", ("x", "y"), ("y", "x")]
    specs = [P(a, b) for a, b in itertools.product(dims, dims) if not _shares(a, b)]
    shardings = [NamedSharding(grid, spec) for grid in grids for spec in specs]
    shapes = [(16, 24), (64, 1000)]
    chosen = random.Random(5).sample(list(itertools.product(shardings, shardings)), 60)
    for i, (a, b) in enumerate(chosen):
        whole = numbers(shapes[i % 2])
        budget = (None, 4096, 1 << 20)[i % 3]
        expect(weft.jax.reshard(put(whole, a), b, budget=budget, timeout=60), whole, b)


def _shares(a: Any, b: Any) -> bool:
    return bool(set(a or ()) & set(b or ()))


def large() -> None:
    """Arrays of several megabytes, with long and short contiguous runs."""
    whole = numbers((1024, 2048))
    shardings = [NamedSharding(line(), P("x")), NamedSharding(line(), P(None, "x")), NamedSharding(line(), P())]
    for a, b in itertools.product(shardings, shardings):
        expect(weft.jax.reshard(put(whole, a), b, timeout=60), whole, b)


def devices() -> None:
    """Moves from some processes to others, and to one device. Processes without a device of either
    sharding take part with an array that has no local shards."""
    whole = numbers((48, 24))
    first, rest = jax.devices()[: len(jax.devices()) // 2], jax.devices()[len(jax.devices()) // 2 :]
    shardings = [
        NamedSharding(line(first), P("x")),
        NamedSharding(line(rest), P(None, "x")),
        NamedSharding(line(), P("x")),
        SingleDeviceSharding(jax.devices()[-1]),
        NamedSharding(line([rest[0], first[0]]), P("x")),
    ]
    for a, b in itertools.product(shardings, shardings):
        expect(weft.jax.reshard(put(whole, a), b, timeout=60), whole, b)


def dtypes() -> None:
    a, b = NamedSharding(line(), P("x")), NamedSharding(line(), P(None, "x"))
    for name in ("float32", "bfloat16", "int8", "complex64", "bool"):
        whole = numbers((16, 24), jax.numpy.dtype(name))
        expect(weft.jax.reshard(put(whole, a), b, timeout=60), whole, b)
    whole = numbers((48, 24))
    cast = whole.astype(jax.numpy.bfloat16)
    source = put(whole, a)
    expect(weft.jax.reshard(source, b, dtype="bfloat16", donate=True, timeout=60), cast, b)
    assert source.is_deleted()


def with_jax() -> None:
    """A result can be the input of a computation over all processes."""
    a, b = NamedSharding(line(), P("x")), NamedSharding(line(), P(None, "x"))
    whole = numbers((48, 24), np.dtype(np.int32))
    moved = weft.jax.reshard(put(whole, a), b, timeout=60)
    total = jax.jit(lambda x: x.sum(0), out_shardings=NamedSharding(line(), P()))(moved)
    expect(total, whole.sum(0, dtype=whole.dtype), NamedSharding(line(), P()))


def mixed_up() -> None:
    """Processes that ask for different target shardings raise PeerFailed."""
    a, b = NamedSharding(line(), P("x")), NamedSharding(line(), P(None, "x"))
    target = b if RANK == 0 else NamedSharding(line(), P())
    start = time.monotonic()
    try:
        weft.jax.reshard(put(numbers((48, 24)), a), target, timeout=20)
    except weft.PeerFailed as error:
        assert "process" in str(error)
    else:
        raise AssertionError("nobody noticed")
    assert time.monotonic() - start < 20
    # Every later call fails at once.
    try:
        weft.jax.reshard(put(numbers((48, 24)), a), b, timeout=20)
    except weft.PeerFailed:
        return
    raise AssertionError("used again")


def lost() -> None:
    """The last process dies between two calls. All others notice within the timeout."""
    a, b = NamedSharding(line(), P("x")), NamedSharding(line(), P(None, "x"))
    whole = numbers((384, 768))
    expect(weft.jax.reshard(put(whole, a), b, timeout=60), whole, b)
    if RANK == WORLD - 1:
        print("leaves", flush=True)
        os.kill(os.getpid(), 9)
    start = time.monotonic()
    try:
        while True:
            weft.jax.reshard(put(whole, a), b, timeout=5)
    except weft.PeerFailed as error:
        print(f"survived: {error}", flush=True)
    assert time.monotonic() - start < 20
    _leave()


def silent() -> None:
    """The last process stays alive but makes no further call."""
    a, b = NamedSharding(line(), P("x")), NamedSharding(line(), P(None, "x"))
    whole = numbers((384, 768))
    expect(weft.jax.reshard(put(whole, a), b, timeout=60), whole, b)
    if RANK == WORLD - 1:
        time.sleep(30)
        _leave()
    start = time.monotonic()
    try:
        weft.jax.reshard(put(whole, a), b, timeout=2)
    except weft.PeerFailed as error:
        assert "sent nothing for" in str(error) or "given up" in str(error), error
        print(f"survived: {error}", flush=True)
    assert 1 < time.monotonic() - start < 20
    _leave()


def absent() -> None:
    """The last process never makes the first call."""
    a, b = NamedSharding(line(), P("x")), NamedSharding(line(), P(None, "x"))
    if RANK != WORLD - 1:
        try:
            weft.jax.reshard(put(numbers((48, 24)), a), b, timeout=2)
        except weft.PeerFailed as error:
            assert f"process {WORLD - 1}" in str(error), error
        else:
            raise AssertionError(f"process {WORLD - 1} made no call, but nobody noticed")
    time.sleep(4)
    _leave()


def _leave() -> None:
    """End without JAX's shutdown, which would wait for processes that are gone."""
    print("right", flush=True)
    os._exit(0)


def main() -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{os.environ['MASTER_PORT']}", WORLD, RANK)
    globals()[sys.argv[1]]()
    print("right", flush=True)
    print(f"plans kept: {on_host.route.cache_info().currsize}")


if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={sys.argv[2]}"
    main()
