// A file that is part of the program, with ready-made compressed variants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/answer.h"
#include "http/query.h"

namespace divvy::http {

// All bytes must outlive the server that sends them: they are never copied.
struct StaticFile {
  std::string type;           // "text/css; charset=utf-8"
  std::string hash;           // of `identity`; letters, digits, `-` and `_`; part of the ETag
  std::string_view identity;  // the file itself
  std::string_view gzip{};    // the file by gzip, or empty
  std::string_view brotli{};  // the file by Brotli, or empty
  // True for a file with its hash in its name: caches keep it for a year. False: caches ask each
  // time, by the ETag.
  bool immutable = false;

  // Returns the variant that the client prefers by its Accept-Encoding, with ETag, Cache-Control,
  // Vary and Content-Encoding; 406 if it accepts none of them. Of equal preference are taken
  // Brotli, gzip, identity, in this order. GET and HEAD.
  Answer answer(const Query& query) const;
};

enum class Encoding : std::uint8_t { kIdentity, kGzip, kBrotli, kNone };

// Returns the encoding of a reply to a field Accept-Encoding (null: the client sent none, and gets
// kIdentity). kNone: the client accepts none. A member with a malformed weight is left out.
// Source: RFC 9110, 12.5.3.
Encoding chooseEncoding(const std::string* accept_encoding, bool gzip, bool brotli);

}  // namespace divvy::http
