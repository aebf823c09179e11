// A program that knows nothing of Divvy and calls the driver when it is too late: from destructors,
// exit handlers and forked children. Prints "name=result" for each call.
// usage: late_caller MOMENT FAMILY
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "abi/cuda_entries.h"
#include "abi/cuda_protos.h"
#include "abi/nvml_entries.h"
#include "abi/nvml_protos.h"

namespace {

using divvy::abi::Cu;
using divvy::abi::Nv;

constexpr std::size_t kBytes = std::size_t{2} << 20;

void* cuda_library = nullptr;
void* nvml_library = nullptr;

template <Cu id, typename... Arguments>
CUresult cu(Arguments... arguments) {
  static auto* const function = reinterpret_cast<typename divvy::abi::CuFn<id>::type*>(
      dlsym(cuda_library, divvy::abi::kCuEntries[static_cast<unsigned>(id)].symbol));
  return function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
}

template <Nv id, typename... Arguments>
nvmlReturn_t nv(Arguments... arguments) {
  static auto* const function = reinterpret_cast<typename divvy::abi::NvFn<id>::type*>(
      dlsym(nvml_library, divvy::abi::kNvEntries[static_cast<unsigned>(id)].symbol));
  return function == nullptr ? NVML_ERROR_FUNCTION_NOT_FOUND : function(arguments...);
}

// What was made while it was time.
struct Made {
  CUcontext primary, own;
  CUdeviceptr block, pooled, range;
  CUmemGenericAllocationHandle physical;
  CUstream stream;
  CUevent event;
  CUmodule module;
  CUfunction function;
  CUgraph graph;
  CUgraphExec exec;
  nvmlDevice_t device;
} made;

bool quiet = false;

void told(const char* name, int result) {
  if (!quiet) dprintf(STDOUT_FILENO, "%s=%d\n", name, result);
}

void must(const char* name, int result) {
  if (result == 0) return;
  dprintf(STDERR_FILENO, "%s: %d\n", name, result);
  _exit(3);
}

#define TELL(id, ...) told(#id, cu<Cu::id>(__VA_ARGS__))
#define MUST(id, ...) must(#id, cu<Cu::id>(__VA_ARGS__))

CUmemAllocationProp pinned() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  return prop;
}

void load() {
  cuda_library = dlopen("libcuda.so.1", RTLD_NOW);
  nvml_library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (cuda_library == nullptr || nvml_library == nullptr) must(dlerror(), -1);
}

void makeMapped() {
  const CUmemAllocationProp prop = pinned();
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {0}},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  MUST(cuMemCreate, &made.physical, kBytes, &prop, 0ULL);
  MUST(cuMemAddressReserve, &made.range, kBytes, std::size_t{0}, CUdeviceptr{0}, 0ULL);
  MUST(cuMemMap, made.range, kBytes, std::size_t{0}, made.physical, 0ULL);
  MUST(cuMemSetAccess, made.range, kBytes, &access, std::size_t{1});
}

void makeReady() {
  MUST(cuInit, 0U);
  MUST(cuDevicePrimaryCtxRetain, &made.primary, 0);
  MUST(cuCtxCreate_v2, &made.own, 0U, 0);
  MUST(cuCtxSetCurrent, made.primary);
  MUST(cuStreamCreate, &made.stream, 0U);
  MUST(cuEventCreate, &made.event, 0U);
  MUST(cuMemAlloc_v2, &made.block, kBytes);
  MUST(cuMemAllocAsync, &made.pooled, kBytes, made.stream);
  makeMapped();
  MUST(cuModuleLoadData, &made.module,
       static_cast<const void*>("simgpu-builtin 1\nkernel work = spin\n"));
  MUST(cuModuleGetFunction, &made.function, made.module, "work");
  MUST(cuGraphCreate, &made.graph, 0U);
  CUgraphNode node = nullptr;
  MUST(cuGraphAddEmptyNode, &node, made.graph, nullptr, std::size_t{0});
  MUST(cuGraphInstantiateWithFlags, &made.exec, made.graph, 0ULL);
  must("nvmlInit_v2", nv<Nv::nvmlInit_v2>());
  must("nvmlDeviceGetHandleByIndex_v2", nv<Nv::nvmlDeviceGetHandleByIndex_v2>(0U, &made.device));
}

