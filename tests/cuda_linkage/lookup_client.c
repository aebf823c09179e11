// A program that finds the driver as the CUDA runtime does: dlopen of libcuda.so.1, then every
// entry through cuGetProcAddress_v2, with per-thread default streams. Several threads allocate,
// launch and verify at once; a forked child that never touches the driver must not disturb it.
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cuda_app.h"
#include "kernels.h"

typedef CUresult GetProcAddress(const char* symbol, void** function, int version, uint64_t flags,
                                int* status);

// The entries in use, in the calling convention of the version that is asked for (12.0).
static struct {
  GetProcAddress* find;
  CUresult (*init)(unsigned);
  CUresult (*driverVersion)(int*);
  CUresult (*deviceGet)(CUdevice*, int);
  CUresult (*primaryCtxRetain)(CUcontext*, CUdevice);
  CUresult (*primaryCtxRelease)(CUdevice);
  CUresult (*ctxSetCurrent)(CUcontext);
  CUresult (*ctxSynchronize)(void);
  CUresult (*memGetInfo)(size_t*, size_t*);
  CUresult (*memAlloc)(CUdeviceptr*, size_t);
  CUresult (*memFree)(CUdeviceptr);
  CUresult (*memAllocAsync)(CUdeviceptr*, size_t, CUstream);
  CUresult (*memFreeAsync)(CUdeviceptr, CUstream);
  CUresult (*copyHtoDAsync)(CUdeviceptr, const void*, size_t, CUstream);
  CUresult (*copyDtoHAsync)(void*, CUdeviceptr, size_t, CUstream);
  CUresult (*memsetD32Async)(CUdeviceptr, unsigned, size_t, CUstream);
  CUresult (*streamSynchronize)(CUstream);
  ModuleLoadData* moduleLoadData;
  ModuleGetFunction* moduleGetFunction;
  CUresult (*launchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, CUstream, void**, void**);
} cu;

enum { kVersion = 12000, kThreads = 4, kRounds = 8, kWords = 1 << 16, kBytes = kWords * 4 };

static CUcontext context;
static CUfunction axpy;

static void* entry(const char* name, uint64_t flags) {
  void* function = NULL;
  int status = -1;
  must(cu.find(name, &function, kVersion, flags, &status), name);
  if (!function || status != 0) must(CUDA_ERROR_NOT_FOUND, name);
  return function;
}

static void findEntries(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("FAILED dlopen: %s\n", dlerror());
    exit(1);
  }
  *(void**)&cu.find = dlsym(library, "cuGetProcAddress_v2");
  if (!cu.find) must(CUDA_ERROR_NOT_FOUND, "cuGetProcAddress_v2");
  const uint64_t own = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  // The runtime asks for the lookup itself by lookup and uses that answer from then on.
  *(void**)&cu.find = entry("cuGetProcAddress", CU_GET_PROC_ADDRESS_DEFAULT);
  *(void**)&cu.init = entry("cuInit", own);
  *(void**)&cu.driverVersion = entry("cuDriverGetVersion", own);
  *(void**)&cu.deviceGet = entry("cuDeviceGet", own);
  *(void**)&cu.primaryCtxRetain = entry("cuDevicePrimaryCtxRetain", own);
  *(void**)&cu.primaryCtxRelease = entry("cuDevicePrimaryCtxRelease", own);
  *(void**)&cu.ctxSetCurrent = entry("cuCtxSetCurrent", own);
  *(void**)&cu.ctxSynchronize = entry("cuCtxSynchronize", own);
  *(void**)&cu.memGetInfo = entry("cuMemGetInfo", own);
  *(void**)&cu.memAlloc = entry("cuMemAlloc", own);
  *(void**)&cu.memFree = entry("cuMemFree", own);
  *(void**)&cu.memAllocAsync = entry("cuMemAllocAsync", own);
  *(void**)&cu.memFreeAsync = entry("cuMemFreeAsync", own);
  *(void**)&cu.copyHtoDAsync = entry("cuMemcpyHtoDAsync", own);
  *(void**)&cu.copyDtoHAsync = entry("cuMemcpyDtoHAsync", own);
  *(void**)&cu.memsetD32Async = entry("cuMemsetD32Async", own);
  *(void**)&cu.streamSynchronize = entry("cuStreamSynchronize", own);
  *(void**)&cu.moduleLoadData = entry("cuModuleLoadData", own);
  *(void**)&cu.moduleGetFunction = entry("cuModuleGetFunction", own);
  *(void**)&cu.launchKernel = entry("cuLaunchKernel", own);
}

