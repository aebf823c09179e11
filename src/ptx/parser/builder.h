// What is known while a module is parsed: names, and the function being built.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "parser/token.h"
#include "program/code.h"

namespace divvy::ptx {

enum class SymbolKind : std::uint8_t {
  kRegister,
  kGlobal,  // also .const
  kShared,
  kLocal,
  kKernelParam,
  kFrameParam,
  kFunction,
  kPrototype,
  kTargets,
};

struct Symbol {
  SymbolKind kind = SymbolKind::kRegister;
  Type type = Type::kB32;     // of a register
  std::uint32_t index = 0;    // slot, or in the list of its kind
  std::uint64_t offset = 0;   // of a parameter or local variable
  std::uint32_t bytes = 0;    // of a parameter
  std::uint32_t element = 1;  // bytes of what name[1] is behind
};

// The names of one pair of braces.
class Scope {
 public:
  void add(std::string_view name, const Symbol& symbol) { names_[name] = symbol; }
  // %r<count>: %r0 and so on.
  void addFamily(std::string_view prefix, Type type, std::uint32_t first, std::uint32_t count) {
    families_[prefix] = {type, first, count};
  }
  bool find(std::string_view name, Symbol* out) const;

 private:
  struct Family {
    Type type;
    std::uint32_t first;
    std::uint32_t count;
  };
  std::unordered_map<std::string_view, Symbol> names_;
  std::unordered_map<std::string_view, Family> families_;
};

enum class ArgumentKind : std::uint8_t {
  kRegister,
  kInteger,
  kFloat,    // `type` says which of f32 and f64 the bits are
  kSymbol,   // the address of `symbol`, plus `offset`, plus elements that a register in `parts`
             // counts
  kSpecial,  // %tid.x and the like, by `name`
  kVector,   // {parts}
  kAddress,  // [parts[0] + offset]
  kSink,     // _
  kName,     // nothing declared: a label, perhaps
};

// An operand as written.
struct Argument {
  ArgumentKind kind = ArgumentKind::kName;
  bool negated = false;  // !%p
  bool minus = false;    // -%r
  bool element = false;  // name[1]: an address without further brackets
  Type type = Type::kB32;
  Symbol symbol;
  std::uint64_t bits = 0;
  std::int64_t offset = 0;
  std::string_view name;
  std::vector<Argument> parts;  // kRegister and kSink: the second of %r|%p
};

struct Statement {
  int line = 0;
  Operand guard = -1;
  bool guard_negated = false;
  std::string_view opcode;
  std::vector<Argument> arguments;
};

struct Builder {
  Program* program = nullptr;
  std::vector<Scope> scopes{1};

  // The function whose body is parsed.
  Function* function = nullptr;
  std::unordered_map<std::string_view, std::int32_t> labels;
  struct Jump {
    std::size_t inst;
    std::string_view label;
    int line;
  };
  std::vector<Jump> jumps;  // whose target is not known yet
  struct JumpTable {
    std::size_t list;
    std::vector<std::string_view> labels;
    int line;
  };
  std::vector<JumpTable> tables;
  std::unordered_map<std::uint64_t, Operand> known_constants;
  std::map<std::string, std::uint32_t, std::less<>> functions_by_name;

  bool find(std::string_view name, Symbol* out) const;
  std::uint32_t newSlots(std::uint32_t count) {
    const std::uint32_t first = function->slots;
    function->slots += count;
    return first;
  }
  // Bytes of the frame for a parameter.
  std::uint32_t newBytes(std::uint64_t bytes, std::uint64_t alignment);
  Operand constant(std::uint64_t value);
  // The address of a global or shared variable.
  Operand address(const Symbol& symbol, std::int64_t addend, bool generic);
  std::uint32_t functionNamed(std::string_view name);
  void finishFunction();
};

// Appends the instruction to the function. Throws ParseFailure.
void decode(Builder& builder, const Statement& statement);

}  // namespace divvy::ptx
