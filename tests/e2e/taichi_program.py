#!/usr/bin/env python3
"""Fills a field and adds it up on the device with Taichi. Prints the sum and the device's memory in MiB."""
import ctypes
import sys

import taichi

COUNT = 256


def memory():
    cuda = ctypes.CDLL("libcuda.so.1")
    total = ctypes.c_size_t()
    if cuda.cuDeviceTotalMem_v2(ctypes.byref(total), 0) != 0:
        sys.exit("cuDeviceTotalMem_v2 failed")
    return total.value >> 20


def main():
    taichi.init(arch=taichi.cuda, offline_cache=False, device_memory_GB=0.1, log_level=taichi.ERROR)
    if taichi.lang.impl.current_cfg().arch != taichi.cuda:
        sys.exit("Taichi chose another device")
    field = taichi.field(taichi.f32, shape=COUNT)

    @taichi.kernel
    def fill():
        for i in field:
            field[i] = i * 2.0 + 1

    @taichi.kernel
    def add() -> taichi.f32:
        total = 0.0
        for i in field:
            total += field[i]
        return total

    fill()
    print(f"sum={add()} memory={memory()}")


main()
