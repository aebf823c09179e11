#include "cuda/kernel/kernel_ptx.h"

#include "cuda/context/exec.h"
#include "cuda/memory/memory.h"
#include "ptx/run.h"

namespace divvy::simgpu {
namespace {

// Instructions between two checks of whether the context is alive: some 10 ms of a CPU.
constexpr std::uint64_t kPiece = 2'000'000;

class DeviceMemory final : public ptx::Memory {
 public:
  DeviceMemory(Context& context, std::shared_ptr<TouchLog> log)
      : context_(context), log_(std::move(log)) {}

  bool lookup(std::uint64_t address, ptx::Range* out) override {
    RangeView view{};
    if (lookupRange(context_, address, &view) != CUDA_SUCCESS) return false;
    const bool taken = log_ != nullptr && log_->touch({view.begin, view.end - view.begin});
    if (taken && exec::noteLateTouch(context_)) return false;
    *out = {.begin = view.begin, .end = view.end, .host = view.host, .writable = view.writable};
    return true;
  }
  std::uint64_t epoch() override { return memoryEpoch(); }

 private:
  Context& context_;
  const std::shared_ptr<TouchLog> log_;
};

CUresult resultOf(ptx::FaultKind kind) {
  switch (kind) {
    case ptx::FaultKind::kNone:
      return CUDA_SUCCESS;
    case ptx::FaultKind::kIllegalAddress:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case ptx::FaultKind::kMisaligned:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case ptx::FaultKind::kTrap:
      return CUDA_ERROR_LAUNCH_FAILED;
    case ptx::FaultKind::kAssert:
      return CUDA_ERROR_ASSERT;
    case ptx::FaultKind::kDeadlock:
      // Real cards wait until their watchdog, if any, ends the kernel.
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case ptx::FaultKind::kStackOverflow:
      return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case ptx::FaultKind::kIllegalCall:
      return CUDA_ERROR_INVALID_PC;
  }
  return CUDA_ERROR_UNKNOWN;
}

ptx::Launch launchOf(std::shared_ptr<const ptx::Module> module, std::size_t kernel,
                     const KernelCall& call, ptx::Memory& memory) {
  const LaunchShape& shape = call.shape;
  ptx::Launch launch;
  launch.module = std::move(module);
  launch.kernel = kernel;
  launch.grid = {shape.grid.x, shape.grid.y, shape.grid.z};
  launch.block = {shape.block.x, shape.block.y, shape.block.z};
  launch.dynamic_shared = shape.shared_bytes;
  launch.params = call.params;
  if (call.globals != nullptr) launch.globals.assign(call.globals->begin(), call.globals->end());
  launch.memory = &memory;
  return launch;
}

class PtxRun final : public KernelRun {
 public:
  PtxRun(std::shared_ptr<const ptx::Module> module, std::size_t kernel, const KernelCall& call,
         Context& context, std::shared_ptr<TouchLog> log)
      : memory_(context, std::move(log)),
        run_(launchOf(std::move(module), kernel, call, memory_)) {}

  Polled poll() override {
    return run_.step(kPiece) == ptx::Progress::kRunning ? Polled::kNotYet : Polled::kOver;
  }
  CUresult result() override { return resultOf(run_.fault().kind); }

 private:
  DeviceMemory memory_;
  ptx::Run run_;
};

class PtxKernel final : public KernelCode {
 public:
  PtxKernel(std::shared_ptr<const ptx::Module> module, std::size_t index)
      : module_(std::move(module)), index_(index) {
    const ptx::Kernel& from = module_->kernels()[index];
    name = from.name;
    for (const ptx::Param& param : from.params) params.push_back({param.offset, param.size});
    registers = from.registers;
    static_shared_bytes = from.static_shared_bytes;
    local_bytes = from.local_bytes;
    max_threads = from.max_threads;
    ptx_target = module_->target();
    for (const ptx::Global& global : module_->globals()) {
      if (global.constant) constant_bytes += static_cast<int>(global.bytes);
    }
  }

  // The first check, as if every thread went through the text once. The card is not held for that
  // long: it takes the time of interpretation (docs/development/decisions/0002).
  Nanos cost(const KernelCall& call, const CostModel& costs) const override {
    const double instructions = module_->kernels()[index_].instructions;
    return costs.kernel(instructions * static_cast<double>(call.shape.threads()), 0);
  }
  CUresult run(const KernelCall& call, Context& context) const override {
    PtxRun run(module_, index_, call, context, nullptr);
    while (run.poll() != Polled::kOver) {
    }
    return run.result();
  }
  std::unique_ptr<KernelRun> begin(const KernelCall& call, Context& context,
                                   std::shared_ptr<TouchLog> log) const override {
    return std::make_unique<PtxRun>(module_, index_, call, context, std::move(log));
  }
  bool inPieces() const override { return true; }

 private:
  const std::shared_ptr<const ptx::Module> module_;
  const std::size_t index_;
};

}  // namespace

CUresult parsePtxImage(std::string_view text, std::shared_ptr<const KernelImage>* out,
                       std::string* log) {
  ptx::ParseError error;
  const std::shared_ptr<const ptx::Module> module = ptx::Module::parse(text, &error);
  if (module == nullptr) {
    *log = error.text();
    return error.status == ptx::ParseStatus::kNewerVersion ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                                                           : CUDA_ERROR_INVALID_PTX;
  }
  auto image = std::make_shared<KernelImage>();
  for (std::size_t i = 0; i < module->kernels().size(); ++i) {
    image->kernels.push_back(std::make_unique<PtxKernel>(module, i));
  }
  for (const ptx::Global& global : module->globals()) {
    ImageGlobal made{global.name, global.bytes, global.initial, {}};
    for (const ptx::Relocation& relocation : global.relocations) {
      made.addresses.push_back({.offset = relocation.offset,
                                .global = relocation.global,
                                .addend = relocation.addend,
                                .bytes = relocation.bytes,
                                .shift = relocation.shift});
    }
    image->globals.push_back(std::move(made));
  }
  *out = std::move(image);
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
