#include "config/node_settings.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "files/simulate_files.h"
#include "yaml/reader.h"

namespace divvy::cli {
namespace {

constexpr std::uint32_t kMaxPerDevice = 100;
constexpr std::uint32_t kMaxIndex = 1023;
constexpr std::uint32_t kWhole = 100;
// A larger factor belongs to another device: promised compute is a part of the device's.
constexpr double kMaxCoreScaling = 1000;
constexpr std::size_t kMinUuid = 5;
constexpr const char* kConfigMapKey = "config.json";

class SettingsReader {
 public:
  explicit SettingsReader(const std::string& source) : source_(source), reader_(source) {}

  Result<NodeSettings> read(const std::string& text) {
    const std::optional<YAML::Node> root = reader_.parse(text);
    if (root && root->IsMap() && (*root)["kind"]) return readConfigMap(*root);
    if (root && keys(*root, {"settings", "nodeconfig"})) {
      if (!(*root)["settings"] && !(*root)["nodeconfig"])
        reader_.fail(*root, "has no settings; accepted: a map with settings, or HAMi's nodeconfig");
      items(*root, "nodeconfig", [this](const YAML::Node& one) { readHami(one); });
      items(*root, "settings", [this](const YAML::Node& one) { readOwn(one); });
    }
    if (reader_.error()) return *reader_.error();
    return std::move(settings_);
  }

 private:
  Result<NodeSettings> readConfigMap(const YAML::Node& root) {
    const YAML::Node data = root["data"];
    const bool there =
        data && data.IsMap() && data[kConfigMapKey] && data[kConfigMapKey].IsScalar();
    if (!there) reader_.fail(root, std::string("accepted: a ConfigMap with ") + kConfigMapKey);
    if (reader_.error()) return *reader_.error();
    return SettingsReader(source_ + " (" + kConfigMapKey + ")").read(data[kConfigMapKey].Scalar());
  }

  void unheeded(const YAML::Node& at, const std::string& what) {
    const YAML::Mark mark = at.Mark();
    settings_.unheeded.push_back(source_ + ":" + std::to_string(mark.line + 1) + ":" +
                                 std::to_string(mark.column + 1) + ": " + what);
  }

  // Returns true if it is a map with each key once. Unknown keys are recorded.
  bool keys(const YAML::Node& node, std::initializer_list<std::string_view> known) {
    if (reader_.error()) return false;
    std::string accepted;
    for (const std::string_view key : known)
      accepted += (accepted.empty() ? "" : ", ") + std::string(key);
    if (!node.IsMap()) {
      reader_.fail(node, "is not a map; accepted: a map with " + accepted);
      return false;
    }
    std::vector<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        reader_.fail(entry.first, "\"" + key + "\" is given twice");
      if (std::find(known.begin(), known.end(), key) == known.end())
        unheeded(entry.first, "\"" + key + "\" is unknown; accepted: " + accepted);
      seen.push_back(key);
    }
    return !reader_.error();
  }

  // Reads a list, which may be empty, or null.
  template <typename Each>
  void items(const YAML::Node& map, const char* key, Each each) {
    const YAML::Node list = map[key];
    if (list && !list.IsNull() && !(list.IsSequence() && list.size() == 0))
      reader_.list(map, key, each);
  }

  void readExclude(const YAML::Node& node, const char* uuids, const char* indices,
                   CardSettings* settings) {
    agent::DeviceExclusions& exclude = settings->exclude.emplace();
    if (!keys(node, {uuids, indices})) return;
    items(node, uuids, [&](const YAML::Node& item) {
      if (!item.IsScalar() || item.Scalar().size() < kMinUuid)
        return reader_.fail(item, "accepted: a UUID, or a prefix longer than GPU-");
      exclude.uuids.push_back(item.Scalar());
    });
    items(node, indices, [&](const YAML::Node& item) {
      exclude.indices.push_back(static_cast<unsigned>(reader_.numberOf(item, 0, kMaxIndex)));
    });
  }

