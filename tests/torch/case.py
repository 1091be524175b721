# SPDX-License-Identifier: MIT
"""One random case: draws tensors and parameters, calls the operator, and collects what is wrong with the outputs."""
import numpy

import aclnn
import deviations
import elements
import judge
import layouts

ND, NDHWC, NCDHW = 2, 27, 30
FORMATS = {ND: "ND", NDHWC: "NDHWC", NCDHW: "NCDHW"}
SHOWN = 24  # elements of a tensor that a report prints


class Tensor:
    def __init__(self, name, dtype, view, stored, memory, handle, format_code):
        self.name, self.dtype, self.view, self.stored = name, dtype, view, stored
        self.memory, self.handle, self.format = memory, handle, format_code
        self.shown = True  # whether its first values say anything

    @property
    def values(self):
        """What it held before the call, as doubles or integers in row-major order."""
        return numpy.asarray(elements.decode(self.dtype, self.view.of(self.stored).copy()))

    def __str__(self):
        values = self.values
        shown = f"\n      {values.ravel().tolist()}" if self.shown and values.size <= SHOWN else ""
        return f"{self.name}: {self.dtype} {FORMATS[self.format]} {self.view}{shown}"


class Case:
    def __init__(self, library, operator, seed):
        self.library, self.random = library, numpy.random.default_rng([seed, *operator.encode()])
        self.described, self.problems, self.deviating, self.owned = [], [], {}, []
        self.uses_landmarks = self.random.random() < 0.5

    # ---- Drawing

    def pick(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def chance(self, probability):
        return bool(self.random.random() < probability)

    def parameter(self, name, value):
        self.described.append(f"{name} = {getattr(value, 'value', value)!r}")
        return value

    def numbers(self, count, spread=4, landmarks=()):
        """Normal numbers of several magnitudes; in half of the cases one in twenty is a landmark."""
        drawn = self.random.standard_normal(count) * numpy.exp2(self.random.integers(-spread, spread + 1, count))
        if self.uses_landmarks and len(landmarks):
            places = self.random.random(count) < 0.05
            drawn = numpy.where(places, self.random.choice(numpy.array(landmarks, "f8"), count), drawn)
        return drawn

    # ---- Tensors

    def tensor(self, name, dtype, view, stored, format_code=ND, shared_with=None):
        memory = shared_with.memory if shared_with else self.own(aclnn.Memory(self.library, stored))
        handle = self.own(aclnn.tensor(self.library, view.shape, view.strides, view.offset, dtype, format_code, memory))
        made = Tensor(name, dtype, view, stored, memory, handle, format_code)
        self.described.append(made)
        return made

    def input(self, name, dtype, shape, draw, format_code=ND, shares_memory=True):
        """A tensor in any layout; draw(count) gives the numbers of its storage."""
        view = layouts.view(self.random, shape, shares_memory)
        stored = elements.encode(dtype, draw(view.storage))
        return self.tensor(name, dtype, view, stored, format_code)

    def output(self, name, dtype, shape, format_code=ND):
        """A tensor whose elements share no memory, full of noise."""
        view = layouts.view(self.random, shape)
        noise = self.random.integers(0, 256, view.storage * dtype.storage.itemsize, "u1")
        made = self.tensor(name, dtype, view, noise.view(dtype.storage), format_code)
        made.shown = False
        return made

    def number(self, name, value, *dtypes):
        """An aclScalar of one of the dtypes; returns its handle and the value it has."""
        dtype = self.pick(*dtypes)
        stored = numpy.array([value]).astype("f8")
        stored = elements.encode(dtype, numpy.rint(stored) if dtype.storage.kind == "i" else stored)
        self.described.append(f"{name} = {dtype} {elements.decode(dtype, stored)[0]}")
        return self.own(aclnn.scalar(self.library, stored, dtype)), float(elements.decode(dtype, stored)[0])

    def int_array(self, name, numbers):
        self.described.append(f"{name} = {list(numbers)}")
        return self.own(aclnn.int_array(self.library, [int(number) for number in numbers]))

    def own(self, thing):
        self.owned.append(thing)
        return thing

    # ---- Calling and judging

    def call(self, function, *arguments):
        arguments = [a.handle if isinstance(a, Tensor) else a for a in arguments]
        workspace = aclnn.call(self.library, function, arguments)
        self.described.append(f"workspace = {workspace}")

    def written(self, tensor):
        """What the output holds now.  What lies between and around its elements must be as it was."""
        now = tensor.memory.read()
        inside = numpy.zeros(now.size, bool)
        tensor.view.of(inside)[...] = True
        size = now.itemsize
        changed = (now.view("u1").reshape(-1, size) != tensor.stored.view("u1").reshape(-1, size)).any(axis=1)
        if (changed & ~inside).any():
            self.problems.append(f"{tensor.name}: storage element {numpy.argmax(changed & ~inside)} is outside of the "
                                 "view and was written")
        stored = tensor.view.of(now).copy()
        if stored.dtype.kind == "c" and stored.imag.any():
            self.problems.append(f"{tensor.name}: an imaginary part is not 0")
        return numpy.asarray(elements.decode(tensor.dtype, stored))

    def untouched(self, tensor):
        if (tensor.memory.read().view("u1") != tensor.stored.view("u1")).any():
            self.problems.append(f"{tensor.name}: was written, and must not be")

    def note(self, deviating):
        """Counts elements that PyTorch was given something else for."""
        for name, mask in deviating.items():
            assert name in deviations.REASONS, name
            if numpy.any(mask):
                self.deviating[name] = self.deviating.get(name, 0) + int(numpy.sum(mask))

    def expect(self, tensor, formula, torch, computed, slack=0.0, torch_slack=0.0, deviating=None, exact=False):
        """Judges an output by the formula and by PyTorch's value; the latter not where a deviation holds."""
        ours = self.written(tensor)
        formula = numpy.broadcast_to(formula, ours.shape)
        torch = numpy.broadcast_to(numpy.asarray(torch, "f8"), ours.shape)
        compared = numpy.ones(ours.shape, bool)
        for mask in (deviating or {}).values():
            compared = compared & ~numpy.broadcast_to(mask, ours.shape)
        self.note(deviating or {})
        if exact:
            wrong = {
                "formula": judge.exactly_wrong(ours, formula),
                "PyTorch": judge.exactly_wrong(ours, torch) & compared,
            }
        else:
            wrong = {
                "formula": judge.wrong_elements(ours, formula, slack, computed, tensor.dtype),
                "PyTorch": judge.wrong_elements(ours, torch, slack + torch_slack, computed, tensor.dtype) & compared,
            }
        for peer, mask in wrong.items():
            if mask.any():
                self.report(tensor, peer, mask, ours, torch, formula, compared)

    def report(self, tensor, peer, mask, ours, torch, formula, compared):
        first = tuple(int(i) for i in numpy.argwhere(mask)[0]) if mask.ndim else ()
        why = "" if compared[first] else " (a deviation: not judged by PyTorch here)"
        self.problems.append(
            f"{tensor.name}: {int(mask.sum())} of {mask.size} elements differ from {peer}; "
            f"the first is {list(first)}:\n"
            f"      ours    {ours[first]}\n      PyTorch {torch[first]}{why}\n      formula {formula[first]}" + "".join(
                f"\n      {other.name} there {other.values[first]}" for other in self.described
                if isinstance(other, Tensor) and other.shown and other.view.shape == mask.shape))

    def free(self):
        for thing in reversed(self.owned):
            thing.free()
