# SPDX-License-Identifier: Apache-2.0
"""Moves a jax.Array to another sharding.

The hook that records JAX jobs (weft.jax.record) is in the same package, so recording a job imports
this module too. It must then work in any version of Python and without Weft's compiled part. So JAX
and the compiled part are imported only on the first call of reshard().
"""

from __future__ import annotations

from typing import Any, Optional

TIMEOUT_S = 300.0


def reshard(
    array: Any,
    sharding: Any,
    *,
    budget: Optional[int] = None,
    donate: bool = False,
    timeout: Optional[float] = None,
    dtype: Any = None,
    may_alias: Optional[bool] = None,
) -> Any:
    """Return the array with another sharding, which may use other devices.

    array: a jax.Array. In a job of several processes, all processes that have devices of the old or
      the new sharding must call this function, in the same order.
    sharding: any jax.sharding.Sharding that JAX allows for the shape, or a device.
    budget: the most bytes of memory that a device may use in addition to the old and the new array;
      None: no limit. A move within one process uses no additional memory.
    donate: give up the memory of `array`, like jax.jit with donate_argnums. The array cannot be
      used afterwards.
    timeout: seconds to wait for other processes; default: 300. If a process does not answer or is
      lost, the call raises PeerFailed, and so does every later call that needs the same processes.
    dtype: element type of the result. Elements are cast before the move if that makes them smaller,
      otherwise after it.
    may_alias: False: the result shares no memory with `array`, also where nothing moves. True and
      None: it may share memory. True cannot be combined with `donate`, as in jax.device_put.

    The call waits until `array` is computed, and returns when the result is complete.
    """
    import jax

    from ..errors import UsageError
    from . import layouts, on_devices, on_host

    if isinstance(array, jax.core.Tracer):
        raise UsageError(
            "weft.jax.reshard cannot be traced: inside jax.jit use "
            "jax.lax.with_sharding_constraint, or call reshard outside of jax.jit"
        )
    if not isinstance(array, jax.Array):
        raise UsageError(
            f"weft.jax.reshard needs a jax.Array, not {type(array).__name__}; "
            "jax.device_put makes one"
        )
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):
        raise UsageError(
            f"elements of type {array.dtype} cannot be moved; for random keys, move "
            "jax.random.key_data(array) instead"
        )
    if isinstance(sharding, jax.Device):
        sharding = jax.sharding.SingleDeviceSharding(sharding)
    if may_alias and donate:
        raise ValueError("may_alias and donate cannot be True at the same time.")
    if dtype is not None and jax.dtypes.canonicalize_dtype(dtype) != array.dtype:
        return _cast(array, sharding, dtype, budget, donate, timeout)
    # JAX itself handles donation and copies if nothing moves. It also moves the array if the user
    # guards transfers to the host: Weft copies elements of CPU devices on the host.
    both_here = array.is_fully_addressable and sharding.is_fully_addressable
    if sharding == array.sharding or (both_here and _transfers_are_guarded()):
        return jax.device_put(array, sharding, donate=donate, may_alias=may_alias)
    devices = array.sharding.device_set | sharding.device_set
    mover = on_host if all(device.platform == "cpu" for device in devices) else on_devices
    wait = TIMEOUT_S if timeout is None else timeout
    moved = mover.move(array, sharding, budget or 0, wait, may_alias is not False)
    layouts.check_parts(moved, array, sharding)
    if donate:
        array.delete()
    return moved


def _transfers_are_guarded() -> bool:
    """Whether the user has set jax.transfer_guard() for the current thread or the job."""
    import jax

    names = ("device_to_host", "host_to_device", "device_to_device")
    guards = (getattr(jax.config, f"jax_transfer_guard_{name}", None) for name in names)
    return any(guard not in (None, "allow") for guard in guards)


def _cast(array: Any, sharding: Any, dtype: Any, budget: Any, donate: bool, timeout: Any) -> Any:
    import jax

    wanted = jax.numpy.dtype(jax.dtypes.canonicalize_dtype(dtype))
    as_wanted = jax.jit(lambda array: array.astype(wanted))
    options = {"budget": budget, "timeout": timeout}
    if wanted.itemsize >= array.dtype.itemsize:
        return as_wanted(reshard(array, sharding, donate=donate, **options))
    smaller = as_wanted(array)
    if donate:
        array.delete()
    return reshard(smaller, sharding, donate=True, **options)
