#!/usr/bin/env python3
"""What the driver of this machine does and costs, where Divvy and the simulated driver depend on it: bare, or of a
share. Figures that this printed are in bench/results/.

usage: driver_facts.py [calls] [host] [chunks] [pools] [arrays] [use]"""
import ctypes
import os
import sys
import time
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

MIB, GIB = 1 << 20, 1 << 30
NOT_READY = 600
NON_BLOCKING, NO_TIMING = 1, 2
RELEASE_THRESHOLD, RESERVED = 4, 5
PTX = b".version 6.4\n.target sm_52\n.address_size 64\n.visible .entry nothing()\n{\n ret;\n}\n\0"

# spin(ns), by the card's clock.
SPIN = b""".version 6.4
.target sm_52
.address_size 64
.visible .entry spin(.param .u64 ns)
{
  .reg .pred %p;
  .reg .b64 %ns, %begin, %now;
  ld.param.u64 %ns, [ns];
  mov.u64 %begin, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %p, %now, %ns;
  @%p bra again;
  ret;
}
\0"""

cuda = ctypes.CDLL("libcuda.so.1")
libc = ctypes.CDLL(None)
libc.mmap.restype = c_void_p
libc.mmap.argtypes = (c_void_p, c_size_t, c_int, c_int, c_int, ctypes.c_long)


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status != 0:
        raise SystemExit(f"{name}: {status}")


def made(name, *arguments, kind=c_void_p):
    """What a call makes that takes the place for it first."""
    out = kind()
    call(name, byref(out), *arguments)
    return out


def micros(action, times=1):
    begun = time.perf_counter_ns()
    for _ in range(times):
        action()
    return (time.perf_counter_ns() - begun) / times / 1e3


def middle(samples):
    samples = sorted(samples)
    return f"median {samples[len(samples) // 2]:.1f}, p99 {samples[len(samples) * 99 // 100]:.1f}"


def free():
    left, total = c_size_t(), c_size_t()
    call("cuMemGetInfo_v2", byref(left), byref(total))
    return left.value


def anonymous(bytes_, touched):
    memory = libc.mmap(None, bytes_, 3, 0x22, -1, 0)
    if touched:
        ctypes.memset(memory, 1, bytes_)
    return memory


def calls(_device, _context):
    """Microseconds that calls take, from here: about half a microsecond of each is this language's."""
    function = made("cuModuleGetFunction", made("cuModuleLoadData", PTX), b"nothing")
    stream, event = made("cuStreamCreate", NON_BLOCKING), made("cuEventCreate", 0)

    def launch():
        cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, None, None)

    def seen():
        launch()
        cuda.cuEventRecord(event, stream)
        while cuda.cuEventQuery(event) == NOT_READY:
            pass

    def rested():
        time.sleep(0.003)
        return micros(seen)

    def synchronised():
        time.sleep(0.003)
        return micros(lambda: (launch(), cuda.cuStreamSynchronize(stream)))

    seen()
    print(f"launch {micros(launch, 500):.1f}")
    cuda.cuStreamSynchronize(stream)
    print(f"record {micros(lambda: cuda.cuEventRecord(event, stream), 500):.1f}")
    cuda.cuStreamSynchronize(stream)
    print(f"query of what ended {micros(lambda: cuda.cuEventQuery(event), 2000):.1f}")
    print("launch until a query sees its end:", middle([micros(seen) for _ in range(300)]))
    print("the same after 3 ms of rest:", middle([rested() for _ in range(300)]))
    print("launch and synchronise after rest:", middle([synchronised() for _ in range(300)]))


