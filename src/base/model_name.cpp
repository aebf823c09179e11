#include "base/model_name.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace divvy {
namespace {

enum class Class : std::uint8_t { kSeparator, kLetter, kDigit, kOtherScript };

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
};

// A byte that begins no sequence of UTF-8 is a code point of its own.
CodePoint decode(std::string_view rest) {
  if (static_cast<unsigned char>(rest[0]) < 0x80) return {static_cast<unsigned char>(rest[0]), 1};
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(rest[at]); };
  const unsigned char first = byte(0);
  std::size_t bytes = 1;
  if (first >= 0xF0 && first < 0xF8) bytes = 4;
  if (first >= 0xE0 && first < 0xF0) bytes = 3;
  if (first >= 0xC0 && first < 0xE0) bytes = 2;
  if (bytes == 1 || bytes > rest.size()) return {first, 1};
  char32_t value = first & (0x7FU >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xC0U) != 0x80U) return {first, 1};
    value = value << 6U | (byte(at) & 0x3FU);
  }
  return {value, bytes};
}

// Spaces and punctuation beyond ASCII.
bool isSeparator(char32_t c) {
  constexpr struct {
    char32_t from, to;
  } kRanges[] = {{0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},     {0xBB, 0xBF},
                 {0xD7, 0xD7},     {0xF7, 0xF7},     {0x2000, 0x206F}, {0x2122, 0x2122},
                 {0x3000, 0x3004}, {0x3008, 0x3020}, {0xFE30, 0xFE6F}, {0xFEFF, 0xFEFF},
                 {0xFF01, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return c >= range.from && c <= range.to; });
}

Class classOf(char32_t c) {
  if (c >= U'0' && c <= U'9') return Class::kDigit;
  if ((c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z')) return Class::kLetter;
  return c < 0x80 || isSeparator(c) ? Class::kSeparator : Class::kOtherScript;
}

// Full-width letters and digits, as Chinese and Japanese input methods write them.
char32_t toAscii(char32_t c) {
  constexpr char32_t kDistance = 0xFF01 - 0x21;
  return c >= 0xFF01 && c <= 0xFF5E ? c - kDistance : c;
}

// A text without what separates its words, and where words can begin and end.
class Words {
 public:
  explicit Words(std::string_view text) {
    text_.reserve(text.size());
    edges_.reserve(text.size() + 1);
    while (!text.empty()) {
      const CodePoint one = decode(text);
      add(toAscii(one.value), text.substr(0, one.bytes));
      text.remove_prefix(one.bytes);
    }
    edges_.push_back(kEdge);
  }

  const std::string& text() const { return text_; }
  bool edge(std::size_t at) const { return edges_[at] == kEdge; }

 private:
  void add(char32_t c, std::string_view bytes) {
    const Class now = classOf(c);
    if (now != Class::kSeparator) {
      const bool edge = isEdge(now);
      const std::size_t before = text_.size();
      if (now == Class::kOtherScript) {
        text_ += bytes;
      } else {
        text_ += static_cast<char>(c >= U'A' && c <= U'Z' ? c + (U'a' - U'A') : c);
      }
      edges_.resize(text_.size(), kInside);
      if (edge) edges_[before] = kEdge;
    }
    follow(now);
  }

  bool isEdge(Class now) const {
    constexpr std::size_t kNameLetters = 3;
    if (last_ == Class::kSeparator) return true;
    if ((now == Class::kOtherScript) != (last_ == Class::kOtherScript)) return true;
    if (now != Class::kDigit || last_ != Class::kLetter) return false;
    return letters_ >= kNameLetters || after_digit_;
  }

  void follow(Class now) {
    if (now == Class::kLetter) {
      after_digit_ = last_ == Class::kDigit || (last_ == Class::kLetter && after_digit_);
      letters_ = last_ == Class::kLetter ? letters_ + 1 : 1;
    }
    last_ = now;
  }

  static constexpr char kInside = 0;
  static constexpr char kEdge = 1;

  std::string text_;
  std::string edges_;  // of each byte of it, and of its end
  Class last_ = Class::kSeparator;
  std::size_t letters_ = 0;   // of the run that ends here
  bool after_digit_ = false;  // that run follows a digit
};

}  // namespace

bool isModelPattern(std::string_view pattern) {
  return !Words(pattern).text().empty();
}

bool namesModel(std::string_view pattern, std::string_view model) {
  const std::string key = Words(pattern).text();
  if (key.empty()) return false;
  const Words words(model);
  for (std::size_t at = words.text().find(key); at != std::string::npos;
       at = words.text().find(key, at + 1))
    if (words.edge(at) && words.edge(at + key.size())) return true;
  return false;
}

}  // namespace divvy
