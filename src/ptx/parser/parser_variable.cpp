// Variables: their declarations, and what .global and .const ones begin with.
#include <algorithm>
#include <bit>
#include <cstring>

#include "parser/parser.h"

namespace divvy::ptx {
namespace {

constexpr std::uint64_t kLargestVariable = 1ULL << 40;
constexpr std::uint64_t kLargestAlignment = 1ULL << 16;

}  // namespace

// .global .align 4 .b8 name[16]   up to the name's dimensions
Declaration Parser::declaration() {
  Declaration made;
  made.line = cursor_.peek().line;
  made.space = cursor_.word().substr(1);
  std::optional<Type> type;
  std::uint64_t lanes = 1;
  bool aligned = false;
  while (cursor_.peek().text.starts_with('.')) {
    const std::string_view word = cursor_.word().substr(1);
    if (word == "align") {
      made.alignment = static_cast<std::uint64_t>(cursor_.integer());
      aligned = true;
    } else if (word == "v2" || word == "v4") {
      lanes = word == "v2" ? 2 : 4;
    } else if (word == "attribute") {
      cursor_.expect("(");
      cursor_.skipPast(")");
    } else if (word == "ptr") {
      // .ptr .global .align 4: says what a pointer points to, and nothing about the parameter.
      if (cursor_.peek().is(".global") || cursor_.peek().is(".shared") ||
          cursor_.peek().is(".local") || cursor_.peek().is(".const")) {
        cursor_.next();
      }
      if (cursor_.accept(".align")) cursor_.integer();
    } else if (!(type = typeNamed(word))) {
      cursor_.fail("unknown type or attribute '." + std::string(word) + "'");
    }
  }
  if (!type) cursor_.fail("a variable without a type");
  made.type = *type;
  if (!aligned) made.alignment = sizeOf(*type) * lanes;
  const bool power = made.alignment != 0 && (made.alignment & (made.alignment - 1)) == 0;
  if (!power || made.alignment > kLargestAlignment) {
    cursor_.fail("an alignment that is no power of two, or too large");
  }
  made.name = cursor_.word();
  dimensions(&made);
  made.lanes = lanes;
  made.count *= lanes;
  return made;
}

void Parser::dimensions(Declaration* to) {
  while (cursor_.accept("[")) {
    if (cursor_.accept("]")) {
      to->unsized = true;
      continue;
    }
    const auto size = static_cast<std::uint64_t>(constant());
    if (size > kLargestVariable / to->count) cursor_.fail("a variable that is too large");
    to->count *= std::max<std::uint64_t>(size, 1);
    cursor_.expect("]");
  }
}

void Parser::globalVariable(const Declaration& variable, bool external) {
  Scope& scope = builder_.scopes.back();
  Symbol symbol;
  const bool known = scope.find(variable.name, &symbol) && symbol.kind == SymbolKind::kGlobal;
  if (!known) {
    symbol = {.kind = SymbolKind::kGlobal,
              .index = static_cast<std::uint32_t>(program_->globals.size()),
              .element = variable.elementBytes()};
    scope.add(variable.name, symbol);
    program_->globals.emplace_back().name = variable.name;
    global_defined_.push_back(false);
  }
  Global& global = program_->globals[symbol.index];
  if (!external) {
    global.bytes = variable.bytes();
    global.alignment = variable.alignment;
    global.constant = variable.space == "const";
    if (cursor_.accept("=")) initializer(&global, variable);
    global_defined_[symbol.index] = true;
    if (global.bytes == 0) cursor_.fail("a variable without a size");
  }
  cursor_.expect(";");
}

void Parser::sharedVariable(const Declaration& variable) {
  if (variable.bytes() > kMaxSharedBytes) cursor_.fail("a variable that is too large");
  builder_.scopes.back().add(variable.name,
                             {.kind = SymbolKind::kShared,
                              .index = static_cast<std::uint32_t>(program_->shared.size()),
                              .element = variable.elementBytes()});
  program_->shared.push_back({.name = std::string(variable.name),
                              .bytes = variable.unsized ? 0 : variable.bytes(),
                              .alignment = variable.alignment});
  cursor_.expect(";");
}

void Parser::initializer(Global* global, const Declaration& variable) {
  std::size_t index = 0;
  int depth = 0;
  do {
    if (cursor_.accept("{")) {
      ++depth;
    } else if (cursor_.accept("}")) {
      --depth;
    } else if (cursor_.accept(",")) {
      continue;
    } else {
      initialValue(global, variable, index++);
    }
  } while (depth > 0);
  const std::size_t bytes = index * sizeOf(variable.type);
  if (variable.unsized) global->bytes = bytes;
  if (bytes > global->bytes) cursor_.fail("more values than the variable has room for");
}

void Parser::initialValue(Global* global, const Declaration& variable, std::size_t index) {
  const unsigned size = sizeOf(variable.type);
  const std::size_t at = index * size;
  if (global->initial.size() < at + size) global->initial.resize(at + size);
  if (cursor_.peek().kind == TokenKind::kWord && !cursor_.peek().is(kWarpName)) {
    if (size != 8) cursor_.fail("an address needs a variable of 64 bits");
    return symbolValue(global, {.offset = at});
  }
  if (cursor_.peek().kind == TokenKind::kNumber && cursor_.peek(1).is("(")) {
    return maskedValue(global, variable, at);
  }
  std::uint64_t bits = 0;
  if (beginsConstant()) {
    bits = static_cast<std::uint64_t>(constant());
  } else {
    const Argument value = number();
    bits = value.bits;
    if (value.type == Type::kF64 && variable.type == Type::kF32) {
      double wide = 0;
      std::memcpy(&wide, &bits, 8);
      const auto narrow = static_cast<float>(wide);
      bits = 0;
      std::memcpy(&bits, &narrow, 4);
    }
  }
  std::memcpy(global->initial.data() + at, &bits, size);
}

// Not that of a floating-point number.
bool Parser::beginsConstant() const {
  const Token& token = cursor_.peek();
  const Token& first = token.is("-") ? cursor_.peek(1) : token;
  if (first.kind != TokenKind::kNumber) return true;
  return integerOf(first.text).has_value();
}

// 0xFF00(name+4): a part of an address or number, in the lowest bits of the element
void Parser::maskedValue(Global* global, const Declaration& variable, std::size_t at) {
  const auto mask = static_cast<std::uint64_t>(cursor_.integer());
  const auto shift = static_cast<unsigned>(std::countr_zero(mask));
  const std::uint64_t ones = shift < 64 ? mask >> shift : 0;
  if (ones != 0xFF || shift % 8 != 0) cursor_.fail("a mask must be 0xFF, 0xFF00 or one like them");
  cursor_.expect("(");
  if (cursor_.peek().kind == TokenKind::kWord && !cursor_.peek().is(kWarpName)) {
    symbolValue(global, {.offset = at, .bytes = 1, .shift = shift});
  } else {
    const std::uint64_t bits = static_cast<std::uint64_t>(constant()) >> shift & 0xFF;
    std::memcpy(global->initial.data() + at, &bits, sizeOf(variable.type));
  }
  cursor_.expect(")");
}

// name, name+8 or generic(name)+8
void Parser::symbolValue(Global* global, Relocation place) {
  const bool generic = cursor_.accept("generic");
  if (generic) cursor_.expect("(");
  const Argument value = named(cursor_.word());
  if (generic) cursor_.expect(")");
  if (value.kind != ArgumentKind::kSymbol) {
    cursor_.fail("unknown name '" + std::string(value.name) + "'");
  }
  if (cursor_.peek().is("[")) cursor_.fail("an initial value is a name and an offset, no element");
  const bool sum = cursor_.peek().is("+") || cursor_.peek().is("-");
  if (value.symbol.kind == SymbolKind::kFunction) {
    if (sum) cursor_.fail("a function has no offset");
    const std::uint64_t bits =
        (kCodeWindow + 16 * std::uint64_t{value.symbol.index}) >> place.shift;
    std::memcpy(global->initial.data() + place.offset, &bits, place.bytes);
    program_->address_taken.push_back(value.symbol.index);
  } else if (value.symbol.kind == SymbolKind::kGlobal) {
    place.global = value.symbol.index;
    if (sum) place.addend = static_cast<std::uint64_t>(offset());
    global->relocations.push_back(place);
  } else {
    cursor_.fail("the address of '" + std::string(value.name) + "' is no constant");
  }
}

}  // namespace divvy::ptx
