// A program linked with -lcuda, as any C application of the driver API: it allocates in every
// usual way, copies, runs a kernel and a graph, and verifies each result.
#include <string.h>

#include "check.h"
#include "cuda_app.h"
#include "kernels.h"

CUresult cuInit(unsigned flags);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetName(char* name, int len, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total);
CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes);
CUresult cuMemAllocPitch_v2(CUdeviceptr* p, size_t* pitch, size_t width, size_t height, unsigned e);
CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned flags);
CUresult cuMemFree_v2(CUdeviceptr pointer);
CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void* pointer);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy);
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t words);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t words, CUstream stream);
CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor);
CUresult cuArrayDestroy(CUarray array);
CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* p, size_t bytes, CUmemoryPool pool, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void* value);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* prop, int option);
CUresult cuMemAddressReserve(CUdeviceptr* p, size_t size, size_t align, CUdeviceptr at,
                             unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size);
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr pointer, size_t size);
CUresult cuMemSetAccess(CUdeviceptr p, size_t size, const CUmemAccessDesc* desc, size_t count);
CUresult cuModuleLoadData(CUmodule* module, const void* image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void** params,
                        void** extra);
CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph);
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
CUresult cuGraphExecDestroy(CUgraphExec exec);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
CUresult cuEventDestroy_v2(CUevent event);

enum { kWords = 1 << 20, kBytes = kWords * 4, kRows = 200, kColumns = 333 };

static uint32_t* words;  // kWords of scratch in host memory

static uint64_t readBack(CUdeviceptr from, size_t count) {
  memset(words, 0xa5, count * 4);
  must(cuMemcpyDtoH_v2(words, from, count * 4), "cuMemcpyDtoH");
  return digest(words, count);
}

static int plainAllocations(void) {
  CUdeviceptr first, second;
  must(cuMemAlloc_v2(&first, kBytes), "cuMemAlloc");
  must(cuMemAlloc_v2(&second, kBytes), "cuMemAlloc");
  pattern(words, kWords, 7);
  must(cuMemcpyHtoD_v2(first, words, kBytes), "cuMemcpyHtoD");
  must(cuMemcpyDtoD_v2(second, first, kBytes), "cuMemcpyDtoD");
  int wrong = report("plain copy", readBack(second, kWords), patternDigest(kWords, 7));
  must(cuMemsetD32_v2(second + 4096, 0xdeadbeef, 16), "cuMemsetD32");
  must(cuMemcpyDtoH_v2(words, second + 4092, 72), "cuMemcpyDtoH");
  wrong += report("memset inside", words[1] & words[16], 0xdeadbeef);
  wrong += report("memset left edge", words[0], 1023u * 2654435761u + 7);
  wrong += report("memset right edge", words[17], 1040u * 2654435761u + 7);
  must(cuMemFree_v2(first), "cuMemFree");
  must(cuMemFree_v2(second), "cuMemFree");
  printf("%-28s error %d\n", "free of no pointer", cuMemFree_v2(0));
  return wrong;
}

static CUDA_MEMCPY2D rowsFromHost(const uint32_t* from) {
  CUDA_MEMCPY2D copy;
  memset(&copy, 0, sizeof copy);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.srcPitch = copy.WidthInBytes = kColumns * 4;
  copy.Height = kRows;
  return copy;
}

static CUDA_MEMCPY2D rowsToHost(uint32_t* to) {
  CUDA_MEMCPY2D copy;
  memset(&copy, 0, sizeof copy);
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = to;
  copy.dstPitch = copy.WidthInBytes = kColumns * 4;
  copy.Height = kRows;
  return copy;
}

static int pitchedRows(void) {
  CUdeviceptr rows;
  size_t pitch = 0;
  must(cuMemAllocPitch_v2(&rows, &pitch, kColumns * 4, kRows, 4), "cuMemAllocPitch");
  pattern(words, kRows * kColumns, 11);
  CUDA_MEMCPY2D in = rowsFromHost(words);
  in.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  in.dstDevice = rows;
  in.dstPitch = pitch;
  must(cuMemcpy2D_v2(&in), "cuMemcpy2D in");
  memset(words, 0, kRows * kColumns * 4);
  CUDA_MEMCPY2D out = rowsToHost(words);
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = rows;
  out.srcPitch = pitch;
  must(cuMemcpy2D_v2(&out), "cuMemcpy2D out");
  must(cuMemFree_v2(rows), "cuMemFree");
  const int wrong = report("pitch holds a row", pitch >= kColumns * 4, 1);
  return wrong + report("pitched rows", digest(words, kRows * kColumns),
                        patternDigest(kRows * kColumns, 11));
}

