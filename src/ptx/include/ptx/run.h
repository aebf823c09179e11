// Runs a kernel of a Module on the CPU.
//
// Blocks run one after the other, and the threads of a block in turn. A thread runs until it ends,
// waits for its warp or block, or has used its turn. A block that does not end lets the next ones
// begin, so a grid with blocks that wait for each other makes progress too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/memory.h"
#include "ptx/module.h"

namespace divvy::ptx {

// A launch: kernel, dimensions, parameters and memory.
struct Launch {
  std::shared_ptr<const Module> module;
  std::size_t kernel = 0;  // index into module->kernels()
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};  // at most 1024 threads
  std::uint32_t dynamic_shared = 0;        // bytes
  std::vector<std::byte> params;           // Kernel::param_bytes, laid out by Kernel::params
  std::vector<std::uint64_t> globals;      // addresses of module->globals()
  Memory* memory = nullptr;                // not owned; outlives the run
  // Receives the output of the kernel's printf, in the thread that steps the run. nullptr: the
  // process's standard output.
  std::function<void(std::string_view)> print;
};

enum class FaultKind {
  kNone,
  kIllegalAddress,  // not mapped, or not writable
  kMisaligned,      // the address is not a multiple of the size of the access
  kTrap,            // trap, brkpt
  kAssert,          // __assertfail; its message has been printed
  kDeadlock,        // no thread can continue
  kStackOverflow,   // call depth or local memory
  kIllegalCall,     // an indirect call to no function, or to one of another signature
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  std::uint64_t address = 0;  // of memory faults: as the program used it
  int line = 0;               // of the PTX text
  // Returns "line 42: illegal address 0x10", for logs.
  std::string text() const;
};

enum class Progress { kRunning, kDone, kFault };

// A launch in progress. One thread at a time may use it.
class Run {
 public:
  // Prepares the launch; executes nothing. Missing parameter bytes count as zero.
  explicit Run(Launch launch);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Executes about `instructions` further instructions, counted over all threads. After kDone or
  // kFault further calls return the same. Calls Launch::memory and Launch::print.
  Progress step(std::uint64_t instructions);
  // Returns the fault that ended the launch; kNone: none so far.
  const Fault& fault() const;
  // Returns the instructions executed so far, counted over all threads.
  std::uint64_t executed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs a launch until it ends or `stop` returns true. `stop` is called every few million
// instructions. Returns the fault; kNone also after a stop.
Fault runToEnd(Launch launch, const std::function<bool()>& stop = nullptr);

}  // namespace divvy::ptx
