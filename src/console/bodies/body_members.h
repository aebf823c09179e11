// Members of a JSON object that a request has as its body. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"

namespace divvy::console {

// Returns kUsage: "MEMBER: accepted is ACCEPTED".
Error notAccepted(const std::string& member, const std::string& accepted);

// kUsage: the body is not one JSON object.
Result<boost::json::object> parseBody(std::string_view body);

// kUsage: the object has another member; the message names it and the accepted ones.
Result<void> checkMembers(const boost::json::object& object,
                          const std::vector<std::string_view>& accepted);

// Returns a text. Nothing: the member is absent, null or empty. kUsage: it is no text.
Result<std::optional<std::string>> textMember(const boost::json::object& object, const char* name);

// Returns an integer of least to most. Nothing: the member is absent or null. kUsage: it is
// something else.
Result<std::optional<std::int64_t>> numberMember(const boost::json::object& object,
                                                 const char* name, std::int64_t least,
                                                 std::int64_t most);

}  // namespace divvy::console
