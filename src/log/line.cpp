#include <algorithm>

#include "log/log.h"

namespace divvy::log {
namespace {

constexpr unsigned char kFirstPrintable = 0x20;
constexpr unsigned char kDelete = 0x7f;

bool isControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < kFirstPrintable || byte == kDelete;
}

void appendEscaped(std::string& out, char c, bool quoted) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (isControl(c)) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kHex[byte >> 4u];
    out += kHex[byte & 0xfu];
  } else {
    if (quoted && (c == '"' || c == '\\')) out += '\\';
    out += c;
  }
}

bool needsQuotes(std::string_view value) {
  return value.empty() || std::any_of(value.begin(), value.end(), [](char c) {
           return c == ' ' || c == '"' || c == '=' || c == '\\' || isControl(c);
         });
}

// Cuts before a UTF-8 continuation byte, so that the line stays valid text.
void cut(std::string& out) {
  constexpr std::string_view kCut = "...";
  if (out.size() <= kMaxLine) return;
  constexpr unsigned char kContinuationMask = 0xc0;
  constexpr unsigned char kContinuation = 0x80;
  std::size_t end = kMaxLine - kCut.size();
  while (end > 0 && (static_cast<unsigned char>(out[end]) & kContinuationMask) == kContinuation)
    --end;
  out.resize(end);
  out += kCut;
}

}  // namespace

std::string line(std::string_view message, Fields fields) {
  std::string out;
  for (const char c : message.substr(0, kMaxLine + 1)) appendEscaped(out, c, false);
  for (const Field& field : fields) {
    if (out.size() > kMaxLine) break;
    out += ' ';
    out += field.key;
    out += '=';
    const bool quoted = needsQuotes(field.value);
    if (quoted) out += '"';
    for (const char c : std::string_view(field.value).substr(0, kMaxLine + 1))
      appendEscaped(out, c, quoted);
    if (quoted) out += '"';
  }
  cut(out);
  return out;
}

}  // namespace divvy::log
