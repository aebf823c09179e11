// Any bytes as PTX: parsing never crashes and always says why not; what parses can be run for a
// while with nonsense for parameters and touches nothing but the memory that it was given.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "ptx/run.h"

namespace {

using namespace divvy::ptx;

constexpr std::uint64_t kAddress = 0x10000;
constexpr std::size_t kMaxGlobals = 1 << 20;

struct Arena {
  Arena() : bytes(4096) { memory.add(kAddress, bytes.data(), bytes.size()); }
  std::vector<std::byte> bytes;
  RangeList memory;
};

void runKernel(const std::shared_ptr<const Module>& module, std::size_t kernel) {
  Arena arena;
  Launch launch;
  launch.module = module;
  launch.kernel = kernel;
  launch.grid = {2, 1, 1};
  launch.block = {33, 1, 1};
  launch.dynamic_shared = 64;
  launch.params.resize(module->kernels()[kernel].param_bytes);
  for (std::size_t at = 0; at + 8 <= launch.params.size(); at += 8) {
    std::memcpy(&launch.params[at], &kAddress, 8);
  }
  launch.globals.assign(module->globals().size(), kAddress);
  launch.memory = &arena.memory;
  launch.print = [](std::string_view) {};
  Run run(std::move(launch));
  for (int slice = 0; slice < 4 && run.step(5000) == Progress::kRunning; ++slice) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ParseError error;
  const auto module = Module::parse({reinterpret_cast<const char*>(data), size}, &error);
  if (module == nullptr) {
    if (error.status == ParseStatus::kOk || error.what.empty()) std::abort();
    return 0;
  }
  for (const Global& global : module->globals()) {
    if (global.bytes > kMaxGlobals) return 0;
  }
  for (std::size_t i = 0; i < module->kernels().size(); ++i) {
    const Kernel& kernel = module->kernels()[i];
    if (kernel.param_bytes > 4096 || kernel.static_shared_bytes > (1 << 20)) continue;
    runKernel(module, i);
  }
  return 0;
}
