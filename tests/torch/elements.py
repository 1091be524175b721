# SPDX-License-Identifier: MIT
"""Element types: their codes, how numpy stores them, rounding to them, and the distance between their neighbours."""
import numpy


class Dtype:
    def __init__(self, name, code, storage, digits=0, least_exponent=0):
        self.name, self.code, self.storage = name, code, numpy.dtype(storage)
        self.digits = digits  # of the significand, the leading one included
        self.least_exponent = least_exponent  # of the smallest normal number 2^e

    def __repr__(self):
        return self.name


FLOAT = Dtype("FLOAT", 0, "f4", 24, -126)
FLOAT16 = Dtype("FLOAT16", 1, "f2", 11, -14)
BF16 = Dtype("BF16", 27, "u2", 8, -126)
DOUBLE = Dtype("DOUBLE", 11, "f8", 53, -1022)
COMPLEX64 = Dtype("COMPLEX64", 16, "c8", 24, -126)
COMPLEX128 = Dtype("COMPLEX128", 17, "c16", 53, -1022)
INT8 = Dtype("INT8", 2, "i1")
INT16 = Dtype("INT16", 6, "i2")
INT32 = Dtype("INT32", 3, "i4")
INT64 = Dtype("INT64", 9, "i8")
UINT8 = Dtype("UINT8", 4, "u1")

HALVES = (FLOAT16, BF16)
FLOATS = (FLOAT, FLOAT16, BF16)  # what is computed in float
CAST_TARGETS = (FLOAT, FLOAT16, BF16, DOUBLE, COMPLEX64, COMPLEX128)  # what every one of them converts to
FLOAT_EPSILON = 2.0**-24  # the relative error of one rounding to FLOAT


def promote(*dtypes):
    """Section 5 of the contract, for FLOAT, FLOAT16 and BF16."""
    return dtypes[0] if len(set(dtypes)) == 1 else FLOAT


def decode(dtype, stored):
    """Stored elements as doubles (integers stay what they are); of complex ones the real part."""
    if dtype is BF16:
        stored = numpy.asarray(stored.astype("u4") << 16).view("f4")
    if stored.dtype.kind == "c":
        stored = stored.real
    with numpy.errstate(all="ignore"):
        return stored.astype("f8" if stored.dtype.kind == "f" else "i8")


def encode(dtype, numbers):
    """Numbers as stored elements, rounded to nearest even; what is too large becomes infinite."""
    numbers = numpy.asarray(numbers)
    with numpy.errstate(all="ignore"):
        if dtype is not BF16:
            return numbers.astype(dtype.storage)
        # Once: a float between, rounded toward 0, keeps in its last bit that it is inexact.
        exact = numbers.astype("f8")
        between = exact.astype("f4")
        bits = between.view("u4") - (numpy.abs(between) > numpy.abs(exact)) | (between != exact)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")
        return numpy.where(numpy.isnan(numbers), numpy.uint16(0x7FC0), rounded)


def rounded(dtype, numbers):
    return decode(dtype, encode(dtype, numbers))


def ulp(dtype, numbers):
    """The distance of neighbours at each number: of subnormal ones below the smallest normal one, 0 at Inf and NaN."""
    finite = numpy.isfinite(numbers)
    _, exponents = numpy.frexp(numpy.where(finite, numbers, 1))
    exponents = numpy.where(numpy.where(finite, numbers, 1) == 0, dtype.least_exponent, exponents - 1)
    exponents = numpy.maximum(exponents, dtype.least_exponent) - (dtype.digits - 1)
    return numpy.where(finite, numpy.ldexp(numpy.ones_like(numbers), exponents), 0)