def host(_device, _context):
    """The host's memory and the link to it."""
    here = made("cuMemAlloc_v2", c_size_t(GIB), kind=c_uint64)
    there = made("cuMemAlloc_v2", c_size_t(GIB), kind=c_uint64)
    pinned = c_void_p()
    print(f"cuMemHostAlloc of 1 GiB: {micros(lambda: call('cuMemHostAlloc', byref(pinned), c_size_t(GIB), 1)):.0f} us")
    touched = anonymous(GIB, True)
    register = lambda at, bytes_: call("cuMemHostRegister_v2", c_void_p(at), c_size_t(bytes_), 1)
    print(f"registering 1 GiB that was touched: {micros(lambda: register(touched, GIB)):.0f} us")
    fresh = anonymous(GIB, False)
    parts = lambda: [register(fresh + i * 32 * MIB, 32 * MIB) for i in range(32)]
    print(f"1 GiB that was not, by 32 MiB: {micros(parts):.0f} us")
    one, other = made("cuStreamCreate", NON_BLOCKING), made("cuStreamCreate", NON_BLOCKING)

    def out():
        call("cuMemcpyDtoHAsync_v2", pinned, here, c_size_t(GIB), one)

    def back(stream=one):
        call("cuMemcpyHtoDAsync_v2", there, c_void_p(touched), c_size_t(GIB), stream)

    def rate(*actions):
        wait = lambda: (call("cuStreamSynchronize", one), call("cuStreamSynchronize", other))
        return GIB / min(micros(lambda: ([action() for action in actions], wait())) for _ in range(3)) / 1e3

    print(f"GB/s out {rate(out):.1f}, in {rate(back):.1f}, both at once {rate(out, lambda: back(other)):.1f} each")


class Properties(ctypes.Structure):
    """CUmemAllocationProp of memory of a device."""
    _fields_ = [("type", c_int), ("handles", c_int), ("location", c_int), ("device", c_int),
                ("windows", c_void_p), ("rest", c_uint64)]


class Access(ctypes.Structure):
    _fields_ = [("location", c_int), ("device", c_int), ("flags", c_int)]


def chunks(_device, _context):
    """What is done to a chunk of 32 MiB when it leaves and comes back."""
    count, size = 64, 32 * MIB
    place = made("cuMemAddressReserve", c_size_t(count * size), c_size_t(0), c_uint64(0), c_uint64(0), kind=c_uint64)
    properties, access = Properties(1, 0, 1, 0), Access(1, 0, 3)
    handles = [c_uint64() for _ in range(count)]
    at = lambda i: c_uint64(place.value + i * size)
    steps = {
        "create": lambda i: call("cuMemCreate", byref(handles[i]), c_size_t(size), byref(properties), c_uint64(0)),
        "map": lambda i: call("cuMemMap", at(i), c_size_t(size), c_size_t(0), handles[i], c_uint64(0)),
        "open": lambda i: call("cuMemSetAccess", at(i), c_size_t(size), byref(access), c_size_t(1)),
        "unmap": lambda i: call("cuMemUnmap", at(i), c_size_t(size)),
        "release": lambda i: call("cuMemRelease", handles[i]),
    }
    took = {name: micros(lambda: [step(i) for i in range(count)]) / count for name, step in steps.items()}
    print(", ".join(f"{name} {one:.1f} us" for name, one in took.items()))