void memory() {
  CUdeviceptr other = 0;
  void* host = nullptr;
  std::size_t bytes = 0;
  unsigned type = 0;
  char data[64] = {};
  TELL(cuMemGetInfo_v2, &bytes, &bytes);
  TELL(cuMemAlloc_v2, &other, kBytes);
  TELL(cuMemcpyHtoD_v2, made.block, static_cast<const void*>(data), sizeof data);
  TELL(cuPointerGetAttribute, static_cast<void*>(&type), CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
       made.block);
  TELL(cuMemAllocHost_v2, &host, sizeof data);
  TELL(cuMemFreeHost, host);
  TELL(cuMemFree_v2, other);
  TELL(cuMemFree_v2, made.block);
}

void pools() {
  CUdeviceptr other = 0;
  CUmemoryPool pool = nullptr;
  TELL(cuMemAllocAsync, &other, kBytes, made.stream);
  TELL(cuMemFreeAsync, other, made.stream);
  TELL(cuMemFreeAsync, made.pooled, made.stream);
  TELL(cuStreamSynchronize, made.stream);
  TELL(cuDeviceGetDefaultMemPool, &pool, 0);
  TELL(cuMemPoolTrimTo, pool, std::size_t{0});
}

void mappings() {
  CUmemGenericAllocationHandle other = 0;
  const CUmemAllocationProp prop = pinned();
  TELL(cuMemCreate, &other, kBytes, &prop, 0ULL);
  TELL(cuMemRelease, other);
  TELL(cuMemUnmap, made.range, kBytes);
  TELL(cuMemRelease, made.physical);
  TELL(cuMemAddressFree, made.range, kBytes);
}

void contexts() {
  CUcontext seen = nullptr;
  unsigned flags = 0;
  int active = 0;
  TELL(cuCtxGetCurrent, &seen);
  TELL(cuCtxPushCurrent_v2, made.own);
  TELL(cuCtxSynchronize);
  TELL(cuCtxPopCurrent_v2, &seen);
  TELL(cuDevicePrimaryCtxGetState, 0, &flags, &active);
  TELL(cuCtxDestroy_v2, made.own);
  TELL(cuCtxCreate_v2, &seen, 0U, 0);
  TELL(cuCtxDestroy_v2, seen);
}

// The order of cuda.core: the context goes before what was allocated from its pool.
void primary() {
  CUcontext seen = nullptr;
  std::size_t bytes = 0;
  TELL(cuDevicePrimaryCtxRelease_v2, 0);
  TELL(cuCtxGetCurrent, &seen);
  told("gone.cuMemGetInfo_v2", cu<Cu::cuMemGetInfo_v2>(&bytes, &bytes));
  TELL(cuDevicePrimaryCtxRetain, &seen, 0);
  TELL(cuDevicePrimaryCtxReset_v2, 0);
}

void streams() {
  CUstream other = nullptr;
  TELL(cuStreamCreate, &other, 0U);
  TELL(cuStreamSynchronize, other);
  TELL(cuStreamQuery, made.stream);
  TELL(cuStreamDestroy_v2, other);
  TELL(cuStreamDestroy_v2, made.stream);
}

void events() {
  CUevent other = nullptr;
  TELL(cuEventCreate, &other, 0U);
  TELL(cuEventRecord, other, made.stream);
  TELL(cuEventSynchronize, other);
  TELL(cuEventQuery, made.event);
  TELL(cuEventDestroy_v2, other);
  TELL(cuEventDestroy_v2, made.event);
}

void launches() {
  CUmodule other = nullptr;
  std::uint64_t spin_ns = 1000;
  void* params[] = {&spin_ns};
  void** const none = nullptr;
  TELL(cuLaunchKernel, made.function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, made.stream,
       static_cast<void**>(params), none);
  TELL(cuStreamSynchronize, made.stream);
  TELL(cuModuleLoadData, &other,
       static_cast<const void*>(".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry k()\n{\nret;\n}\n"));
  TELL(cuModuleUnload, other);
  TELL(cuModuleUnload, made.module);
}

