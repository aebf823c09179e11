#include "vendors/dialect.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "read_dialect.h"

namespace divvy::vendors {
namespace {

using Names = std::span<const std::string_view>;
using std::string_view_literals::operator""sv;

constexpr std::array kForms = {"ascend"sv, "metax"sv, "enflame"sv, "neuron-ids"sv,
                               "neuron-resource"sv};
constexpr std::array kOfPods = {"node"sv, "seconds"sv, "nanoseconds"sv};
constexpr std::array kOfDevices = {"node"sv, "seconds"sv, "nanoseconds"sv, "index"sv,     "minor"sv,
                                   "uuid"sv, "cores"sv,   "units"sv,       "mebibytes"sv, "size"sv};
constexpr std::array kOfIds = {"node"sv, "index"sv};
constexpr std::array kOfEnv = {"container"sv, "priority"sv};
constexpr std::array kOfNotes = {"count"sv};

std::string list(Names names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

// A template, or nothing. Words in braces must be known.
void readTemplate(YamlReader& read, const YAML::Node& map, const char* key, Names known,
                  std::string* out) {
  read.text(map, key, out);
  const auto names = [&](std::string_view name) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      read.fail(map[key], '"' + std::string(name) + "\" in braces; accepted: " + list(known));
    return std::string();
  };
  (void)fill(*out, names);
}

void readOwnPlugin(YamlReader& read, const YAML::Node& node, VendorPlugin* out) {
  const auto plugin = read.child(node, "own_plugin", {"model", "memory", "sharing", "ours"});
  if (!plugin) return;
  out->there = true;
  read.text(*plugin, "model", &out->model);
  read.text(*plugin, "memory", &out->memory);
  read.text(*plugin, "sharing", &out->sharing);
  read.text(*plugin, "ours", &out->ours);
}

void readUpgrade(YamlReader& read, const YAML::Node& node, DriverUpgrade* out) {
  const auto upgrade = read.child(node, "upgrade", {"label", "over"});
  if (!upgrade) return;
  for (const char* key : {"label", "over"}) read.require(*upgrade, key);
  read.text(*upgrade, "label", &out->label);
  read.list(*upgrade, "over", [&](const YAML::Node& value) {
    out->over.push_back(value.IsScalar() ? value.Scalar() : std::string());
  });
}

void readNode(YamlReader& read, const YAML::Node& wire, NodeDialect* out) {
  const auto node = read.child(
      wire, "node",
      {"form", "annotation", "handshake", "cordon", "scores", "count_losses", "count_scores",
       "resource", "per_card", "memory", "tenants", "id", "own_plugin", "upgrade"});
  if (!node) return;
  std::size_t form = 0;
  read.require(*node, "form");
  read.word(*node, "form", {"json", "list", "metax", "drs", "capacity"}, &form);
  out->form = static_cast<NodeForm>(form + 1);
  read.text(*node, "annotation", &out->annotation);
  read.text(*node, "handshake", &out->handshake);
  read.text(*node, "cordon", &out->cordon);
  read.text(*node, "scores", &out->scores);
  read.text(*node, "count_losses", &out->count_losses);
  read.text(*node, "count_scores", &out->count_scores);
  read.text(*node, "resource", &out->resource);
  read.number(*node, "per_card", 1u, 100'000u, &out->per_card);
  read.text(*node, "memory", &out->memory);
  read.number(*node, "tenants", 1u, 1000u, &out->tenants);
  readTemplate(read, *node, "id", kOfIds, &out->id);
  readOwnPlugin(read, *node, &out->own_plugin);
  readUpgrade(read, *node, &out->upgrade);
  const bool counted = out->form == NodeForm::kCapacity;
  for (const char* key : {"resource", "id"})
    if (counted) read.require(*node, key);
  if (!counted) read.require(*node, "annotation");
  // Two forms of such a template would give equal device names.
  const bool ids =
      out->id.find("{node}") != std::string::npos && out->id.find("{index}") != std::string::npos;
  if ((counted || out->form == NodeForm::kDrs) && !ids)
    read.fail(*node, "accepted: an id with {node} and {index}");
}

void readWritten(YamlReader& read, const YAML::Node& item, PodDialect* out) {
  if (!read.map(item, {"key", "value", "first", "each", "form"})) return;
  read.require(item, "key");
  AssignmentAnnotation one;
  read.text(item, "key", &one.key);
  std::size_t said = 0;
  const auto readEntry = [&](const char* key, AssignmentAnnotation::Scope of, Names known) {
    std::string text;
    if (of == AssignmentAnnotation::Scope::kForm) {
      read.text(item, key, &text);
      if (!text.empty() && std::find(kForms.begin(), kForms.end(), text) == kForms.end())
        read.fail(item[key], '"' + text + "\"; accepted: " + list(kForms));
    } else {
      readTemplate(read, item, key, known, &text);
    }
    if (text.empty()) return;
    one.of = of;
    one.text = std::move(text);
    ++said;
  };
  readEntry("value", AssignmentAnnotation::Scope::kPod, kOfPods);
  readEntry("first", AssignmentAnnotation::Scope::kFirst, kOfDevices);
  readEntry("each", AssignmentAnnotation::Scope::kEach, kOfDevices);
  readEntry("form", AssignmentAnnotation::Scope::kForm, {});
  if (said != 1) read.fail(item, "accepted: one of value, first, each, form");
  out->further.push_back(std::move(one));
}

void readPod(YamlReader& read, const YAML::Node& wire, PodDialect* out) {
  const auto pod = read.child(
      wire, "pod", {"type", "to_allocate", "allocated", "instances", "cores", "further"});
  if (!pod) return;
  for (const char* key : {"type", "allocated"}) read.require(*pod, key);
  read.text(*pod, "type", &out->type);
  if (out->type == "{model}") out->type.clear();
  read.text(*pod, "to_allocate", &out->to_allocate);
  read.text(*pod, "allocated", &out->allocated);
  read.text(*pod, "instances", &out->instances);
  std::size_t cores = 0;
  read.word(*pod, "cores", {"percent", "units", "mask", "none"}, &cores);
  out->cores = static_cast<CoreForm>(cores);
  read.list(*pod, "further", [&](const YAML::Node& item) { readWritten(read, item, out); });
}

void readDoor(YamlReader& read, const YAML::Node& wire, Mutation* out) {
  const auto door = read.child(wire, "door", {"env", "runtime_class", "annotations", "sums"});
  if (!door) return;
  read.text(*door, "runtime_class", &out->runtime_class);
  read.list(*door, "env", [&](const YAML::Node& item) {
    if (!read.map(item, {"name", "value", "of"})) return;
    for (const char* key : {"name", "value"}) read.require(item, key);
    EnvVariable one;
    std::size_t of = 0;
    read.word(item, "of", {"asking", "others", "every"}, &of);
    one.of = static_cast<EnvVariable::Of>(of);
    read.text(item, "name", &one.name);
    readTemplate(read, item, "value", kOfEnv, &one.value);
    out->env.push_back(std::move(one));
  });
  read.list(*door, "annotations", [&](const YAML::Node& item) {
    if (!read.map(item, {"key", "value", "several"})) return;
    for (const char* key : {"key", "value"}) read.require(item, key);
    PodAnnotation one;
    read.text(item, "key", &one.key);
    readTemplate(read, item, "value", kOfNotes, &one.value);
    read.flag(item, "several", &one.several);
    out->notes.push_back(std::move(one));
  });
  std::size_t sums = 0;
  read.word(*door, "sums", {"none", "cores", "cores and memory"}, &sums);
  out->sums = static_cast<Mutation::Sums>(sums);
}

}  // namespace

std::string fill(std::string_view text, const std::function<std::string(std::string_view)>& value) {
  std::string filled;
  for (;;) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) return filled + std::string(text);
    filled += text.substr(0, open);
    filled += value(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

void readWire(YamlReader& read, const YAML::Node& kind, Dialect* out) {
  const auto wire = read.child(kind, "wire", {"node", "pod", "door", "lock"});
  if (!wire) return;
  for (const char* key : {"node", "pod"}) read.require(*wire, key);
  readNode(read, *wire, &out->node);
  readPod(read, *wire, &out->pod);
  readDoor(read, *wire, &out->mutation);
  read.text(*wire, "lock", &out->lock);
}

}  // namespace divvy::vendors
