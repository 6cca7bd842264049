#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the results of the kernel that packs and unpacks, and compares its speed with a device
copy.

`check` copies and combines random regions of random arrays and compares with numpy. `measure` packs
an array into messages, or unpacks it from them, with all boxes in one launch. Messages are strips
of the innermost dimension, `run` bytes wide. Together they cover the array. For arrays of rank 3
and 4, outer dimensions are cut in two as well. With `even`, the length of a row is a multiple of 16
bytes. With `odd`, rows are one element longer, so that data is aligned only to single elements.

usage: reshard_pack.py check LIBRARY          random regions
       reshard_pack.py measure LIBRARY [JSON] prints a table; writes all figures as JSON
"""
import ctypes
import json
import math
import random
import statistics
import struct
import sys

import numpy as np
import torch
from weft_cuda import COPY, NOTHING, Library, Plan

RUNS = [64, 128, 256, 1024, 4096, 16384, 65536]
ELEMENTS = [1, 2, 4, 8, 16]
RANKS = [1, 2, 3, 4]
PAYLOAD = 256 << 20
STRIPS = 8
BAR = 0.8
SUMS = [1, 3, 7]


def strides_of(shape, element):
    strides, inside = [], element
    for extent in reversed(shape):
        strides.insert(0, inside)
        inside *= extent
    return strides


def packing(element, run, rank, odd):
    """Returns the sizes of the array and of the messages, and a list of boxes. A box has its offset
    in the array, its offset in the messages, and its loops."""
    outer = {1: [], 2: [], 3: [2], 4: [2, 2]}[rank]
    columns = STRIPS * run // element + odd
    rows = PAYLOAD // (STRIPS * run)
    for extent in outer:
        rows //= extent
    # For ranks 3 and 4 the middle dimensions have 8 elements; a box takes half of each.
    middle = [8] * len(outer)
    shape = [max(1, rows // math.prod([4] * len(outer))), *middle, columns]
    strides = strides_of(shape, element)
    boxes, at = [], 0
    halves = [[]]
    for extent in middle:
        halves = [[*half, (low, extent // 2)] for half in halves for low in (0, extent // 2)]
    for strip in range(STRIPS):
        for half in halves:
            extents = [shape[0], *[count for _, count in half], run // element]
            offset = strip * run + sum(low * stride for (low, _), stride in zip(half, strides[1:]))
            loops = [
                (extent, stride, dense)
                for extent, stride, dense in zip(extents, strides, strides_of(extents, element))
            ]
            boxes.append((offset, at, loops))
            at += math.prod(extents) * element
    return math.prod(shape) * element, at, boxes


def seconds(*actions, repeats=7, at_once=5):
    """The median time of each action. They alternate, so a slower device affects them all."""
    times = [[] for _ in actions]
    for repeat in range(repeats + 1):
        for action, taken in zip(actions, times):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(at_once):
                action()
            end.record()
            end.synchronize()
            if repeat > 0:
                taken.append(begin.elapsed_time(end) / 1e3 / at_once)
    return [statistics.median(taken) for taken in times]


def copying(whole, other):
    """A plain copy on the device, with which all other figures are compared."""
    return lambda: other[:PAYLOAD].copy_(whole[:PAYLOAD])


def measure_sums(library, whole, other):
    """Measures sums of several addends. Each addend and the sum are contiguous boxes of 64 MiB."""
    size = 64 << 20
    print("sums: bytes read and written per second, as a fraction of the device's copy")
    print("type  " + " ".join(f"{count} addends" for count in SUMS))
    for name in ("f32", "bf16", "i64"):
        element = TYPES[name][1]
        loops = [(size // element, element, element)]
        kinds = (library.type(name), library.operation("sum"))
        line = []
        for count in SUMS:
            copies = [(0, i * size, 1, 0, element, *kinds, 0, loops) for i in range(count)]
            plan = Plan(library, copies, 2)
            time, copy = seconds(
                lambda: plan.run([whole.data_ptr(), other.data_ptr()]), copying(whole, other)
            )
            plan.free()
            line.append((count + 2) * size / time / (2 * PAYLOAD / copy))
        print(f"{name:5}", " ".join(f"{share:9.2f}" for share in line))


class Rows2D(ctypes.Structure):
    """CUDA_MEMCPY2D of the CUDA driver API."""

    _fields_ = [
        ("from_x", ctypes.c_size_t), ("from_y", ctypes.c_size_t), ("from_kind", ctypes.c_int),
        ("from_host", ctypes.c_void_p), ("from_device", ctypes.c_uint64),
        ("from_array", ctypes.c_void_p), ("from_pitch", ctypes.c_size_t),
        ("to_x", ctypes.c_size_t), ("to_y", ctypes.c_size_t), ("to_kind", ctypes.c_int),
        ("to_host", ctypes.c_void_p), ("to_device", ctypes.c_uint64),
        ("to_array", ctypes.c_void_p), ("to_pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t), ("height", ctypes.c_size_t),
    ]  # fmt: skip


def measure_driver(whole, other):
    """Measures the driver's 2D copy of the same number of rows, with the same gaps. Source and
    target are equally aligned, so no bytes have to be shifted. The figure shows what unaligned ends
    of rows cost by themselves."""
    driver = ctypes.CDLL("libcuda.so.1")
    on_device = 2
    print("the driver's copy of odd rows, as a fraction of its copy in one piece")
    print("element " + " ".join(f"{run:>6}" for run in RUNS))
    for element in ELEMENTS:
        line = []
        for run in RUNS:
            width = STRIPS * run
            rows = Rows2D(
                from_kind=on_device, from_device=whole.data_ptr(), from_pitch=width + element,
                to_kind=on_device, to_device=other.data_ptr(), to_pitch=width + element,
                width=width, height=PAYLOAD // width,
            )  # fmt: skip
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

            def copy():
                assert driver.cuMemcpy2DAsync_v2(ctypes.byref(rows), stream) == 0

            time, in_one_piece = seconds(copy, copying(whole, other))
            line.append(in_one_piece / time)
        print(f"{element:7}", " ".join(f"{share:6.2f}" for share in line))


def measure(path, out=None):
    library = Library(path)
    results, rates = [], []
    whole = torch.randint(0, 255, (2 * PAYLOAD + (1 << 20),), dtype=torch.uint8, device="cuda")
    other = torch.zeros_like(whole)
    for odd in (0, 1):
        for pack in (True, False):
            for element in ELEMENTS:
                for run in RUNS:
                    for rank in RANKS:
                        size, moved, boxes = packing(element, run, rank, odd)
                        assert size <= whole.numel() and moved <= other.numel()
                        copies = []
                        for offset, at, loops in boxes:
                            if pack:
                                copies.append((0, offset, 1, at, element, 0, COPY, 0, loops))
                            else:
                                back = [(extent, b, a) for extent, a, b in loops]
                                copies.append((1, at, 0, offset, element, 0, COPY, 0, back))
                        plan = Plan(library, copies, 2)
                        time, copy = seconds(
                            lambda: plan.run([whole.data_ptr(), other.data_ptr()]), copying(whole, other)
                        )
                        plan.free()
                        rates.append(2 * PAYLOAD / copy)
                        results.append(
                            [odd, pack, element, run, rank, len(boxes), 2 * moved / time / rates[-1]]
                        )
    print(f"{torch.cuda.get_device_name()}: a copy of the device moves {min(rates) / 1e12:.2f} to", end="")
    print(f" {max(rates) / 1e12:.2f} TB/s (read and written) of {PAYLOAD >> 20} MiB")
    measure_sums(library, whole, other)
    measure_driver(whole, other)
    if out:
        with open(out, "w") as file:
            json.dump({"copy_bytes_per_s": rates, "cases": results}, file)
    print("speed as a fraction of a device copy measured in alternation; lowest of ranks 1 to 4")
    print("rows  direction element " + " ".join(f"{run:>6}" for run in RUNS))
    for odd in (0, 1):
        for pack in (True, False):
            for element in ELEMENTS:
                line = [
                    min(r[-1] for r in results if r[:4] == [odd, pack, element, run]) for run in RUNS
                ]
                name = f"{'odd' if odd else 'even':5} {'pack' if pack else 'unpack':9} {element:7}"
                print(name, " ".join(f"{share:6.2f}" for share in line))
    low = [r for r in results if r[-1] < BAR]
    print(f"{len(results) - len(low)} of {len(results)} cases at {BAR} or more", end="; ")
    print(f"least {min(r[-1] for r in results):.2f}")


def random_region(rng, element):
    """Extents, strides and offset of a region in a random array, and the bytes of the array."""
    rank = rng.randint(0, 6)
    extents = [rng.choice([1, 2, 3, 5, 17, 40]) for _ in range(rank)]
    while math.prod(extents) > 60_000:
        extents[rng.randrange(rank)] = 1
    shape = [extent + rng.choice([0, 0, 1, 7]) for extent in extents]
    low = [rng.randint(0, whole - extent) for whole, extent in zip(shape, extents)]
    strides = strides_of(shape, element)
    return extents, strides, sum(a * b for a, b in zip(low, strides)), math.prod(shape) * element


TYPES = {
    "f16": (torch.float16, 2), "bf16": (torch.bfloat16, 2), "f32": (torch.float32, 4),
    "f64": (torch.float64, 8), "i8": (torch.int8, 1), "i16": (torch.int16, 2),
    "i32": (torch.int32, 4), "i64": (torch.int64, 8), "u8": (torch.uint8, 1),
    "c64": (torch.complex64, 8), "c128": (torch.complex128, 16), "pred": (torch.bool, 1),
}  # fmt: skip
COMBINE = {"sum": torch.add, "min": torch.minimum, "max": torch.maximum, "prod": torch.mul}
NEUTRAL = {"sum": 0, "prod": 1}


def constant(value, dtype):
    """The bytes of an element, as two 64-bit numbers."""
    element = torch.full((1,), value, dtype=dtype).view(torch.uint8).numpy().tobytes()
    return struct.unpack("qq", element.ljust(16, b"\0"))


def view(buffer, region):
    extents, strides, offset, element = region
    raw = buffer[offset:]
    return np.lib.stride_tricks.as_strided(
        raw, shape=[*extents, element], strides=[*strides, 1]
    )


def check_copies(library, rng, numpy_rng):
    """Several regions at odd offsets. Bytes between the regions of the target must not change."""
    element = rng.choice(ELEMENTS)
    start = [rng.choice([0, 0, element, 16 * element]) for _ in range(2)]
    copies, regions, ends = [], [], [start[0], start[1]]
    for _ in range(rng.randint(1, 6)):
        extents, strides, low, size = random_region(rng, element)
        packed = strides_of(extents, element)
        to_strides, to_low, to_size = packed, 0, math.prod(extents) * element
        if rng.random() < 0.5:  # both strided
            around = [extent + rng.choice([0, 1, 3]) for extent in extents]
            to_strides, to_size = strides_of(around, element), math.prod(around) * element
        a = (extents, strides, ends[0] + low, element)
        b = (extents, to_strides, ends[1] + to_low, element)
        loops = [list(loop) for loop in zip(extents, strides, to_strides)]
        copies.append((0, a[2], 1, b[2], element, 0, COPY, 0, loops))
        regions.append((a, b))
        ends = [ends[0] + size + element * rng.randint(0, 3), ends[1] + to_size + element * rng.randint(0, 3)]
    source = numpy_rng.integers(0, 255, ends[0], dtype=np.uint8)
    target = numpy_rng.integers(0, 255, ends[1], dtype=np.uint8)
    base = element * rng.choice([0, 0, 1, 3])  # addresses aligned to the element only
    on_gpu = []
    for buffer in (source, target):
        memory = torch.zeros(base + buffer.size, dtype=torch.uint8, device="cuda")
        memory[base:].copy_(torch.from_numpy(buffer))
        on_gpu.append(memory)
    plan = Plan(library, copies, 2)
    plan.run([memory.data_ptr() + base for memory in on_gpu])
    for a, b in regions:
        view(target, b)[...] = view(source, a)
    got = on_gpu[1][base:].cpu().numpy()
    plan.free()
    assert np.array_equal(got, target), f"wrong bytes: {copies}"


def check_strips(library, rng, numpy_rng):
    """Messages of any length that are adjacent in the rows of an array: packed and unpacked."""
    element = rng.choice(ELEMENTS)
    strips, rows, planes = rng.randint(2, 6), rng.randint(1, 30), rng.randint(1, 3)
    lengths = [rng.choice([1, 5, 16, 17, 30, 64, 65])] * strips
    if rng.random() < 0.5:
        lengths[-1] = max(1, lengths[-1] - rng.randint(0, 3))
    pitch = (sum(lengths) + rng.choice([0, 1, 3, 8])) * element
    plane = rows * pitch + element * rng.choice([0, 1])
    order = rng.sample(range(strips), strips)
    array = numpy_rng.integers(0, 255, planes * plane, dtype=np.uint8)
    packed = np.zeros(planes * rows * sum(lengths) * element, dtype=np.uint8)
    packs, unpacks, at = [], [], 0
    for strip in order:
        low, run = sum(lengths[:strip]) * element, lengths[strip] * element
        both = [(planes, plane, rows * run), (rows, pitch, run), (lengths[strip], element, element)]
        packs.append((0, low, 1, at, element, 0, COPY, 0, both))
        back = [(extent, b, a) for extent, a, b in both]
        unpacks.append((1, at, 0, low, element, 0, COPY, 0, back))
        size = planes * rows * run
        view(packed, ([planes, rows], [rows * run, run], at, run))[...] = view(
            array, ([planes, rows], [plane, pitch], low, run)
        )
        at += size
    base = element * rng.choice([0, 0, 1, 3])
    on_gpu = [torch.zeros(base + buffer.size, dtype=torch.uint8, device="cuda") for buffer in (array, packed)]
    on_gpu[0][base:].copy_(torch.from_numpy(array))
    addresses = [memory.data_ptr() + base for memory in on_gpu]
    plan = Plan(library, packs, 2)
    plan.run(addresses)
    assert np.array_equal(on_gpu[1][base:].cpu().numpy(), packed), f"packed wrongly: {packs}"
    plan.free()
    garbled = numpy_rng.integers(0, 255, array.size, dtype=np.uint8)
    on_gpu[0][base:].copy_(torch.from_numpy(garbled))
    plan = Plan(library, unpacks, 2)
    plan.run(addresses)
    for strip in order:
        low, run = sum(lengths[:strip]) * element, lengths[strip] * element
        box = ([planes, rows], [plane, pitch], low, run)
        view(garbled, box)[...] = view(array, box)
    assert np.array_equal(on_gpu[0][base:].cpu().numpy(), garbled), f"unpacked wrongly: {unpacks}"
    plan.free()


def check_adds(library, rng):
    """Fills boxes with neutral elements, then adds addends: several with equal boxes, and one that
    overlaps them."""
    name, (dtype, element) = rng.choice(list(TYPES.items()))
    complex_or_bool = dtype.is_complex or dtype == torch.bool
    operation = rng.choice(["sum", "prod"] if complex_or_bool else list(COMBINE))
    rows, columns, width = rng.randint(1, 40), rng.randint(1, 90), rng.randint(91, 120)
    count = rng.randint(1, 5)
    generator = torch.Generator().manual_seed(rng.randrange(1 << 30))

    def numbers(*shape):
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, generator=generator).to(dtype)
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
        low = 0 if dtype == torch.uint8 else -100
        return torch.randint(low, 100, shape, generator=generator).to(dtype)

    target = numbers(rows + 1, width)
    low = rng.randint(0, width - columns)
    packed = [numbers(rows, columns) for _ in range(count)]
    shifted = numbers(rows, columns)
    kinds = (library.type(name), library.operation(operation))
    loops = [(rows, columns * element, width * element), (columns, element, element)]
    at = low * element
    copies = [(i + 1, 0, 0, at, element, *kinds, 0, loops) for i in range(count)]
    copies.append((count + 1, 0, 0, at + width * element, element, *kinds, 0, loops))
    filled = rng.random() < 0.3 and operation in NEUTRAL
    if filled:
        fill, more = constant(NEUTRAL[operation], dtype)
        copies.insert(0, (NOTHING, fill, 0, at, element, 0, COPY, more, loops))
    scaled = dtype.is_floating_point and rng.random() < 0.3
    if scaled:  # by 3 / 4, which is rounded only once
        scale = library.operation("scale")
        copies.append((NOTHING, 3, 0, at, element, kinds[0], scale, 4, loops))
    on_gpu = [tensor.cuda() for tensor in [target, *packed, shifted]]
    plan = Plan(library, copies, len(on_gpu))
    plan.run([tensor.data_ptr() for tensor in on_gpu])
    combine = COMBINE[operation]
    if dtype == torch.bool:
        combine = torch.logical_or if operation == "sum" else torch.logical_and
    box = target[:rows, low : low + columns]
    if filled:
        box.fill_(NEUTRAL[operation])
    for addend in packed:
        box.copy_(combine(box, addend))
    box = target[1 : rows + 1, low : low + columns]
    box.copy_(combine(box, shifted))
    if scaled:
        box = target[:rows, low : low + columns]
        box.copy_((box.to(torch.float64 if element == 8 else torch.float32) * 3 / 4).to(dtype))
    got = on_gpu[0].cpu()
    plan.free()
    close = torch.allclose(got, target, rtol=1e-6, atol=1e-6) if dtype.is_complex else torch.equal(got, target)
    if not close:
        places = (got != target).nonzero()
        raise AssertionError(
            f"wrong: {name} {operation} {rows}x{columns} of {width} at {low}, {count} addends,"
            f" {'filled' if filled else 'as it was'}, {len(places)} places from {places[0].tolist()}"
        )


def check(path, count=400):
    library, rng, numpy_rng = Library(path), random.Random(1), np.random.default_rng(1)
    for _ in range(int(count)):
        check_copies(library, rng, numpy_rng)
        check_strips(library, rng, numpy_rng)
        check_adds(library, rng)
    print(f"{count} random sets of copies, of strips and of sums are right")


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    {"check": check, "measure": measure}[verb](*rest)
