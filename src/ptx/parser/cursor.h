// A place in a list of tokens.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "parser/token.h"

namespace divvy::ptx {

class Cursor {
 public:
  explicit Cursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool atEnd() const { return peek().kind == TokenKind::kEnd; }
  bool accept(std::string_view text) {
    if (!peek().is(text)) return false;
    next();
    return true;
  }
  const Token& expect(std::string_view text) {
    if (!peek().is(text)) fail("expected '" + std::string(text) + "' before " + shown(peek()));
    return next();
  }
  std::string_view word() {
    if (peek().kind != TokenKind::kWord) fail("expected a name before " + shown(peek()));
    return next().text;
  }
  // A decimal, hexadecimal, octal or binary integer, with a sign.
  std::int64_t integer();

  [[noreturn]] void fail(const std::string& what) const { throw ParseFailure{peek().line, what}; }
  // To the end of the line, for directives of debuggers.
  void skipLine() {
    next();
    while (!atEnd() && !peek().first) next();
  }
  void skipPast(std::string_view mark) {
    while (!accept(mark)) {
      if (atEnd()) fail("expected '" + std::string(mark) + "' before the end");
      next();
    }
  }
  // From an opening mark to its closing one.
  void skipBraces() {
    int depth = 0;
    do {
      if (atEnd()) fail("'{' without '}'");
      const Token& token = next();
      if (token.is("{")) ++depth;
      if (token.is("}")) --depth;
    } while (depth != 0);
  }

  static std::string shown(const Token& token) {
    return token.kind == TokenKind::kEnd ? "the end" : "'" + std::string(token.text) + "'";
  }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// The value of a number token, or nullopt: 42, 0x2a, 052, 0b101010, each with U behind it or not.
std::optional<std::uint64_t> integerOf(std::string_view text);

}  // namespace divvy::ptx
