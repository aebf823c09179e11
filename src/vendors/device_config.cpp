#include "vendors/device_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/device_memory.h"
#include "base/quantity.h"
#include "yaml/reader.h"

namespace divvy::vendors {
namespace {

constexpr std::uint32_t kMaxDevices = 1024;
constexpr std::uint64_t kMaxMebibytes = std::uint64_t{1} << 30;

// The setting of a kind that a key holds.
enum class Says : std::uint8_t {
  kCount,
  kSlice,
  kMemory,
  kPercent,
  kCores,
  kPriority,
  kMemoryFactor,
  kDefaultMemory,
  kDefaultCores,
  kDefaultCount,
  kMemoryPerCard,
  kRuntimeClass,
  kOverwriteEnv,
  kCorePolicy,
  kPairs,
  kTold,      // read elsewhere
  kOfAgents,  // not used here
  kNotDone,
};

struct Key {
  std::string_view section, name;
  std::string_view kind;  // empty: the listed kind
  Says says;
};

constexpr Key kKeys[] = {
    {"nvidia", "resourceCountName", "NVIDIA", Says::kCount},
    {"nvidia", "resourceMemoryName", "NVIDIA", Says::kMemory},
    {"nvidia", "resourceMemoryPercentageName", "NVIDIA", Says::kPercent},
    {"nvidia", "resourceCoreName", "NVIDIA", Says::kCores},
    {"nvidia", "resourcePriorityName", "NVIDIA", Says::kPriority},
    {"nvidia", "overwriteEnv", "NVIDIA", Says::kOverwriteEnv},
    {"nvidia", "defaultMemory", "NVIDIA", Says::kDefaultMemory},
    {"nvidia", "defaultCores", "NVIDIA", Says::kDefaultCores},
    {"nvidia", "defaultGPUNum", "NVIDIA", Says::kDefaultCount},
    {"nvidia", "memoryFactor", "NVIDIA", Says::kMemoryFactor},
    {"nvidia", "gpuCorePolicy", "NVIDIA", Says::kCorePolicy},
    {"nvidia", "runtimeClassName", "NVIDIA", Says::kRuntimeClass},
    {"nvidia", "deviceSplitCount", "NVIDIA", Says::kOfAgents},
    {"nvidia", "deviceMemoryScaling", "NVIDIA", Says::kOfAgents},
    {"nvidia", "deviceCoreScaling", "NVIDIA", Says::kOfAgents},
    {"nvidia", "preConfiguredDeviceMemory", "NVIDIA", Says::kOfAgents},
    {"nvidia", "libCudaLogLevel", "NVIDIA", Says::kOfAgents},
    {"nvidia", "enableNumaTopology", "NVIDIA", Says::kOfAgents},
    {"nvidia", "disableCoreLimit", "NVIDIA", Says::kOfAgents},
    // The node registers the instances that a card can have.
    {"nvidia", "migProfileAllowlist", "NVIDIA", Says::kOfAgents},
    {"nvidia", "knownMigGeometries", "NVIDIA", Says::kOfAgents},
    {"cambricon", "resourceCountName", "MLU", Says::kCount},
    {"cambricon", "resourceMemoryName", "MLU", Says::kMemory},
    {"cambricon", "resourceCoreName", "MLU", Says::kCores},
    {"hygon", "resourceCountName", "DCU", Says::kCount},
    {"hygon", "resourceMemoryName", "DCU", Says::kMemory},
    {"hygon", "resourceCoreName", "DCU", Says::kCores},
    {"hygon", "memoryFactor", "DCU", Says::kMemoryFactor},
    {"metax", "resourceCountName", "Metax-GPU", Says::kCount},
    {"metax", "resourceVCountName", "Metax-SGPU", Says::kCount},
    {"metax", "resourceVMemoryName", "Metax-SGPU", Says::kMemory},
    {"metax", "resourceVCoreName", "Metax-SGPU", Says::kCores},
    {"metax", "sgpuTopologyAware", "Metax-SGPU", Says::kNotDone},
    {"mthreads", "resourceCountName", "MTT", Says::kCount},
    {"mthreads", "resourceMemoryName", "MTT", Says::kMemory},
    {"mthreads", "resourceCoreName", "MTT", Says::kCores},
    {"mthreads", "memoryPerCard", "MTT", Says::kMemoryPerCard},
    {"enflame", "resourceNameGCU", "Enflame-GCU", Says::kCount},
    {"enflame", "resourceNameDRSGCU", "Enflame", Says::kSlice},
    {"enflame", "resourceNameGCUMemory", "Enflame", Says::kMemory},
    {"enflame", "resourceNameGCUCore", "Enflame", Says::kCores},
    {"enflame", "resourceNameVGCU", "Enflame-VGCU", Says::kCount},
    {"enflame", "resourceNameVGCUPercentage", "Enflame-VGCU", Says::kPercent},
    {"kunlun", "resourceCountName", "kunlun", Says::kCount},
    {"kunlun", "resourceVCountName", "XPU", Says::kCount},
    {"kunlun", "resourceVMemoryName", "XPU", Says::kMemory},
    {"awsneuron", "resourceCountName", "AWSNeuron", Says::kCount},
    {"awsneuron", "resourceCoreName", "AWSNeuron", Says::kCores},
    {"amd", "resourceCountName", "AMDGPU", Says::kCount},
    {"amd", "resourceMemoryName", "AMDGPU", Says::kMemory},
    {"amd", "resourceCoreName", "AMDGPU", Says::kCores},
    {"vastai", "resourceCountName", "Vastai", Says::kCount},
    {"biren", "resourceCountName", "Biren", Says::kCount},
    {"iluvatars", "chipName", "", Says::kTold},
    {"iluvatars", "commonWord", "", Says::kTold},
    {"iluvatars", "resourceCountName", "", Says::kCount},
    {"iluvatars", "resourceMemoryName", "", Says::kMemory},
    {"iluvatars", "resourceCoreName", "", Says::kCores},
    {"vnpus", "chipName", "", Says::kTold},
    {"vnpus", "commonWord", "", Says::kTold},
    {"vnpus", "resourceName", "", Says::kCount},
    {"vnpus", "resourceMemoryName", "", Says::kMemory},
    {"vnpus", "resourceCoreName", "", Says::kCores},
    {"vnpus", "memoryAllocatable", "", Says::kTold},
    {"vnpus", "memoryCapacity", "", Says::kTold},
    {"vnpus", "memoryFactor", "", Says::kMemoryFactor},
    {"vnpus", "aiCore", "", Says::kTold},
    {"vnpus", "aiCPU", "", Says::kTold},
    {"vnpus", "runtimeClassName", "", Says::kRuntimeClass},
    {"vnpus", "overwriteEnv", "", Says::kOverwriteEnv},
    {"vnpus", "superPod", "", Says::kPairs},
    {"vnpus", "templates", "", Says::kTold},
};

// Family by section, with the name of our descriptors.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kFamilies{{
    {"nvidia", "nvidia"},
    {"cambricon", "cambricon"},
    {"hygon", "hygon"},
    {"metax", "metax"},
    {"mthreads", "mthreads"},
    {"enflame", "enflame"},
    {"kunlun", "kunlun"},
    {"awsneuron", "neuron"},
    {"amd", "amd"},
    {"vastai", "vastai"},
    {"biren", "biren"},
    {"iluvatars", "iluvatar"},
}};

