// PTX text as a list of words and marks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace divvy::ptx {

enum class TokenKind : unsigned char {
  kWord,    // a name, directive, opcode or register: letters, digits, _ $ % and dots
  kNumber,  // begins with a digit
  kString,  // without its quotes
  kMark,    // one character
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // in the module's text
  int line = 0;
  bool first = false;  // of its line

  bool is(std::string_view what) const {
    return kind != TokenKind::kString && kind != TokenKind::kEnd && text == what;
  }
};

// What every part of the parser throws; Module::parse catches it.
struct ParseFailure {
  int line;
  std::string what;
};

// The last token is kEnd. Throws ParseFailure for a character or comment it cannot place.
std::vector<Token> tokenize(std::string_view text);

}  // namespace divvy::ptx
