#!/usr/bin/env python3
"""Trains a network of two layers with tinygrad and its PTX renderer, and with Python's own numbers.
Prints the losses of each step; fails where the two differ."""
import math
import random
import sys

from tinygrad import Context, Device, Tensor
from tinygrad.nn.optim import SGD

STEPS, RATE = 5, 0.5
ROWS, INPUTS, HIDDEN, CLASSES = 32, 4, 8, 2


def matrix(source, rows, columns, scale=1.0):
    return [[round(source.gauss(0, 1) * scale, 3) for _ in range(columns)] for _ in range(rows)]


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def expected(inputs, labels, first, second):
    """The losses as the definition has them."""
    losses = []
    for _ in range(STEPS):
        before = product(inputs, first)
        hidden = [[max(value, 0) for value in row] for row in before]
        scores = product(hidden, second)
        odds = [[math.exp(value - max(row)) for value in row] for row in scores]
        odds = [[value / sum(row) for value in row] for row in odds]
        losses.append(-sum(math.log(row[label]) for row, label in zip(odds, labels)) / ROWS)
        slope = [[(value - (column == label)) / ROWS for column, value in enumerate(row)]
                 for row, label in zip(odds, labels)]
        back = [[value if raw > 0 else 0 for value, raw in zip(row, raws)]
                for row, raws in zip(product(slope, list(zip(*second))), before)]
        for weights, change in ((second, product(list(zip(*hidden)), slope)),
                                (first, product(list(zip(*inputs)), back))):
            for row, steps in zip(weights, change):
                row[:] = [value - RATE * step for value, step in zip(row, steps)]
    return losses


def trained(inputs, labels, first, second):
    """The losses as the device computes them."""
    first, second = Tensor(first), Tensor(second)
    optimizer = SGD([first, second], lr=RATE)
    losses = []
    with Context(TRAINING=1):
        for _ in range(STEPS):
            optimizer.zero_grad()
            scores = (Tensor(inputs) @ first).relu() @ second
            loss = scores.sparse_categorical_crossentropy(Tensor(labels))
            loss.backward()
            losses.append(loss.item())  # before the step: tinygrad computes when asked
            optimizer.step()
    return losses


def main():
    if not Device.DEFAULT.startswith("CUDA"):
        sys.exit(f"tinygrad chose {Device.DEFAULT}")
    source = random.Random(7)
    inputs = matrix(source, ROWS, INPUTS)
    labels = [int(row[0] * row[1] > 0) for row in inputs]
    first, second = matrix(source, INPUTS, HIDDEN, 0.4), matrix(source, HIDDEN, CLASSES, 0.4)
    seen = trained(inputs, labels, first, second)
    for one, other in zip(seen, expected(inputs, labels, first, second), strict=True):
        if abs(one - other) > 1e-4:
            sys.exit(f"a loss of {one:.6f}, expected {other:.6f}")
    print(" ".join(f"{loss:.6f}" for loss in seen))


main()