bool isText(const YAML::Node& node) {
  return node.IsScalar();
}

void replaceAll(const std::string& from, const std::string& to, std::string* text) {
  for (std::size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

// Another chip of a family: every text with the family's name gets the chip's name.
Kind madeFrom(Kind kind, const std::string& name) {
  const std::string old = kind.name;
  for (std::string* text :
       {&kind.name, &kind.count.resource, &kind.slice, &kind.memory.resource, &kind.memory.percent,
        &kind.cores.resource, &kind.models.use, &kind.models.not_use, &kind.uuids.use,
        &kind.uuids.not_use, &kind.wire.node.annotation, &kind.wire.node.handshake,
        &kind.wire.pod.type, &kind.wire.pod.to_allocate, &kind.wire.pod.allocated})
    replaceAll(old, name, text);
  for (Written& one : kind.wire.pod.further) replaceAll(old, name, &one.key);
  return kind;
}

// The dialect contains resource names as well.
void follow(const Kind& old, Kind* kind) {
  const auto now = [&](const std::string& name) {
    if (!name.empty() && name == old.count.resource) return kind->count.resource;
    if (!name.empty() && name == old.memory.resource) return kind->memory.resource;
    if (!name.empty() && name == old.cores.resource) return kind->cores.resource;
    return name;
  };
  kind->wire.node.resource = now(old.wire.node.resource);
  kind->wire.node.memory = now(old.wire.node.memory);
}

class ConfigReading {
 public:
  ConfigReading(std::string source, const std::vector<Descriptor>& over)
      : source_(std::move(source)), read_(source_), over_(over) {}

  Result<DeviceConfig> read(const std::string& yaml);

 private:
  void readRoot(const YAML::Node& root);
  void readFamily(std::string_view section, std::string_view vendor, const YAML::Node& node);
  void readChips(std::string_view section, std::string_view vendor, const YAML::Node& list);
  void readAscend(const YAML::Node& node);
  Kind* chip(const Descriptor& family, const YAML::Node& item, std::vector<Kind>* chips);
  void readKeys(std::string_view section, const YAML::Node& map, std::vector<Kind>* kinds,
                Kind* listed);
  void set(const Key& key, const YAML::Node& map, Kind* kind);
  void setMemoryPerCard(const YAML::Node& node, Kind* kind);
  void setDefaultMemory(const YAML::Node& node, Bytes unit, Kind* kind);
  void readCard(const YAML::Node& item, Kind* kind);
  void readTemplates(const YAML::Node& item, Kind* kind);
  // Reads a size in MiB, as the file states it.
  void mebibytes(const YAML::Node& map, const char* key, Bytes* out);
  const Descriptor* family(std::string_view vendor) const;
  std::string placeOf(std::string_view section, const YAML::Node& key) const;

  std::string source_;
  YamlReader read_;
  const std::vector<Descriptor>& over_;
  DeviceConfig config_;
};

const Descriptor* ConfigReading::family(std::string_view vendor) const {
  const auto found = std::find_if(over_.begin(), over_.end(),
                                  [&](const Descriptor& one) { return one.vendor == vendor; });
  return found == over_.end() ? nullptr : &*found;
}

std::string ConfigReading::placeOf(std::string_view section, const YAML::Node& key) const {
  const std::string name = isText(key) ? key.Scalar() : "?";
  return (section.empty() ? "" : std::string(section) + '.') + name + " (" + source_ + ':' +
         std::to_string(key.Mark().line + 1) + ')';
}

void ConfigReading::mebibytes(const YAML::Node& map, const char* key, Bytes* out) {
  std::uint64_t value = out->count / mib(1).count;
  read_.number(map, key, std::uint64_t{1}, kMaxMebibytes, &value);
  if (map[key]) *out = mib(value);
}

void ConfigReading::setMemoryPerCard(const YAML::Node& node, Kind* kind) {
  std::vector<std::uint64_t> sizes;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) sizes.push_back(read_.numberOf(item, 1, 1u << 20));
  } else {
    sizes.push_back(read_.numberOf(node, 1, 1u << 20));
  }
  if (sizes.size() == 1) {
    kind->card.memory = kind->card.usable = Bytes{sizes[0] * kind->memory.unit.count};
  } else {
    config_.not_done.push_back(placeOf("mthreads.memoryPerCard, several sizes", node));
  }
}

