// Calls every entry point of a driver with each of its pointers NULL in turn, the other arguments
// being valid where their type says what is. Prints "entry index type code" (index: of the
// parameter) to standard output, before the call "entry index" to standard error.
#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "abi/cuda_entries.h"
#include "abi/cuda_protos.h"

namespace {

using divvy::abi::Cu;

void* library = nullptr;

template <Cu id, typename... Arguments>
void must(Arguments... arguments) {
  const char* const name = divvy::abi::kCuEntries[static_cast<unsigned>(id)].symbol;
  auto* const function =
      reinterpret_cast<typename divvy::abi::CuFn<id>::type*>(dlsym(library, name));
  const int result = function == nullptr ? -1 : static_cast<int>(function(arguments...));
  if (result == 0) return;
  std::fprintf(stderr, "%s: %d\n", name, result);
  std::exit(3);
}

// Handles of every kind that is made simply.
struct Made {
  CUcontext context;
  CUdeviceptr block;
  CUstream stream;
  CUevent event;
  CUmodule module;
  CUfunction function;
  CUlibrary library;
  CUkernel kernel;
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec;
  CUmemoryPool pool;
  CUarray array;
  CUlinkState link;
} made;

alignas(64) char scratch[1 << 16];  // what pointers point to: zeroes

constexpr char kText[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";

void makeReady() {
  must<Cu::cuInit>(0U);
  must<Cu::cuDevicePrimaryCtxRetain>(&made.context, 0);
  must<Cu::cuCtxSetCurrent>(made.context);
  must<Cu::cuStreamCreate>(&made.stream, 0U);
  must<Cu::cuEventCreate>(&made.event, 0U);
  must<Cu::cuMemAlloc_v2>(&made.block, std::size_t{1} << 20);
  must<Cu::cuModuleLoadData>(&made.module, static_cast<const void*>(kText));
  must<Cu::cuModuleGetFunction>(&made.function, made.module, "k");
  must<Cu::cuLibraryLoadData>(&made.library, static_cast<const void*>(kText),
                              static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr), 0U,
                              static_cast<CUlibraryOption*>(nullptr), static_cast<void**>(nullptr),
                              0U);
  must<Cu::cuLibraryGetKernel>(&made.kernel, made.library, "k");
  must<Cu::cuGraphCreate>(&made.graph, 0U);
  must<Cu::cuGraphAddEmptyNode>(&made.node, made.graph, static_cast<const CUgraphNode*>(nullptr),
                                std::size_t{0});
  must<Cu::cuGraphInstantiateWithFlags>(&made.exec, made.graph, 0ULL);
  must<Cu::cuDeviceGetDefaultMemPool>(&made.pool, 0);
  must<Cu::cuLinkCreate_v2>(0U, static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr),
                            &made.link);
  CUDA_ARRAY_DESCRIPTOR flat{};
  flat.Width = flat.Height = 16;
  flat.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  flat.NumChannels = 1;
  must<Cu::cuArrayCreate_v2>(&made.array, static_cast<const CUDA_ARRAY_DESCRIPTOR*>(&flat));
}

// Handles that are refused as such, and the default stream, by name.
template <typename T>
const char* typeName() {
  if constexpr (std::is_same_v<T, CUstream>) return "CUstream";
  if constexpr (std::is_same_v<T, CUevent>) return "CUevent";
  if constexpr (std::is_same_v<T, CUmodule>) return "CUmodule";
  if constexpr (std::is_same_v<T, CUfunction>) return "CUfunction";
  if constexpr (std::is_same_v<T, CUkernel>) return "CUkernel";
  if constexpr (std::is_same_v<T, CUlibrary>) return "CUlibrary";
  if constexpr (std::is_same_v<T, CUarray>) return "CUarray";
  if constexpr (std::is_same_v<T, CUmipmappedArray>) return "CUmipmappedArray";
  if constexpr (std::is_same_v<T, CUlinkState>) return "CUlinkState";
  if constexpr (std::is_same_v<T, CUgreenCtx>) return "CUgreenCtx";
  if constexpr (std::is_same_v<T, CUexternalMemory>) return "CUexternalMemory";
  return "pointer";
}

