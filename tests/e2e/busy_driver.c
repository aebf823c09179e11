#include "busy_driver.h"

#include <dlfcn.h>
#include <string.h>

#include "busy_ptx.h"

struct Entries cu;

static const char kKernels[] =
    "simgpu-builtin 1\nkernel spin = spin\nkernel until = spin_until\nkernel fill = fill\n"
    "kernel add = add\n";

enum { kNoEntry = 500 };

int bindDriver(void) {
  static const struct {
    const char* name;
    void* slot;
  } kEntries[] = {
      {"cuInit", &cu.init},
      {"cuDeviceGet", &cu.deviceGet},
      {"cuDevicePrimaryCtxRetain", &cu.primaryRetain},
      {"cuCtxCreate_v2", &cu.ctxCreate},
      {"cuCtxDestroy_v2", &cu.ctxDestroy},
      {"cuCtxSetCurrent", &cu.ctxSetCurrent},
      {"cuCtxSynchronize", &cu.ctxSynchronize},
      {"cuMemAlloc_v2", &cu.memAlloc},
      {"cuMemAllocManaged", &cu.memAllocManaged},
      {"cuMemFree_v2", &cu.memFree},
      {"cuMemcpyHtoD_v2", &cu.copyHtoD},
      {"cuMemcpyDtoH_v2", &cu.copyDtoH},
      {"cuMemcpyHtoDAsync_v2", &cu.copyHtoDAsync},
      {"cuIpcGetMemHandle", &cu.ipcGet},
      {"cuIpcOpenMemHandle_v2", &cu.ipcOpen},
      {"cuMemHostRegister_v2", &cu.hostRegister},
      {"cuMemHostGetDevicePointer_v2", &cu.hostDevicePointer},
      {"cuModuleLoadData", &cu.moduleLoadData},
      {"cuModuleGetFunction", &cu.moduleGetFunction},
      {"cuLaunchKernel", &cu.launchKernel},
      {"cuStreamCreate", &cu.streamCreate},
      {"cuStreamSynchronize", &cu.streamSynchronize},
      {"cuStreamBeginCapture_v2", &cu.streamBeginCapture},
      {"cuStreamEndCapture", &cu.streamEndCapture},
      {"cuThreadExchangeStreamCaptureMode", &cu.exchangeCaptureMode},
      {"cuEventCreate", &cu.eventCreate},
      {"cuEventRecord", &cu.eventRecord},
      {"cuEventSynchronize", &cu.eventSynchronize},
      {"cuGraphInstantiateWithFlags", &cu.graphInstantiate},
      {"cuGraphLaunch", &cu.graphLaunch},
      {"cuGraphDestroy", &cu.graphDestroy},
  };
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return kNoEntry;
  for (size_t i = 0; i < sizeof kEntries / sizeof *kEntries; ++i) {
    void* entry = dlsym(library, kEntries[i].name);
    if (!entry) return kNoEntry;
    memcpy(kEntries[i].slot, &entry, sizeof entry);
  }
  return cu.init(0);
}

int loadKernels(struct Place* place) {
  Handle module = NULL;
  int code = cu.moduleLoadData(&module, kKernels);
  place->blocks = place->threads = 1;
  if (code != 0) {
    place->blocks = 256;
    place->threads = 512;
    code = cu.moduleLoadData(&module, kBusyPtx);
  }
  if (code == 0) code = cu.moduleGetFunction(&place->spin, module, "spin");
  if (code == 0) code = cu.moduleGetFunction(&place->until, module, "until");
  if (code == 0) code = cu.moduleGetFunction(&place->fill, module, "fill");
  if (code == 0) code = cu.moduleGetFunction(&place->add, module, "add");
  return code;
}

static int launch(Handle kernel, Handle stream, void** params) {
  return cu.launchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static int launchWide(const struct Place* place, Handle kernel, Handle stream, void** params) {
  return cu.launchKernel(kernel, place->blocks, 1, 1, place->threads, 1, 1, 0, stream, params,
                         NULL);
}

int launchSpin(const struct Place* place, Handle stream, unsigned long long us) {
  unsigned long long ns = us * 1000;
  void* params[] = {&ns};
  return launch(place->spin, stream, params);
}

int launchUntil(const struct Place* place, Handle stream, CUdeviceptr flag) {
  unsigned value = 1;
  void* params[] = {&flag, &value};
  return launch(place->until, stream, params);
}

int launchAdd(const struct Place* place, Handle stream, CUdeviceptr words, unsigned long long count,
              unsigned value) {
  void* params[] = {&words, &count, &value};
  return launchWide(place, place->add, stream, params);
}

int launchSet(const struct Place* place, Handle stream, CUdeviceptr flag) {
  unsigned long long count = 1;
  unsigned value = 1;
  void* params[] = {&flag, &count, &value};
  return launch(place->fill, stream, params);
}
