#include <sstream>

#include "facts/readers.h"
#include "facts/toml_text.h"

namespace divvy::doctor {
namespace {

struct ConfigPath {
  const char* path;
  const char* flavour;
};

// RKE2 and k3s generate theirs at each start, from templates beside them.
constexpr ConfigPath kConfigs[] = {
    {"/etc/containerd/config.toml", "containerd"},
    {"/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "RKE2"},
    {"/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "k3s"}};

constexpr const char* kSockets[] = {"/run/containerd/containerd.sock",
                                    "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock",
                                    "/run/docker.sock"};

constexpr const char* kToolkits[] = {
    "/etc/nvidia-container-runtime/config.toml",
    "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml"};

// Debian's package database: 10 MiB on a large machine.
constexpr std::size_t kMaxStatus = 64u << 20;

std::vector<std::string> specsIn(const RootFs& tree) {
  std::vector<std::string> found;
  for (const char* dir : {"/etc/cdi", "/var/run/cdi"}) {
    const auto names = tree.list(dir);
    if (!names) continue;
    for (const std::string& name : *names) {
      const std::string path = std::string(dir) + "/" + name;
      // Our specs for pods, and files that only root can read, are recognised by their names.
      // Agents watch which specs are opened.
      const bool ours = name.starts_with("divvy.dev-pod-");
      const Result<std::string> text = ours ? Result<std::string>(name) : tree.text(path);
      const std::string& text_or_name = text ? *text : name;
      const bool nvidias = text_or_name.find(text ? "nvidia.com/" : "nvidia") != std::string::npos;
      if (ours || nvidias) found.push_back(path);
    }
  }
  return found;
}

}  // namespace

std::string debianVersion(const std::string& status, const std::string& package) {
  std::istringstream lines(status);
  std::string name, version;
  bool installed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      if (name == package && installed) return version;
      name.clear();
      version.clear();
      installed = false;
    } else if (line.starts_with("Package: ")) {
      name = line.substr(9);
    } else if (line.starts_with("Version: ")) {
      version = line.substr(9);
    } else if (line.starts_with("Status: ")) {
      installed = line.ends_with(" installed");
    }
  }
  return name == package && installed ? version : "";
}

void readToolkit(const RootFs& tree, RuntimeFacts* facts) {
  for (const char* path : kToolkits) {
    const Result<std::string> text = tree.text(path);
    if (isAbsent(text)) continue;
    facts->toolkit_path = path;
    if (!text) {
      facts->toolkit = text.error();
      return;
    }
    const Result<toml::table> root = tomlOf(*text, path);
    if (!root) {
      facts->toolkit = root.error();
      return;
    }
    facts->toolkit = std::string();
    facts->toolkit_by_variable =
        (*root)["accept-nvidia-visible-devices-envvar-when-unprivileged"].value<bool>();
    facts->toolkit_by_mounts =
        (*root)["accept-nvidia-visible-devices-as-volume-mounts"].value<bool>();
    facts->toolkit_mode =
        (*root)["nvidia-container-runtime"]["mode"].value<std::string>().value_or("");
    return;
  }
}

RuntimeFacts readRuntime(const RootFs& tree) {
  RuntimeFacts facts;
  for (const ConfigPath& one : kConfigs) {
    Result<RuntimeConfig> config = readContainerd(tree, one.path, one.flavour);
    if (config) facts.configs.push_back(std::move(*config));
  }
  for (const char* path : kSockets) {
    const Result<PathInfo> place = tree.infoOf(path);
    if (place && place->kind == PathInfo::Kind::kSocket) facts.sockets.emplace_back(path);
  }
  facts.cdi_specs = specsIn(tree);
  readToolkit(tree, &facts);
  if (const Result<std::string> status = tree.text("/var/lib/dpkg/status", kMaxStatus))
    facts.toolkit_version = debianVersion(*status, "nvidia-container-toolkit");
  return facts;
}

OperatorFacts readOperator(const RootFs& tree) {
  OperatorFacts facts;
  const auto root = tree.list("/run/nvidia/driver");
  facts.driver_root = root && !root->empty();
  const auto ready = tree.list("/run/nvidia/validations");
  facts.validations = ready.has_value();
  if (ready)
    for (const std::string& name : *ready)
      if (name.ends_with("-ready")) facts.ready.push_back(name);
  facts.toolkit_dir = tree.infoOf("/usr/local/nvidia/toolkit").has_value();
  return facts;
}

}  // namespace divvy::doctor
