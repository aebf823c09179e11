// Integer constant expressions: offsets, indices, dimensions, initial values. As in C, in 64 bits.
#include <optional>

#include "parser/parser.h"

namespace divvy::ptx {
namespace {

struct Operator {
  std::string_view marks;  // one or two tokens of a character each
  int precedence;
};

constexpr int kLowest = 1;
constexpr int kAdditive = 9;

constexpr Operator kOperators[] = {
    {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
    {"<<", 8}, {">>", 8}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
    {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

// Those of two marks come first in the list.
const Operator* operatorAt(const Cursor& cursor) {
  for (const Operator& one : kOperators) {
    const bool pair = one.marks.size() == 2;
    if (cursor.peek().is(one.marks.substr(0, 1)) &&
        (!pair || cursor.peek(1).is(one.marks.substr(1)))) {
      return &one;
    }
  }
  return nullptr;
}

bool isLess(const Constant& a, const Constant& b, bool is_unsigned) {
  return is_unsigned ? a.bits < b.bits : a.value() < b.value();
}

// Operands of + - * and bit operations: two's complement is the same for both kinds.
std::optional<std::uint64_t> simple(std::string_view op, std::uint64_t a, std::uint64_t b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "<<") return b < 64 ? a << b : 0;
  return std::nullopt;
}

std::optional<bool> compared(std::string_view op, const Constant& a, const Constant& b) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  if (op == "==") return a.bits == b.bits;
  if (op == "!=") return a.bits != b.bits;
  if (op == "<") return isLess(a, b, is_unsigned);
  if (op == ">") return isLess(b, a, is_unsigned);
  if (op == "<=") return !isLess(b, a, is_unsigned);
  if (op == ">=") return !isLess(a, b, is_unsigned);
  if (op == "&&") return a.bits != 0 && b.bits != 0;
  if (op == "||") return a.bits != 0 || b.bits != 0;
  return std::nullopt;
}

std::uint64_t shiftedRight(const Constant& a, std::uint64_t by) {
  if (a.is_unsigned) return by < 64 ? a.bits >> by : 0;
  return static_cast<std::uint64_t>(a.value() >> (by < 64 ? by : 63));
}

// The divisor is not zero. The one quotient that does not fit wraps.
std::uint64_t divided(std::string_view op, const Constant& a, const Constant& b) {
  if (a.is_unsigned || b.is_unsigned) return op == "/" ? a.bits / b.bits : a.bits % b.bits;
  if (b.value() == -1) return op == "/" ? 0 - a.bits : 0;
  return static_cast<std::uint64_t>(op == "/" ? a.value() / b.value() : a.value() % b.value());
}

}  // namespace

std::int64_t Parser::constant() {
  return conditional().value();
}

// What follows a name in an address: +8, -8, +-8, +4*2
std::int64_t Parser::offset() {
  cursor_.accept("+");
  const bool name = cursor_.peek().kind == TokenKind::kWord && !cursor_.peek().is(kWarpName);
  if (name) cursor_.fail("an offset must be a constant");
  return binary(kAdditive).value();
}

Constant Parser::conditional() {
  const Constant condition = binary(kLowest);
  if (!cursor_.accept("?")) return condition;
  if (depth_ > kMaxDepth) cursor_.fail("too many marks within each other");
  ++depth_;
  const Constant first = conditional();
  cursor_.expect(":");
  const Constant second = conditional();
  --depth_;
  return {(condition.bits != 0 ? first : second).bits, first.is_unsigned || second.is_unsigned};
}

Constant Parser::binary(int least) {
  Constant left = unary();
  for (const Operator* op = operatorAt(cursor_); op != nullptr && op->precedence >= least;
       op = operatorAt(cursor_)) {
    for (std::size_t i = 0; i < op->marks.size(); ++i) cursor_.next();
    const Constant right = binary(op->precedence + 1);
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    if (const auto truth = compared(op->marks, left, right)) {
      left = {*truth ? 1U : 0U, false};
    } else if (op->marks == ">>") {
      left.bits = shiftedRight(left, right.bits);
    } else if (const auto value = simple(op->marks, left.bits, right.bits)) {
      left = {*value, op->marks == "<<" ? left.is_unsigned : is_unsigned};
    } else {
      if (right.bits == 0) cursor_.fail("a division by zero");
      left = {divided(op->marks, left, right), is_unsigned};
    }
  }
  return left;
}

// -x !x ~x (x) (.s64)x 42 0x2aU
Constant Parser::unary() {
  if (depth_ > kMaxDepth) cursor_.fail("too many marks within each other");
  ++depth_;
  Constant made;
  if (cursor_.accept("-")) {
    made = unary();
    made.bits = 0 - made.bits;
  } else if (cursor_.accept("+")) {
    made = unary();
  } else if (cursor_.accept("~")) {
    made = unary();
    made.bits = ~made.bits;
  } else if (cursor_.accept("!")) {
    made = {unary().bits == 0 ? 1U : 0U, false};
  } else if (cursor_.peek().is("(") && (cursor_.peek(1).is(".s64") || cursor_.peek(1).is(".u64"))) {
    cursor_.next();
    const bool is_unsigned = cursor_.next().is(".u64");
    cursor_.expect(")");
    made = {unary().bits, is_unsigned};
  } else if (cursor_.accept("(")) {
    made = conditional();
    cursor_.expect(")");
  } else if (cursor_.accept(kWarpName)) {
    made.bits = kWarpSize;
  } else {
    made.is_unsigned = cursor_.peek().text.ends_with('U');
    made.bits = static_cast<std::uint64_t>(cursor_.integer());
    made.is_unsigned = made.is_unsigned || made.value() < 0;
  }
  --depth_;
  return made;
}

}  // namespace divvy::ptx
