#include "facts/toml_text.h"

namespace divvy::doctor {

Result<toml::table> tomlOf(const std::string& text, const std::string& path) {
  toml::parse_result parsed = toml::parse(text, path);
  if (parsed) return std::move(parsed).table();
  const toml::parse_error& fault = parsed.error();
  return Error{ErrorCode::kCorrupt, path + ":" + std::to_string(fault.source().begin.line) + ": " +
                                        std::string(fault.description())};
}

}  // namespace divvy::doctor
