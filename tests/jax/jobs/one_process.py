# SPDX-License-Identifier: Apache-2.0
"""Compares weft.jax.reshard on 8 CPU devices of one process with NumPy.

Usage: one_process.py CHECK, where CHECK is the name of a function of this file.
"""

from __future__ import annotations

import gc
import itertools
import random
import sys
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

import weft
import weft.jax
from weft.jax import on_devices, on_host


def numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """An array of random numbers, which are mostly distinct if the type has enough values."""
    most = 1 << 20 if np.dtype(dtype).itemsize > 2 else 100
    flat = np.random.default_rng(1).integers(0, most, shape)
    return (flat % 3 == 0) if dtype == np.bool_ else flat.astype(dtype)


def expect(result: Any, whole: Any, sharding: Any) -> None:
    assert result.sharding == sharding, (result.sharding, sharding)
    assert result.shape == whole.shape and result.dtype == whole.dtype
    places = sharding.devices_indices_map(whole.shape)
    assert {shard.device for shard in result.addressable_shards} == set(places)
    for shard in result.addressable_shards:
        want = whole[places[shard.device]]
        got = np.asarray(shard.data)
        assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), (sharding, shard.device)


def mesh(sizes: tuple[int, ...], order: Any = None) -> Mesh:
    devices = np.array(jax.devices())[: int(np.prod(sizes))]
    if order is not None:
        devices = np.array(jax.devices())[np.array(order)]
    return Mesh(devices.reshape(sizes), tuple("xyz"[: len(sizes)]))


def all_specs(axes: tuple[str, ...], rank: int) -> list[Any]:
    """All specs that assign some of the axes to the dimensions, in every order."""
    specs = set()
    for places in itertools.product(range(rank + 1), repeat=len(axes)):
        for order in itertools.permutations(axes):
            dims = [tuple(a for a in order if places[axes.index(a)] == dim) for dim in range(rank)]
            specs.add(tuple(dims))
    return [P(*(dim or None for dim in dims)) for dims in sorted(specs)]


def pairs() -> None:
    """All pairs of specs of a 2-dimensional array on a 4 x 2 mesh, and a random sample of pairs of
    a 3-dimensional array on a 2 x 2 x 2 mesh."""
    whole = numbers((16, 8))
    specs = all_specs(("x", "y"), 2)
    grid = mesh((4, 2))
    for a, b in itertools.product(specs, specs):
        source = jax.device_put(whole, NamedSharding(grid, a))
        target = NamedSharding(grid, b)
        expect(weft.jax.reshard(source, target), whole, target)
    whole = numbers((8, 16, 24))
    cube, specs = mesh((2, 2, 2)), all_specs(("x", "y", "z"), 3)
    for a, b in random.Random(2).sample(list(itertools.product(specs, specs)), 300):
        source = jax.device_put(whole, NamedSharding(cube, a))
        target = NamedSharding(cube, b)
        expect(weft.jax.reshard(source, target), whole, target)


def issues() -> None:
    """Cases in which XLA replicates the whole array on the way."""
    whole = numbers((16, 16, 16))
    grid = mesh((4, 2))
    for a, b in [(P("y", None, "x"), P(None, ("x", "y"), None)),
                 (P(None, ("x", "y"), None), P("y", None, "x"))]:  # fmt: skip
        source = jax.device_put(whole, NamedSharding(grid, a))
        expect(weft.jax.reshard(source, NamedSharding(grid, b)), whole, NamedSharding(grid, b))


def devices() -> None:
    """Moves to other meshes, other devices, other orders of devices and a single device. Some
    devices hold nothing."""
    whole = numbers((8, 16))
    shardings = [
        NamedSharding(mesh((4, 2)), P("x", "y")),
        NamedSharding(mesh((2, 4)), P("y", "x")),
        NamedSharding(mesh((2, 2, 2), [7, 6, 3, 2, 5, 4, 0, 1]), P(("z", "x"), "y")),
        NamedSharding(mesh((4,), [4, 5, 6, 7]), P("x")),
        NamedSharding(mesh((4,), [0, 1, 2, 3]), P(None, "x")),
        NamedSharding(mesh((2,), [3, 5]), P()),
        SingleDeviceSharding(jax.devices()[6]),
        jax.device_put(whole, NamedSharding(mesh((8,)), P("x"))).T.T.sharding,
    ]
    for a, b in itertools.product(shardings, shardings):
        expect(weft.jax.reshard(jax.device_put(whole, a), b), whole, b)
    moved = weft.jax.reshard(jax.device_put(whole, shardings[0]), jax.devices()[2])
    expect(moved, whole, SingleDeviceSharding(jax.devices()[2]))


