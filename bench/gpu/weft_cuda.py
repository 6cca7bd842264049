# SPDX-License-Identifier: Apache-2.0
"""Python bindings of libweft-cuda.so by ctypes: plans of copies between buffers on a GPU."""

import ctypes

import torch

COPY, NOTHING = 0, -1
ERROR_BYTES = 256
ABI = 1


class Library:
    def __init__(self, path: str):
        self.so = ctypes.CDLL(path)
        if self.so.weft_cuda_abi() != ABI:
            raise RuntimeError(f"{path} has another interface")
        self.so.weft_cuda_plan_free.argtypes = [ctypes.c_void_p]

    def type(self, name: str) -> int:
        return self.so.weft_cuda_type(name.encode())

    def operation(self, name: str) -> int:
        return self.so.weft_cuda_operation(name.encode())


class Plan:
    """`copies`: a tuple for each copy: from buffer, from, to buffer, to, element, type, operation,
    more, and its loops; see weft/reshard/execute/cuda/README.md."""

    def __init__(self, library: Library, copies: list, buffers: int):
        numbers = []
        for *head, loops in copies:
            numbers += [*head, len(loops)]
            for loop in loops:
                numbers += loop
        self.so = library.so
        self.buffers = buffers
        self.plan = ctypes.c_void_p()
        self.error = ctypes.create_string_buffer(ERROR_BYTES)
        self._check(
            self.so.weft_cuda_plan_make(
                (ctypes.c_int64 * len(numbers))(*numbers),
                ctypes.c_int64(len(numbers)),
                buffers,
                ctypes.byref(self.plan),
                self.error,
            )
        )

    def _check(self, failed: int):
        if failed:
            raise RuntimeError(self.error.value.decode())

    def run(self, addresses: list[int]):
        """Queues the plan on torch's current stream."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        table = (ctypes.c_void_p * self.buffers)(*addresses)
        self._check(self.so.weft_cuda_plan_run(self.plan, table, stream, self.error))

    def free(self):
        self.so.weft_cuda_plan_free(self.plan)
