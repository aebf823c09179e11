#include "engine/selection.h"

#include <algorithm>
#include <cctype>

#include "base/model_name.h"

namespace divvy::engine {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool sameLetter(char a, char b) {
  return lower(a) == lower(b);
}

bool named(const std::string& pattern, ModelMatch match, const std::string& model) {
  if (match == ModelMatch::kExact)
    return std::equal(pattern.begin(), pattern.end(), model.begin(), model.end(), sameLetter);
  if (match == ModelMatch::kWords) return divvy::namesModel(pattern, model);
  return std::search(model.begin(), model.end(), pattern.begin(), pattern.end(), sameLetter) !=
         model.end();
}

}  // namespace

bool namesModel(const std::vector<ModelName>& list, ModelMatch match, const ModelName& model) {
  return std::any_of(list.begin(), list.end(),
                     [&](const ModelName& one) { return named(one.text, match, model.text); });
}

bool namesDevice(const std::vector<DeviceUuid>& list, UuidMatch match, const DeviceUuid& uuid) {
  if (match == UuidMatch::kExact) return std::find(list.begin(), list.end(), uuid) != list.end();
  return std::any_of(list.begin(), list.end(), [&](const DeviceUuid& prefix) {
    return prefix.text.size() <= uuid.text.size() &&
           std::equal(prefix.text.begin(), prefix.text.end(), uuid.text.begin(), sameLetter);
  });
}

}  // namespace divvy::engine
