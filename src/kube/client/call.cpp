#include "kube/call.h"

#include <algorithm>

#include "objects/members.h"

namespace divvy::kube {
namespace {

constexpr std::size_t kMaxShown = 300;

ErrorCode codeOf(unsigned status) {
  switch (status) {
    case 400:
    case 405:
    case 406:
    case 415:
    case 422:
      return ErrorCode::kUsage;
    case 404:
      return ErrorCode::kNotFound;
    case 408:
    case 429:
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
