# SPDX-License-Identifier: MIT
"""Compares an operator's output with what it must be.

The bounds are section 8 of the contract, against the exact formula on the same inputs: 2 ulp for FLOAT and DOUBLE, 1
ulp for FLOAT16 and BF16.  A case may add a slack, an absolute error, where its formula cancels.  Around the wanted
value lies an interval of that radius; both its ends are rounded to the dtype the operator computes in and cast to the
output's, as section 5 says, and the output has to lie between them.  NaN is right only where NaN is wanted, an
infinity where one is wanted or where rounding gives one.
"""
import numpy

import elements

BOUND = {elements.FLOAT: 2, elements.DOUBLE: 2, elements.FLOAT16: 1, elements.BF16: 1}


def interval(wanted, slack, computed, output):
    """The least and the largest number that may come out."""
    with numpy.errstate(all="ignore"):
        radius = BOUND[computed] * elements.ulp(computed, wanted) + slack
        radius = numpy.where(numpy.isfinite(wanted), radius, 0)
        return [elements.rounded(output, elements.rounded(computed, end)) for end in (wanted - radius, wanted + radius)]


def wrong_elements(ours, wanted, slack, computed, output):
    """True where the output is not what it must be."""
    least, most = interval(wanted, slack, computed, output)
    good = numpy.where(numpy.isnan(wanted), numpy.isnan(ours), (least <= ours) & (ours <= most))
    if output.digits > computed.digits:  # rounded to the narrower dtype first
        good &= numpy.isnan(ours) | (elements.rounded(computed, ours) == ours)
    return ~good


def exactly_wrong(ours, wanted):
    same = (ours == wanted) & (numpy.signbit(ours) == numpy.signbit(wanted))
    return ~(same | (numpy.isnan(ours) & numpy.isnan(wanted)))


def can_fail():
    """That the comparison tells right from wrong: (what, whether it does) pairs."""
    one, nan, infinity = numpy.array([1.0]), numpy.array([numpy.nan]), numpy.array([numpy.inf])
    single, half, brain = elements.FLOAT, elements.FLOAT16, elements.BF16

    def wrong(ours, wanted, computed=single, output=single, slack=0.0):
        return bool(wrong_elements(numpy.asarray(ours), numpy.asarray(wanted), slack, computed, output)[0])

    return [
        ("2 ulp of FLOAT pass", not wrong(one + 2.0**-22, one)),
        ("3 ulp of FLOAT fail", wrong(one + 3 * 2.0**-23, one)),
        ("1 ulp of FLOAT16 passes", not wrong(one + 2.0**-10, one, half, half)),
        ("2 ulp of FLOAT16 fail", wrong(one + 2.0**-9, one, half, half)),
        ("2 ulp of BF16 fail", wrong(one + 2.0**-6, one, brain, brain)),
        ("BF16 is rounded once", elements.rounded(brain, one + 2.0**-8 + 2.0**-40)[0] == 1 + 2.0**-7),
        ("a slack lets more pass", not wrong(one + 3 * 2.0**-23, one, slack=2.0**-22)),
        ("FLOAT from FLOAT16 is a FLOAT16 number", wrong(one + 2.0**-12, one, half, single)),
        ("a number for NaN fails", wrong(one, nan)),
        ("NaN for a number fails", wrong(nan, one)),
        ("NaN for NaN passes", not wrong(nan, nan)),
        ("infinity for a number fails", wrong(infinity, one)),
        ("a number for infinity fails", wrong(one, infinity)),
        ("what FLOAT16 cannot hold is infinite", not wrong(infinity, 70000 * one, half, half)),
        ("what FLOAT16 cannot hold is not its largest number", wrong(65504 * one, 70000 * one, half, half)),
        ("the sign of infinity counts", wrong(-infinity, infinity)),
        ("0 for the smallest FLOAT passes, within 2 ulp", not wrong(0 * one, 2.0**-149 * one)),
        ("0 for four times the smallest FLOAT fails", wrong(0 * one, 2.0**-147 * one)),
    ]
