#include "placing_terms.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "engine/engine.h"
#include "yaml/reader.h"

namespace divvy::cli {
namespace {

// A list of words, each a name.
template <typename Named>
void names(YamlReader& reader, const YAML::Node& map, const char* key, std::vector<Named>* out) {
  reader.list(map, key, [&](const YAML::Node& item) {
    if (!item.IsScalar() || item.Scalar().empty()) return reader.fail(item, "wants a name");
    out->push_back(Named(item.Scalar()));
  });
}

engine::Pool readPool(YamlReader& reader, const YAML::Node& node) {
  engine::Pool pool;
  if (!reader.map(node,
                  {"name", "models", "uuids", "mode", "device_policy", "users", "default_of"}))
    return pool;
  reader.require(node, "name");
  reader.text(node, "name", &pool.name.text);
  if (pool.name.text == "none") reader.fail(node["name"], "\"none\" is what no pool is called");
  // As --model and --uuid take them.
  pool.members.match = engine::ModelMatch::kLoose;
  pool.members.uuid_match = engine::UuidMatch::kPrefix;
  names(reader, node, "models", &pool.members.models);
  names(reader, node, "uuids", &pool.members.uuids);
  if (node["mode"]) {
    std::size_t mode = 0;
    reader.word(node, "mode", {"shared", "exclusive"}, &mode);
    pool.mode = mode == 0 ? engine::Mode::kShared : engine::Mode::kExclusive;
  }
  std::string policy;
  reader.text(node, "device_policy", &policy);
  if (!policy.empty()) {
    Result<engine::DevicePolicy> devices = engine::parseDevicePolicy(policy);
    if (devices) pool.devices = *devices;
    if (!devices) reader.fail(node["device_policy"], devices.error().message());
  }
  names(reader, node, "users", &pool.users);
  names(reader, node, "default_of", &pool.default_of);
  // What is wrong with it alone; told where it stands.
  engine::Engine engine{engine::Config{}};
  if (const auto set = engine.setPools({pool}); !set && !reader.error())
    reader.fail(node, set.error().message());
  return pool;
}

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

std::string told(const std::string& option, const char* variable) {
  const char* text = option.empty() ? std::getenv(variable) : option.c_str();
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

Result<agent::Placing> readPlacingTerms(const std::string& pools, const std::string& policy) {
  agent::Placing placing;
  const std::string words = told(policy, "DIVVY_DEVICE_POLICY");
  if (!words.empty()) {
    const Result<engine::DevicePolicy> devices = engine::parseDevicePolicy(words);
    if (!devices) return Error(devices.error()).context("--device-policy");
    placing.devices = *devices;
  }
  const std::string path = told(pools, "DIVVY_POOLS");
  if (path.empty()) return placing;
  // Agents that are started by themselves are elsewhere.
  if (pools.empty() && path.front() != '/')
    return usage("DIVVY_POOLS=" + path + "; accepted: a path that begins with /");
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return Error{ErrorCode::kIo, "reading " + path + ": " + std::strerror(errno)};
  Result<std::vector<engine::Pool>> read = parsePools(text.str(), path);
  if (!read) return read.error();
  placing.pools = std::move(*read);
  return placing;
}

}  // namespace divvy::cli
