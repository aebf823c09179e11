#include "http/query.h"

#include "http/cookie.h"

namespace divvy::http {

std::string_view Query::header(std::string_view name) const {
  const std::string* value = fields.find(name);
  return value != nullptr ? std::string_view(*value) : std::string_view{};
}

std::optional<std::string> Query::cookie(std::string_view name) const {
  for (const Field& field : fields.all()) {
    if (!equalNames(field.name, "Cookie")) continue;
    if (std::optional<std::string> value = cookieValue(field.value, name)) return value;
  }
  return std::nullopt;
}

std::string_view Query::capture(std::string_view name) const {
  const std::string* value = captures.find(name);
  return value != nullptr ? std::string_view(*value) : std::string_view{};
}

const std::string* Query::parameter(std::string_view name) const {
  return parameters.find(name);
}

}  // namespace divvy::http