  void readPerDevice(const YAML::Node& node, const char* key, CardSettings* settings) {
    settings->per_device.emplace();
    reader_.number(node, key, 1, kMaxPerDevice, &*settings->per_device);
  }

  void readNuma(const YAML::Node& node, const char* key, CardSettings* settings) {
    if (node[key]) reader_.flag(node, key, &settings->announce_numa.emplace());
  }

  // Reads the key as an option does; errors contain the text.
  template <typename T>
  void readTerms(const YAML::Node& node, const char* key,
                 Result<void> (*parse)(std::string_view, agent::PerDevice<T>&),
                 std::optional<agent::PerDevice<T>>* out) {
    std::string text;
    reader_.text(node, key, &text);
    if (reader_.error()) return;
    const Result<void> good = parse(text, out->emplace());
    if (!good) reader_.fail(node[key], good.error().message());
  }

  void readOwn(const YAML::Node& node) {
    NodeSettings::Entry& entry = settings_.entries.emplace_back();
    if (!keys(node, {"nodes", "exclude", "per_device", "cores", "overcommit", "device_budget",
                     "host_reserve", "announce_numa"}))
      return;
    reader_.require(node, "nodes");
    reader_.list(node, "nodes", [&](const YAML::Node& item) {
      if (!item.IsScalar() || item.Scalar().empty())
        return reader_.fail(item, "accepted: a node's name, or a pattern with * ? [..]");
      entry.nodes.push_back(item.Scalar());
    });
    CardSettings& settings = entry.settings;
    if (node["exclude"]) readExclude(node["exclude"], "uuids", "indices", &settings);
    if (node["per_device"]) readPerDevice(node, "per_device", &settings);
    if (node["cores"]) reader_.number(node, "cores", 1, kWhole, &settings.cores.emplace());
    readNuma(node, "announce_numa", &settings);
    if (node["overcommit"])
      readTerms<unsigned>(node, "overcommit", agent::readOvercommit, &settings.overcommit);
    if (node["device_budget"])
      readTerms<Bytes>(node, "device_budget", agent::readBudget, &settings.device_budget);
    if (!node["host_reserve"]) return;
    std::string reserve;
    reader_.text(node, "host_reserve", &reserve);
    const Result<Bytes> bytes = agent::parseHostReserve(reserve);
    if (bytes) settings.host_reserve = *bytes;
    if (!bytes) reader_.fail(node["host_reserve"], bytes.error().message());
  }

  // HAMi treats empty, null and 0 as unset.
  static bool hasKey(const YAML::Node& node, const char* key) {
    const YAML::Node value = node[key];
    if (!value || value.IsNull()) return false;
    const bool nothing =
        value.IsScalar() && value.Scalar().find_first_not_of("0.") == std::string::npos;
    return !nothing;
  }

  void readHami(const YAML::Node& node) {
    NodeSettings::Entry& entry = settings_.entries.emplace_back();
    entry.literal = true;
    if (!keys(node, {"name", "operatingmode", "devicememoryscaling", "devicesplitcount",
                     "devicecorescaling", "preconfigureddevicememory", "libcudaloglevel",
                     "enablenumatopology", "migstrategy", "filterdevices",
                     "enablegetpreferredallocation"}))
      return;
    reader_.require(node, "name");
    reader_.text(node, "name", &entry.nodes.emplace_back());
    CardSettings& settings = entry.settings;
    if (hasKey(node, "filterdevices"))
      readExclude(node["filterdevices"], "uuid", "index", &settings);
    if (hasKey(node, "devicesplitcount")) readPerDevice(node, "devicesplitcount", &settings);
    if (hasKey(node, "devicememoryscaling"))
      readTerms<unsigned>(node, "devicememoryscaling", agent::readOvercommit, &settings.overcommit);
    if (hasKey(node, "devicecorescaling")) readCoreScaling(node, &settings);
    if (hasKey(node, "enablenumatopology")) readNuma(node, "enablenumatopology", &settings);
    nameUndone(node);
  }

