// From tokens to a Program.
#pragma once

#include <memory>
#include <optional>

#include "parser/builder.h"
#include "parser/cursor.h"

namespace divvy::ptx {

// A variable as declared, before it is known where it goes.
struct Declaration {
  int line = 0;
  std::string_view space;  // "global", "param", ...
  std::string_view name;
  Type type = Type::kB32;
  std::uint64_t alignment = 1;
  std::uint64_t lanes = 1;  // of .v2 and .v4
  std::uint64_t count = 1;  // elements, of all dimensions and vectors
  bool unsized = false;     // []

  std::uint64_t bytes() const { return count * sizeOf(type); }
  std::uint32_t elementBytes() const { return static_cast<std::uint32_t>(lanes * sizeOf(type)); }
};

// What an integer constant expression comes to.
struct Constant {
  std::uint64_t bits = 0;
  bool is_unsigned = false;

  std::int64_t value() const { return static_cast<std::int64_t>(bits); }
};

// What a card has per block and thread at the most, and for the parameters of a kernel.
inline constexpr std::uint64_t kMaxSharedBytes = 1U << 20;
inline constexpr std::uint32_t kMaxLocalBytes = 512U << 10;
inline constexpr std::uint64_t kMaxParamBytes = 32764;
// Registers and parameters of one function.
inline constexpr std::uint32_t kMaxSlots = 1U << 18;
// A name that is a number wherever a number can stand.
inline constexpr std::string_view kWarpName = "WARP_SZ";

// Marks within marks, in an operand.
inline constexpr int kMaxDepth = 8;

class Parser {
 public:
  Parser(std::string_view text, Program* program);
  // Throws ParseFailure.
  void run();
  // After a failure: what made it, if that was a version unknown.
  bool newerVersion() const { return newer_; }

 private:
  // parser.cpp: the module
  void header();
  void moduleItem();
  void finish();

  // parser_function.cpp: functions as a whole
  struct Head {
    bool entry = false;
    bool external = false;
  };
  void functionItem(const Head& head);
  void kernelParams(Kernel* kernel);
  void formals(Function* function, std::vector<Formal>* out);
  void functionAttributes(Kernel* kernel);
  void describeKernel(std::uint32_t function, Kernel kernel);

  // parser_body.cpp: what is between their braces
  void body();
  void bodyItem();
  bool bodyDirective();
  void registers();
  void bodyVariable();
  void label(std::string_view name);
  void statement();

  // parser_operand.cpp
  Argument argument();
  Argument primary();
  Argument unguarded();
  Argument named(std::string_view name);
  Argument number();
  Argument braced();
  void element(Argument* of);
  Argument address();
  void checkBase(const Argument& base);
  std::vector<Argument> arguments();

  // parser_variable.cpp
  Declaration declaration();
  void dimensions(Declaration* to);
  void globalVariable(const Declaration& variable, bool external);
  void sharedVariable(const Declaration& variable);
  void initializer(Global* global, const Declaration& variable);
  void initialValue(Global* global, const Declaration& variable, std::size_t index);
  bool beginsConstant() const;
  void maskedValue(Global* global, const Declaration& variable, std::size_t at);
  void symbolValue(Global* global, Relocation place);

  // parser_constant.cpp
  std::int64_t constant();
  std::int64_t offset();
  Constant conditional();
  Constant binary(int least);
  Constant unary();

  Cursor cursor_;
  Program* program_;
  Builder builder_;
  bool newer_ = false;
  int depth_ = 0;  // of the operand that is read
  std::vector<bool> global_defined_;
  std::vector<std::pair<std::uint32_t, int>> function_lines_;  // declared, and where
};

}  // namespace divvy::ptx
