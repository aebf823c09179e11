#include "doctor/redact.h"

#include <array>
#include <cctype>

#include <boost/json.hpp>

namespace divvy::doctor {
namespace {

namespace json = boost::json;

constexpr std::string_view kGone = "(left out)";

bool isTokenChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
         c == '+' || c == '/' || c == '=' || c == '~';
}

// Names of Kubernetes, and of ours, go on with these.
bool isNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
}

std::size_t tokenEnd(std::string_view text, std::size_t at) {
  while (at < text.size() && isTokenChar(text[at])) ++at;
  return at;
}

bool startsWithFolded(std::string_view text, std::size_t at, std::string_view word) {
  if (text.size() - at < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[at + i])) != word[i]) return false;
  return true;
}

// A header of JSON in base64 ("eyJ"), two dots: a token of a service account.
std::size_t webTokenAt(std::string_view text, std::size_t at) {
  if (text.substr(at, 3) != "eyJ") return 0;
  const std::size_t end = tokenEnd(text, at);
  const std::string_view token = text.substr(at, end - at);
  const std::size_t dot = token.find('.');
  const bool dots = dot != std::string_view::npos && token.find('.', dot + 1) != token.npos;
  return dots && token.size() >= 24 ? end - at : 0;
}

// From "-----BEGIN" to the end of its block, or of the text where it was cut.
std::size_t pemAt(std::string_view text, std::size_t at) {
  if (text.substr(at, 11) != "-----BEGIN ") return 0;
  const std::size_t end = text.find("-----END ", at);
  if (end == std::string_view::npos) return text.size() - at;
  const std::size_t close = text.find("-----", end + 9);
  return close == std::string_view::npos ? text.size() - at : close + 5 - at;
}

// What a word before it says to be secret: how long it is, and how long the word.
std::size_t secretAfterWord(std::string_view text, std::size_t at, std::size_t* word_size) {
  constexpr std::array<std::string_view, 9> kWords{
      "bearer ",  "password=", "password: ", "passwd=", "secret=",
      "secret: ", "token=",    "token: ",    "apikey="};
  for (const std::string_view word : kWords) {
    if (!startsWithFolded(text, at, word)) continue;
    const std::size_t end = tokenEnd(text, at + word.size());
    *word_size = word.size();
    return end - at - word.size();
  }
  return 0;
}

}  // namespace

std::string withoutSecrets(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t word = 0;
    std::size_t gone = pemAt(text, at);
    if (gone == 0) gone = webTokenAt(text, at);
    if (gone == 0) gone = secretAfterWord(text, at, &word);
    if (gone == 0) {
      out += text[at++];
      continue;
    }
    out += text.substr(at, word);
    out += kGone;
    at += word + gone;
  }
  return out;
}

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

json::value redacted(const json::value& value, const Names* names) {
  if (const json::string* text = value.if_string()) {
    const std::string clean = withoutSecrets({text->data(), text->size()});
    return json::value(names == nullptr ? clean : names->replaced(clean));
  }
  if (const json::array* list = value.if_array()) {
    json::array out;
    for (const json::value& one : *list) out.push_back(redacted(one, names));
    return out;
  }
  if (const json::object* object = value.if_object()) {
    json::object out;
    for (const auto& [key, one] : *object) out[key] = redacted(one, names);
    return out;
  }
  return value;
}

}  // namespace divvy::doctor
