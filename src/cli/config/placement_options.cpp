#include "config/placement_options.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "daemon_options/daemon_options.h"
#include "engine/engine.h"
#include "yaml/reader.h"

namespace divvy::cli {
namespace {

// A list of names.
template <typename Named>
void names(YamlReader& reader, const YAML::Node& map, const char* key, std::vector<Named>* out) {
  reader.list(map, key, [&](const YAML::Node& item) {
    if (!item.IsScalar() || item.Scalar().empty()) return reader.fail(item, "requires a name");
    out->push_back(Named(item.Scalar()));
  });
}

// "KEY=VALUE"; a node must have all of them.
void readLabels(YamlReader& reader, const YAML::Node& map, std::vector<engine::Label>* out) {
  reader.list(map, "labels", [&](const YAML::Node& item) {
    const std::string text = item.IsScalar() ? item.Scalar() : std::string();
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return reader.fail(item, "requires KEY=VALUE");
    out->push_back({text.substr(0, equals), text.substr(equals + 1)});
  });
}

void readPolicies(YamlReader& reader, const YAML::Node& node, engine::Pool* pool) {
  std::string words;
  reader.text(node, "device_policy", &words);
  if (!words.empty()) {
    Result<engine::DevicePolicy> devices = engine::parseDevicePolicy(words);
    if (devices) pool->devices = *devices;
    if (!devices) reader.fail(node["device_policy"], devices.error().message());
  }
  std::string name;
  reader.text(node, "node_policy", &name);
  if (name.empty()) return;
  Result<engine::Policy> policy = engine::parsePolicy(name);
  if (policy) pool->policy = *policy;
  if (!policy) reader.fail(node["node_policy"], policy.error().message());
}

engine::Pool readPool(YamlReader& reader, const YAML::Node& node) {
  engine::Pool pool;
  if (!reader.map(node, {"name", "nodes", "labels", "models", "uuids", "mode", "node_policy",
                         "device_policy", "users", "default_of"}))
    return pool;
  reader.require(node, "name");
  reader.text(node, "name", &pool.name.text);
  if (pool.name.text == "none")
    reader.fail(node["name"], "\"none\" is reserved and cannot name a pool");
  // In the form of --model and --uuid.
  pool.members.match = engine::ModelMatch::kWords;
  pool.members.uuid_match = engine::UuidMatch::kPrefix;
  names(reader, node, "nodes", &pool.members.nodes);
  readLabels(reader, node, &pool.members.labels);
  names(reader, node, "models", &pool.members.models);
  names(reader, node, "uuids", &pool.members.uuids);
  if (node["mode"]) {
    std::size_t mode = 0;
    reader.word(node, "mode", {"shared", "exclusive"}, &mode);
    pool.mode = mode == 0 ? engine::Mode::kShared : engine::Mode::kExclusive;
  }
  readPolicies(reader, node, &pool);
  names(reader, node, "users", &pool.users);
  names(reader, node, "default_of", &pool.default_of);
  // Checks the pool alone, so that an error has its position.
  engine::Engine engine{engine::Config{}};
  if (const auto set = engine.setPools({pool}); !set && !reader.error())
    reader.fail(node, set.error().message());
  return pool;
}

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

std::string valueOf(const std::string& given, std::string_view option) {
  const std::string variable(daemon_options::agentVariable(option));
  const char* text = given.empty() ? std::getenv(variable.c_str()) : given.c_str();
  return text == nullptr ? std::string() : text;
}

}  // namespace

Result<std::vector<engine::Pool>> parsePools(const std::string& text, const std::string& source) {
  YamlReader reader(source);
  std::vector<engine::Pool> pools;
  const std::optional<YAML::Node> root = reader.parse(text);
  if (root && reader.map(*root, {"pools"})) {
    reader.require(*root, "pools");
    reader.list(*root, "pools",
                [&](const YAML::Node& item) { pools.push_back(readPool(reader, item)); });
  }
  if (reader.error()) return *reader.error();
  engine::Engine engine{engine::Config{}};
  if (const auto set = engine.setPools(pools); !set)
    return usage(source + ": " + set.error().message());
  return pools;
}

Result<std::vector<engine::Pool>> readPools(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return Error{ErrorCode::kIo, "reading " + path + ": " + std::strerror(errno)};
  return parsePools(text.str(), path);
}

Result<agent::PlacementOptions> readPlacingTerms(const std::string& pools,
                                                 const std::string& policy) {
  agent::PlacementOptions placing;
  const std::string words = valueOf(policy, "device-policy");
  if (!words.empty()) {
    const Result<engine::DevicePolicy> devices = engine::parseDevicePolicy(words);
    if (!devices) return Error(devices.error()).context("--device-policy");
    placing.devices = *devices;
  }
  const std::string path = valueOf(pools, "pools");
  if (path.empty()) return placing;
  // An agent that is started on demand has another working directory.
  if (pools.empty() && path.front() != '/')
    return usage("DIVVY_POOLS=" + path + "; accepted: a path that begins with /");
  Result<std::vector<engine::Pool>> read = readPools(path);
  if (!read) return read.error();
  placing.pools = std::move(*read);
  return placing;
}

}  // namespace divvy::cli
