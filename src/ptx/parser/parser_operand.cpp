// Operands of instructions, as written.
#include <cstdlib>
#include <cstring>

#include "parser/parser.h"

namespace divvy::ptx {

// The operands of an instruction up to its semicolon. Marks that calls need (parentheses) make a
// vector of what they enclose.
std::vector<Argument> Parser::arguments() {
  std::vector<Argument> list;
  if (cursor_.accept(";")) return list;
  do {
    list.push_back(argument());
  } while (cursor_.accept(","));
  cursor_.expect(";");
  return list;
}

Argument Parser::argument() {
  Argument made = primary();
  if (cursor_.accept("|")) made.parts.push_back(primary());
  return made;
}

Argument Parser::primary() {
  if (depth_ > kMaxDepth) cursor_.fail("too many marks within each other");
  ++depth_;
  Argument made = unguarded();
  --depth_;
  return made;
}

Argument Parser::unguarded() {
  const Token& token = cursor_.peek();
  if (token.is("{") || token.is("(")) return braced();
  if (token.is("[")) return address();
  if (cursor_.accept("!")) {
    Argument made = primary();
    made.negated = true;
    return made;
  }
  if (token.kind == TokenKind::kNumber || token.is("-") || token.is("~")) return number();
  if (token.kind != TokenKind::kWord)
    cursor_.fail("expected an operand before " + Cursor::shown(token));
  Argument made = named(cursor_.word());
  const bool sum = cursor_.peek().is("+") || cursor_.peek().is("-");
  if (cursor_.peek().is("[")) {
    element(&made);
  } else if (made.kind == ArgumentKind::kSymbol && sum) {
    if (made.symbol.kind == SymbolKind::kFunction) cursor_.fail("a function has no offset");
    made.offset += offset();
  } else if (sum) {
    cursor_.fail("only a variable can have an offset outside of brackets");
  }
  return made;
}

// name[2], name[N-1], name[%r1], name[%r1+2]: the address of an element
void Parser::element(Argument* of) {
  const bool variable =
      of->kind == ArgumentKind::kSymbol && of->symbol.kind != SymbolKind::kFunction &&
      of->symbol.kind != SymbolKind::kPrototype && of->symbol.kind != SymbolKind::kTargets;
  if (!variable) cursor_.fail("'" + std::string(of->name) + "' has no elements");
  cursor_.expect("[");
  of->element = true;
  std::int64_t index = 0;
  if (cursor_.peek().kind == TokenKind::kWord && !cursor_.peek().is(kWarpName)) {
    Argument counted = named(cursor_.word());
    if (counted.kind != ArgumentKind::kRegister || !isInteger(counted.type)) {
      cursor_.fail("an index must be a constant or an integer register");
    }
    of->parts.push_back(std::move(counted));
    if (cursor_.peek().is("+") || cursor_.peek().is("-")) index = offset();
  } else {
    index = constant();
  }
  cursor_.expect("]");
  if (cursor_.peek().is("[")) cursor_.fail("an element has one index");
  of->offset += static_cast<std::int64_t>(static_cast<std::uint64_t>(index) * of->symbol.element);
}

Argument Parser::named(std::string_view name) {
  Argument made;
  made.name = name;
  if (name == "_") {
    made.kind = ArgumentKind::kSink;
    return made;
  }
  if (name == kWarpName) {
    made.kind = ArgumentKind::kInteger;
    made.bits = kWarpSize;
    return made;
  }
  if (builder_.find(name, &made.symbol)) {
    const bool in_register = made.symbol.kind == SymbolKind::kRegister;
    made.kind = in_register ? ArgumentKind::kRegister : ArgumentKind::kSymbol;
    made.type = made.symbol.type;
    return made;
  }
  if (name.starts_with('%')) {
    made.kind = ArgumentKind::kSpecial;
    return made;
  }
  const auto function = builder_.functions_by_name.find(name);
  if (function != builder_.functions_by_name.end()) {
    made.kind = ArgumentKind::kSymbol;
    made.symbol = {.kind = SymbolKind::kFunction, .index = function->second};
  }
  return made;
}

// 42, -1, 0x2a, 0f3F800000 (bits of a float), 0d3FF0000000000000 (of a double), 1.5
Argument Parser::number() {
  const bool minus = cursor_.accept("-");
  const bool inverted = !minus && cursor_.accept("~");
  const Token& token = cursor_.peek();
  if (token.kind != TokenKind::kNumber)
    cursor_.fail("expected a number before " + Cursor::shown(token));
  cursor_.next();
  const std::string text(token.text);
  Argument made;
  const char second = text.size() > 1 ? text[1] : '\0';
  if (text[0] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    made.kind = ArgumentKind::kFloat;
    made.type = second == 'f' || second == 'F' ? Type::kF32 : Type::kF64;
    char* end = nullptr;
    made.bits = std::strtoull(text.c_str() + 2, &end, 16);
    const std::size_t digits = made.type == Type::kF32 ? 8 : 16;
    if (*end != '\0' || text.size() != 2 + digits) cursor_.fail("'" + text + "' is no number");
    if (minus) made.bits ^= made.type == Type::kF32 ? 1ULL << 31 : 1ULL << 63;
    return made;
  }
  if (const auto value = integerOf(text)) {
    made.kind = ArgumentKind::kInteger;
    made.bits = minus ? 0 - *value : inverted ? ~*value : *value;
    return made;
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0') cursor_.fail("'" + text + "' is no number");
  made.kind = ArgumentKind::kFloat;
  made.type = Type::kF64;
  const double signed_value = minus ? -value : value;
  std::memcpy(&made.bits, &signed_value, 8);
  return made;
}

Argument Parser::braced() {
  const bool round = cursor_.next().is("(");
  const std::string_view close = round ? ")" : "}";
  Argument made;
  made.kind = ArgumentKind::kVector;
  if (cursor_.accept(close)) return made;
  do {
    made.parts.push_back(argument());
  } while (cursor_.accept(","));
  cursor_.expect(close);
  return made;
}

// [%rd1], [%rd1+8], [%rd1+-8], [name], [name+8], [16]; offsets and numbers are constant expressions
void Parser::checkBase(const Argument& base) {
  const bool function =
      base.kind == ArgumentKind::kSymbol && base.symbol.kind == SymbolKind::kFunction;
  if (function) cursor_.fail("'" + std::string(base.name) + "' is a function, not memory");
  if (base.kind == ArgumentKind::kRegister && !isInteger(base.type)) {
    cursor_.fail("'" + std::string(base.name) + "' is no integer register");
  }
}

Argument Parser::address() {
  cursor_.expect("[");
  Argument made;
  made.kind = ArgumentKind::kAddress;
  if (cursor_.peek().kind != TokenKind::kWord || cursor_.peek().is(kWarpName)) {
    Argument absolute;
    absolute.kind = ArgumentKind::kInteger;
    absolute.bits = static_cast<std::uint64_t>(constant());
    made.parts.push_back(std::move(absolute));
  } else {
    made.parts.push_back(named(cursor_.word()));
    checkBase(made.parts[0]);
    if (cursor_.peek().is("[")) cursor_.fail("an element is an address without further brackets");
    if (cursor_.peek().is("+") || cursor_.peek().is("-")) made.offset = offset();
  }
  cursor_.expect("]");
  return made;
}

}  // namespace divvy::ptx
