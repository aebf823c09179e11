#include "bodies/body_members.h"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr std::size_t kMaxShown = 64;

}  // namespace

Error notAccepted(const std::string& member, const std::string& accepted) {
  return {ErrorCode::kUsage, member + ": accepted is " + accepted};
}

Result<bj::object> parseBody(std::string_view body) {
  boost::system::error_code fault;
  bj::value value = bj::parse(body, fault);
  if (fault || !value.is_object())
    return Error{ErrorCode::kUsage, "the body is not one JSON object"};
  return std::move(value.get_object());
}

Result<void> checkMembers(const bj::object& object, const std::vector<std::string_view>& accepted) {
  for (const auto& member : object) {
    const std::string_view name = member.key();
    if (std::find(accepted.begin(), accepted.end(), name) != accepted.end()) continue;
    std::string all;
    for (const std::string_view one : accepted) all += (all.empty() ? "" : ", ") + std::string(one);
    return Error{ErrorCode::kUsage, "unknown member \"" + std::string(name.substr(0, kMaxShown)) +
                                        "\"; accepted: " + (all.empty() ? "none" : all)};
  }
  return {};
}

Result<std::optional<std::string>> textMember(const bj::object& object, const char* name) {
  const bj::value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return std::optional<std::string>();
  if (!value->is_string()) return notAccepted(name, "a text");
  const std::string text(value->get_string());
  return text.empty() ? std::optional<std::string>() : std::optional<std::string>(text);
}

Result<std::optional<std::int64_t>> numberMember(const bj::object& object, const char* name,
                                                 std::int64_t least, std::int64_t most) {
  const bj::value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return std::optional<std::int64_t>();
  boost::system::error_code fault;
  const auto number = value->is_number() ? value->to_number<std::int64_t>(fault) : least - 1;
  if (fault || number < least || number > most)
    return notAccepted(name,
                       "a number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::optional<std::int64_t>(number);
}

}  // namespace divvy::console
