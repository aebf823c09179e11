#include "api/reply.h"

#include <chrono>

#include <boost/json.hpp>

#include "rows/json_text.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

struct Mapping {
  unsigned status;
  std::string_view code;
};

Mapping mappingOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return {400, "usage"};
    case ErrorCode::kNotFound:
      return {404, "not-found"};
    case ErrorCode::kNoRoom:
      return {409, "conflict"};
    case ErrorCode::kUnavailable:
      return {503, "unavailable"};
    case ErrorCode::kUnsupported:
      return {409, "conflict"};
    case ErrorCode::kIo:
    case ErrorCode::kCorrupt:
    case ErrorCode::kInternal:
      break;
  }
  return {500, "internal"};
}

}  // namespace

std::int64_t nowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

http::Answer jsonAnswer(bj::object object, unsigned status) {
  object["server_time_ms"] = nowMs();
  http::Answer answer;
  answer.status = status;
  answer.body = jsonText(std::move(object)) + "\n";
  answer.fields.set("Cache-Control", "no-store");
  return answer;
}

http::Answer jsonAnswer(std::string_view first, const bj::object& rest) {
  const std::string head = "{\"server_time_ms\":" + std::to_string(nowMs()) + ',';
  const std::string tail = rest.empty() ? "}\n" : ',' + jsonText(rest).substr(1) + "\n";
  http::Answer answer;
  answer.body.reserve(head.size() + first.size() + tail.size());
  answer.body.append(head).append(first).append(tail);
  answer.fields.set("Cache-Control", "no-store");
  return answer;
}

http::Answer errorAnswer(unsigned status, std::string_view code, const std::string& message) {
  return jsonAnswer({{"error", bj::object{{"code", code}, {"message", message}}}}, status);
}

http::Answer errorAnswer(const Error& error) {
  const Mapping mapping = mappingOf(error.code());
  return errorAnswer(mapping.status, mapping.code, error.message());
}

}  // namespace divvy::console
