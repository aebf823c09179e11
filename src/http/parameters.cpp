#include "http/parameters.h"

#include <algorithm>
#include <utility>

#include "escapes.h"

namespace divvy::http {

void Parameters::add(std::string name, std::string value) {
  parameters_.push_back({std::move(name), std::move(value)});
}

const std::string* Parameters::find(std::string_view name) const {
  for (const Parameter& parameter : parameters_)
    if (parameter.name == name) return &parameter.value;
  return nullptr;
}

std::vector<std::string> Parameters::values(std::string_view name) const {
  std::vector<std::string> values;
  for (const Parameter& parameter : parameters_)
    if (parameter.name == name) values.push_back(parameter.value);
  return values;
}

Result<Parameters> parseParameters(std::string_view text) {
  Parameters parameters;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.empty()) continue;
    if (parameters.all().size() == kMaxParameters)
      return Error{ErrorCode::kUsage,
                   "the URL has more than " + std::to_string(kMaxParameters) + " parameters"};
    const std::size_t equals = part.find('=');
    Result<std::string> name = decodeEscapes(part.substr(0, equals), Plus::kSpace);
    if (!name) return std::move(name).error();
    const std::string_view rest =
        equals == part.npos ? std::string_view{} : part.substr(equals + 1);
    Result<std::string> value = decodeEscapes(rest, Plus::kSpace);
    if (!value) return std::move(value).error();
    parameters.add(std::move(*name), std::move(*value));
  }
  return parameters;
}

}  // namespace divvy::http
