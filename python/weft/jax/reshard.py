# SPDX-License-Identifier: Apache-2.0
"""Moves a jax.Array to another sharding.

Like weft.jax.record this is imported where a job is recorded, by any Python and without the compiled
part of Weft: all of that is imported on the first call.
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
) -> Any:
    """The same array with just that sharding, which may be one over other devices.

    array: a jax.Array; of a multi-process job, all processes that have devices on either side call
      this, in the same order.
    sharding: any jax.sharding.Sharding that JAX allows for the shape, or a device.
    budget: bytes that a device may use beside both arrays; None: as many as are of use. Between
      devices of one process nothing is used.
    donate: the memory of `array` is given up, as by jax.jit with donate_argnums: it cannot be used
      any more.
    timeout: seconds to wait for other processes, 300 unless told. PeerFailed where one does not come
      or is lost, and from then on whenever those processes are to work together.
    dtype: the type that the elements shall have; they are cast before they move if that makes them
      smaller, else behind.

    Waits until the array is there, and returns when the result is.
    """
    import jax

    from ..errors import UsageError
    from . import on_devices, on_host

    if isinstance(array, jax.core.Tracer):
        raise UsageError(
            "weft.jax.reshard moves arrays that are there: under jax.jit use "
            "jax.lax.with_sharding_constraint, or reshard outside"
        )
    if not isinstance(array, jax.Array):
        raise UsageError(f"a jax.Array is needed, not {type(array).__name__}: jax.device_put makes one")
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):
        raise UsageError(f"elements of {array.dtype} cannot be moved: for keys use jax.random.key_data")
    if isinstance(sharding, jax.Device):
        sharding = jax.sharding.SingleDeviceSharding(sharding)
    if dtype is not None and jax.dtypes.canonicalize_dtype(dtype) != array.dtype:
        return _cast(array, sharding, dtype, budget, donate, timeout)
    if sharding == array.sharding:
        return array
    devices = array.sharding.device_set | sharding.device_set
    way = on_host if all(device.platform == "cpu" for device in devices) else on_devices
    moved = way.move(array, sharding, budget or 0, TIMEOUT_S if timeout is None else timeout)
    if donate:
        array.delete()
    return moved


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
