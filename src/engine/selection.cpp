#include "engine/selection.h"

#include <algorithm>
#include <cctype>

namespace divvy::engine {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool sameLetter(char a, char b) {
  return lower(a) == lower(b);
}

std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) result += lower(c);
  return result;
}

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// At every place where it is found, whether words begin and end there.
bool hasWords(const std::string& model, const std::string& words) {
  for (auto at = model.begin(); at != model.end(); ++at) {
    at = std::search(at, model.end(), words.begin(), words.end(), sameLetter);
    if (at == model.end() || words.empty()) return false;
    const auto end = at + static_cast<std::ptrdiff_t>(words.size());
    const bool begins = at == model.begin() || !isWord(*(at - 1)) || !isWord(words.front());
    const bool ends = end == model.end() || !isWord(*end) || !isWord(words.back());
    if (begins && ends) return true;
  }
  return false;
}

bool named(const std::string& one, ModelMatch match, const std::string& model) {
  if (match == ModelMatch::kExact)
    return std::equal(one.begin(), one.end(), model.begin(), model.end(), sameLetter);
  if (match == ModelMatch::kWords) return hasWords(model, one);
  if (match == ModelMatch::kLoose) return plain(model).find(plain(one)) != std::string::npos;
  return std::search(model.begin(), model.end(), one.begin(), one.end(), sameLetter) != model.end();
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
