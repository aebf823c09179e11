#include "kube/base64.h"

#include <algorithm>
#include <cstddef>

#include <openssl/evp.h>

namespace divvy::kube {
namespace {

const unsigned char* bytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytesOf(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

std::string toBase64(std::string_view bytes) {
  // The library terminates its output with a 0.
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(bytesOf(text), bytesOf(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::optional<std::string> fromBase64(std::string_view given) {
  std::string text(given);
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  const std::size_t padding = text.size() - std::min(text.find('='), text.size());
  if (text.size() % 4 != 0 || padding > 2 ||
      text.find_first_not_of('=', text.size() - padding) != std::string::npos)
    return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  // The library ignores invalid base64 at the end.
  const int size = EVP_DecodeBlock(bytesOf(bytes), bytesOf(text), static_cast<int>(text.size()));
  if (size < 0 || static_cast<std::size_t>(size) != bytes.size()) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace divvy::kube
