# SPDX-License-Identifier: MIT
"""Random shapes, and random ways for a tensor of a shape to lie in memory."""
import numpy

SIZES = (1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100)
SMALL, LARGE = 3000, 200_000  # elements of most tensors, and of one in sixty


class View:
    """Shape, strides and offset in elements, and how many elements the storage has."""

    def __init__(self, shape, strides, offset, storage):
        self.shape, self.strides, self.offset, self.storage = tuple(shape), tuple(strides), offset, storage

    def of(self, stored):
        """The view's elements as a numpy view of the storage."""
        strides = [stride * stored.itemsize for stride in self.strides]
        return numpy.lib.stride_tricks.as_strided(stored[self.offset:], self.shape, strides)

    def shifted(self, by):
        """The same view some elements further on, or None where the storage ends before."""
        ends = [stride * (size - 1) for stride, size in zip(self.strides, self.shape) if size > 0]
        first = self.offset + by + sum(end for end in ends if end < 0)
        last = self.offset + by + sum(end for end in ends if end > 0)
        fits = 0 <= first <= last < self.storage
        return View(self.shape, self.strides, self.offset + by, self.storage) if fits else None

    def __str__(self):
        return f"shape {list(self.shape)} strides {list(self.strides)} offset {self.offset} in {self.storage} elements"


def element_limit(random):
    return LARGE if random.random() < 1 / 60 else SMALL


def sizes(random, rank, limit, may_be_empty=True):
    """As many sizes as asked for, whose product is at most the limit."""
    chosen, count = [], 1
    for _ in range(rank):
        fitting = [size for size in SIZES if size * count <= limit]
        size = int(random.choice(fitting))
        if limit > SMALL and random.random() < 0.4:
            size = int(random.integers(1, max(limit // count, 1) + 1))
        chosen.append(size)
        count *= size
    random.shuffle(chosen)
    if may_be_empty and chosen and random.random() < 0.04:
        chosen[int(random.integers(len(chosen)))] = 0
    return chosen


def shape(random, least_rank=0, most_rank=8, may_be_empty=True):
    return sizes(random, int(random.integers(least_rank, most_rank + 1)), element_limit(random), may_be_empty)


def parts_of(random, whole):
    """A shape that broadcasts to the whole: some sizes 1, leading dimensions left out."""
    part = [1 if random.random() < 0.3 else size for size in whole]
    return part[int(random.integers(len(part) + 1)):] if random.random() < 0.3 else part


def view(random, shape, shares_memory=False):
    """One of: row-major, or any of permuted, stepped, offset, reversed, and for inputs repeated by a zero stride."""
    rank = len(shape)
    plain = random.random() < 0.3
    order = list(range(rank - 1, -1, -1))  # from the innermost
    steps, flips, repeats = [1] * rank, [False] * rank, [False] * rank
    before = after = 0
    if not plain:
        if random.random() < 0.5:
            random.shuffle(order)
        if random.random() < 0.4:
            steps = [int(random.choice((1, 1, 2, 3))) for _ in shape]
        if random.random() < 0.3:
            flips = [bool(random.random() < 0.5) for _ in shape]
        if shares_memory and random.random() < 0.3:
            repeats = [bool(random.random() < 0.3) for _ in shape]
        if random.random() < 0.5:
            before, after = (int(number) for number in random.integers(0, 9, 2))
    strides, step, last, offset = [0] * rank, 1, 0, before
    for axis in order:
        size = max(shape[axis], 1)
        if repeats[axis]:
            continue
        strides[axis] = step * steps[axis]
        last += strides[axis] * (size - 1)
        step = strides[axis] * size
        if flips[axis]:
            offset += strides[axis] * (size - 1)
            strides[axis] = -strides[axis]
    return View(shape, strides, offset, before + last + 1 + after)
