#!/usr/bin/env python3
"""Compiles a kernel with NVRTC and runs it through NVIDIA's cuda.core. Leaves its buffer, its stream and the context to
the interpreter's end. Prints the memory that the device has."""
import ctypes
import sys

from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

COUNT, FACTOR = 256, 3.0
SOURCE = r"""
extern "C" __global__ void scale(float* values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * factor + i;
}
"""


def main():
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    kernel = Program(SOURCE, "c++", options).compile("ptx").get_kernel("scale")
    values = (ctypes.c_float * COUNT)(*[2.0] * COUNT)
    buffer = device.allocate(ctypes.sizeof(values), stream=stream)
    driver.cuMemcpyHtoDAsync(buffer.handle, ctypes.addressof(values), ctypes.sizeof(values), stream.handle)
    launch(stream, LaunchConfig(grid=2, block=128), kernel, buffer, ctypes.c_float(FACTOR), ctypes.c_int(COUNT))
    driver.cuMemcpyDtoHAsync(ctypes.addressof(values), buffer.handle, ctypes.sizeof(values), stream.handle)
    stream.sync()
    if list(values) != [2.0 * FACTOR + i for i in range(COUNT)]:
        sys.exit(f"the kernel computed {list(values)[:8]} ...")
    status, _, total = driver.cuMemGetInfo()
    print(f"status={int(status)} total={total}")
    return buffer, stream


kept = main()
