// The parts of containerd's configuration that decide how containers get devices.
#include <algorithm>

#include "facts/readers.h"
#include "facts/toml_text.h"

namespace divvy::doctor {
namespace {

// Maximum number of drop-ins of one configuration.
constexpr std::size_t kMaxImports = 32;

// Names of configuration versions 1 and 2 (up to containerd 1.7), and of 3.
constexpr const char* kPlugins[] = {"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"};

void addRuntimes(const toml::table& containerd, RuntimeConfig* config) {
  if (const auto name = containerd["default_runtime_name"].value<std::string>())
    config->default_runtime = *name;
  const toml::table* runtimes = containerd["runtimes"].as_table();
  if (runtimes == nullptr) return;
  for (const auto& [key, value] : *runtimes) {
    const std::string name(key.str());
    const toml::table* runtime = value.as_table();
    if (runtime == nullptr) continue;
    const auto known = std::find(config->runtimes.begin(), config->runtimes.end(), name);
    const auto binary = (*runtime)["options"]["BinaryName"].value<std::string>().value_or("");
    if (known == config->runtimes.end()) {
      config->runtimes.push_back(name);
      config->binaries.push_back(binary);
    } else if (!binary.empty()) {
      config->binaries[static_cast<std::size_t>(known - config->runtimes.begin())] = binary;
    }
  }
}

// Later values replace earlier ones.
void add(const toml::table& root, RuntimeConfig* config) {
  if (const auto version = root["version"].value<std::int64_t>(); version && *version > 0)
    config->version = std::max(config->version, static_cast<std::uint32_t>(*version));
  for (const char* plugin : kPlugins) {
    const toml::table* cri = root["plugins"][plugin].as_table();
    if (cri == nullptr) continue;
    if (const auto on = (*cri)["enable_cdi"].value<bool>()) config->cdi = *on;
    if (const toml::table* containerd = (*cri)["containerd"].as_table())
      addRuntimes(*containerd, config);
  }
}

// "/etc/containerd/conf.d/*.toml". A '*' is supported in the last component only, where it is
// usually written.
std::vector<std::string> expanded(const RootFs& tree, const std::string& base,
                                  const std::string& pattern) {
  const std::string path =
      pattern.starts_with('/') ? pattern : base.substr(0, base.rfind('/') + 1) + pattern;
  const std::size_t star = path.find('*');
  if (star == std::string::npos) return {path};
  const std::size_t slash = path.rfind('/');
  if (slash > star) return {};
  const std::string before = path.substr(slash + 1, star - slash - 1);
  const std::string behind = path.substr(star + 1);
  std::vector<std::string> found;
  const auto names = tree.list(path.substr(0, slash));
  if (!names) return found;
  for (const std::string& name : *names)
    if (name.size() >= before.size() + behind.size() && name.starts_with(before) &&
        name.ends_with(behind))
      found.push_back(path.substr(0, slash + 1) + name);
  return found;
}

Result<void> addFile(const RootFs& tree, const std::string& path, RuntimeConfig* config,
                     std::vector<std::string>* imports) {
  const Result<std::string> text = tree.text(path);
  if (!text) return text.error();
  const Result<toml::table> root = tomlOf(*text, path);
  if (!root) return root.error();
  add(*root, config);
  const toml::array* named = (*root)["imports"].as_array();
  if (named == nullptr || imports == nullptr) return {};
  for (const toml::node& one : *named)
    if (const auto pattern = one.value<std::string>())
      for (std::string& file : expanded(tree, path, *pattern))
        if (imports->size() < kMaxImports) imports->push_back(std::move(file));
  return {};
}

}  // namespace

Result<RuntimeConfig> readContainerd(const RootFs& tree, const std::string& path,
                                     const std::string& flavour) {
  RuntimeConfig config;
  config.path = path;
  config.flavour = flavour;
  config.version = 1;
  std::vector<std::string> imports;
  Result<void> read = addFile(tree, path, &config, &imports);
  if (isAbsent(read)) return read.error();
  for (const std::string& file : imports) {
    if (!read) break;
    read = addFile(tree, file, &config, nullptr);
    if (isAbsent(read)) read = {};
  }
  if (!read) config.fault = read.error();
  return config;
}

}  // namespace divvy::doctor