template <typename R, typename... A>
R nothing(A...) {
  return R();
}

template <typename R, typename... A>
R (*nothingLike(R (*)(A...)))
(A...) {
  return nothing<R, A...>;
}

template <typename T>
T valid() {
  if constexpr (std::is_same_v<T, CUcontext>) return made.context;
  if constexpr (std::is_same_v<T, CUdeviceptr>) return made.block;
  if constexpr (std::is_same_v<T, CUstream>) return made.stream;
  if constexpr (std::is_same_v<T, CUevent>) return made.event;
  if constexpr (std::is_same_v<T, CUmodule>) return made.module;
  if constexpr (std::is_same_v<T, CUfunction>) return made.function;
  if constexpr (std::is_same_v<T, CUlibrary>) return made.library;
  if constexpr (std::is_same_v<T, CUkernel>) return made.kernel;
  if constexpr (std::is_same_v<T, CUgraph>) return made.graph;
  if constexpr (std::is_same_v<T, CUgraphNode>) return made.node;
  if constexpr (std::is_same_v<T, CUgraphExec>) return made.exec;
  if constexpr (std::is_same_v<T, CUmemoryPool>) return made.pool;
  if constexpr (std::is_same_v<T, CUarray>) return made.array;
  if constexpr (std::is_same_v<T, const char*>) return "k";
  if constexpr (std::is_same_v<T, const void*>) return kText;
  if constexpr (std::is_same_v<T, CUlinkState>) return made.link;
  if constexpr (std::is_pointer_v<T>) {
    using Pointee = std::remove_pointer_t<T>;
    if constexpr (std::is_function_v<Pointee>) {
      return nothingLike(static_cast<T>(nullptr));
    } else {
      return reinterpret_cast<T>(scratch);
    }
  }
  if constexpr (std::is_same_v<T, CUdevice>) return T{};
  if constexpr (std::is_same_v<T, std::size_t>) return T{16};
  if constexpr (std::is_integral_v<T>) return T{1};
  return T{};
}

template <std::size_t null, typename R, typename... A, std::size_t... at>
R callWith(R (*function)(A...), std::index_sequence<at...>) {
  return function((at == null ? A{} : valid<A>())...);
}

template <typename R, typename... A, std::size_t null>
void probeOne(const char* name, R (*function)(A...), std::integral_constant<std::size_t, null>) {
  using Argument = std::tuple_element_t<null, std::tuple<A...>>;
  if constexpr (std::is_pointer_v<Argument>) {
    must<Cu::cuCtxSetCurrent>(made.context);
    // What an earlier call recorded is done: whether an event is still pending depends on the
    // clock.
    must<Cu::cuCtxSynchronize>();
    std::memset(scratch, 0, sizeof scratch);
    std::fprintf(stderr, "%s %zu\n", name, null);
    const int code = static_cast<int>(callWith<null>(function, std::index_sequence_for<A...>{}));
    std::printf("%s %zu %s %d\n", name, null, typeName<Argument>(), code);
  }
}

template <typename R, typename... A, std::size_t... at>
void probeAll(const char* name, R (*function)(A...), std::index_sequence<at...>) {
  (probeOne(name, function, std::integral_constant<std::size_t, at>{}), ...);
}

template <typename R, typename... A>
void probe(const char* name, R (*function)(A...)) {
  probeAll(name, function, std::index_sequence_for<A...>{});
}

template <std::size_t id>
void probeEntry() {
  const divvy::abi::Entry& entry = divvy::abi::kCuEntries[id];
  using Function = typename divvy::abi::CuFn<static_cast<Cu>(id)>::type*;
  auto* const function = reinterpret_cast<Function>(dlsym(library, entry.symbol));
  // Twins for the thread's own stream take the same pointers.
  if (function != nullptr && entry.mode == divvy::abi::StreamMode::kPlain) {
    probe(entry.symbol, function);
  }
}

template <std::size_t... ids>
void probeEntries(std::index_sequence<ids...>) {
  (probeEntry<ids>(), ...);
}

}  // namespace

int main() {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  makeReady();
  probeEntries(std::make_index_sequence<static_cast<std::size_t>(Cu::kCount)>{});
  return 0;
}