def shapes() -> None:
    """Arrays without elements, without dimensions, and with odd shapes."""
    line = mesh((8,))
    for shape in [(), (0,), (8, 0), (16,), (1, 1, 8), (8, 3, 5, 2, 7)]:
        whole = numbers(shape)
        specs = [P()] + [P(*[None] * i, "x") for i, n in enumerate(shape) if n % 8 == 0]
        for a, b in itertools.product(specs, specs):
            source, target = NamedSharding(line, a), NamedSharding(line, b)
            expect(weft.jax.reshard(jax.device_put(whole, source), target), whole, target)


def dtypes() -> None:
    grid = mesh((4, 2))
    a, b = NamedSharding(grid, P("x", "y")), NamedSharding(grid, P(None, ("y", "x")))
    names = "float32 bfloat16 int8 complex64 bool float16 uint16 int32 float8_e4m3fn int4".split()
    for name in names:
        dtype = jax.numpy.dtype(name)
        whole = numbers((16, 24), np.int8 if name == "int4" else dtype)
        source = jax.device_put(whole, a).astype(dtype)
        expect(weft.jax.reshard(source, b), np.asarray(source), b)
    whole = numbers((16, 24))
    for name in ["bfloat16", "complex64", "int8"]:
        dtype = jax.numpy.dtype(name)
        source = jax.device_put(whole, a)
        want = np.asarray(source.astype(dtype))
        expect(weft.jax.reshard(source, b, dtype=name), want, b)
        assert not source.is_deleted()
        expect(weft.jax.reshard(source, b, dtype=name, donate=True), want, b)
        assert source.is_deleted()


def columns_first() -> None:
    """Arrays whose memory layout is not row-major."""
    from jax.experimental.layout import Format, Layout

    grid = mesh((4, 2))
    whole = numbers((16, 24))
    a, b = NamedSharding(grid, P("x", "y")), NamedSharding(grid, P("y", "x"))
    source = jax.jit(lambda: jax.numpy.asarray(whole), out_shardings=Format(Layout((1, 0)), a))()
    assert source.format.layout.major_to_minor == (1, 0)
    expect(weft.jax.reshard(source, b), whole, b)


def not_yet_there() -> None:
    """Arrays that JAX has not computed yet: its calls return before their work is done."""
    grid = mesh((4, 2))
    a, b = NamedSharding(grid, P("x", "y")), NamedSharding(grid, P("y", "x"))

    def rolled(x: Any) -> Any:
        return jax.lax.fori_loop(0, 200, lambda _, y: jax.numpy.roll(y, 1, 0), x)

    slow = jax.jit(rolled)
    whole = numbers((512, 512))
    for _ in range(3):
        expect(weft.jax.reshard(slow(jax.device_put(whole, a)), b), np.roll(whole, 200, 0), b)


def memory() -> None:
    """A result stays valid after its source is freed, and a source after its result. Both may be
    donated to a computation."""
    grid = mesh((4, 2))
    a, b = NamedSharding(grid, P("x", "y")), NamedSharding(grid, P("y", "x"))
    swapped = NamedSharding(mesh((4, 2), [1, 0, 2, 3, 4, 5, 6, 7]), P("x", "y"))
    whole = numbers((1024, 2048))
    overwrite = jax.jit(lambda x: x * 0 - 1, donate_argnums=0)
    for target in (b, swapped, a, NamedSharding(mesh((8,)), P("x"))):
        source = jax.device_put(whole, a) + 0
        result = weft.jax.reshard(source, target)
        if target == a:
            assert result is source
            continue
        jax.block_until_ready(overwrite(source))
        expect(result, whole, target)
        source = jax.device_put(whole, a) + 0
        result = weft.jax.reshard(source, target)
        jax.block_until_ready(overwrite(result))
        expect(source, whole, a)
        result = weft.jax.reshard(source, target, donate=True)
        assert source.is_deleted()
        del source
        gc.collect()
        rubbish = [jax.device_put(np.full_like(whole, 7), a) + 0 for _ in range(3)]
        jax.block_until_ready(rubbish)
        expect(result, whole, target)
    # Devices 2 to 7 keep their shards, which must not be copied.
    source = jax.device_put(whole, a)
    result = weft.jax.reshard(source, swapped)
    before = {s.device: s.data.unsafe_buffer_pointer() for s in source.addressable_shards}
    after = {s.device: s.data.unsafe_buffer_pointer() for s in result.addressable_shards}
    same = [device.id for device in after if before[device] == after[device]]
    assert same == [2, 3, 4, 5, 6, 7], same


def high_water_kb() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def peak() -> None:
    """A move uses no memory beside the source and the result."""
    grid = mesh((4, 2))
    a, b = NamedSharding(grid, P("y", None, "x")), NamedSharding(grid, P(None, ("x", "y"), None))
    source = jax.device_put(numbers((256, 512, 512)), a) + 0  # 256 MiB
    jax.block_until_ready(weft.jax.reshard(source[:16, :16, :16], b))
    gc.collect()
    try:
        with open("/proc/self/clear_refs", "w") as marks:
            marks.write("5")
    except OSError:
        print("skipped: the kernel does not reset the high-water mark")
        return
    before = high_water_kb()
    result = jax.block_until_ready(weft.jax.reshard(source, b))
    used = (high_water_kb() - before) << 10
    assert used < result.nbytes * 1.05 + (16 << 20), (used, result.nbytes)


