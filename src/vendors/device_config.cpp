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
enum class Setting : std::uint8_t {
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
  kReadElsewhere,  // read elsewhere
  kOfAgents,       // not used here
  kUnsupported,
};

struct ConfigKey {
  std::string_view section, name;
  std::string_view kind;  // empty: the listed kind
  Setting setting;
};

constexpr ConfigKey kKeys[] = {
    {"nvidia", "resourceCountName", "NVIDIA", Setting::kCount},
    {"nvidia", "resourceMemoryName", "NVIDIA", Setting::kMemory},
    {"nvidia", "resourceMemoryPercentageName", "NVIDIA", Setting::kPercent},
    {"nvidia", "resourceCoreName", "NVIDIA", Setting::kCores},
    {"nvidia", "resourcePriorityName", "NVIDIA", Setting::kPriority},
    {"nvidia", "overwriteEnv", "NVIDIA", Setting::kOverwriteEnv},
    {"nvidia", "defaultMemory", "NVIDIA", Setting::kDefaultMemory},
    {"nvidia", "defaultCores", "NVIDIA", Setting::kDefaultCores},
    {"nvidia", "defaultGPUNum", "NVIDIA", Setting::kDefaultCount},
    {"nvidia", "memoryFactor", "NVIDIA", Setting::kMemoryFactor},
    {"nvidia", "gpuCorePolicy", "NVIDIA", Setting::kCorePolicy},
    {"nvidia", "runtimeClassName", "NVIDIA", Setting::kRuntimeClass},
    {"nvidia", "deviceSplitCount", "NVIDIA", Setting::kOfAgents},
    {"nvidia", "deviceMemoryScaling", "NVIDIA", Setting::kOfAgents},
    {"nvidia", "deviceCoreScaling", "NVIDIA", Setting::kOfAgents},
    {"nvidia", "preConfiguredDeviceMemory", "NVIDIA", Setting::kOfAgents},
    {"nvidia", "libCudaLogLevel", "NVIDIA", Setting::kOfAgents},
    {"nvidia", "enableNumaTopology", "NVIDIA", Setting::kOfAgents},
    {"nvidia", "disableCoreLimit", "NVIDIA", Setting::kOfAgents},
    // The node registers the instances that a card can have.
    {"nvidia", "migProfileAllowlist", "NVIDIA", Setting::kOfAgents},
    {"nvidia", "knownMigGeometries", "NVIDIA", Setting::kOfAgents},
    {"cambricon", "resourceCountName", "MLU", Setting::kCount},
    {"cambricon", "resourceMemoryName", "MLU", Setting::kMemory},
    {"cambricon", "resourceCoreName", "MLU", Setting::kCores},
    {"hygon", "resourceCountName", "DCU", Setting::kCount},
    {"hygon", "resourceMemoryName", "DCU", Setting::kMemory},
    {"hygon", "resourceCoreName", "DCU", Setting::kCores},
    {"hygon", "memoryFactor", "DCU", Setting::kMemoryFactor},
    {"metax", "resourceCountName", "Metax-GPU", Setting::kCount},
    {"metax", "resourceVCountName", "Metax-SGPU", Setting::kCount},
    {"metax", "resourceVMemoryName", "Metax-SGPU", Setting::kMemory},
    {"metax", "resourceVCoreName", "Metax-SGPU", Setting::kCores},
    {"metax", "sgpuTopologyAware", "Metax-SGPU", Setting::kUnsupported},
    {"mthreads", "resourceCountName", "MTT", Setting::kCount},
    {"mthreads", "resourceMemoryName", "MTT", Setting::kMemory},
    {"mthreads", "resourceCoreName", "MTT", Setting::kCores},
    {"mthreads", "memoryPerCard", "MTT", Setting::kMemoryPerCard},
    {"enflame", "resourceNameGCU", "Enflame-GCU", Setting::kCount},
    {"enflame", "resourceNameDRSGCU", "Enflame", Setting::kSlice},
    {"enflame", "resourceNameGCUMemory", "Enflame", Setting::kMemory},
    {"enflame", "resourceNameGCUCore", "Enflame", Setting::kCores},
    {"enflame", "resourceNameVGCU", "Enflame-VGCU", Setting::kCount},
    {"enflame", "resourceNameVGCUPercentage", "Enflame-VGCU", Setting::kPercent},
    {"kunlun", "resourceCountName", "kunlun", Setting::kCount},
    {"kunlun", "resourceVCountName", "XPU", Setting::kCount},
    {"kunlun", "resourceVMemoryName", "XPU", Setting::kMemory},
    {"awsneuron", "resourceCountName", "AWSNeuron", Setting::kCount},
    {"awsneuron", "resourceCoreName", "AWSNeuron", Setting::kCores},
    {"amd", "resourceCountName", "AMDGPU", Setting::kCount},
    {"amd", "resourceMemoryName", "AMDGPU", Setting::kMemory},
    {"amd", "resourceCoreName", "AMDGPU", Setting::kCores},
    {"vastai", "resourceCountName", "Vastai", Setting::kCount},
    {"biren", "resourceCountName", "Biren", Setting::kCount},
    {"iluvatars", "chipName", "", Setting::kReadElsewhere},
    {"iluvatars", "commonWord", "", Setting::kReadElsewhere},
    {"iluvatars", "resourceCountName", "", Setting::kCount},
    {"iluvatars", "resourceMemoryName", "", Setting::kMemory},
    {"iluvatars", "resourceCoreName", "", Setting::kCores},
    {"vnpus", "chipName", "", Setting::kReadElsewhere},
    {"vnpus", "commonWord", "", Setting::kReadElsewhere},
    {"vnpus", "resourceName", "", Setting::kCount},
    {"vnpus", "resourceMemoryName", "", Setting::kMemory},
    {"vnpus", "resourceCoreName", "", Setting::kCores},
    {"vnpus", "memoryAllocatable", "", Setting::kReadElsewhere},
    {"vnpus", "memoryCapacity", "", Setting::kReadElsewhere},
    {"vnpus", "memoryFactor", "", Setting::kMemoryFactor},
    {"vnpus", "aiCore", "", Setting::kReadElsewhere},
    {"vnpus", "aiCPU", "", Setting::kReadElsewhere},
    {"vnpus", "runtimeClassName", "", Setting::kRuntimeClass},
    {"vnpus", "overwriteEnv", "", Setting::kOverwriteEnv},
    {"vnpus", "superPod", "", Setting::kPairs},
    {"vnpus", "templates", "", Setting::kReadElsewhere},
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
  for (AssignmentAnnotation& one : kind.wire.pod.further) replaceAll(old, name, &one.key);
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
  void set(const ConfigKey& key, const YAML::Node& map, Kind* kind);
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

void ConfigReading::set(const ConfigKey& key, const YAML::Node& map, Kind* kind) {
  const std::string name(key.name);
  const char* at = name.c_str();
  const auto rename = [&](std::string* to) {
    // Charts render unset values as "".
    if (isText(map[at]) && map[at].Scalar().empty()) return;
    std::string fresh;
    read_.text(map, at, &fresh);
    if (!fresh.empty()) *to = std::move(fresh);
  };
  switch (key.setting) {
    case Setting::kCount:
      return rename(&kind->count.resource);
    case Setting::kSlice:
      return rename(&kind->slice);
    case Setting::kMemory:
      return rename(&kind->memory.resource);
    case Setting::kPercent:
      return rename(&kind->memory.percent);
    case Setting::kCores:
      return rename(&kind->cores.resource);
    case Setting::kPriority:
      return rename(&kind->priority);
    case Setting::kMemoryFactor: {
      std::uint32_t factor = 0;
      read_.number(map, at, 0u, 4096u, &factor);
      if (factor > 1) kind->memory.unit = mib(factor);
      return;
    }
    case Setting::kDefaultMemory: {
      // The unit applies to the whole file, wherever it is in the map.
      std::uint32_t factor = 0;
      read_.number(map, "memoryFactor", 0u, 4096u, &factor);
      return setDefaultMemory(map[at], factor > 1 ? mib(factor) : kind->memory.unit, kind);
    }
    case Setting::kDefaultCores:
      return read_.number(map, at, 0u, kind->cores.per_card, &kind->cores.absent);
    case Setting::kDefaultCount:
      return read_.number(map, at, 0u, kMaxDevices, &kind->count.absent);
    case Setting::kMemoryPerCard:
      return setMemoryPerCard(map[at], kind);
    case Setting::kRuntimeClass:
      return rename(&kind->wire.mutation.runtime_class);
    case Setting::kOverwriteEnv: {
      bool overwrite = false;
      read_.flag(map, at, &overwrite);
      const bool nvidia = kind->vendor == "nvidia";
      if (overwrite)
        kind->wire.mutation.env.push_back(
            {nvidia ? "NVIDIA_VISIBLE_DEVICES" : "ASCEND_VISIBLE_DEVICES", nvidia ? "none" : "",
             EnvVariable::Of::kOthers});
      return;
    }
    case Setting::kCorePolicy: {
      std::size_t policy = 0;
      read_.word(map, at, {"default", "force", "disable"}, &policy);
      if (policy > 0)
        kind->wire.mutation.env.push_back({"GPU_CORE_UTILIZATION_POLICY",
                                           policy == 1 ? "force" : "disable",
                                           EnvVariable::Of::kEvery});
      return;
    }
    case Setting::kPairs:
      return read_.flag(map, at, &kind->count.pairs);
    case Setting::kReadElsewhere:
    case Setting::kOfAgents:
    case Setting::kUnsupported:
      return;
  }
}

void ConfigReading::readKeys(std::string_view section, const YAML::Node& map,
                             std::vector<Kind>* kinds, Kind* listed) {
  for (const auto& entry : map) {
    const std::string name = isText(entry.first) ? entry.first.Scalar() : "";
    const auto key = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const ConfigKey& one) {
      return one.section == section && one.name == name;
    });
    if (key == std::end(kKeys)) {
      config_.unknown.push_back(placeOf(section, entry.first));
      continue;
    }
    if (key->setting == Setting::kOfAgents)
      config_.of_agents.push_back(placeOf(section, entry.first));
    if (key->setting == Setting::kUnsupported)
      config_.not_done.push_back(placeOf(section, entry.first));
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
  if (!node.IsMap()) return read_.fail(node, std::string(section) + " is not a map");
  Descriptor fresh = *old;
  readKeys(section, node, &fresh.kinds, nullptr);
  for (std::size_t i = 0; i < fresh.kinds.size(); ++i) follow(old->kinds[i], &fresh.kinds[i]);
  config_.families.push_back(std::move(fresh));
}

Kind* ConfigReading::chip(const Descriptor& family, const YAML::Node& item,
                          std::vector<Kind>* chips) {
  if (!item.IsMap()) {
    read_.fail(item, "is not a map; accepted: a chip with commonWord");
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
    if (!each.IsMap())
      return read_.fail(each, "is not a map; accepted: name, memory, aiCore, aiCPU");
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
      read_.fail(each, part.name + " is more than the device");
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
  if (!list.IsSequence()) return read_.fail(list, std::string(section) + " is not a list of chips");
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
  if (!root.IsMap()) return read_.fail(root, "is not a map; accepted: families, such as nvidia");
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