// By the rule for requests of pods (base/device_memory.h).
void ConfigReading::setDefaultMemory(const YAML::Node& node, Bytes unit, Kind* kind) {
  const std::string text = isText(node) ? node.Scalar() : "";
  const auto wrong = [&](const std::string& what) { read_.fail(node, '"' + text + "\": " + what); };
  const Result<Quantity> amount = Quantity::parse(text);
  if (!amount)
    return wrong("accepted: 0, a number of " + formatBytes(unit) +
                 ", or bytes with a suffix, as 16Gi");
  if (!amount->negative() && amount->milli() == 0) {
    kind->memory.absent = 0;
    return;
  }
  const Result<Bytes> bytes = deviceMemory(*amount, unit);
  if (!bytes) return wrong(bytes.error().message());
  if (*bytes > kMaxDeviceMemory) return wrong("accepted: at most " + formatBytes(kMaxDeviceMemory));
  if (*bytes < unit) return wrong("accepted: at least " + formatBytes(unit));
  kind->memory.absent = bytes->count / unit.count;
}

void ConfigReading::set(const Key& key, const YAML::Node& map, Kind* kind) {
  const std::string name(key.name);
  const char* at = name.c_str();
  const auto rename = [&](std::string* to) {
    // Charts render unset values as "".
    if (isText(map[at]) && map[at].Scalar().empty()) return;
    std::string fresh;
    read_.text(map, at, &fresh);
    if (!fresh.empty()) *to = std::move(fresh);
  };
  switch (key.says) {
    case Says::kCount:
      return rename(&kind->count.resource);
    case Says::kSlice:
      return rename(&kind->slice);
    case Says::kMemory:
      return rename(&kind->memory.resource);
    case Says::kPercent:
      return rename(&kind->memory.percent);
    case Says::kCores:
      return rename(&kind->cores.resource);
    case Says::kPriority:
      return rename(&kind->priority);
    case Says::kMemoryFactor: {
      std::uint32_t factor = 0;
      read_.number(map, at, 0u, 4096u, &factor);
      if (factor > 1) kind->memory.unit = mib(factor);
      return;
    }
    case Says::kDefaultMemory: {
      // The unit applies to the whole file, wherever it is in the map.
      std::uint32_t factor = 0;
      read_.number(map, "memoryFactor", 0u, 4096u, &factor);
      return setDefaultMemory(map[at], factor > 1 ? mib(factor) : kind->memory.unit, kind);
    }
    case Says::kDefaultCores:
      return read_.number(map, at, 0u, kind->cores.per_card, &kind->cores.absent);
    case Says::kDefaultCount:
      return read_.number(map, at, 0u, kMaxDevices, &kind->count.absent);
    case Says::kMemoryPerCard:
      return setMemoryPerCard(map[at], kind);
    case Says::kRuntimeClass:
      return rename(&kind->wire.door.runtime_class);
    case Says::kOverwriteEnv: {
      bool overwrite = false;
      read_.flag(map, at, &overwrite);
      const bool nvidia = kind->vendor == "nvidia";
      if (overwrite)
        kind->wire.door.env.push_back({nvidia ? "NVIDIA_VISIBLE_DEVICES" : "ASCEND_VISIBLE_DEVICES",
                                       nvidia ? "none" : "", Env::Of::kOthers});
      return;
    }
    case Says::kCorePolicy: {
      std::size_t policy = 0;
      read_.word(map, at, {"default", "force", "disable"}, &policy);
      if (policy > 0)
        kind->wire.door.env.push_back(
            {"GPU_CORE_UTILIZATION_POLICY", policy == 1 ? "force" : "disable", Env::Of::kEvery});
      return;
    }
    case Says::kPairs:
      return read_.flag(map, at, &kind->count.pairs);
    case Says::kTold:
    case Says::kOfAgents:
    case Says::kNotDone:
      return;
  }
}

