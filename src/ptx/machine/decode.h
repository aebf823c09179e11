// One statement on its way to an Inst: its modifiers and operands, taken one by one.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parser/builder.h"
#include "program/code.h"

namespace divvy::ptx {

class Decode {
 public:
  Decode(Builder& builder, const Statement& statement);

  Inst inst;
  const Statement& statement;
  Builder& builder;

  // Modifiers behind the operation's name, each used up by who asks for it.
  bool take(std::string_view modifier);
  // The first of these that is there; empty: none.
  std::string_view takeAny(std::initializer_list<std::string_view> modifiers);
  // The next modifier, if it is a type; fails without one.
  Type type();
  std::optional<Type> maybeType();
  // .rn .rz .rm .rp, and .rna
  Rounding rounding();
  // .ftz and .sat, into inst.
  void floatModifiers();
  // Orderings, scopes and cache hints: on one machine with strong ordering they change nothing.
  void memoryModifiers();
  Space space();
  // Fails unless every modifier was used.
  void finish();

  std::size_t count() const { return statement.arguments.size(); }
  void expectCount(std::size_t least, std::size_t most);
  const Argument& argument(std::size_t index) const {
    if (index >= count()) fail("operand " + std::to_string(index + 1) + " is missing");
    return statement.arguments[index];
  }

  // The register that operand `index` is (or the one nobody reads), and inst.mask for results that
  // are narrower than it.
  Operand destination(std::size_t index);
  // The predicate beside it in %r|%p; slot 0 if there is none.
  Operand besides(std::size_t index);
  static Operand slotOf(const Argument& argument);
  // What is read: as the type has it, if it is a literal.
  Operand source(std::size_t index, Type type) { return source(argument(index), type); }
  Operand source(const Argument& argument, Type type);
  // a, b, c and d from operand `first` on.
  void sources(std::size_t first, std::initializer_list<Type> types);
  // Memory operand `index`: into inst.a and inst.offset. Returns the space of the name in it, if it
  // has one.
  std::optional<Space> address(std::size_t index);
  std::uint64_t integer(std::size_t index);
  // Registers of {a, b, c, d}, or of one register: an index into Program::lists.
  std::int32_t list(std::size_t index, std::size_t size, Type type, bool written);
  std::int32_t label(std::size_t index);

  // A register for something between two instructions.
  Operand scratch();
  // An unconditional instruction before this one.
  void before(Handler run, Operand dst, Operand a, std::int64_t offset = 0);
  // Appends inst to the function.
  void emit(Handler run);

  [[noreturn]] void fail(const std::string& what) const;
  // "unknown modifier ..." for combinations that do not exist.
  [[noreturn]] void unknownForm() const;

 private:
  Operand literal(const Argument& argument, Type type);
  Operand symbolAddress(const Argument& argument);
  Operand baseAddress(const Argument& argument);

  std::vector<std::string_view> modifiers_;
};

using Decoder = void (*)(Decode&);
using DecoderTable = std::unordered_map<std::string_view, Decoder>;

// Each family adds its operations by their first word.
void addArithmeticOps(DecoderTable& table);
void addBitOps(DecoderTable& table);
void addFloatOps(DecoderTable& table);
void addCompareOps(DecoderTable& table);
void addConvertOps(DecoderTable& table);
void addMoveOps(DecoderTable& table);
void addMemoryOps(DecoderTable& table);
void addAtomicOps(DecoderTable& table);
void addControlOps(DecoderTable& table);
void addCollectiveOps(DecoderTable& table);

// Puts a special register (%tid.x) into a register, before the instruction. False: unknown.
bool readSpecial(Decode& d, std::string_view name, Operand dst);

}  // namespace divvy::ptx
