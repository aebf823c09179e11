// PTX text, parsed and decoded: what can be run and what it needs.
//
// The language is that of NVIDIA's "PTX ISA" document, version 9.x, 64-bit addresses only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::ptx {

struct Program;  // the decoded form, private to this folder

// Highest .version this library takes, as 10 * major + minor: all of the 9 series.
inline constexpr int kNewestVersion = 99;

enum class ParseStatus {
  kOk,
  kInvalid,       // not PTX, or something in it that is not known or not allowed
  kNewerVersion,  // .version beyond kNewestVersion
};

struct ParseError {
  ParseStatus status = ParseStatus::kOk;
  int line = 0;      // from 1
  std::string what;  // "unknown instruction 'wmma.load.a.sync...'"

  // "line 42: ..." for logs.
  std::string text() const { return "line " + std::to_string(line) + ": " + what; }
};

// Bytes within the buffer of all parameters of a kernel.
struct Param {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct Kernel {
  std::string name;
  std::vector<Param> params;
  std::uint32_t param_bytes = 0;
  int static_shared_bytes = 0;          // its own and those of what it calls
  int local_bytes = 0;                  // its own depot
  int registers = 0;                    // an estimate: PTX has virtual ones
  int max_threads = 1024;               // .maxntid or .reqntid
  int required_threads[3] = {0, 0, 0};  // .reqntid; 0: none
  std::uint32_t instructions = 0;       // in its text, for estimates
};

// The address of another global (of its index in globals()) plus `addend`, without its lowest
// `shift` bits, to be stored as `bytes` bytes at `offset`. Addresses of functions are already in
// the initial bytes.
struct Relocation {
  std::size_t offset = 0;
  std::size_t global = 0;
  std::uint64_t addend = 0;
  std::uint32_t bytes = 8;
  std::uint32_t shift = 0;
};

// A .global or .const variable. Whoever runs kernels places it in memory.
struct Global {
  std::string name;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  bool constant = false;
  std::vector<std::byte> initial;  // shorter than bytes: the rest is zero
  std::vector<Relocation> relocations;
};

// Immutable; any thread.
class Module {
 public:
  // nullptr and `error` filled when the text cannot be run as a whole.
  static std::shared_ptr<const Module> parse(std::string_view text, ParseError* error);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::vector<Kernel>& kernels() const;
  const std::vector<Global>& globals() const;
  int version() const;  // 94 for .version 9.4
  int target() const;   // 90 for .target sm_90a
  // Index into kernels(); -1: none of that name.
  int findKernel(std::string_view name) const;

  const Program& program() const { return *program_; }

 private:
  explicit Module(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

}  // namespace divvy::ptx