  void readCoreScaling(const YAML::Node& node, CardSettings* settings) {
    const YAML::Node at = node["devicecorescaling"];
    const double scaling = reader_.decimalOf(at, 0, kMaxCoreScaling);
    if (scaling > 1)
      unheeded(at, "\"devicecorescaling\" above 1 is ignored: compute cannot be overcommitted");
    settings->cores = static_cast<unsigned>(std::clamp(std::lround(scaling * kWhole), 1l, 100l));
  }

  // Records keys of HAMi's that are known but have no counterpart, if they ask for anything.
  void nameUndone(const YAML::Node& node) {
    struct Key {
      const char* name;
      std::initializer_list<std::string_view> usual;  // values that ask for nothing
      const char* why;
    };
    const Key kUndone[] = {
        {"operatingmode", {"hami-core"}, "devices are always shared by limits, as by hami-core"},
        {"preconfigureddevicememory", {}, "memory is read from the driver"},
        {"libcudaloglevel", {}, "libraries in containers write no log"},
        {"migstrategy", {"none", "single"}, "instances are counted as devices"},
        {"enablegetpreferredallocation", {"true"}, "the kubelet can always call"}};
    for (const Key& key : kUndone) {
      if (!hasKey(node, key.name)) continue;
      const YAML::Node value = node[key.name];
      const std::string text = value.IsScalar() ? value.Scalar() : "";
      if (std::find(key.usual.begin(), key.usual.end(), text) == key.usual.end())
        unheeded(value, "\"" + std::string(key.name) + "\" is ignored: " + key.why);
    }
  }

  std::string source_;
  YamlReader reader_;
  NodeSettings settings_;
};

bool isOf(const NodeSettings::Entry& entry, const std::string& node) {
  return std::any_of(entry.nodes.begin(), entry.nodes.end(), [&](const std::string& name) {
    return entry.literal ? name == node : fnmatch(name.c_str(), node.c_str(), 0) == 0;
  });
}

template <typename T>
void overlay(const std::optional<T>& later, std::optional<T>* now) {
  if (later) *now = later;
}

}  // namespace

Result<NodeSettings> readNodeSettings(const std::string& text, const std::string& source) {
  return SettingsReader(source).read(text);
}

CardSettings settingsFor(const NodeSettings& all, const std::string& node) {
  CardSettings now;
  for (const NodeSettings::Entry& entry : all.entries) {
    if (!isOf(entry, node)) continue;
    overlay(entry.settings.exclude, &now.exclude);
    overlay(entry.settings.per_device, &now.per_device);
    overlay(entry.settings.cores, &now.cores);
    overlay(entry.settings.announce_numa, &now.announce_numa);
    overlay(entry.settings.overcommit, &now.overcommit);
    overlay(entry.settings.device_budget, &now.device_budget);
    overlay(entry.settings.host_reserve, &now.host_reserve);
  }
  return now;
}

Result<void> applyNodeSettings(const std::string& file, const std::string& node,
                               AgentOptions* options) {
  if (file.empty()) return {};
  const Result<std::string> text = readFile(file, "settings of nodes");
  if (!text) return Error(text.error()).context("--node-settings");
  Result<NodeSettings> all = readNodeSettings(*text, file);
  if (!all) return Error(all.error()).context("--node-settings");
  const CardSettings settings = settingsFor(*all, node);
  if (settings.exclude) options->excluded = *settings.exclude;
  if (settings.overcommit) options->memory.overcommit = *settings.overcommit;
  if (settings.device_budget) options->memory.budget = *settings.device_budget;
  if (settings.host_reserve) options->memory.host_reserve = settings.host_reserve;
  if (options->cluster && settings.per_device) options->cluster->per_device = *settings.per_device;
  if (options->cluster && settings.cores) options->cluster->cores = *settings.cores;
  if (options->cluster && settings.announce_numa)
    options->cluster->announce_numa = *settings.announce_numa;
  options->notices = std::move(all->unheeded);
  if (!options->notices.empty())
    options->notices.push_back("--node-settings: " + std::to_string(options->notices.size()) +
                               " keys are unknown or ignored");
  return {};
}

}  // namespace divvy::cli