void ConfigReading::readKeys(std::string_view section, const YAML::Node& map,
                             std::vector<Kind>* kinds, Kind* listed) {
  for (const auto& entry : map) {
    const std::string name = isText(entry.first) ? entry.first.Scalar() : "";
    const auto key = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& one) {
      return one.section == section && one.name == name;
    });
    if (key == std::end(kKeys)) {
      config_.unknown.push_back(placeOf(section, entry.first));
      continue;
    }
    if (key->says == Says::kOfAgents) config_.of_agents.push_back(placeOf(section, entry.first));
    if (key->says == Says::kNotDone) config_.not_done.push_back(placeOf(section, entry.first));
    Kind* kind = listed;
    for (Kind& one : *kinds)
      if (one.name == key->kind) kind = &one;
    if (kind != nullptr && !entry.second.IsNull()) set(*key, map, kind);
  }
}

void ConfigReading::readFamily(std::string_view section, std::string_view vendor,
                               const YAML::Node& node) {
  const Descriptor* old = family(vendor);
  if (old == nullptr) return;
  if (!node.IsMap()) return read_.fail(node, std::string(section) + " is no map");
  Descriptor fresh = *old;
  readKeys(section, node, &fresh.kinds, nullptr);
  for (std::size_t i = 0; i < fresh.kinds.size(); ++i) follow(old->kinds[i], &fresh.kinds[i]);
  config_.families.push_back(std::move(fresh));
}