void graphs() {
  CUgraphExec other = nullptr;
  TELL(cuGraphInstantiateWithFlags, &other, made.graph, 0ULL);
  TELL(cuGraphLaunch, other, made.stream);
  TELL(cuStreamSynchronize, made.stream);
  TELL(cuGraphExecDestroy, other);
  TELL(cuGraphExecDestroy, made.exec);
  TELL(cuGraphDestroy, made.graph);
}

void nvml() {
  nvmlMemory_t memory{};
  nvmlProcessInfo_t processes[64];
  unsigned count = 64;
  told("nvmlDeviceGetMemoryInfo", nv<Nv::nvmlDeviceGetMemoryInfo>(made.device, &memory));
  told("nvmlDeviceGetComputeRunningProcesses_v3",
       nv<Nv::nvmlDeviceGetComputeRunningProcesses_v3>(made.device, &count, processes));
  told("nvmlDeviceGetCount_v2", nv<Nv::nvmlDeviceGetCount_v2>(&count));
  told("nvmlShutdown", nv<Nv::nvmlShutdown>());
}

struct Family {
  const char* name;
  void (*call)();
};

constexpr Family kFamilies[] = {
    {"memory", memory},   {"pools", pools},     {"mappings", mappings}, {"contexts", contexts},
    {"primary", primary}, {"streams", streams}, {"events", events},     {"launches", launches},
    {"graphs", graphs},   {"nvml", nvml},
};

Family family{};
bool at_destructor = false;  // of the program itself

void callLate() {
  family.call();
  told("came", 0);
}

struct CallsLate {
  bool armed = false;
  ~CallsLate() {
    if (armed) callLate();
  }
};

// Constructed before the driver has anything of its own in the thread, destroyed after it.
thread_local CallsLate calls_late;

__attribute__((destructor)) void programDestructor() {
  if (at_destructor) callLate();
}

// A key of an index below or above that of the driver's.
void inThreadWithKey(bool early) {
  std::thread([early] {
    pthread_key_t key{};
    const auto make = [&key] {
      pthread_key_create(&key, [](void*) { callLate(); });
      pthread_setspecific(key, &family);
    };
    if (early) make();
    load();
    makeReady();
    if (!early) make();
  }).join();
}

int inChild(bool by_exit_handler) {
  load();
  makeReady();
  const pid_t child = fork();
  if (child == 0) {
    if (by_exit_handler) {
      atexit(callLate);
      exit(0);
    }
    callLate();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The module's destructor calls what it is given.
void* openModule() {
  void* const module = dlopen(std::getenv("LATE_MODULE"), RTLD_NOW);
  if (module == nullptr) must(dlerror(), -1);
  *static_cast<void (**)()>(dlsym(module, "late_call")) = callLate;
  return module;
}

int beside() {
  load();
  makeReady();
  quiet = true;
  static std::atomic<bool> calling{false};
  std::thread([] {
    cu<Cu::cuCtxSetCurrent>(made.primary);
    for (;;) {
      family.call();
      calling = true;
    }
  }).detach();
  while (!calling) std::this_thread::yield();
  dprintf(STDOUT_FILENO, "came=0\n");
  return 0;
}

int simple(const std::string& moment) {
  void* module = nullptr;
  if (moment == "early-exit-handler") atexit(callLate);
  if (moment == "main-thread-local") calls_late.armed = true;
  if (moment == "module-exit" || moment == "module-close") module = openModule();
  load();
  makeReady();
  if (moment == "late-exit-handler") atexit(callLate);
  if (moment == "module-close") dlclose(module);
  if (moment == "program-destructor") at_destructor = true;
  if (moment == "driver-closed") {
    callLate();
    dlclose(cuda_library);
    dlclose(nvml_library);
  }
  return 0;
}

int at(const std::string& moment) {
  if (moment == "thread-local") {
    std::thread([] {
      calls_late.armed = true;
      load();
      makeReady();
    }).join();
    return 0;
  }
  if (moment == "early-key" || moment == "late-key") {
    inThreadWithKey(moment == "early-key");
    return 0;
  }
  if (moment == "child" || moment == "child-exit") return inChild(moment == "child-exit");
  return moment == "beside" ? beside() : simple(moment);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (const Family& known : kFamilies) {
    if (std::strcmp(known.name, argv[2]) == 0) family = known;
  }
  return family.call == nullptr ? 2 : at(argv[1]);
}
