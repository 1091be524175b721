# SPDX-License-Identifier: MIT
"""The installed libraries through ctypes: device memory, tensors, scalars, arrays, and the two phases of a call."""
import ctypes
import pathlib

import numpy

HOST_TO_DEVICE, DEVICE_TO_HOST, HUGE_FIRST = 1, 2, 0


class Refused(Exception):
    """A function answered with another code than 0."""


class Library:
    def __init__(self, prefix):
        folder = pathlib.Path(prefix) / "lib64"
        self.runtime = ctypes.CDLL(folder / "libascendcl.so", mode=ctypes.RTLD_GLOBAL)
        self.objects = ctypes.CDLL(folder / "libnnopbase.so", mode=ctypes.RTLD_GLOBAL)
        self.operators = ctypes.CDLL(folder / "libopapi.so")
        for name in ("aclCreateTensor", "aclCreateScalar", "aclCreateIntArray"):
            getattr(self.objects, name).restype = ctypes.c_void_p
        self.runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.runtime.aclrtGetSocName.restype = ctypes.c_char_p
        self.check("aclInit", self.runtime.aclInit(None))
        self.check("aclrtSetDevice", self.runtime.aclrtSetDevice(0))
        self.product = self.runtime.aclrtGetSocName().decode()

    def has(self, function):
        return all(hasattr(self.operators, name) for name in (function, function + "GetWorkspaceSize"))

    def check(self, what, status):
        if status != 0:
            text = self.runtime.aclGetRecentErrMsg()
            raise Refused(f"{what} answered {status}: {text.decode(errors='replace') if text else 'no text'}")

    def allocate(self, size):
        address = ctypes.c_void_p()
        status = self.runtime.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(max(size, 1)), HUGE_FIRST)
        self.check("aclrtMalloc", status)
        return address

    def copy(self, to, source, size, kind):
        size = ctypes.c_size_t(size)
        self.check("aclrtMemcpy", self.runtime.aclrtMemcpy(to, size, source, size, kind))


class Memory:
    """Device memory that begins as a copy of a numpy array."""

    def __init__(self, library, array):
        self.library, self.array = library, numpy.ascontiguousarray(array)
        self.address = library.allocate(self.array.nbytes)
        library.copy(self.address, self.array.ctypes.data_as(ctypes.c_void_p), self.array.nbytes, HOST_TO_DEVICE)

    def read(self):
        array = numpy.empty_like(self.array)
        self.library.copy(array.ctypes.data_as(ctypes.c_void_p), self.address, array.nbytes, DEVICE_TO_HOST)
        return array

    def free(self):
        self.library.check("aclrtFree", self.library.runtime.aclrtFree(self.address))


class Handle:
    def __init__(self, library, kind, made):
        if not made:
            raise Refused(f"aclCreate{kind} made nothing")
        self.library, self.destroy, self.value = library, getattr(library.objects, "aclDestroy" + kind), made

    def free(self):
        self.library.check("destroying", self.destroy(ctypes.c_void_p(self.value)))


def int64s(numbers):
    return (ctypes.c_int64 * len(numbers))(*numbers)


def tensor(library, shape, strides, offset, dtype, format_code, memory):
    storage = int64s([memory.array.size])
    return Handle(library, "Tensor", library.objects.aclCreateTensor(
        int64s(shape), ctypes.c_uint64(len(shape)), dtype.code, int64s(strides), ctypes.c_int64(offset), format_code,
        storage, ctypes.c_uint64(1), memory.address))


def scalar(library, stored, dtype):
    """A scalar of a numpy array with one element."""
    address = stored.ctypes.data_as(ctypes.c_void_p)
    return Handle(library, "Scalar", library.objects.aclCreateScalar(address, dtype.code))


def int_array(library, numbers):
    made = library.objects.aclCreateIntArray(int64s(numbers), ctypes.c_uint64(len(numbers)))
    return Handle(library, "IntArray", made)


def call(library, function, arguments):
    """Both phases, and waits.  Arguments are handles, None for a null pointer, or ctypes numbers.  Returns how many
    bytes of workspace it asked for."""
    arguments = [ctypes.c_void_p(a.value) if isinstance(a, Handle) else a for a in arguments]
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    plan = getattr(library.operators, function + "GetWorkspaceSize")
    library.check(function + "GetWorkspaceSize", plan(*arguments, ctypes.byref(size), ctypes.byref(executor)))
    workspace = library.allocate(size.value) if size.value else None
    try:
        library.check(function, getattr(library.operators, function)(workspace, size, executor, None))
        library.check("aclrtSynchronizeStream", library.runtime.aclrtSynchronizeStream(None))
    finally:
        if workspace:
            library.check("aclrtFree", library.runtime.aclrtFree(workspace))
    return size.value
