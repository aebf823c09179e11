// Answers of the API.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "http/answer.h"

namespace divvy::console {

// Returns the object as JSON, with `server_time_ms` in front. Caches keep nothing.
http::Answer jsonAnswer(boost::json::object object, unsigned status = 200);

// The same for an object whose first members are JSON already: "\"name\":value". `first` is not
// empty.
http::Answer jsonAnswer(std::string_view first, const boost::json::object& rest);

// Returns {"error": {...}}. `code`: as docs/reference/console-api.md lists them.
http::Answer errorAnswer(unsigned status, std::string_view code, const std::string& message);
// The same for an Error: its code decides the status.
http::Answer errorAnswer(const Error& error);

// Milliseconds since 1970, of the system's clock.
std::int64_t nowMs();

}  // namespace divvy::console
