#include "kube/call.h"

#include <algorithm>

#include "base/http_status.h"
#include "objects/members.h"

namespace divvy::kube {
namespace {

constexpr std::size_t kMaxShown = 300;

ErrorCode codeOf(unsigned status) {
  switch (status) {
    case http_status::kBadRequest:
    case http_status::kMethodNotAllowed:
    case http_status::kNotAcceptable:
    case http_status::kUnsupportedMediaType:
    case http_status::kUnprocessableContent:
      return ErrorCode::kUsage;
    case http_status::kNotFound:
      return ErrorCode::kNotFound;
    case http_status::kRequestTimeout:
    case http_status::kTooManyRequests:
      return ErrorCode::kUnavailable;
    default:
      return status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kIo;
  }
}

}  // namespace

bool isPath(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Error errorOf(const Reply& reply) {
  std::string reason, message;
  boost::system::error_code fault;
  const json::value said = json::parse(reply.body, fault);
  if (!fault && said.is_object()) {
    Members members(said, "");
    members.text("reason", &reason);
    members.text("message", &message);
  }
  if (message.empty()) message = reply.body.substr(0, kMaxShown);
  std::string text = std::to_string(reply.status);
  if (!reason.empty()) text += ' ' + reason;
  if (!message.empty()) text += ": " + message;
  return {codeOf(reply.status), text};
}

}  // namespace divvy::kube
