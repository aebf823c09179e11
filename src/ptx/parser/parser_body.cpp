// What is between the braces of a function.
#include "parser/parser.h"

namespace divvy::ptx {

void Parser::body() {
  cursor_.expect("{");
  int depth = 1;
  while (depth != 0) {
    if (cursor_.atEnd()) cursor_.fail("'{' without '}'");
    if (cursor_.accept("{")) {
      ++depth;
      builder_.scopes.emplace_back();
    } else if (cursor_.accept("}")) {
      --depth;
      if (depth != 0) builder_.scopes.pop_back();
    } else {
      bodyItem();
    }
  }
  // Whoever falls off the end returns.
  decode(builder_, {.line = cursor_.peek().line, .opcode = "ret", .arguments = {}});
  builder_.finishFunction();
}

void Parser::bodyItem() {
  const Token& token = cursor_.peek();
  if (token.is(".loc") || token.is(".file")) return cursor_.skipLine();
  if (cursor_.accept(";")) return;
  if (token.kind == TokenKind::kWord && cursor_.peek(1).is(":")) {
    const std::string_view name = cursor_.word();
    cursor_.next();
    return label(name);
  }
  if (token.text.starts_with('.') && token.kind == TokenKind::kWord) {
    if (!bodyDirective()) cursor_.fail("unknown directive " + Cursor::shown(token));
    return;
  }
  statement();
}

bool Parser::bodyDirective() {
  if (cursor_.accept(".reg")) {
    registers();
    return true;
  }
  if (cursor_.accept(".pragma") || cursor_.accept(".callprototype") ||
      cursor_.accept(".calltargets")) {
    cursor_.skipPast(";");
    return true;
  }
  if (cursor_.accept(".section")) {
    cursor_.word();
    cursor_.skipBraces();
    return true;
  }
  const Token& token = cursor_.peek();
  if (token.is(".shared")) {
    sharedVariable(declaration());
    return true;
  }
  if (token.is(".global") || token.is(".const")) {
    globalVariable(declaration(), false);
    return true;
  }
  if (token.is(".param") || token.is(".local")) {
    bodyVariable();
    return true;
  }
  return false;
}

// .reg .b32 %r<10>, %a, %b;
void Parser::registers() {
  if (cursor_.peek().is(".v2") || cursor_.peek().is(".v4")) {
    cursor_.fail("registers that are vectors are not known");
  }
  const std::string_view word = cursor_.word();
  const auto type = typeNamed(word.substr(1));
  if (!type) cursor_.fail("unknown type '" + std::string(word) + "'");
  if (*type == Type::kB128) cursor_.fail("registers of type '.b128' are not known");
  do {
    const std::string_view name = cursor_.word();
    if (cursor_.accept("<")) {
      const auto count = static_cast<std::uint32_t>(cursor_.integer());
      cursor_.expect(">");
      if (count > kMaxSlots) cursor_.fail("too many registers");
      builder_.scopes.back().addFamily(name, *type, builder_.newSlots(count), count);
    } else {
      builder_.scopes.back().add(
          name, {.kind = SymbolKind::kRegister, .type = *type, .index = builder_.newSlots(1)});
    }
  } while (cursor_.accept(","));
  if (builder_.function->slots > kMaxSlots) cursor_.fail("too many registers");
  cursor_.expect(";");
}

void Parser::bodyVariable() {
  const Declaration variable = declaration();
  Symbol symbol{.kind = SymbolKind::kFrameParam,
                .bytes = static_cast<std::uint32_t>(variable.bytes()),
                .element = variable.elementBytes()};
  if (variable.bytes() > kMaxLocalBytes) cursor_.fail("a variable that is too large");
  if (variable.space == "param") {
    symbol.index = builder_.newBytes(variable.bytes(), variable.alignment);
  } else {
    symbol.kind = SymbolKind::kLocal;
    std::uint32_t& used = builder_.function->local_bytes;
    const auto alignment = static_cast<std::uint32_t>(variable.alignment);
    symbol.offset = (used + alignment - 1) / alignment * alignment;
    used = static_cast<std::uint32_t>(symbol.offset + variable.bytes());
  }
  const Function& function = *builder_.function;
  if (function.local_bytes > kMaxLocalBytes || function.slots > kMaxSlots) {
    cursor_.fail("too much local memory");
  }
  builder_.scopes.back().add(variable.name, symbol);
  cursor_.expect(";");
}

// A label stands before an instruction, a table of jumps or the shape of an indirect call.
void Parser::label(std::string_view name) {
  if (cursor_.accept(".branchtargets")) {
    const auto list = static_cast<std::uint32_t>(program_->lists.size());
    program_->lists.emplace_back();
    Builder::JumpTable table{list, {}, cursor_.peek().line};
    do {
      table.labels.push_back(cursor_.word());
    } while (cursor_.accept(","));
    cursor_.expect(";");
    builder_.tables.push_back(std::move(table));
    builder_.scopes.back().add(name, {.kind = SymbolKind::kTargets, .index = list});
    return;
  }
  if (cursor_.peek().is(".callprototype") || cursor_.peek().is(".calltargets")) {
    builder_.scopes.back().add(name, {.kind = SymbolKind::kPrototype});
    return;
  }
  const auto here = static_cast<std::int32_t>(builder_.function->code.size());
  if (!builder_.labels.emplace(name, here).second) {
    cursor_.fail("label '" + std::string(name) + "' is there twice");
  }
}

void Parser::statement() {
  Statement made;
  made.line = cursor_.peek().line;
  if (cursor_.accept("@")) {
    made.guard_negated = cursor_.accept("!");
    const Argument guard = named(cursor_.word());
    if (guard.kind != ArgumentKind::kRegister || guard.type != Type::kPred) {
      cursor_.fail("'" + std::string(guard.name) + "' is no predicate");
    }
    made.guard = static_cast<Operand>(guard.symbol.index);
  }
  made.opcode = cursor_.word();
  made.arguments = arguments();
  decode(builder_, made);
}

}  // namespace divvy::ptx
