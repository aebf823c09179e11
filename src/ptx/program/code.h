// The decoded form: what the parser makes of the text and the threads execute.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "program/types.h"
#include "ptx/module.h"

namespace divvy::ptx {

struct Inst;
struct Thread;

inline constexpr unsigned kWarpSize = 32;

// False: the thread does not go on now (it ended, waits or faulted).
using Handler = bool (*)(const Inst&, Thread&);

// Something an instruction reads: a register of the frame (its slot), or with ~index one of the
// program's constants. What is written is always a slot.
using Operand = std::int32_t;

struct Inst {
  Handler run = nullptr;
  Operand guard = -1;  // slot of a predicate; -1: always
  Operand dst = 0;
  Operand dst2 = 0;  // the predicate beside it; slot 0 where there is none
  Operand a = 0;
  Operand b = 0;
  Operand c = 0;
  Operand d = 0;
  std::int32_t extra = 0;      // index of a list, call or table of the program; or a small number
  std::int64_t offset = 0;     // of addresses
  std::uint64_t mask = ~0ULL;  // of what is written to a register wider than the type
  std::uint32_t line = 0;
  Rounding rounding = Rounding::kNearest;
  bool guard_negated = false;
  bool ftz = false;
  bool sat = false;
  bool flag = false;      // meaning by instruction
  std::uint8_t kind = 0;  // meaning by instruction
  std::uint8_t kind2 = 0;
};

// A parameter or result of a function: a register, or bytes of the frame.
struct Formal {
  bool in_register = false;
  std::uint32_t slot = 0;    // of the register, or where the bytes begin
  std::uint32_t offset = 0;  // of a kernel's parameter in its buffer
  std::uint32_t bytes = 0;
};

// Functions that the system has, not the text.
enum class External : std::uint8_t { kNone, kPrintf, kAssert };

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  External external = External::kNone;
  std::vector<Inst> code;
  std::uint32_t slots = 1;  // of a frame; slot 0 is written by who has nowhere to write
  std::uint32_t local_bytes = 0;
  std::vector<Formal> inputs;
  std::vector<Formal> outputs;
  std::vector<std::uint32_t> shared;     // indices of the shared variables it names
  std::vector<std::uint32_t> functions;  // and of the functions
  bool calls_by_address = false;
};

// An argument or result at a call: an operand, or bytes of the caller's frame.
struct Actual {
  bool in_frame = false;
  Operand operand = 0;  // or the slot where the bytes begin
  std::uint32_t bytes = 0;
};

struct CallSite {
  std::int32_t function = -1;  // -1: by address
  Operand address = 0;
  std::vector<Actual> inputs;
  std::vector<Actual> outputs;
};

// A shared variable: laid out anew for every kernel, among those that it and its callees name.
struct SharedVariable {
  std::string name;
  std::uint64_t bytes = 0;  // 0: dynamic
  std::uint64_t alignment = 1;
};

// A constant that depends on the launch.
struct ConstantFix {
  std::uint32_t index = 0;  // into Program::constants, whose value is an addend
  bool shared = false;      // a shared variable, else a global one
  bool generic = false;     // of a shared one: its generic address
  std::uint32_t symbol = 0;
};

struct Program {
  int version = 0;
  int target = 0;
  std::vector<Kernel> kernels;
  std::vector<std::uint32_t> kernel_functions;  // index into functions, per kernel
  std::vector<Global> globals;
  std::deque<Function> functions;            // which keep their places
  std::vector<std::uint32_t> address_taken;  // of them, all that can be called by address
  std::vector<SharedVariable> shared;
  std::vector<std::uint64_t> constants;
  std::vector<ConstantFix> fixes;
  std::vector<std::vector<Operand>> lists;  // registers of vectors, targets of brx.idx
  std::vector<CallSite> calls;
};

// Offsets of the shared variables (by index; 0 for those that the kernel does not reach), and how
// many bytes the static ones take. Dynamic ones begin at the end of these.
struct SharedLayout {
  std::vector<std::uint64_t> offsets;
  std::uint64_t static_bytes = 0;
};
SharedLayout layOutShared(const Program& program, std::uint32_t function);

}  // namespace divvy::ptx
