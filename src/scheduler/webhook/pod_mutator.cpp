#include "webhook/pod_mutator.h"

#include <algorithm>
#include <optional>

#include <boost/json.hpp>

#include "base/quantity.h"
#include "json/path.h"
#include "vendors/ask.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

// A key as a part of a JSON pointer (RFC 6901).
std::string escaped(const std::string& key) {
  std::string text;
  for (const char c : key) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

json::object addition(const std::string& path, json::value value) {
  return {{"op", "add"}, {"path", path}, {"value", std::move(value)}};
}

bool names(const kube::Quantities& amounts, const std::string& resource) {
  return !resource.empty() && amounts.contains(resource);
}

// One container, its place in the object, and the values to add.
class ContainerPatch {
 public:
  ContainerPatch(const kube::PodContainer& container, const json::value* object, std::string path)
      : container_(container), object_(object), path_(std::move(path)) {}

  // By any of its names.
  bool named(const vendors::Kind& kind, const std::string& resource) const {
    const std::vector<std::string> all = vendors::namesOf(kind, resource);
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) { return said(one); });
  }
  // By the name that it has; a new one in the words that the container speaks.
  void amount(const vendors::Kind& kind, const std::string& resource, std::uint64_t value) {
    if (resource.empty()) return;
    std::string name = resource;
    for (const vendors::ResourceAlias& other : kind.also)
      if (vendors::meant(kind, other) == resource && speaksOtherwise(kind)) name = other.resource;
    for (const std::string& one : vendors::namesOf(kind, resource))
      if (said(one)) name = one;
    amounts_[name] = std::to_string(value);
  }
  void variable(const std::string& name, const std::string& value) { env_.emplace(name, value); }
  // Replaces a value of the container itself.
  void overwrite(const std::string& name, const std::string& value) { last_.emplace(name, value); }

  void write(json::array* patch) const {
    const json::value* resources = presentAt(object_, {"resources"});
    if (!amounts_.empty() && resources == nullptr)
      patch->push_back(addition(path_ + "/resources", json::object()));
    if (!amounts_.empty() && presentAt(resources, {"limits"}) == nullptr)
      patch->push_back(addition(path_ + "/resources/limits", json::object()));
    for (const auto& [name, value] : amounts_) {
      set("limits", container_.limits, name, value, patch);
      // Requests for such resources have to be as their limits.
      if (names(container_.requests, name))
        set("requests", container_.requests, name, value, patch);
    }
    bool list = presentAt(object_, {"env"}) != nullptr;
    for (const auto& [name, value] : env_) {
      if (has(name)) continue;
      if (!list) patch->push_back(addition(path_ + "/env", json::array()));
      list = true;
      patch->push_back(addition(path_ + "/env/-", json::object{{"name", name}, {"value", value}}));
    }
    for (const auto& [name, value] : last_) {
      // Of several of one name the last counts.
      const json::value* said = lastOf(name);
      const json::value* now = presentAt(said, {"value"});
      if (now != nullptr && now->is_string() && now->get_string() == value) continue;
      if (!list) patch->push_back(addition(path_ + "/env", json::array()));
      list = true;
      patch->push_back(addition(path_ + "/env/-", json::object{{"name", name}, {"value", value}}));
    }
  }

 private:
  bool said(const std::string& name) const {
    return names(container_.limits, name) || names(container_.requests, name);
  }
  bool speaksOtherwise(const vendors::Kind& kind) const {
    const auto other = [&](const auto& one) { return said(one.resource); };
    return std::any_of(kind.also.begin(), kind.also.end(), other) ||
           std::any_of(kind.of_models.begin(), kind.of_models.end(), other);
  }
  void set(const char* list, const kube::Quantities& now, const std::string& name,
           const std::string& value, json::array* patch) const {
    const auto old = now.find(name);
    if (old != now.end() && old->second == value) return;
    patch->push_back(addition(path_ + "/resources/" + list + '/' + escaped(name), value.c_str()));
  }
  bool has(const std::string& name) const { return lastOf(name) != nullptr; }
  const json::value* lastOf(const std::string& name) const {
    const json::value* env = presentAt(object_, {"env"});
    const json::value* last = nullptr;
    if (env == nullptr || !env->is_array()) return last;
    for (const json::value& one : env->get_array()) {
      const json::value* said = presentAt(one, {"name"});
      if (said != nullptr && said->is_string() && said->get_string() == name) last = &one;
    }
    return last;
  }

  const kube::PodContainer& container_;
  const json::value* object_;
  std::string path_;
  std::map<std::string, std::string> amounts_;
  std::map<std::string, std::string> env_, last_;
};

std::uint64_t unitsOf(Bytes memory, const vendors::Kind& kind) {
  return memory.count / kind.memory.unit.count;
}

void dressParts(const vendors::KindRequest& ask, ContainerPatch* dressing) {
  const vendors::Kind& kind = *ask.kind;
  const bool counted = dressing->named(kind, kind.count.resource);
  if (!counted && kind.count.absent > 0) dressing->amount(kind, kind.count.resource, ask.count);
  if (counted && kind.count.pairs) dressing->amount(kind, kind.count.resource, ask.count);
  const bool whole = std::holds_alternative<vendors::WholeMemory>(ask.memory);
  if (kind.whole_is_exclusive && whole && !dressing->named(kind, kind.cores.resource))
    dressing->amount(kind, kind.cores.resource, kind.cores.per_card);
  if (kind.templates.empty() || !dressing->named(kind, kind.memory.resource)) return;
  if (ask.part != nullptr)
    dressing->amount(kind, kind.memory.resource, unitsOf(ask.part->memory, kind));
  if (whole) dressing->amount(kind, kind.memory.resource, unitsOf(kind.card.usable, kind));
}

