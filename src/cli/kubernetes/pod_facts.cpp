#include "kubernetes/pod_facts.h"

#include <optional>
#include <string_view>

#include "json/path.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr const char* kModelLabel = "divvy.dev/model";

// The words of a container's command line.
std::vector<std::string> wordsOf(const json::value& container) {
  std::vector<std::string> words;
  for (const char* field : {"command", "args"})
    for (const json::value& word : listAt(container, {field}))
      if (word.is_string()) words.emplace_back(word.get_string());
  return words;
}

// The value of "--option VALUE" or "--option=VALUE".
std::optional<std::string> valueOf(const std::vector<std::string>& words, std::string_view option) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (!word.starts_with(option)) continue;
    if (word.size() == option.size() && at + 1 < words.size()) return words[at + 1];
    if (word.size() > option.size() + 1 && word[option.size()] == '=')
      return std::string(word.substr(option.size() + 1));
  }
  return std::nullopt;
}

}  // namespace

std::string ownerOf(const json::value& pod) {
  for (const json::value& one : listAt(pod, {"metadata", "ownerReferences"})) {
    const json::value* controls = memberAt(one, {"controller"});
    if (controls == nullptr || !controls->is_bool() || !controls->get_bool()) continue;
    const std::string kind = textAt(one, {"kind"});
    const std::string name = textAt(one, {"name"});
    // The name of a ReplicaSet is that of its Deployment and the hash in this label.
    const std::string hash = "-" + textAt(pod, {"metadata", "labels", "pod-template-hash"});
    if (kind == "ReplicaSet" && hash.size() > 1 && name.ends_with(hash))
      return "Deployment/" + name.substr(0, name.size() - hash.size());
    return kind + '/' + name;
  }
  return "";
}

std::vector<std::string> imagesOf(const json::value& pod) {
  std::vector<std::string> images;
  for (const char* list : {"initContainers", "containers"})
    for (const json::value& one : listAt(pod, {"spec", list}))
      images.push_back(textAt(one, {"image"}));
  return images;
}

ServedModel servedModelOf(const json::value& pod) {
  const std::string label = textAt(pod, {"metadata", "labels", kModelLabel});
  if (!label.empty()) return {label, std::string("label ") + kModelLabel};
  for (const char* option : {"--served-model-name", "--model", "--model-path"})
    for (const json::value& one : listAt(pod, {"spec", "containers"}))
      if (const auto value = valueOf(wordsOf(one), option))
        return {*value, std::string("argument ") + option};
  return {};
}

}  // namespace divvy::cli
