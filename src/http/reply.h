// The form in which an answer is sent. Pure. Private.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/answer.h"

namespace divvy::http {

// Returns why these fields cannot be sent, if they cannot (Answer).
std::optional<std::string> faultOf(const Fields& fields);

// What a reply depends on beside its answer.
struct ReplyFrame {
  bool head = false;                         // the request's method is HEAD
  bool conditional = false;                  // the request's method is GET or HEAD
  bool keeps = false;                        // the connection stays open
  bool chunked = false;                      // a stream is sent in chunks
  std::vector<std::string> if_none_match{};  // fields of that name
};

struct Reply {
  std::string head;       // with the empty line at its end
  std::string kept_body;  // what `body` refers to, unless that is Answer::fixed
  std::string_view body;  // what follows the head; empty for a stream

  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
};

// Fills `reply`. `common` are fields for which the answer has none of the same name. Returns false
// if the answer cannot be sent as it is; then the reply says 500, or 304, and no stream follows.
bool makeReply(Answer answer, const Fields& common, const ReplyFrame& frame, Reply* reply);

}  // namespace divvy::http
