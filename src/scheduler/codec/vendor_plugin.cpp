#include "codec/vendor_plugin.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/quantity.h"
#include "engine/model.h"
#include "engine/selection.h"
#include "kube/device_list.h"
#include "kube/labels.h"
#include "kube/renamed_annotation.h"
#include "requests/shape.h"

namespace divvy::scheduler {
namespace {

bool says(const std::string* text, std::string_view other) {
  return text != nullptr && *text == other;
}

std::uint64_t mebibytesOf(const std::string* text) {
  std::uint64_t mebibytes = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), mebibytes);
  constexpr std::uint64_t kMax = 1u << 24;
  return mebibytes > kMax ? 0 : mebibytes;
}

std::uint32_t countOf(const kube::Quantities& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  const Result<Quantity> read =
      Quantity::parse(found == amounts.end() ? std::string("0") : found->second);
  const auto whole = read ? read->whole() : std::nullopt;
  constexpr std::int64_t kMax = engine::kMaxDevicesPerNode;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(whole.value_or(0), 0, kMax));
}

constexpr const char* kNotServed = " is not served)";

std::vector<engine::ModelName> wordsOf(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

bool counts(const vendors::ModelResource& one, const std::string& model) {
  constexpr auto kWords = engine::ModelMatch::kWords;
  return engine::namesModel(wordsOf(one.models), kWords, engine::ModelName(model)) &&
         !engine::namesModel(wordsOf(one.not_models), kWords, engine::ModelName(model));
}

std::uint32_t countOf(const kube::PodContainer& container, const std::string& resource) {
  return std::max(countOf(container.limits, resource), countOf(container.requests, resource));
}

}  // namespace

Result<std::vector<kube::RegisteredDevice>> ownPluginDevices(const kube::Node& node,
                                                             const vendors::Kind& kind) {
  std::vector<kube::RegisteredDevice> devices;
  const vendors::NodeDialect& wire = kind.wire.node;
  const vendors::VendorPlugin& plugin = wire.own_plugin;
  const auto& notes = node.meta.annotations;
  if (!plugin.there || notes.contains(wire.annotation) || notes.contains(wire.handshake))
    return devices;
  const std::string* sharing = kube::valueOf(node.meta.labels, plugin.sharing);
  if ((sharing != nullptr && *sharing != "none") ||
      says(kube::valueOf(node.meta.labels, plugin.ours), "on"))
    return devices;
  const auto found = node.allocatable.find(kind.count.resource);
  if (found == node.allocatable.end()) return devices;
  const Result<Quantity> amount = Quantity::parse(found->second);
  if (!amount || !amount->whole() || amount->negative())
    return Error{ErrorCode::kCorrupt, "resource " + kind.count.resource + ": \"" + found->second +
                                          "\" is not a whole number of 0 or more"};
  const std::string* model = kube::valueOf(node.meta.labels, plugin.model);
  const std::uint32_t count = countOf(node.allocatable, kind.count.resource);
  for (std::uint32_t at = 0; at < count; ++at) {
    kube::RegisteredDevice one;
    one.id = node.meta.name + "-own-" + std::to_string(at);
    one.index = at;
    one.count = 1;
    one.mebibytes = mebibytesOf(kube::valueOf(node.meta.labels, plugin.memory));
    one.cores = kind.cores.per_card;
    one.type = (model == nullptr ? kind.name : *model) + ' ' + kVendorPlugin;
    one.healthy = true;
    devices.push_back(std::move(one));
  }
  return devices;
}

void keepFromOtherNames(const vendors::KindRequest& ask, engine::Shape* shape) {
  if (!ask.kind->wire.node.own_plugin.there) return;
  auto& models = requests::selectorOf(engine::DeviceKind(ask.kind->name), shape).not_models;
  const auto add = [&](const std::string& word) {
    const engine::ModelName model(word);
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
  };
  if (ask.counted_by != ask.kind->count.resource) add(kVendorPlugin);
  if (!ask.counted_by.empty()) add(notServedBy(ask.counted_by));
}

// Unlike those of all other resources, however a pod's words are matched with models.
std::string notServedBy(const std::string& resource) {
  return '(' + resource + kNotServed;
}

bool isNotServedBy(const std::string& model) {
  return model.starts_with('(') && model.ends_with(kNotServed);
}

// A name that was served once stays in the node's capacity, with 0.
std::string missingNames(const kube::Node& node, const vendors::Kind& kind,
                         const std::string& model, const std::string& profile) {
  std::vector<std::string> names{kind.count.resource};
  for (const vendors::ResourceAlias& other : kind.also)
    if (other.means == vendors::ResourceAlias::Means::kCount) names.push_back(other.resource);
  for (const vendors::ModelResource& one : kind.of_models)
    if (counts(one, model)) names.push_back(one.resource);
  if (!profile.empty()) names.push_back(kind.instances_prefix + profile);
  std::string missing;
  bool any = false;
  // Earlier agents, and HAMi's, do not publish them.
  const std::string* said = kube::findRenamed(node.meta.annotations, kube::kServedResourcesKey);
  const bool says = said != nullptr;
  const std::set<std::string> ours = kube::decodeDevices(says ? *said : std::string());
  for (const std::string& name : names) {
    const bool served = countOf(node.capacity, name) > 0 && (!says || ours.contains(name));
    any = any || served;
    if (!served) missing += ' ' + notServedBy(name);
  }
  return any ? missing : std::string();
}

std::uint32_t ofOwnPlugin(const kube::Pod& pod, const vendors::Kind& kind) {
  const std::string& resource = kind.count.resource;
  if (!kind.wire.node.own_plugin.there || resource.empty()) return 0;
  std::uint32_t beside = 0;
  std::uint32_t most = 0;
  for (const kube::PodContainer& one : pod.init) {
    const std::uint32_t count = countOf(one, resource);
    most = std::max(most, beside + count);
    if (one.sidecar) beside += count;
  }
  for (const kube::PodContainer& one : pod.containers) beside += countOf(one, resource);
  return std::max(most, beside);
}

}  // namespace divvy::scheduler
