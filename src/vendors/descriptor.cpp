#include "vendors/descriptor.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/model_name.h"
#include "read_dialect.h"
#include "read_models.h"
#include "yaml/reader.h"

namespace divvy::vendors {
namespace {

constexpr std::uint32_t kMaxDevices = 1024;
constexpr std::uint32_t kMaxSlices = 16;
constexpr Bytes kMaxUnit = gib(4);  // requests can have up to 2^31 units

void readCount(YamlReader& read, const YAML::Node& kind, CountRule* out) {
  const auto node = read.child(kind, "count", {"resource", "absent", "pairs", "runs", "alone"});
  if (!node) return;
  read.require(*node, "resource");
  read.text(*node, "resource", &out->resource);
  read.number(*node, "absent", 0u, kMaxDevices, &out->absent);
  read.flag(*node, "pairs", &out->pairs);
  read.list(*node, "runs", [&](const YAML::Node& item) {
    out->runs.push_back(static_cast<std::uint32_t>(read.numberOf(item, 1, kMaxDevices)));
  });
  read.list(*node, "alone", [&](const YAML::Node& item) {
    out->alone.push_back(item.IsScalar() ? item.Scalar() : std::string());
    if (out->alone.back().empty()) read.fail(item, "accepted: words of a model's name");
  });
}

void readMemory(YamlReader& read, const YAML::Node& kind, MemoryRule* out) {
  const auto node =
      read.child(kind, "memory",
                 {"resource", "percent", "unit", "absent", "amounts", "steps", "mebibytes_above"});
  if (!node) return;
  read.text(*node, "resource", &out->resource);
  read.text(*node, "percent", &out->percent);
  read.bytes(*node, "unit", &out->unit);
  if (out->unit > kMaxUnit) read.fail((*node)["unit"], "accepted: at most 4 GiB");
  read.number(*node, "absent", std::uint64_t{0}, std::uint64_t{1} << 31, &out->absent);
  read.number(*node, "mebibytes_above", std::uint64_t{1}, std::uint64_t{1} << 32,
              &out->mebibytes_above);
  read.list(*node, "amounts", [&](const YAML::Node& item) {
    out->amounts.push_back(read.numberOf(item, 1, std::uint64_t{1} << 32));
  });
  read.list(*node, "steps",
            [&](const YAML::Node& item) { out->steps.push_back(read.bytesOf(item)); });
  if (!std::is_sorted(out->steps.begin(), out->steps.end()))
    read.fail((*node)["steps"], "steps do not ascend");
  if (out->resource.empty() && out->percent.empty()) read.fail(*node, "lacks resource or percent");
}

void readCores(YamlReader& read, const YAML::Node& kind, CoreRule* out) {
  const auto node =
      read.child(kind, "cores", {"resource", "per_card", "absent", "above", "follow", "counts"});
  if (!node) return;
  read.text(*node, "resource", &out->resource);
  read.number(*node, "per_card", 1u, 100000u, &out->per_card);
  read.number(*node, "absent", 0u, out->per_card, &out->absent);
  read.flag(*node, "counts", &out->counts);
  std::string above;
  std::string follow;
  read.text(*node, "above", &above);
  read.text(*node, "follow", &follow);
  if (!above.empty() && above != "clamp")
    read.fail((*node)["above"], "\"" + above + "\"; accepted: clamp, or nothing to refuse");
  if (!follow.empty() && follow != "memory")
    read.fail((*node)["follow"], "\"" + follow + "\"; accepted: memory");
  out->clamp = above == "clamp";
  out->follow_memory = follow == "memory";
  if (out->resource.empty() && !out->follow_memory) read.fail(*node, "lacks resource or follow");
}

void readCard(YamlReader& read, const YAML::Node& kind, Card* out) {
  const auto node = read.child(kind, "card", {"memory", "usable", "cores", "cpus"});
  if (!node) return;
  read.require(*node, "memory");
  read.bytes(*node, "memory", &out->memory);
  out->usable = out->memory;
  read.bytes(*node, "usable", &out->usable);
  read.number(*node, "cores", 1u, 100000u, &out->cores);
  read.number(*node, "cpus", 1u, 100000u, &out->cpus);
  if (out->usable > out->memory) read.fail((*node)["usable"], "is more than memory");
}

void readTemplates(YamlReader& read, const YAML::Node& kind, Kind* out) {
  read.list(kind, "templates", [&](const YAML::Node& item) {
    Template part;
    if (!read.map(item, {"name", "memory", "cores", "cpus"})) return;
    for (const char* key : {"name", "memory", "cores"}) read.require(item, key);
    read.text(item, "name", &part.name);
    read.bytes(item, "memory", &part.memory);
    read.number(item, "cores", 1u, 100000u, &part.cores);
    read.number(item, "cpus", 1u, 100000u, &part.cpus);
    if (!out->templates.empty() && out->templates.back().memory >= part.memory)
      read.fail(item, "templates do not ascend by memory");
    if (part.memory > out->card.usable || part.cores > out->card.cores)
      read.fail(item, part.name + " is more than the device");
    out->templates.push_back(std::move(part));
  });
}

// Positions of a geometry's instances, by the layout's name.
using Layouts = std::map<std::string, Geometry>;

void readLayout(YamlReader& read, const YAML::Node& item, Layouts* out) {
  if (!read.map(item, {"name", "slices", "compute", "instances"})) return;
  for (const char* key : {"name", "slices", "compute", "instances"}) read.require(item, key);
  std::string name;
  Geometry layout;
  read.text(item, "name", &name);
  read.number(item, "slices", 1u, kMaxSlices, &layout.slices);
  read.number(item, "compute", 1u, kMaxSlices, &layout.compute);
  read.list(item, "instances", [&](const YAML::Node& each) {
    Instance one;
    if (!read.map(each, {"compute", "size", "starts"})) return;
    for (const char* key : {"compute", "size", "starts"}) read.require(each, key);
    read.number(each, "compute", 1u, layout.compute, &one.compute);
    read.number(each, "size", 1u, layout.slices, &one.size);
    read.list(each, "starts", [&](const YAML::Node& start) {
      one.starts.push_back(
          static_cast<std::uint32_t>(read.numberOf(start, 0, layout.slices - one.size)));
    });
    if (one.starts.empty()) read.fail(each, "begins nowhere");
    if (!std::is_sorted(one.starts.begin(), one.starts.end(), std::less_equal<>()))
      read.fail(each, "starts do not ascend");
    if (!layout.instances.empty() && layout.instances.back().size > one.size)
      read.fail(each, "instances do not ascend by size");
    layout.instances.push_back(std::move(one));
  });
  if (!out->emplace(name, std::move(layout)).second) read.fail(item, "layout " + name + ": twice");
}

void readGeometry(YamlReader& read, const YAML::Node& item, const Layouts& layouts, Kind* out) {
  if (!read.map(item, {"models", "layout", "slice", "instances"})) return;
  for (const char* key : {"models", "layout", "slice", "instances"}) read.require(item, key);
  std::string layout;
  read.text(item, "layout", &layout);
  const auto found = layouts.find(layout);
  if (found == layouts.end()) return read.fail(item, "layout \"" + layout + "\" is not there");
  Geometry geometry = found->second;
  read.bytes(item, "slice", &geometry.slice);
  read.list(item, "models", [&](const YAML::Node& model) {
    geometry.models.push_back(model.as<std::string>(""));
    if (!isModelPattern(geometry.models.back()))
      read.fail(model, "accepted: " + std::string(kModelPatterns));
  });
  std::size_t named = 0;
  read.list(item, "instances", [&](const YAML::Node& name) {
    if (named < geometry.instances.size())
      geometry.instances[named].name = name.as<std::string>("");
    if (name.as<std::string>("").empty()) read.fail(name, "accepted: what an instance is called");
    ++named;
  });
  if (named != geometry.instances.size())
    read.fail(item, std::to_string(named) + " instances; accepted: as many as the layout has");
  out->geometries.push_back(std::move(geometry));
}

void readInstances(YamlReader& read, const YAML::Node& kind, Kind* out) {
  const auto node =
      read.child(kind, "partitions", {"annotation", "value", "prefix", "layouts", "geometries"});
  if (!node) return;
  for (const char* key : {"annotation", "value"}) read.require(*node, key);
  read.text(*node, "annotation", &out->instances);
  read.text(*node, "value", &out->instances_value);
  read.text(*node, "prefix", &out->instances_prefix);
  Layouts layouts;
  read.list(*node, "layouts", [&](const YAML::Node& item) { readLayout(read, item, &layouts); });
  read.list(*node, "geometries",
            [&](const YAML::Node& item) { readGeometry(read, item, layouts, out); });
}

void readMany(YamlReader& read, const YAML::Node& kind, MultiDeviceRule* out) {
  std::string text;
  read.text(kind, "many", &text);
  if (text.empty()) return;
  if (text != "whole cards" && text != "no parts")
    read.fail(kind["many"],
              "\"" + text + "\"; accepted: whole cards, no parts, or nothing for shares of each");
  *out = text == "no parts" ? MultiDeviceRule::kNoParts : MultiDeviceRule::kWhole;
}

void readLinks(YamlReader& read, const YAML::Node& kind, LinkRule* out) {
  const auto node = read.child(
      kind, "links", {"of", "together", "wings", "sparing", "points", "preferred", "annotation"});
  if (!node) return;
  read.number(*node, "of", 1u, kMaxDevices, &out->of);
  const auto groups = [&](const char* key, std::vector<std::vector<std::uint32_t>>* to) {
    read.list(*node, key, [&](const YAML::Node& item) {
      std::vector<std::uint32_t>& group = to->emplace_back();
      if (!item.IsSequence() || item.size() < 2)
        return read.fail(item, "wants two indexes or more");
      for (const YAML::Node& index : item)
        group.push_back(static_cast<std::uint32_t>(
            read.numberOf(index, 0, std::max<std::uint32_t>(out->of, 1) - 1)));
    });
  };
  groups("together", &out->together);
  groups("wings", &out->wings);
  read.flag(*node, "sparing", &out->sparing);
  read.number(*node, "points", 1u, 1000u, &out->points);
  read.flag(*node, "preferred", &out->preferred);
  read.text(*node, "annotation", &out->annotation);
  if (out->together.empty() != (out->of == 0)) read.fail(*node, "lacks of, or together");
}

// Sorts: combinations of the words of all rules; one bit each.
constexpr std::size_t kMaxSorts = 15;

ColocationValue readCompanyWord(YamlReader& read, const YAML::Node& item) {
  ColocationValue word;
  if (!read.map(item, {"is", "beside", "no_cores", "one_device"})) return word;
  read.require(item, "is");
  read.text(item, "is", &word.is);
  read.list(item, "beside",
            [&](const YAML::Node& other) { word.beside.push_back(other.Scalar()); });
  if (word.beside.empty()) word.beside.push_back(word.is);
  read.flag(item, "no_cores", &word.no_cores);
  read.flag(item, "one_device", &word.one_device);
  return word;
}

void readCompany(YamlReader& read, const YAML::Node& kind, std::vector<ColocationRule>* out) {
  std::size_t sorts = 1;
  read.list(kind, "company", [&](const YAML::Node& item) {
    ColocationRule rule;
    if (!read.map(item, {"annotation", "absent", "words"})) return;
    for (const char* key : {"annotation", "words"}) read.require(item, key);
    read.text(item, "annotation", &rule.annotation);
    read.text(item, "absent", &rule.absent);
    read.list(item, "words",
              [&](const YAML::Node& word) { rule.words.push_back(readCompanyWord(read, word)); });
    const auto known = [&](const std::string& said) {
      return std::any_of(rule.words.begin(), rule.words.end(),
                         [&](const ColocationValue& one) { return one.is == said; });
    };
    if (rule.absent.empty()) rule.words.push_back({"", {""}});
    if (!known(rule.absent)) read.fail(item, "\"" + rule.absent + "\" is none of its words");
    for (const ColocationValue& word : rule.words)
      for (const std::string& other : word.beside)
        if (!known(other)) read.fail(item, "\"" + other + "\" is none of its words");
    sorts *= rule.words.size();
    if (sorts > kMaxSorts) read.fail(item, "more than 15 sorts of pods");
    out->push_back(std::move(rule));
  });
}

void readKeys(YamlReader& read, const YAML::Node& select, const char* key, KeyPair* out) {
  const auto node = read.child(select, key, {"use", "not"});
  if (!node) return;
  read.text(*node, "use", &out->use);
  read.text(*node, "not", &out->not_use);
}

void readOtherName(YamlReader& read, const YAML::Node& item, Kind* out) {
  ResourceAlias other;
  if (!read.map(item, {"resource", "means"})) return;
  for (const char* key : {"resource", "means"}) read.require(item, key);
  read.text(item, "resource", &other.resource);
  std::size_t means = 0;
  read.word(item, "means", {"count", "memory", "percent", "cores"}, &means);
  other.means = static_cast<ResourceAlias::Means>(means);
  out->also.push_back(std::move(other));
}

Kind readKind(YamlReader& read, const YAML::Node& node, const std::string& vendor) {
  Kind kind;
  kind.vendor = vendor;
  if (!read.map(node, {"name", "count", "slice", "memory", "cores", "priority",
                       "whole_is_exclusive", "many", "card", "templates", "soft_split",
                       "partitions", "links", "company", "select", "also", "of_models", "wire"}))
    return kind;
  read.require(node, "name");
  read.text(node, "name", &kind.name);
  readCount(read, node, &kind.count);
  read.text(node, "slice", &kind.slice);
  readMemory(read, node, &kind.memory);
  readCores(read, node, &kind.cores);
  read.text(node, "priority", &kind.priority);
  read.flag(node, "whole_is_exclusive", &kind.whole_is_exclusive);
  readMany(read, node, &kind.many);
  readCard(read, node, &kind.card);
  readTemplates(read, node, &kind);
  if (const auto soft = read.child(node, "soft_split", {"annotation", "value"})) {
    for (const char* key : {"annotation", "value"}) read.require(*soft, key);
    read.text(*soft, "annotation", &kind.soft_split);
    read.text(*soft, "value", &kind.soft_split_value);
  }
  readInstances(read, node, &kind);
  readLinks(read, node, &kind.links);
  readCompany(read, node, &kind.company);
  if (const auto select = read.child(node, "select", {"models", "uuids"})) {
    readKeys(read, *select, "models", &kind.models);
    readKeys(read, *select, "uuids", &kind.uuids);
  }
  read.list(node, "also", [&](const YAML::Node& item) { readOtherName(read, item, &kind); });
  read.list(node, "of_models", [&](const YAML::Node& item) {
    kind.of_models.push_back(readModelResource(read, item));
  });
  readWire(read, node, &kind.wire);
  if (kind.count.resource.empty() && kind.slice.empty()) read.fail(node, "lacks count or slice");
  if (kind.cores.follow_memory && kind.card.memory.count == 0)
    read.fail(node, "cores follow the memory of a device that it lacks");
  return kind;
}

}  // namespace

Result<Descriptor> parseDescriptor(std::string_view yaml, const std::string& source) {
  YamlReader read(source);
  Descriptor descriptor;
  const auto root = read.parse(std::string(yaml));
  if (root && read.map(*root, {"vendor", "kinds"})) {
    for (const char* key : {"vendor", "kinds"}) read.require(*root, key);
    read.text(*root, "vendor", &descriptor.vendor);
    read.list(*root, "kinds", [&](const YAML::Node& item) {
      descriptor.kinds.push_back(readKind(read, item, descriptor.vendor));
    });
  }
  if (read.error()) return *read.error();
  return descriptor;
}

}  // namespace divvy::vendors
