#include "agent/metrics_options.h"

#include <algorithm>
#include <cctype>

namespace divvy::agent {
namespace {

// Source: Kubernetes, "Labels and Selectors": an optional DNS name, '/', and a name.
bool isKey(std::string_view text) {
  constexpr std::size_t kMax = 253 + 1 + 63;
  const auto good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
           c == '/';
  };
  const bool ends = !text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
                    std::isalnum(static_cast<unsigned char>(text.back())) != 0;
  return ends && text.size() <= kMax && std::all_of(text.begin(), text.end(), good) &&
         std::count(text.begin(), text.end(), '/') <= 1;
}

}  // namespace

std::string metricsLabelOf(const std::string& key) {
  std::string name = "label_" + key;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

Result<std::vector<std::string>> parsePodLabels(std::string_view text) {
  std::vector<std::string> keys, names;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string key(text.substr(from, comma - from));
    from = comma + 1;
    if (!isKey(key))
      return Error{ErrorCode::kUsage,
                   "\"" + key + "\" is not a label key; accepted: team, example.com/project"};
    const std::string name = metricsLabelOf(key);
    if (std::find(names.begin(), names.end(), name) != names.end())
      return Error{ErrorCode::kUsage, "\"" + key + "\" would be " + name + ", as another one is"};
    keys.push_back(key);
    names.push_back(name);
  }
  return keys;
}

}  // namespace divvy::agent
