#include <algorithm>
#include <utility>

#include "base/model_name.h"
#include "read_models.h"

namespace divvy::vendors {
namespace {

void readWords(YamlReader& read, const YAML::Node& item, const char* key,
               std::vector<std::string>* out) {
  read.list(item, key, [&](const YAML::Node& word) {
    out->push_back(word.IsScalar() ? word.Scalar() : std::string());
    if (!isModelPattern(out->back())) read.fail(word, "accepted: " + std::string(kModelPatterns));
  });
}

// Replaces an entry of the same name.
void put(ModelResource one, std::vector<ModelResource>* list) {
  const auto old = std::find_if(list->begin(), list->end(), [&](const ModelResource& each) {
    return each.resource == one.resource;
  });
  if (old != list->end()) {
    *old = std::move(one);
  } else {
    list->push_back(std::move(one));
  }
}

}  // namespace

ModelResource readModelResource(YamlReader& read, const YAML::Node& item, bool with_kind) {
  ModelResource one;
  const bool good = with_kind ? read.map(item, {"kind", "resource", "models", "not_models"})
                              : read.map(item, {"resource", "models", "not_models"});
  if (!good) return one;
  for (const char* key : {"resource", "models"}) read.require(item, key);
  if (with_kind) read.require(item, "kind");
  read.text(item, "resource", &one.resource);
  readWords(read, item, "models", &one.models);
  readWords(read, item, "not_models", &one.not_models);
  if (one.resource.find('/') == std::string::npos)
    read.fail(item, "resource \"" + one.resource + "\"; accepted: a name with a domain");
  if (one.models.empty()) read.fail(item, "accepted: at least one model");
  return one;
}

Result<void> addModelResources(std::string_view yaml, const std::string& source,
                               std::vector<Descriptor>* all) {
  YamlReader read(source);
  std::vector<Descriptor> more = *all;
  const auto root = read.parse(std::string(yaml));
  if (root && read.map(*root, {"model_resources"})) {
    read.require(*root, "model_resources");
    read.list(*root, "model_resources", [&](const YAML::Node& item) {
      ModelResource one = readModelResource(read, item, true);
      std::string kind;
      read.text(item, "kind", &kind);
      bool known = false;
      for (const Descriptor& descriptor : builtIn())
        for (const Kind& each : descriptor.kinds) known = known || each.name == kind;
      if (!known)
        read.fail(item, "kind \"" + kind + "\" is not known; accepted: as vendors/ has it");
      for (Descriptor& descriptor : more)
        for (Kind& each : descriptor.kinds)
          if (each.name == kind) put(one, &each.of_models);
    });
  }
  if (read.error()) return *read.error();
  *all = std::move(more);
  return {};
}

}  // namespace divvy::vendors
