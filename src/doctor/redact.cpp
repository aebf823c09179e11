#include "doctor/redact.h"

#include <cctype>

#include <boost/json.hpp>

namespace divvy::doctor {
namespace {

namespace json = boost::json;

// Names of Kubernetes, and of ours, go on with these.
bool isNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
}

}  // namespace

void Names::know(const std::string& kind, const std::string& name) {
  for (const char* all : {"default", "kube-system", "kube-public", "kube-node-lease",
                          "divvy-system", "divvy-scheduler", "divvy-agent", "gpu-operator"})
    if (name == all) return;
  if (name.empty() || known_.contains(name)) return;
  known_[name] = kind + "-" + std::to_string(++counts_[kind]);
}

std::string Names::replaced(std::string_view text) const {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !isNameChar(text[at - 1]);
    auto found = known_.end();
    if (begins) {
      for (auto one = known_.begin(); one != known_.end(); ++one) {
        const std::string& name = one->first;
        if (text.substr(at, name.size()) != name) continue;
        if (at + name.size() < text.size() && isNameChar(text[at + name.size()])) continue;
        found = one;
        break;
      }
    }
    if (found == known_.end()) {
      out += text[at++];
    } else {
      out += found->second;
      at += found->first.size();
    }
  }
  return out;
}

namespace {

json::value redactedUnder(std::string_view key, const json::value& value, const Names* names) {
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

json::value redacted(const json::value& value, const Names* names) {
  return redactedUnder("", value, names);
}

}  // namespace divvy::doctor
