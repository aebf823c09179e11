// A handler's reply to a request.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/stream.h"

namespace divvy::http {

// The server writes Content-Length, Content-Type, Transfer-Encoding and Connection itself. It sends
// 500 instead of an answer with one of them in `fields`. It does the same for a name that is no
// token, and for a value or type with a control character (CR, LF).
//
// An answer 200 to GET or HEAD with a field ETag becomes 304 without a body if the request's
// If-None-Match has that tag. The body of an answer to HEAD is not sent, its length is.
struct Answer {
  unsigned status = 200;
  std::string body{};
  std::string type = "application/json";
  Fields fields{};                   // further header fields
  std::string_view fixed{};          // sent instead of `body` if not empty; must outlive the server
  std::shared_ptr<Stream> stream{};  // not null: the body is this stream; `body` is not sent
};

// Returns an answer of text/plain: the text and a newline.
Answer plainText(unsigned status, std::string text);

// Returns true if a field If-None-Match lists this entity tag, or is `*`. Tags are compared without
// their prefix W/ (weak comparison). Source: RFC 9110, 13.1.2.
bool matchesTag(std::string_view if_none_match, std::string_view tag);

}  // namespace divvy::http
