"""Propose a class for a function that is new to the lists; a reader corrects it there."""

import re

# First match wins. The lists themselves hold the decision; this only saves typing.
_RULES = (
    (r"cuInit$|cuDriverGetVersion$", "init"),
    (r"cuGetProcAddress|cuGetExportTable", "lookup"),
    (r"cuGetError", "error"),
    (r"cuCheckpoint", "checkpoint"),
    (r"cuCoredump", "coredump"),
    (r"cuProfiler", "profiler"),
    (r"cuLogs", "logs"),
    (r"cu(GL|EGL|VDPAU|Graphics)|cuEventCreateFromEGL", "graphics"),
    (r"cuGreenCtx|cuDev(Sm)?Resource|DevResource|cuCtxFromGreen|GreenCtx", "green"),
    (r"cuMulticast", "multicast"),
    (r"cuIpc", "ipc"),
    (r"External(Memory|Semaphore)", "external"),
    (r"cuTensorMap", "tensor"),
    (r"cuTex", "texture"),
    (r"cuSurf", "surface"),
    (r"cuGraph(Add(MemAlloc|MemFree)Node|MemAllocNode|MemFreeNode)|GraphMem", "graphmem"),
    (r"cuGraph|cuUserObject", "graph"),
    (r"Capture", "capture"),
    (r"cuLaunch|cuParam|cuFuncSetBlockShape|cuFuncSetSharedSize$|StreamBatchMemOp|"
     r"cuStream(Write|Wait)Value", "launch"),
    (r"cuStream", "stream"),
    (r"cuEvent", "event"),
    (r"cuLink", "link"),
    (r"cuLibrary|cuKernel", "library"),
    (r"cuModule", "module"),
    (r"cuFunc|cuOccupancy", "function"),
    (r"cuMemPool|MemPool$|cuMemAllocFromPool", "pool"),
    (r"cuMem(AddressReserve|AddressFree|Create|Release|Map|Unmap|SetAccess|GetAccess|Export|Import|"
     r"GetAllocation|RetainAlloc|GetHandleForAddress)", "vmm"),
    (r"cuMemAllocHost|cuMemHost|cuMemFreeHost", "host"),
    (r"cuMemAlloc", "alloc"),
    (r"cuMemFree", "free"),
    (r"cuMemPrefetch|cuMemAdvise|cuMemRangeGet|cuMemDiscard", "managed"),
    (r"cuMemcpy|cuFabricCpy|cuMemBatchDecompress", "copy"),
    (r"cuMemset", "set"),
    (r"cuLogicalEndpoint", "fabric"),
    (r"cuMem", "memory"),
    (r"cuArray|cuMipmapped", "array"),
    (r"cuPointer", "pointer"),
    (r"Peer|P2P", "peer"),
    (r"cuDevicePrimaryCtx|cuCtx", "context"),
    (r"cuThreadExchange", "capture"),
    (r"cuDevice|cuFlush", "device"),
    (r"nvmlInit|nvmlShutdown", "init"),
    (r"nvmlErrorString", "error"),
    (r"nvmlSystem|nvmlUnit", "unit"),
    (r"[vV]gpu|VirtualizationMode|GridLicens|HostVgpu", "vgpu"),
    (r"nvmlGpm|nvmlDeviceGet(Power|Perf)Sample", "gpm"),
    (r"ConfCompute", "conf"),
    (r"Mig|GpuInstance|ComputeInstance", "mig"),
    (r"Process|Accounting", "process"),
    (r"MemoryInfo|BAR1", "memory"),
    (r"Count(_v2)?$|HandleBy|GetIndex|GetUUID|PciInfo|GetMinorNumber|GetSerial", "device"),
    (r"Fabric|NvLink|Topolog|P2P", "fabric"),
    (r"nvmlDevice(Set|Clear|Reset|Modify|Freeze|Register|Remove|Discover|Power)|nvmlEvent",
     "control"),
    (r"nvmlDevice", "report"),
)


def propose(symbol: str) -> str:
    """A class from deflist.CLASSES."""
    for pattern, cls in _RULES:
        if re.search(pattern, symbol):
            return cls
    return "report"
