#include "manifests/protected_annotations.h"

#include <algorithm>
#include <set>

#include "annotations/assignment.h"
#include "manifests/cel.h"

namespace divvy::scheduler {
namespace {

constexpr KeyPattern kOurs{"divvy.dev/", ""};

bool fits(const KeyPattern& family, std::string_view key) {
  return key.size() >= family.begins.size() + family.ends.size() &&
         key.starts_with(family.begins) && key.ends_with(family.ends);
}

AnnotationKeys keysOf(const std::set<std::string>& names, std::vector<KeyPattern> families) {
  AnnotationKeys keys;
  keys.families = std::move(families);
  // A key of a family is not named again.
  for (const std::string& name : names)
    if (!keys.has(name)) keys.names.push_back(name);
  return keys;
}

}  // namespace

bool AnnotationKeys::has(std::string_view key) const {
  return std::find(names.begin(), names.end(), key) != names.end() ||
         std::any_of(families.begin(), families.end(),
                     [&](const KeyPattern& family) { return fits(family, key); });
}

std::string AnnotationKeys::cel() const {
  std::string text = names.empty() ? "" : "k in " + celList(names);
  for (const KeyPattern& family : families) {
    const std::string begins = "k.startsWith('" + std::string(family.begins) + "')";
    const std::string ends = "k.endsWith('" + std::string(family.ends) + "')";
    if (!text.empty()) text += " || ";
    text += family.ends.empty()     ? begins
            : family.begins.empty() ? ends
                                    : '(' + begins + " && " + ends + ')';
  }
  return text;
}

AnnotationKeys guardedOfPods(const vendors::Catalog& catalog) {
  std::set<std::string> names{kAssignedNode, kAssignedTime, kBindPhase, kBindTime};
  for (const vendors::Kind* kind : catalog.kinds()) {
    const vendors::PodDialect& wire = kind->wire.pod;
    for (const std::string& key : {wire.to_allocate, wire.allocated, wire.instances})
      if (!key.empty()) names.insert(key);
    for (const vendors::AssignmentAnnotation& one : wire.further) names.insert(one.key);
  }
  return keysOf(names,
                {kOurs, {"hami.io/", "-devices-to-allocate"}, {"hami.io/", "-devices-allocated"}});
}

AnnotationKeys guardedOfNodes(const vendors::Catalog& catalog) {
  std::set<std::string> names{"hami.io/mutex.lock"};
  for (const vendors::Kind* kind : catalog.kinds()) {
    const vendors::NodeDialect& wire = kind->wire.node;
    for (const std::string& key : {wire.annotation, wire.handshake, kind->wire.lock})
      if (!key.empty()) names.insert(key);
  }
  // Registrations are node-nvidia-register and node-register-NAME, handshakes node-handshake-NAME,
  // topology node-nvidia-score.
  return keysOf(names, {kOurs, {"hami.io/node-", ""}});
}

}  // namespace divvy::scheduler
