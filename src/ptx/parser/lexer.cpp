#include <cctype>

#include "parser/token.h"

namespace divvy::ptx {
namespace {

bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (;;) {
      skipBlanks();
      Token token;
      token.line = line_;
      token.first = fresh_line_;
      fresh_line_ = false;
      if (at_ == text_.size()) {
        tokens.push_back(token);
        return tokens;
      }
      read(&token);
      tokens.push_back(token);
    }
  }

 private:
  char look(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void newline() {
    ++line_;
    fresh_line_ = true;
  }

  void skipBlanks() {
    for (;;) {
      const char c = look();
      if (c == '\n') newline();
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (c == '/' && look(1) == '/') {
        while (at_ < text_.size() && look() != '\n') ++at_;
      } else if (c == '/' && look(1) == '*') {
        skipComment();
      } else {
        return;
      }
    }
  }

  void skipComment() {
    const int begun = line_;
    for (at_ += 2; !(look() == '*' && look(1) == '/'); ++at_) {
      if (at_ >= text_.size()) throw ParseFailure{begun, "a comment that does not end"};
      if (look() == '\n') newline();
    }
    at_ += 2;
  }

  void read(Token* token) {
    const std::size_t begin = at_;
    const char c = look();
    if (c == '"') {
      readString(token);
      return;
    }
    token->kind = TokenKind::kMark;
    if (isWordCharacter(c)) {
      const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
      token->kind = digit ? TokenKind::kNumber : TokenKind::kWord;
      readWord(digit);
    } else if (std::isprint(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else {
      throw ParseFailure{line_, "a byte that is no text"};
    }
    token->text = text_.substr(begin, at_ - begin);
  }

  void readWord(bool number) {
    // 0x, 0f and 0d: an e among the digits is one of them.
    const bool hexadecimal =
        number && look() == '0' && std::isalpha(static_cast<unsigned char>(look(1))) != 0;
    // .reg.f32 is two directives, ld.global.f32 one opcode.
    const bool directive = look() == '.';
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = look();
      if (directive && c == '.') return;
      if (isWordCharacter(c)) continue;
      // Modifiers such as .L1::no_allocate are one word with their opcode.
      if (c == ':' && look(1) == ':' && !number) {
        ++at_;
        continue;
      }
      const char before = at_ != 0 ? text_[at_ - 1] : '\0';
      const bool exponent =
          (c == '+' || c == '-') && (before == 'e' || before == 'E') && number && !hexadecimal;
      if (!exponent) return;
    }
  }

  void readString(Token* token) {
    const std::size_t begin = ++at_;
    for (; look() != '"'; ++at_) {
      if (at_ >= text_.size() || look() == '\n') {
        throw ParseFailure{line_, "a string that does not end"};
      }
      if (look() == '\\') ++at_;
    }
    token->kind = TokenKind::kString;
    token->text = text_.substr(begin, at_ - begin);
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool fresh_line_ = true;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  return Lexer(text).run();
}

}  // namespace divvy::ptx