def pools(device, context):
    """When memory that was freed in a stream can be given back by trimming its pool."""
    pool = made("cuDeviceGetDefaultMemPool", device)
    call("cuMemPoolSetAttribute", pool, RELEASE_THRESHOLD, byref(c_uint64(2**64 - 1)))
    stream, event = made("cuStreamCreate", NON_BLOCKING), made("cuEventCreate", NO_TIMING)

    def reserved():
        value = c_uint64()
        call("cuMemPoolGetAttribute", pool, RESERVED, byref(value))
        return value.value >> 20

    def block(mib):
        address = c_uint64()
        call("cuMemAllocAsync", byref(address), c_size_t(mib * MIB), stream)
        return address

    def freed(count=4):
        for address in [block(256) for _ in range(count)]:
            call("cuMemFreeAsync", address, stream)

    def query():
        while cuda.cuEventQuery(event) == NOT_READY:
            pass

    freed()
    before = reserved()
    call("cuMemFreeAsync", block(1024), stream)
    print(f"after 4 blocks of 256 MiB were freed one of 1024: reserved {before}, then {reserved()} MiB")
    synchronise = lambda: call("cuEventSynchronize", event)
    ways = {
        "nothing": lambda: None,
        "query of an event in the stream": lambda: (call("cuEventRecord", event, stream), query()),
        "query of the stream": lambda: [None for _ in iter(lambda: cuda.cuStreamQuery(stream), 0)],
        "wait for an event in the stream": lambda: (call("cuEventRecord", event, stream), synchronise()),
        "wait for an event of the context": lambda: (call("cuCtxRecordEvent", context, event), query(), synchronise()),
        "wait for another stream": lambda: call("cuStreamSynchronize", c_void_p(0)),
        "wait for the context": lambda: call("cuCtxSynchronize"),
    }
    for name, way in ways.items():
        call("cuStreamSynchronize", stream)
        call("cuMemPoolTrimTo", pool, c_size_t(0))
        freed()
        time.sleep(0.01)
        way()
        call("cuMemPoolTrimTo", pool, c_size_t(0))
        print(f"{name}: {reserved()} MiB of 1024 stay")


def arrays(_device, _context):
    """What arrays of one dimension take."""
    class Shape(ctypes.Structure):
        _fields_ = [("width", c_size_t), ("height", c_size_t), ("format", c_int), ("channels", c_uint)]

    before, count = free(), 64
    for _ in range(count):
        made("cuArrayCreate_v2", byref(Shape(131072, 0, 3, 4)))
    print(f"an array of 131072 texels of 16 bytes (2 MiB) takes {(before - free()) / count / MIB:.1f} MiB")


class Sample(ctypes.Structure):
    """nvmlProcessUtilizationSample_t."""
    _fields_ = [("pid", c_uint), ("micros", c_uint64), *((name, c_uint) for name in ("sm", "memory", "in_", "out"))]


def use(_device, _context):
    """What NVML says of this process, which computes half of each second, each second."""
    function = made("cuModuleGetFunction", made("cuModuleLoadData", SPIN), b"spin")
    stream, half = made("cuStreamCreate", NON_BLOCKING), c_uint64(500_000_000)
    parameters = (c_void_p * 1)(ctypes.addressof(half))
    nvml, card = ctypes.CDLL("libnvidia-ml.so.1"), c_void_p()
    if nvml.nvmlInit_v2() != 0 or nvml.nvmlDeviceGetHandleByIndex_v2(0, byref(card)) != 0:
        raise SystemExit("NVML does not tell of a card")
    for _ in range(6):
        call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, None)
        call("cuStreamSynchronize", stream)
        time.sleep(0.5)
        count, samples, now = c_uint(256), (Sample * 256)(), time.time()
        status = nvml.nvmlDeviceGetProcessUtilization(card, samples, byref(count), c_uint64(int((now - 2) * 1e6)))
        own = [one for one in samples[:count.value if status == 0 else 0] if one.pid == os.getpid()]
        print(f"status {status}:", *(f"{one.sm} %, {now - one.micros / 1e6:.1f} s old;" for one in own))


def main():
    known = {one.__name__: one for one in (calls, host, chunks, pools, arrays, use)}
    unknown = [word for word in sys.argv[1:] if word not in known]
    if unknown:
        raise SystemExit(f"driver_facts.py: no {unknown[0]}; accepted: {' '.join(known)}")
    call("cuInit", 0)
    device = made("cuDeviceGet", 0, kind=c_int)
    context = made("cuDevicePrimaryCtxRetain", device)
    call("cuCtxSetCurrent", context)
    for word in sys.argv[1:] or known:
        print(f"== {word}: {known[word].__doc__}")
        known[word](device, context)


if __name__ == "__main__":
    main()