Kind* ConfigReading::chip(const Descriptor& family, const YAML::Node& item,
                          std::vector<Kind>* chips) {
  if (!item.IsMap()) {
    read_.fail(item, "is no map; accepted: a chip with commonWord");
    return nullptr;
  }
  std::string word;
  read_.require(item, "commonWord");
  read_.text(item, "commonWord", &word);
  if (word.empty() || family.kinds.empty()) return nullptr;
  const auto known = std::find_if(family.kinds.begin(), family.kinds.end(),
                                  [&](const Kind& one) { return one.name == word; });
  if (known != family.kinds.end()) {
    chips->push_back(*known);
    return &chips->back();
  }
  Kind made = madeFrom(family.kinds.front(), word);
  made.templates.clear();
  if (made.card.memory.count > 0)
    for (const char* key : {"memoryAllocatable", "memoryCapacity", "aiCore"})
      read_.require(item, key);
  chips->push_back(std::move(made));
  return &chips->back();
}

void ConfigReading::readCard(const YAML::Node& item, Kind* kind) {
  mebibytes(item, "memoryCapacity", &kind->card.memory);
  mebibytes(item, "memoryAllocatable", &kind->card.usable);
  read_.number(item, "aiCore", 1u, 100'000u, &kind->card.cores);
  read_.number(item, "aiCPU", 0u, 100'000u, &kind->card.cpus);
  if (kind->card.usable > kind->card.memory)
    read_.fail(item, "memoryAllocatable is more than memoryCapacity");
  if (item["templates"]) readTemplates(item, kind);
}

void ConfigReading::readTemplates(const YAML::Node& item, Kind* kind) {
  kind->templates.clear();
  read_.list(item, "templates", [&](const YAML::Node& each) {
    Template part;
    if (!each.IsMap()) return read_.fail(each, "is no map; accepted: name, memory, aiCore, aiCPU");
    for (const auto& entry : each) {
      const std::string name = isText(entry.first) ? entry.first.Scalar() : "";
      if (name != "name" && name != "memory" && name != "aiCore" && name != "aiCPU")
        config_.unknown.push_back(placeOf("vnpus.templates", entry.first));
    }
    for (const char* key : {"name", "memory", "aiCore"}) read_.require(each, key);
    read_.text(each, "name", &part.name);
    mebibytes(each, "memory", &part.memory);
    read_.number(each, "aiCore", 1u, 100'000u, &part.cores);
    read_.number(each, "aiCPU", 0u, 100'000u, &part.cpus);
    if (part.memory > kind->card.usable || part.cores > kind->card.cores)
      read_.fail(each, part.name + " is more than the card");
    kind->templates.push_back(std::move(part));
  });
  std::sort(kind->templates.begin(), kind->templates.end(),
            [](const Template& a, const Template& b) { return a.memory < b.memory; });
  const auto same =
      std::adjacent_find(kind->templates.begin(), kind->templates.end(),
                         [](const Template& a, const Template& b) { return a.memory == b.memory; });
  if (same != kind->templates.end())
    read_.fail(item["templates"], same->name + " has the memory of another");
}

void ConfigReading::readChips(std::string_view section, std::string_view vendor,
                              const YAML::Node& list) {
  const Descriptor* old = family(vendor);
  if (old == nullptr) return;
  if (!list.IsSequence()) return read_.fail(list, std::string(section) + " is no list of chips");
  Descriptor fresh{old->vendor, {}};
  for (const YAML::Node& item : list) {
    Kind* kind = chip(*old, item, &fresh.kinds);
    if (kind == nullptr) return;
    std::vector<Kind> none;
    readKeys(section, item, &none, kind);
    if (section == "vnpus") readCard(item, kind);
  }
  if (!fresh.kinds.empty()) config_.families.push_back(std::move(fresh));
}

// A list, or since 2.9 a map that contains one.
void ConfigReading::readAscend(const YAML::Node& node) {
  if (!node.IsMap()) return readChips("vnpus", "ascend", node);
  for (const auto& entry : node) {
    const std::string name = isText(entry.first) ? entry.first.Scalar() : "";
    if (name == "hamiVnpuCore") {
      config_.of_agents.push_back(placeOf("vnpus", entry.first));
    } else if (name != "configs") {
      config_.unknown.push_back(placeOf("vnpus", entry.first));
    } else if (!entry.second.IsNull()) {
      readChips("vnpus", "ascend", entry.second);
    }
  }
}

void ConfigReading::readRoot(const YAML::Node& root) {
  if (!root.IsMap()) return read_.fail(root, "is no map; accepted: families, as nvidia");
  for (const auto& entry : root) {
    const std::string name = isText(entry.first) ? entry.first.Scalar() : "";
    const auto known = std::find_if(kFamilies.begin(), kFamilies.end(),
                                    [&](const auto& one) { return one.first == name; });
    if (known == kFamilies.end() && name != "vnpus") {
      config_.unknown.push_back(placeOf("", entry.first));
    } else if (entry.second.IsNull()) {
      continue;  // ignored
    } else if (name == "vnpus") {
      readAscend(entry.second);
    } else if (name == "iluvatars") {
      readChips(name, known->second, entry.second);
    } else {
      readFamily(known->first, known->second, entry.second);
    }
  }
  if (config_.families.empty())
    read_.fail(root, "there are no devices; accepted: families, as nvidia");
}

Result<DeviceConfig> ConfigReading::read(const std::string& yaml) {
  const auto root = read_.parse(yaml);
  if (!root) return *read_.error();
  if (root->IsMap() && (*root)["data"] && (*root)["data"].IsMap()) {
    const YAML::Node inside = (*root)["data"]["device-config.yaml"];
    if (inside && isText(inside))
      return readDeviceConfig(inside.Scalar(), source_ + " device-config.yaml", over_);
  }
  readRoot(*root);
  if (read_.error()) return *read_.error();
  std::sort(config_.families.begin(), config_.families.end(),
            [](const Descriptor& a, const Descriptor& b) { return a.vendor < b.vendor; });
  return std::move(config_);
}

}  // namespace

Result<DeviceConfig> readDeviceConfig(std::string_view yaml, const std::string& source,
                                      const std::vector<Descriptor>& over) {
  return ConfigReading(source, over).read(std::string(yaml));
}

}  // namespace divvy::vendors
