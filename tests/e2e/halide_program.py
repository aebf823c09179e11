#!/usr/bin/env python3
"""Computes a row of numbers on the device with Halide. Prints their sum."""
import sys

import halide

COUNT, BLOCK = 256, 32


def main():
    target = halide.get_host_target().with_feature(halide.TargetFeature.CUDA)
    place, block, thread = halide.Var("place"), halide.Var("block"), halide.Var("thread")
    line = halide.Func("line")
    line[place] = halide.cast(halide.Float(32), place) * 2.0 + 1.0
    line.gpu_tile(place, block, thread, BLOCK)
    row = line.realize([COUNT], target)
    row.copy_to_host()
    values = list(memoryview(row))
    if values != [place * 2.0 + 1.0 for place in range(COUNT)]:
        sys.exit(f"the device computed {values[:8]} ...")
    print(f"sum={sum(values)}")


main()
