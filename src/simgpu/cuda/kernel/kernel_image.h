// Code that a simulated card can run, whatever form it came in.
#pragma once

#include "abi/cuda_types.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/engine/engine.h"

namespace divvy::simgpu {

struct KernelParam {
  std::uint32_t offset;
  std::uint32_t size;
};

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;

  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

// One launch: its shape and the parameters as one buffer laid out by the kernel's KernelParams.
struct LaunchShape {
  Dim3 grid;
  Dim3 block;
  unsigned shared_bytes = 0;

  std::uint64_t threads() const { return grid.count() * block.count(); }
};

// Where a module's globals lie, in the order of its image's globals().
using GlobalAddresses = std::vector<CUdeviceptr>;

struct KernelCall {
  LaunchShape shape;
  std::vector<std::byte> params;
  std::shared_ptr<const GlobalAddresses> globals;

  // The parameter at a byte offset, which lies inside the buffer.
  template <typename T>
  T param(std::uint32_t offset) const {
    T value;
    std::memcpy(&value, params.data() + offset, sizeof value);
    return value;
  }
};

// A running kernel that computes in pieces, so that no thread waits long for its locks. One thread
// at a time.
class KernelRun {
 public:
  virtual ~KernelRun() = default;
  // Computes the next piece.
  virtual Polled poll() = 0;
  // Valid after poll() returned kOver: an error poisons the context.
  virtual CUresult result() = 0;
};

// One kernel. Immutable; any thread.
class KernelCode {
 public:
  virtual ~KernelCode() = default;

  std::string name;
  std::vector<KernelParam> params;
  int registers = 32;
  int static_shared_bytes = 0;
  int local_bytes = 0;
  int constant_bytes = 0;
  int ptx_target = 0;  // as CU_FUNC_ATTRIBUTE_PTX_VERSION has it; 0: that of the card
  int max_threads = 1024;

  std::uint32_t paramBytes() const {
    return params.empty() ? 0 : params.back().offset + params.back().size;
  }

  // How long the card computes.
  virtual Nanos cost(const KernelCall& call, const CostModel& costs) const = 0;
  // Its effect on memory, at its end. An error poisons the context: CUDA_ERROR_ILLEGAL_ADDRESS if
  // it touches unmapped memory.
  virtual CUresult run(const KernelCall& call, Context& context) const = 0;
  // False: `run` does nothing, so no thread is woken for it.
  virtual bool effective() const { return true; }
  // True for kernels that run until an event: `poll` detects it, then `run` is called.
  virtual bool waits() const { return false; }
  virtual Polled poll(const KernelCall&, Context&) const { return Polled::kOver; }
  // The memory that a call touches; unknown by default.
  virtual MemoryUse uses(const KernelCall&) const { return {}; }
  // True for kernels that compute in pieces while they hold the card: `begin`, not `run`. They end
  // when their computation has ended, whatever their cost. Their accesses are recorded in the log.
  virtual bool inPieces() const { return false; }
  virtual std::unique_ptr<KernelRun> begin(const KernelCall&, Context&,
                                           std::shared_ptr<TouchLog>) const {
    return nullptr;
  }
};

// The address of another global, stored in one.
struct GlobalAddress {
  std::size_t offset;  // where
  std::size_t global;  // which, in the order of the image's globals
  std::uint64_t addend;
  std::uint32_t bytes;  // of the address that are stored ...
  std::uint32_t shift;  // ... without its lowest bits
};

struct ImageGlobal {
  std::string name;
  std::size_t bytes;
  std::vector<std::byte> initial;  // empty: zeroes
  std::vector<GlobalAddress> addresses;
};

// The source of a module. Immutable; any thread.
class KernelImage {
 public:
  virtual ~KernelImage() = default;

  std::vector<std::unique_ptr<KernelCode>> kernels;
  std::vector<ImageGlobal> globals;

  const KernelCode* find(std::string_view name) const;
};

// An image as a program passes it to cuModuleLoadData and similar calls, recognised by its first
// bytes. CUDA_ERROR_INVALID_IMAGE: of no known kind. CUDA_ERROR_NO_BINARY_FOR_GPU: known, but this
// driver cannot run it. PTX has errors of its own, see kernel_ptx.h. `log` gets one line with the
// reason, for the JIT error log.
CUresult loadImage(const char* image, std::shared_ptr<const KernelImage>* out, std::string* log);

// The text form "simgpu-builtin": see kernel_text.cpp.
inline constexpr std::string_view kBuiltinMagic = "simgpu-builtin";
CUresult parseBuiltinImage(std::string_view text, std::shared_ptr<const KernelImage>* out,
                           std::string* log);

}  // namespace divvy::simgpu
