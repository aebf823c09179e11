#include "doctor/redact.h"

#include <cctype>

#include <boost/json.hpp>

namespace divvy::doctor {
namespace {

namespace json = boost::json;

// Characters that continue a name of Kubernetes or of Divvy.
bool isNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
}

// The next position after `at` where a name can end.
std::size_t wordEnd(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && isNameChar(text[at])) ++at;
  return at;
}

}  // namespace

void NameRedactor::know(const std::string& kind, const std::string& name) {
  for (const char* all : {"default", "kube-system", "kube-public", "kube-node-lease",
                          "divvy-system", "divvy-scheduler", "divvy-agent", "gpu-operator"})
    if (name == all) return;
  if (name.empty() || known_.contains(name)) return;
  known_[name] = kind + "-" + std::to_string(++counts_[kind]);
  for (std::size_t end = wordEnd(name, 0); end < name.size(); end = wordEnd(name, end))
    begun_.insert(Hash()(std::string_view(name).substr(0, end)));
}

std::string NameRedactor::replaced(std::string_view text, std::size_t* lookups) const {
  std::string out;
  std::size_t work = 0;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !isNameChar(text[at - 1]);
    auto longest = known_.end();
    for (std::size_t end = at; begins && end < text.size();) {
      end = wordEnd(text, end);
      const std::string_view part = text.substr(at, end - at);
      ++work;
      if (const auto found = known_.find(part); found != known_.end()) longest = found;
      if (!begun_.contains(Hash()(part))) break;
    }
    if (longest == known_.end()) {
      out += text[at++];
    } else {
      out += longest->second;
      at += longest->first.size();
    }
  }
  if (lookups != nullptr) *lookups = work;
  return out;
}

namespace {

json::value redactedUnder(std::string_view key, const json::value& value,
                          const NameRedactor* names) {
  if (const json::string* text = value.if_string()) {
    const std::string clean = withoutSecret(key, {text->data(), text->size()});
    return json::value(names == nullptr ? clean : names->replaced(clean));
  }
  if (const json::array* list = value.if_array()) {
    json::array out;
    for (const json::value& one : *list) out.push_back(redactedUnder(key, one, names));
    return out;
  }
  if (const json::object* object = value.if_object()) {
    json::object out;
    for (const auto& [name, one] : *object) out[name] = redactedUnder(name, one, names);
    return out;
  }
  return value;
}

}  // namespace

json::value redacted(const json::value& value, const NameRedactor* names) {
  return redactedUnder("", value, names);
}

}  // namespace divvy::doctor
