#include "reply.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/beast/http/status.hpp>

#include "base/http_status.h"
#include "tokens.h"

namespace divvy::http {
namespace {

bool isText(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\t';
  });
}

bool isWrittenByServer(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"Content-Length", "Content-Type",
                                                   "Transfer-Encoding", "Connection"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view one) { return equalNames(one, name); });
}

std::optional<std::string> faultOf(const Answer& answer) {
  if (answer.status < 200 || answer.status > 599)
    return "the answer has status " + std::to_string(answer.status);
  if (!isText(answer.type)) return "the type of the answer has a control character";
  return faultOf(answer.fields);
}

bool isUnchanged(const Answer& answer, const ReplyFrame& frame) {
  if (!frame.conditional || answer.status != http_status::kOk) return false;
  const std::string* tag = answer.fields.find("ETag");
  return tag != nullptr &&
         std::any_of(frame.if_none_match.begin(), frame.if_none_match.end(),
                     [&](const std::string& field) { return matchesTag(field, *tag); });
}

bool hasNoContent(unsigned status) {
  return status == http_status::kNoContent || status == http_status::kNotModified;
}

void addField(std::string_view name, std::string_view value, std::string* head) {
  *head += name;
  *head += ": ";
  *head += value;
  *head += "\r\n";
}

}  // namespace

std::optional<std::string> faultOf(const Fields& fields) {
  for (const Field& field : fields.all()) {
    if (!isToken(field.name)) return "the name of a header field is no token";
    if (!isText(field.value)) return "header field " + field.name + " has a control character";
    if (isWrittenByServer(field.name)) return "the server writes header field " + field.name;
  }
  return std::nullopt;
}

bool makeReply(Answer answer, const Fields& common, const ReplyFrame& frame, Reply* reply) {
  bool as_it_is = true;
  if (const std::optional<std::string> fault = faultOf(answer)) {
    answer = plainText(http_status::kInternalServerError, "internal error: " + *fault);
    as_it_is = false;
  } else if (isUnchanged(answer, frame)) {
    answer.status = http_status::kNotModified;
    as_it_is = false;
  }
  const bool streamed = as_it_is && answer.stream != nullptr;
  const bool empty = hasNoContent(answer.status);
  reply->kept_body = std::move(answer.body);
  reply->body = answer.fixed.empty() ? std::string_view(reply->kept_body) : answer.fixed;
  const auto status = boost::beast::http::int_to_status(answer.status);
  reply->head = "HTTP/1.1 " + std::to_string(answer.status) + ' ';
  reply->head += boost::beast::http::obsolete_reason(status);
  reply->head += "\r\n";
  if (!empty) addField("Content-Type", answer.type, &reply->head);
  if (streamed && frame.chunked) addField("Transfer-Encoding", "chunked", &reply->head);
  if (!streamed && !empty)
    addField("Content-Length", std::to_string(reply->body.size()), &reply->head);
  for (const Field& field : answer.fields.all()) addField(field.name, field.value, &reply->head);
  for (const Field& field : common.all())
    if (answer.fields.find(field.name) == nullptr) addField(field.name, field.value, &reply->head);
  if (!frame.keeps) addField("Connection", "close", &reply->head);
  reply->head += "\r\n";
  if (frame.head || empty || streamed) reply->body = {};
  return as_it_is;
}

}  // namespace divvy::http