// One thread's work on its own default stream; the digest of its last result.
static uint64_t roundsOfWork(uint32_t seed) {
  CUdeviceptr y, x;
  uint32_t* host = malloc(kBytes);
  for (uint32_t i = 0; i < kWords; ++i) host[i] = bitsOf((float)(i % 1009));
  must(cu.ctxSetCurrent(context), "cuCtxSetCurrent");
  must(cu.memAlloc(&y, kBytes), "cuMemAlloc");
  must(cu.copyHtoDAsync(y, host, kBytes, NULL), "cuMemcpyHtoDAsync");
  for (uint32_t round = 0; round < kRounds; ++round) {
    must(cu.memAllocAsync(&x, kBytes, NULL), "cuMemAllocAsync");
    must(cu.memsetD32Async(x, bitsOf((float)(round + 1)), kWords, NULL), "cuMemsetD32Async");
    struct AxpyArguments arguments = {y, x, kWords, (float)seed};
    void* params[4];
    must(cu.launchKernel(axpy, axpyGrid(kWords), 1, 1, kAxpyBlock, 1, 1, 0, NULL,
                         axpyParams(&arguments, params), NULL),
         "cuLaunchKernel");
    must(cu.memFreeAsync(x, NULL), "cuMemFreeAsync");
  }
  must(cu.copyDtoHAsync(host, y, kBytes, NULL), "cuMemcpyDtoHAsync");
  must(cu.streamSynchronize(NULL), "cuStreamSynchronize");
  must(cu.memFree(y), "cuMemFree");
  const uint64_t result = digest(host, kWords);
  free(host);
  return result;
}

static void* threadMain(void* slot) {
  uint64_t* result = slot;
  *result = roundsOfWork((uint32_t)*result);
  return NULL;
}

static uint64_t expectedDigest(uint32_t seed) {
  uint32_t* host = malloc(kBytes);
  const uint32_t sum = seed * (kRounds * (kRounds + 1) / 2);
  for (uint32_t i = 0; i < kWords; ++i) host[i] = bitsOf((float)(i % 1009 + sum));
  const uint64_t result = digest(host, kWords);
  free(host);
  return result;
}

static int threadsAtWork(void) {
  pthread_t threads[kThreads];
  uint64_t results[kThreads];
  int wrong = 0;
  for (uint32_t i = 0; i < kThreads; ++i) {
    results[i] = i + 3;
    must(pthread_create(&threads[i], NULL, threadMain, &results[i]), "pthread_create");
  }
  for (uint32_t i = 0; i < kThreads; ++i) {
    must(pthread_join(threads[i], NULL), "pthread_join");
    char what[32];
    snprintf(what, sizeof what, "thread %u", i);
    wrong += report(what, results[i], expectedDigest(i + 3));
  }
  return wrong;
}

static int childWithoutDriver(void) {
  const pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) must(CUDA_ERROR_INVALID_VALUE, "fork");
  return report("forked child", (uint64_t)WEXITSTATUS(status), 7);
}

static int namesAndVersions(void) {
  void* function = NULL;
  int status = -1;
  const CUresult absent = cu.find("cuNoSuchEntry", &function, kVersion, 0, &status);
  // Drivers say it in the result, in the status, or in both.
  int wrong = report("a name nobody has", !function && (absent != 0 || status != 0), 1);
  printf("%-28s result %d, status %d\n", "", absent, status);
  void* legacy = entry("cuMemcpyHtoDAsync", CU_GET_PROC_ADDRESS_DEFAULT);
  wrong += report("two kinds of default stream", legacy != *(void**)&cu.copyHtoDAsync, 1);
  int version = 0;
  must(cu.driverVersion(&version), "cuDriverGetVersion");
  return wrong + report("driver is 11.4 or later", version >= 11040, 1);
}

int main(void) {
  CUdevice device;
  CUmodule module;
  size_t free_before = 0, free_after = 0, total = 0;
  findEntries();
  must(cu.init(0), "cuInit");
  must(cu.deviceGet(&device, 0), "cuDeviceGet");
  must(cu.primaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  must(cu.ctxSetCurrent(context), "cuCtxSetCurrent");
  must(loadAxpy(cu.moduleLoadData, cu.moduleGetFunction, &module, &axpy), "loading axpy");
  int wrong = namesAndVersions() + threadsAtWork() + childWithoutDriver();
  must(cu.memGetInfo(&free_before, &total), "cuMemGetInfo");
  wrong += threadsAtWork();
  must(cu.ctxSynchronize(), "cuCtxSynchronize");
  must(cu.memGetInfo(&free_after, &total), "cuMemGetInfo");
  wrong += report("everything was given back", free_after >= free_before, 1);
  must(cu.primaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
  printf(wrong ? "%d wrong\n" : "all results verified\n", wrong);
  return wrong ? 1 : 0;
}
