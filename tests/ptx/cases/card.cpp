#include "card.h"

#include <map>
#include <set>

#include "comparison.h"
#include "driver_process.h"

namespace divvy::ptxtest {
namespace {

using simgpu::cu;
using simgpu::Cu;

std::set<std::string>& compared() {
  static std::set<std::string> names;
  return names;
}

// Loads the driver on a machine of its own; GoogleTest tears it down after the last test.
class Machine : public testing::Environment {
 public:
  void SetUp() override {
    setenv("SIMGPU_DIR", dir_.path().c_str(), 1);
    setenv("SIMGPU_PROFILE", "h100", 1);
    simgpu::driverHandle() =
        dlopen(simgpu::driverPath("simgpu", "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(simgpu::driverHandle(), nullptr) << dlerror();
    ASSERT_EQ(cu<Cu::cuInit>(0U), CUDA_SUCCESS);
  }
  void TearDown() override {
    const bool all = testing::GTEST_FLAG(filter) == "*";
    printf("compared %zu kernels\n", compared().size());
    if (!all) return;
    // As many as there were: a case that vanishes is noticed.
    EXPECT_GE(compared().size(), 152U) << "too few kernels are compared";
  }

 private:
  simgpu::ScratchDir dir_;
};
[[maybe_unused]] testing::Environment* const machine =
    testing::AddGlobalTestEnvironment(new Machine);

// Throws the name of the first call that fails, with the driver's number.
void check(CUresult result, const std::string& what) {
  if (result != CUDA_SUCCESS) throw what + " returned " + std::to_string(result);
}

// The primary context of one run; afterwards reset, so that a fault stays with its kernel.
class Context {
 public:
  Context() {
    CUcontext context = nullptr;
    check(cu<Cu::cuDevicePrimaryCtxRetain>(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cu<Cu::cuCtxSetCurrent>(context), "cuCtxSetCurrent");
  }
  ~Context() {
    cu<Cu::cuDevicePrimaryCtxReset_v2>(0);
    cu<Cu::cuDevicePrimaryCtxRelease_v2>(0);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

CUmodule load(const std::string& ptx) {
  std::vector<char> log(4096);
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module = nullptr;
  const CUresult result =
      cu<Cu::cuModuleLoadDataEx>(&module, static_cast<const void*>(ptx.c_str()), 2U,
                                 static_cast<CUjit_option*>(options), static_cast<void**>(values));
  check(result, std::string("cuModuleLoadDataEx: ") + log.data());
  return module;
}

CUdeviceptr place(CUmodule module, const Region& region) {
  CUdeviceptr address = 0;
  std::size_t bytes = region.initial.size();
  if (region.name.empty()) {
    check(cu<Cu::cuMemAlloc_v2>(&address, bytes), "cuMemAlloc");
  } else {
    check(cu<Cu::cuModuleGetGlobal_v2>(&address, &bytes, module, region.name.c_str()),
          "cuModuleGetGlobal " + region.name);
    if (bytes != region.initial.size()) throw region.name + " is of another size";
  }
  check(cu<Cu::cuMemcpyHtoD_v2>(address, static_cast<const void*>(region.initial.data()), bytes),
        "cuMemcpyHtoD");
  return address;
}

void start(CUmodule module, CardLaunch launch, const std::map<const Region*, CUdeviceptr>& places) {
  CUfunction function = nullptr;
  check(cu<Cu::cuModuleGetFunction>(&function, module, launch.kernel.c_str()),
        "cuModuleGetFunction " + launch.kernel);
  std::vector<void*> parameters;
  for (Parameter& parameter : launch.parameters) {
    if (parameter.region != nullptr) {
      const CUdeviceptr address = places.at(parameter.region);
      std::memcpy(parameter.bytes.data(), &address, sizeof address);
    }
    parameters.push_back(parameter.bytes.data());
  }
  void** const none = nullptr;
  CUstream const stream = nullptr;
  check(cu<Cu::cuLaunchKernel>(function, launch.grid[0], launch.grid[1], launch.grid[2],
                               launch.block[0], launch.block[1], launch.block[2],
                               launch.dynamic_shared, stream, parameters.data(), none),
        "cuLaunchKernel " + launch.kernel);
  check(cu<Cu::cuCtxSynchronize>(), "cuCtxSynchronize after " + launch.kernel);
}

}  // namespace

std::vector<std::vector<std::byte>> runPtx(const std::string& ptx,
                                           const std::vector<const Region*>& regions,
                                           const std::vector<CardLaunch>& launches,
                                           std::string* error) {
  std::vector<std::vector<std::byte>> results;
  try {
    const Context context;
    const CUmodule module = load(ptx);
    std::map<const Region*, CUdeviceptr> places;
    for (const Region* region : regions) places[region] = place(module, *region);
    for (const CardLaunch& launch : launches) start(module, launch, places);
    for (const Region* region : regions) {
      std::vector<std::byte> bytes(region->initial.size());
      check(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(bytes.data()), places[region], bytes.size()),
            "cuMemcpyDtoH");
      results.push_back(std::move(bytes));
    }
  } catch (const std::string& what) {
    *error = what;
  }
  return results;
}

void countCompared(const std::string& kernel) {
  compared().insert(kernel);
}

}  // namespace divvy::ptxtest