void dressSums(const vendors::KindRequest& ask, ContainerPatch* dressing) {
  const vendors::Kind& kind = *ask.kind;
  const bool both = kind.wire.mutation.sums == vendors::Mutation::Sums::kBoth;
  if (kind.wire.mutation.sums == vendors::Mutation::Sums::kNone) return;
  if (ask.count < 2 && !(both && !dressing->named(kind, kind.memory.resource))) return;
  dressing->amount(kind, kind.cores.resource, std::uint64_t{ask.count} * kind.cores.per_card);
  if (both)
    dressing->amount(kind, kind.memory.resource, ask.count * unitsOf(kind.card.memory, kind));
}

// None: no priority is stated.
Result<std::optional<std::string>> priorityOf(const kube::PodContainer& container,
                                              const vendors::Kind& kind) {
  const auto found = container.limits.find(kind.priority);
  if (kind.priority.empty() || found == container.limits.end()) return std::optional<std::string>();
  const Result<Quantity> read = Quantity::parse(found->second);
  const auto whole = read ? read->whole() : std::nullopt;
  if (!whole || *whole < 0)
    return Error{ErrorCode::kUsage, "container " + container.name + ": " + kind.priority + ": " +
                                        found->second +
                                        ": accepted: a whole number; 0 goes before 1"};
  return std::optional(std::to_string(*whole));
}

// `family`: it asks for something of the family, if not of the kind.
Result<void> dressEnv(const vendors::Kind& kind, const kube::PodContainer& container, bool asks,
                      bool family, ContainerPatch* dressing) {
  const auto priority = priorityOf(container, kind);
  if (!priority) return priority.error();
  for (const vendors::EnvVariable& one : kind.wire.mutation.env) {
    const std::string value = vendors::fill(one.value, [&](std::string_view name) {
      return name == "container" ? container.name : priority->value_or("");
    });
    if (one.of == vendors::EnvVariable::Of::kOthers) {
      if (!family) dressing->overwrite(one.name, value);
      continue;
    }
    const bool of_priority = one.value.find("{priority}") != std::string::npos;
    const bool every = one.of == vendors::EnvVariable::Of::kEvery;
    if (!every && (of_priority ? !*priority : !asks)) continue;
    dressing->variable(one.name, value);
  }
  return {};
}

using Notes = std::map<std::string, std::string>;

void note(const vendors::KindRequest& ask, const kube::Pod& pod, Notes* notes) {
  for (const vendors::PodAnnotation& one : ask.kind->wire.mutation.notes) {
    if (pod.meta.annotations.contains(one.key) || (one.several && ask.count < 2)) continue;
    notes->insert_or_assign(one.key, vendors::fill(one.value, [&](std::string_view) {
                              return std::to_string(ask.count);
                            }));
  }
}

Result<void> dress(const kube::Pod& pod, const vendors::Catalog& catalog,
                   const kube::PodContainer& container, ContainerPatch* dressing, Notes* notes,
                   std::string* runtime_class) {
  const auto asks =
      vendors::readRequests(catalog, container.limits, container.requests, pod.meta.annotations);
  if (!asks) return Error(asks.error()).context("container " + container.name);
  for (const vendors::Kind* kind : catalog.kinds()) {
    const auto ask = std::find_if(asks->begin(), asks->end(), [&](const vendors::KindRequest& one) {
      return one.kind == kind && one.instance.empty();
    });
    const bool family = std::any_of(
        asks->begin(), asks->end(),
        [&](const vendors::KindRequest& one) { return one.kind->vendor == kind->vendor; });
    const Result<void> env = dressEnv(*kind, container, ask != asks->end(), family, dressing);
    if (!env) return env;
    const bool any = std::any_of(asks->begin(), asks->end(),
                                 [&](const vendors::KindRequest& one) { return one.kind == kind; });
    if (any && runtime_class->empty()) *runtime_class = kind->wire.mutation.runtime_class;
    if (ask == asks->end()) continue;
    dressParts(*ask, dressing);
    dressSums(*ask, dressing);
    note(*ask, pod, notes);
  }
  return {};
}

}  // namespace

Result<json::array> mutatePod(const kube::Pod& pod, const json::value& object,
                              const vendors::Catalog& catalog, const Notes& more) {
  json::array patch;
  Notes notes = more;
  std::string runtime_class;
  const json::value* spec = presentAt(object, {"spec"});
  for (const auto& [list, name] :
       {std::pair{&pod.init, "initContainers"}, std::pair{&pod.containers, "containers"}}) {
    const json::value* raw = presentAt(spec, {name});
    for (std::size_t i = 0; i < list->size(); ++i) {
      const json::value* one = raw == nullptr ? nullptr : &raw->as_array()[i];
      ContainerPatch dressing((*list)[i], one,
                              std::string("/spec/") + name + '/' + std::to_string(i));
      const Result<void> dressed =
          dress(pod, catalog, (*list)[i], &dressing, &notes, &runtime_class);
      if (!dressed) return dressed.error();
      dressing.write(&patch);
    }
  }
  if (!runtime_class.empty() && presentAt(spec, {"runtimeClassName"}) == nullptr)
    patch.push_back(addition("/spec/runtimeClassName", runtime_class.c_str()));
  const json::value* meta = presentAt(object, {"metadata"});
  if (!notes.empty() && meta == nullptr) patch.push_back(addition("/metadata", json::object()));
  if (!notes.empty() && presentAt(meta, {"annotations"}) == nullptr)
    patch.push_back(addition("/metadata/annotations", json::object()));
  for (const auto& [key, value] : notes)
    patch.push_back(addition("/metadata/annotations/" + escaped(key), value.c_str()));
  return patch;
}

}  // namespace divvy::scheduler
