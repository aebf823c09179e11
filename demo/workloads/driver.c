#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult GetProcAddress(const char* symbol, void** function, int version, uint64_t flags,
                                int* status);

enum { kVersion = 12000 };

static const struct {
  const char* name;
  size_t offset;
} kEntries[] = {
    {"cuInit", offsetof(struct Driver, init)},
    {"cuDeviceGet", offsetof(struct Driver, deviceGet)},
    {"cuDeviceGetName", offsetof(struct Driver, deviceGetName)},
    {"cuDevicePrimaryCtxRetain", offsetof(struct Driver, primaryCtxRetain)},
    {"cuCtxSetCurrent", offsetof(struct Driver, ctxSetCurrent)},
    {"cuCtxSynchronize", offsetof(struct Driver, ctxSynchronize)},
    {"cuMemGetInfo", offsetof(struct Driver, memGetInfo)},
    {"cuMemAlloc", offsetof(struct Driver, memAlloc)},
    {"cuMemFree", offsetof(struct Driver, memFree)},
    {"cuMemcpyHtoD", offsetof(struct Driver, copyHtoD)},
    {"cuMemcpyDtoH", offsetof(struct Driver, copyDtoH)},
    {"cuMemcpyDtoD", offsetof(struct Driver, copyDtoD)},
    {"cuModuleLoadData", offsetof(struct Driver, moduleLoadData)},
    {"cuModuleGetFunction", offsetof(struct Driver, moduleGetFunction)},
    {"cuEventCreate", offsetof(struct Driver, eventCreate)},
    {"cuEventRecord", offsetof(struct Driver, eventRecord)},
    {"cuEventSynchronize", offsetof(struct Driver, eventSynchronize)},
    {"cuLaunchKernel", offsetof(struct Driver, launchKernel)},
};

void must(CUresult result, const char* what) {
  if (result == kSuccess) return;
  fprintf(stderr, "%s: driver error %d\n", what, result);
  exit(1);
}

struct Driver openDriver(void) {
  struct Driver driver;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* lookup = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
  if (!lookup) {
    fprintf(stderr, "no CUDA driver: %s\n", dlerror());
    exit(1);
  }
  GetProcAddress* find;
  memcpy(&find, &lookup, sizeof find);
  for (size_t i = 0; i < sizeof kEntries / sizeof *kEntries; ++i) {
    void* function = NULL;
    int status = 0;
    must(find(kEntries[i].name, &function, kVersion, 0, &status), kEntries[i].name);
    memcpy((char*)&driver + kEntries[i].offset, &function, sizeof function);
  }
  CUdevice device;
  CUcontext context;
  must(driver.init(0), "cuInit");
  must(driver.deviceGet(&device, 0), "cuDeviceGet");
  must(driver.primaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  must(driver.ctxSetCurrent(context), "cuCtxSetCurrent");
  return driver;
}