static int arrayRows(void) {
  CUarray array;
  const CUDA_ARRAY_DESCRIPTOR descriptor = {kColumns, kRows, CU_AD_FORMAT_UNSIGNED_INT32, 1};
  must(cuArrayCreate_v2(&array, &descriptor), "cuArrayCreate");
  pattern(words, kRows * kColumns, 13);
  CUDA_MEMCPY2D in = rowsFromHost(words);
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  in.dstArray = array;
  must(cuMemcpy2D_v2(&in), "cuMemcpy2D to array");
  memset(words, 0, kRows * kColumns * 4);
  CUDA_MEMCPY2D out = rowsToHost(words);
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = array;
  must(cuMemcpy2D_v2(&out), "cuMemcpy2D from array");
  must(cuArrayDestroy(array), "cuArrayDestroy");
  return report("array rows", digest(words, kRows * kColumns), patternDigest(kRows * kColumns, 13));
}

static int managedMemory(CUfunction axpy) {
  CUdeviceptr y, x;
  must(cuMemAllocManaged(&y, kBytes, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
  must(cuMemAllocManaged(&x, kBytes, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
  float* host_y = (float*)(uintptr_t)y;
  float* host_x = (float*)(uintptr_t)x;
  for (uint32_t i = 0; i < kWords; ++i) {
    host_y[i] = (float)(i % 1009);
    host_x[i] = (float)(i % 77);
  }
  struct AxpyArguments arguments = {y, x, kWords, 3};
  void* params[4];
  must(cuLaunchKernel(axpy, axpyGrid(kWords), 1, 1, kAxpyBlock, 1, 1, 0, NULL,
                      axpyParams(&arguments, params), NULL),
       "cuLaunchKernel");
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  for (uint32_t i = 0; i < kWords; ++i) words[i] = bitsOf((float)(i % 1009 + 3 * (i % 77)));
  const uint64_t wanted = digest(words, kWords);
  memcpy(words, host_y, kBytes);
  const int wrong = report("managed axpy", digest(words, kWords), wanted);
  must(cuMemFree_v2(y), "cuMemFree");
  must(cuMemFree_v2(x), "cuMemFree");
  return wrong;
}

static int streamOrdered(CUdevice device) {
  CUstream stream;
  CUmemoryPool pool;
  CUdeviceptr a, b;
  uint32_t* pinned;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  must(cuMemHostAlloc((void**)&pinned, kBytes, 0), "cuMemHostAlloc");
  CUmemPoolProps props;
  memset(&props, 0, sizeof props);
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = device;
  must(cuMemPoolCreate(&pool, &props), "cuMemPoolCreate");
  uint64_t keep = 64 << 20;
  must(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep), "release threshold");
  must(cuMemAllocAsync(&a, kBytes, stream), "cuMemAllocAsync");
  must(cuMemAllocFromPoolAsync(&b, kBytes, pool, stream), "cuMemAllocFromPoolAsync");
  pattern(pinned, kWords, 17);
  must(cuMemcpyHtoDAsync_v2(a, pinned, kBytes, stream), "cuMemcpyHtoDAsync");
  must(cuMemsetD32Async(b, 0x5eed, kWords, stream), "cuMemsetD32Async");
  must(cuMemcpyDtoHAsync_v2(words, a, kBytes, stream), "cuMemcpyDtoHAsync");
  must(cuMemFreeAsync(a, stream), "cuMemFreeAsync");
  must(cuStreamSynchronize(stream), "cuStreamSynchronize");
  int wrong = report("async from default pool", digest(words, kWords), patternDigest(kWords, 17));
  must(cuMemcpyDtoHAsync_v2(pinned, b, kBytes, stream), "cuMemcpyDtoHAsync");
  must(cuMemFreeAsync(b, stream), "cuMemFreeAsync");
  must(cuStreamSynchronize(stream), "cuStreamSynchronize");
  for (uint32_t i = 0; i < kWords; ++i) words[i] = 0x5eed;
  wrong += report("async from own pool", digest(pinned, kWords), digest(words, kWords));
  must(cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo");
  must(cuMemPoolDestroy(pool), "cuMemPoolDestroy");
  must(cuMemFreeHost(pinned), "cuMemFreeHost");
  must(cuStreamDestroy_v2(stream), "cuStreamDestroy");
  return wrong;
}

static int mappedTwice(CUdevice device) {
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  size_t granule = 0;
  must(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
       "cuMemGetAllocationGranularity");
  const size_t size = (kBytes + granule - 1) / granule * granule;
  CUmemGenericAllocationHandle handle;
  CUdeviceptr window;
  must(cuMemAddressReserve(&window, 2 * size, 0, 0, 0), "cuMemAddressReserve");
  must(cuMemCreate(&handle, size, &prop, 0), "cuMemCreate");
  must(cuMemMap(window, size, 0, handle, 0), "cuMemMap");
  must(cuMemMap(window + size, size, 0, handle, 0), "cuMemMap again");
  must(cuMemRelease(handle), "cuMemRelease");
  const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  must(cuMemSetAccess(window, 2 * size, &access, 1), "cuMemSetAccess");
  pattern(words, kWords, 19);
  must(cuMemcpyHtoD_v2(window, words, kBytes), "cuMemcpyHtoD");
  const int wrong = report("one handle, two addresses", readBack(window + size, kWords),
                           patternDigest(kWords, 19));
  must(cuMemUnmap(window, size), "cuMemUnmap");
  must(cuMemUnmap(window + size, size), "cuMemUnmap again");
  must(cuMemAddressFree(window, 2 * size), "cuMemAddressFree");
  return wrong;
}

static int kernelsInOrder(CUfunction axpy) {
  CUdeviceptr y, x;
  CUstream first, second;
  CUevent start, end;
  float elapsed = -1;
  must(cuMemAlloc_v2(&y, kBytes), "cuMemAlloc");
  must(cuMemAlloc_v2(&x, kBytes), "cuMemAlloc");
  must(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  must(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  must(cuEventCreate(&start, 0), "cuEventCreate");
  must(cuEventCreate(&end, 0), "cuEventCreate");
  must(cuMemsetD32_v2(y, bitsOf(1), kWords), "cuMemsetD32");
  must(cuMemsetD32_v2(x, bitsOf(2), kWords), "cuMemsetD32");
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  struct AxpyArguments forward = {y, x, kWords, 5}, back = {x, y, kWords, 7};
  void* params[4];
  must(cuEventRecord(start, first), "cuEventRecord");
  must(cuLaunchKernel(axpy, axpyGrid(kWords), 1, 1, kAxpyBlock, 1, 1, 0, first,
                      axpyParams(&forward, params), NULL),
       "cuLaunchKernel");
  must(cuEventRecord(end, first), "cuEventRecord");
  must(cuStreamWaitEvent(second, end, 0), "cuStreamWaitEvent");
  must(cuLaunchKernel(axpy, axpyGrid(kWords), 1, 1, kAxpyBlock, 1, 1, 0, second,
                      axpyParams(&back, params), NULL),
       "cuLaunchKernel");
  must(cuStreamSynchronize(second), "cuStreamSynchronize");
  must(cuEventElapsedTime(&elapsed, start, end), "cuEventElapsedTime");
  for (uint32_t i = 0; i < kWords; ++i) words[i] = bitsOf(2 + 7 * (1 + 5 * 2));
  const uint64_t wanted = digest(words, kWords);
  int wrong = report("two streams in order", readBack(x, kWords), wanted);
  wrong += report("elapsed time is not negative", elapsed >= 0, 1);
  must(cuEventDestroy_v2(start), "cuEventDestroy");
  must(cuEventDestroy_v2(end), "cuEventDestroy");
  must(cuStreamDestroy_v2(first), "cuStreamDestroy");
  must(cuStreamDestroy_v2(second), "cuStreamDestroy");
  must(cuMemFree_v2(y), "cuMemFree");
  must(cuMemFree_v2(x), "cuMemFree");
  return wrong;
}

static int capturedGraph(CUfunction axpy) {
  CUdeviceptr y, x;
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  must(cuMemAlloc_v2(&y, kBytes), "cuMemAlloc");
  must(cuMemAlloc_v2(&x, kBytes), "cuMemAlloc");
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  must(cuMemsetD32_v2(y, bitsOf(100), kWords), "cuMemsetD32");
  must(cuCtxSynchronize(), "cuCtxSynchronize");
  struct AxpyArguments arguments = {y, x, kWords, 2};
  void* params[4];
  must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "begin capture");
  must(cuMemsetD32Async(x, bitsOf(4), kWords, stream), "cuMemsetD32Async");
  must(cuLaunchKernel(axpy, axpyGrid(kWords), 1, 1, kAxpyBlock, 1, 1, 0, stream,
                      axpyParams(&arguments, params), NULL),
       "cuLaunchKernel");
  must(cuStreamEndCapture(stream, &graph), "end capture");
  must(cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
  for (int i = 0; i < 3; ++i) must(cuGraphLaunch(exec, stream), "cuGraphLaunch");
  must(cuStreamSynchronize(stream), "cuStreamSynchronize");
  for (uint32_t i = 0; i < kWords; ++i) words[i] = bitsOf(100 + 3 * 2 * 4);
  const uint64_t wanted = digest(words, kWords);
  const int wrong = report("graph launched three times", readBack(y, kWords), wanted);
  must(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
  must(cuGraphDestroy(graph), "cuGraphDestroy");
  must(cuStreamDestroy_v2(stream), "cuStreamDestroy");
  must(cuMemFree_v2(y), "cuMemFree");
  must(cuMemFree_v2(x), "cuMemFree");
  return wrong;
}

static int everyKind(CUdevice device, CUfunction axpy) {
  return plainAllocations() + pitchedRows() + arrayRows() + managedMemory(axpy) +
         streamOrdered(device) + mappedTwice(device) + kernelsInOrder(axpy) + capturedGraph(axpy);
}

static int memoryBooks(CUdevice device, size_t free_before) {
  size_t free_after = 0, total = 0, device_total = 0;
  CUdeviceptr pointer = 0;
  must(cuMemGetInfo_v2(&free_after, &total), "cuMemGetInfo");
  must(cuDeviceTotalMem_v2(&device_total, device), "cuDeviceTotalMem");
  int wrong = report("everything was given back", free_after >= free_before, 1);
  wrong += report("free is below total", free_after < total, 1);
  wrong += report("more than there is", cuMemAlloc_v2(&pointer, device_total + 4096),
                  CUDA_ERROR_OUT_OF_MEMORY);
  return wrong + report("a wrong pointer", cuMemFree_v2(0x1234) != CUDA_SUCCESS, 1);
}

int main(void) {
  int count = 0;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction axpy;
  char name[128] = "";
  size_t free_before = 0, total = 0;
  words = malloc(kBytes);
  must(cuInit(0), "cuInit");
  must(cuDeviceGetCount(&count), "cuDeviceGetCount");
  must(cuDeviceGet(&device, 0), "cuDeviceGet");
  must(cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
  printf("%d device(s), the first is %s\n", count, name);
  must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  must(loadAxpy(cuModuleLoadData, cuModuleGetFunction, &module, &axpy), "loading axpy");
  // A real driver keeps some of what was needed the first time.
  int wrong = everyKind(device, axpy);
  must(cuMemGetInfo_v2(&free_before, &total), "cuMemGetInfo");
  wrong += everyKind(device, axpy);
  wrong += memoryBooks(device, free_before);
  must(cuModuleUnload(module), "cuModuleUnload");
  must(cuDevicePrimaryCtxRelease_v2(device), "cuDevicePrimaryCtxRelease");
  printf(wrong ? "%d wrong\n" : "all results verified\n", wrong);
  free(words);
  return wrong ? 1 : 0;
}
