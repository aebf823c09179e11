// Running a kernel of a Module on the CPU.
//
// Blocks run one after another, the threads of a block in turns: a thread goes on until it ends or
// meets something that its warp or block does together. A grid whose blocks wait for each other
// makes progress too, because a block that does not end lets the next ones begin.
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

struct Launch {
  std::shared_ptr<const Module> module;
  std::size_t kernel = 0;  // index into module->kernels()
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};  // at most 1024 threads
  std::uint32_t dynamic_shared = 0;
  std::vector<std::byte> params;       // param_bytes of them, laid out by Kernel::params
  std::vector<std::uint64_t> globals;  // where module->globals() lie
  Memory* memory = nullptr;            // outlives the run
  // Gets what printf prints; nullptr: the standard output of the process.
  std::function<void(std::string_view)> print;
};

enum class FaultKind {
  kNone,
  kIllegalAddress,  // nothing there, or not writable
  kMisaligned,      // address no multiple of the access' size
  kTrap,            // trap, brkpt
  kAssert,          // __assertfail; its message was printed
  kDeadlock,        // every thread waits for another
  kStackOverflow,   // call depth or local memory
  kIllegalCall,     // an indirect call to what is no function, or of another shape
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  std::uint64_t address = 0;  // of memory faults, as the program used it
  int line = 0;               // of the PTX text
  std::string text() const;   // for logs: "line 42: illegal address 0x10"
};

enum class Progress { kRunning, kDone, kFault };

// One launch under way. One thread at a time.
class Run {
 public:
  explicit Run(Launch launch);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Executes about `instructions` thread-instructions more.
  Progress step(std::uint64_t instructions);
  const Fault& fault() const;
  // Thread-instructions so far.
  std::uint64_t executed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs a launch to its end, or until `stop` says so (asked every few million instructions; the
// fault is then kNone).
Fault runToEnd(Launch launch, const std::function<bool()>& stop = nullptr);

}  // namespace divvy::ptx
