"""Every entry point that is given device memory passes the gate of memory, or is named here with the
reason why it need not: one that is forgotten would touch memory that is not on the device."""

import os
import re
import unittest
from pathlib import Path

import deflist
import gated_hooks

ABI = Path(os.environ["DIVVY_SOURCE_DIR"]) / "abi"

# What a parameter's type says about memory of the application on the device.
MEMORY = re.compile(r"CUdeviceptr|CUDA_MEMCPY|CUDA_MEMSET|CUstreamBatchMemOp|CUDA_BATCH_MEM_OP|"
                    r"CUgraphNodeParams|CUDA_RESOURCE_DESC|CUmemcpy|CUgraphExec\b|CUarrayMapInfo")
LAUNCH = ("launch",)

# Hand-written hooks that pass the gate of memory themselves.
BY_HAND = ("cuGraphLaunch", "cuGraphUpload", "cuGraphAddNode", "cuGraphInstantiate",
           "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams")

OURS = "answered or undone from our own records"
ADDRESS = "an address is told, given or kept, nothing behind it is looked at"
OTHERS = "memory of others, which never leaves"
NO_MEMORY = "no memory is looked at"
NAMED = "memory is named to others, and must not leave then, which no gate can see to"
EXEMPT = {
    "cuModuleGetGlobal": OTHERS, "cuLibraryGetGlobal": OTHERS, "cuLibraryGetManaged": OTHERS,
    "cuMemGetAddressRange": OURS, "cuMemGetLocationInfo": ADDRESS,
    "cuMemAlloc": OURS, "cuMemAllocPitch": OURS, "cuMemAllocManaged": OTHERS, "cuMemFree": OURS,
    "cuMemHostGetDevicePointer": OTHERS, "cuMemAdvise": OTHERS,
    "cuMemAllocAsync": OTHERS, "cuMemAllocFromPoolAsync": OTHERS, "cuMemFreeAsync": OTHERS,
    "cuMemPoolExportPointer": OTHERS, "cuMemPoolImportPointer": OTHERS,
    "cuMemGetHandleForAddressRange": NAMED, "cuMemAddressReserve": ADDRESS,
    "cuMemAddressFree": OURS, "cuMemMap": OURS, "cuMemUnmap": OURS, "cuMemSetAccess": OURS,
    "cuMemGetAccess": OURS, "cuMemMapArrayAsync": OTHERS,
    "cuMulticastBindAddr": NAMED,
    "cuPointerGetAttribute": OURS, "cuPointerGetAttributes": OURS, "cuPointerSetAttribute": OURS,
    "cuTexRefGetAddress": ADDRESS, "cuTexObjectGetResourceDesc": ADDRESS,
    "cuSurfObjectCreate": OTHERS, "cuSurfObjectGetResourceDesc": ADDRESS,
    "cuStreamAttachMemAsync": OTHERS,
    "cuExternalMemoryGetMappedBuffer": OTHERS, "cuGLMapBufferObject": OTHERS,
    "cuGLMapBufferObjectAsync": OTHERS, "cuGraphicsResourceGetMappedPointer": OTHERS,
    "cuGraphAddMemFreeNode": OTHERS, "cuGraphMemFreeNodeGetParams": ADDRESS,
    "cuGraphBatchMemOpNodeGetParams": ADDRESS, "cuGraphMemcpyNodeGetParams": ADDRESS,
    "cuGraphMemsetNodeGetParams": ADDRESS, "cuGraphNodeGetParams": ADDRESS,
    "cuGraphExecKernelNodeSetParams": "what a kernel is given is not looked at",
    "cuIpcGetMemHandle": NAMED, "cuIpcOpenMemHandle": OTHERS, "cuIpcCloseMemHandle": OTHERS,
} | {base: NO_MEMORY for base in (
    "cuFuncSetBlockShape", "cuFuncSetSharedSize", "cuParamSetSize", "cuParamSetTexRef",
    "cuParamSetf", "cuParamSeti", "cuParamSetv", "cuLaunchHostFunc", "cuGraphExecDestroy",
    "cuGraphExecEventRecordNodeSetEvent", "cuGraphExecEventWaitNodeSetEvent",
    "cuGraphExecExternalSemaphoresSignalNodeSetParams",
    "cuGraphExecExternalSemaphoresWaitNodeSetParams", "cuGraphExecGetFlags", "cuGraphExecGetId",
    "cuGraphExecHostNodeSetParams", "cuGraphNodeGetEnabled", "cuGraphNodeSetEnabled")}


def passes(entry) -> bool:
    """The entry's hook passes the gate of memory."""
    if entry.policy != "wrap":
        return False
    generated = entry.cls in gated_hooks.GATED_CLASSES and entry.base not in gated_hooks.NO_WORK
    return generated or entry.base in gated_hooks.TOUCHING or entry.base in BY_HAND


class Touching(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.entries = deflist.parse(ABI / "cuda.def").entries

    def test_memory_given_passes_the_gate_or_has_a_reason(self):
        missing = sorted({entry.base for entry in self.entries
                          if (MEMORY.search(entry.params) or entry.cls in LAUNCH)
                          and not passes(entry) and entry.base not in EXEMPT})
        self.assertEqual(missing, [])

    def test_nothing_is_exempt_that_passes(self):
        known = {entry.base for entry in self.entries if not passes(entry)}
        self.assertEqual(sorted(base for base in EXEMPT if base not in known), [])


if __name__ == "__main__":
    unittest.main()
