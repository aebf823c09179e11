// PTX text, parsed and decoded: its kernels and their needs. The language is that of NVIDIA's "PTX
// ISA" document, version 9.x, with 64-bit addresses only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::ptx {

struct Program;  // the decoded form, private to this folder

// The highest accepted .version, as 10 * major + minor: the whole 9 series.
inline constexpr int kNewestVersion = 99;

enum class ParseStatus {
  kOk,
  kInvalid,       // not PTX, or PTX with an unknown or forbidden part
  kNewerVersion,  // .version beyond kNewestVersion
};

struct ParseError {
  ParseStatus status = ParseStatus::kOk;
  int line = 0;      // from 1
  std::string what;  // "unknown instruction 'wmma.load.a.sync...'"

  // Returns "line 42: ...", for logs.
  std::string text() const { return "line " + std::to_string(line) + ": " + what; }
};

// The place of a parameter in the buffer of all parameters of a kernel. In bytes.
struct Param {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

// A kernel and the resources that its launch needs. Sizes are in bytes.
struct Kernel {
  std::string name;
  std::vector<Param> params;
  std::uint32_t param_bytes = 0;
  int static_shared_bytes = 0;          // with those of the functions that it calls
  int local_bytes = 0;                  // its own local memory
  int registers = 0;                    // an estimate, since PTX has virtual registers
  int max_threads = 1024;               // .maxntid or .reqntid
  int required_threads[3] = {0, 0, 0};  // .reqntid; 0: none
  std::uint32_t instructions = 0;       // in its text; for estimates of cost
};

// A value that depends on the address of another global: (address + `addend`) without its lowest
// `shift` bits, to be stored as `bytes` bytes at `offset`. `global`: index in globals(). The
// initial bytes already contain addresses of functions.
struct Relocation {
  std::size_t offset = 0;
  std::size_t global = 0;
  std::uint64_t addend = 0;
  std::uint32_t bytes = 8;
  std::uint32_t shift = 0;
};

// A .global or .const variable. The caller of a run places it in memory.
struct Global {
  std::string name;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  bool constant = false;
  std::vector<std::byte> initial;  // may be shorter than `bytes`; the rest is zero
  std::vector<Relocation> relocations;
};

// A parsed module. Immutable; any thread.
class Module {
 public:
  // Parses `text`. Returns nullptr and sets `error` if any part of it cannot be run. The result
  // does not refer to `text`.
  static std::shared_ptr<const Module> parse(std::string_view text, ParseError* error);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::vector<Kernel>& kernels() const;
  const std::vector<Global>& globals() const;
  int version() const;  // 94 for .version 9.4
  int target() const;   // 90 for .target sm_90a
  // Returns an index into kernels(); -1: there is no kernel of that name.
  int findKernel(std::string_view name) const;

  // Returns the decoded form, for this library only.
  const Program& program() const { return *program_; }

 private:
  explicit Module(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

}  // namespace divvy::ptx