def pieces() -> None:
    """Tests the implementation that uses JAX's own operations. Weft uses it on GPUs."""
    whole = numbers((8, 16, 24))
    cube, specs = mesh((2, 2, 2)), all_specs(("x", "y", "z"), 3)
    for a, b in random.Random(3).sample(list(itertools.product(specs, specs)), 6):
        source = jax.device_put(whole, NamedSharding(cube, a))
        target = NamedSharding(cube, b)
        expect(on_devices.move(source, target, 0, 1.0), whole, target)
    few = NamedSharding(mesh((2,), [3, 5]), P(None, None, "x"))
    expect(on_devices.move(source, few, 0, 1.0), whole, few)
    nothing = jax.device_put(numbers((8, 0)), NamedSharding(mesh((8,)), P("x")))
    target = NamedSharding(mesh((4, 2)), P("y"))
    expect(on_devices.move(nothing, target, 0, 1.0), numbers((8, 0)), target)


def refusals() -> None:
    grid = mesh((4, 2))
    a = NamedSharding(grid, P("x", "y"))
    source = jax.device_put(numbers((8, 8)), a)

    def refused(kind: Any, words: str, call: Any) -> None:
        try:
            call()
        except kind as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"not refused: {words}")

    refused(weft.UsageError, "jax.device_put makes one", lambda: weft.jax.reshard(numbers((8, 8)), a))
    refused(weft.UsageError, "with_sharding_constraint",
            lambda: jax.jit(lambda x: weft.jax.reshard(x, a))(source))  # fmt: skip
    refused(weft.UsageError, "key_data",
            lambda: weft.jax.reshard(jax.random.split(jax.random.key(0), 8), a))  # fmt: skip
    # A sharding that JAX does not allow raises JAX's own error.
    odd = jax.device_put(numbers((5, 3)), jax.devices()[0])
    refused(ValueError, "evenly", lambda: weft.jax.reshard(odd, a))


def checked() -> None:
    """A result whose parts do not fit its sharding is an error, and is never returned."""
    grid = mesh((4, 2))
    a, b = NamedSharding(grid, P("x", "y")), NamedSharding(grid, P("y", "x"))
    source = jax.device_put(numbers((8, 8)), a)
    usual = on_host.move
    on_host.move = lambda *given: usual(*given)[:, :4]
    try:
        weft.jax.reshard(source, b)
    except weft.InternalError as error:
        assert "the result has the parts" in str(error), error
    else:
        raise AssertionError("a wrong result was returned")
    finally:
        on_host.move = usual


def options() -> None:
    """The options have the same effect as those of jax.device_put."""
    grid = mesh((4, 2))
    a, b = NamedSharding(grid, P("x", "y")), NamedSharding(grid, P("y", "x"))
    swapped = NamedSharding(mesh((4, 2), [1, 0, 2, 3, 4, 5, 6, 7]), P("x", "y"))
    whole = numbers((512, 512))

    def addresses(array: Any) -> set[int]:
        return {shard.data.unsafe_buffer_pointer() for shard in array.addressable_shards}

    for target in (a, b, swapped, SingleDeviceSharding(jax.devices()[0])):
        source = jax.device_put(whole, a) + 0
        result = weft.jax.reshard(source, target, may_alias=False)
        expect(result, whole, target)
        assert not addresses(source) & addresses(result), target
        source = jax.device_put(whole, a) + 0
        result = weft.jax.reshard(source, target, donate=True)
        # JAX decides whether it donates an array that does not move.
        assert source.is_deleted() or target == a, target
        expect(result, whole, target)
        source = jax.device_put(whole, a) + 0
        try:
            weft.jax.reshard(source, target, donate=True, may_alias=True)
        except ValueError as error:
            assert str(error) == "may_alias and donate cannot be True at the same time."
        else:
            raise AssertionError("donate and may_alias together were accepted")
        with jax.transfer_guard("disallow"):
            moved = weft.jax.reshard(source, target)
        expect(moved, whole, target)
    uncommitted = jax.numpy.ones(4)
    result = weft.jax.reshard(uncommitted, uncommitted.sharding)
    assert result.committed and not uncommitted.committed


def cached() -> None:
    """Plans are kept for repeated shapes, up to a limit."""
    grid = mesh((4, 2))
    a, b = NamedSharding(grid, P("x", "y")), NamedSharding(grid, P("y", "x"))
    source = jax.device_put(numbers((8, 8)), a)
    before = on_host.route.cache_info()
    for _ in range(5):
        weft.jax.reshard(source, b)
    after = on_host.route.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 4)
    assert after.maxsize is not None


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("right")
