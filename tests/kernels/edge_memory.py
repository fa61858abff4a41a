"""Device memory with nothing mapped before it and after it: an access outside faults, whatever else is allocated."""
import ctypes
import math

import torch

CUDA = ctypes.CDLL("libcuda.so.1")
PAGE = 2 << 20


class Properties(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location_type", ctypes.c_int), ("device", ctypes.c_int),
                ("metadata", ctypes.c_void_p), ("flags", ctypes.c_uint8 * 8)]


class Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("location_type", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int)]


def call(name, *arguments):
    error = getattr(CUDA, name)(*arguments)
    if error:
        raise RuntimeError(f"{name}: CUDA error {error}")


class Bytes:
    """`size` bytes (a multiple of 16) at the first address of a mapping, or at its end. Never unmapped."""

    def __init__(self, size, at_end):
        mapped = -(-max(size, 1) // PAGE) * PAGE
        address, handle = ctypes.c_uint64(), ctypes.c_uint64()
        call("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(mapped + 64 * PAGE), ctypes.c_size_t(0), ctypes.c_uint64(0),
             ctypes.c_uint64(0))
        start = address.value + 32 * PAGE
        call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(mapped), ctypes.byref(Properties(type=1, location_type=1)), ctypes.c_uint64(0))
        call("cuMemMap", ctypes.c_uint64(start), ctypes.c_size_t(mapped), ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
        call("cuMemSetAccess", ctypes.c_uint64(start), ctypes.c_size_t(mapped), ctypes.byref(Access(location_type=1, flags=3)), ctypes.c_size_t(1))
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "version": 3,
                                         "data": (start + (mapped - size if at_end else 0), False)}


def empty(shape, dtype, at_end):
    """A dense tensor whose first byte is the first of a mapping, or whose last is its last."""
    return torch.as_tensor(Bytes(math.prod(shape) * dtype.itemsize, at_end), device="cuda").view(dtype).view(shape)
