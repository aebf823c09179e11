// Files of node settings: those that are named, and those at the usual places.
#include <algorithm>
#include <sstream>
#include <utility>

#include "facts/readers.h"

namespace divvy::doctor {
namespace {

constexpr const char* kOption = "--node-settings";
// The path of the chart's mount and of the documentation.
constexpr const char* kUsual = "/etc/divvy/node-settings.yaml";
// The environment file of the Debian package's service.
constexpr const char* kDefaults = "/etc/default/divvy-agent";
// The kubelet's mount for the chart's agent, below the directory of its pod. An agent that does not
// start because of it cannot be asked.
constexpr const char* kMounted = "/volumes/kubernetes.io~configmap/config/node-settings.yaml";

class SettingsFinder {
 public:
  SettingsFinder(const RootFs& tree, const NodeOptions& options) : tree_(tree), terms_(options) {}

  void add(const std::string& path, const std::string& told_by, const Text& text) {
    // An agent of this machine and the usual place may name the same file.
    const bool known = std::any_of(seen_.begin(), seen_.end(), [&](const auto& one) {
      return one.first == path && text && one.second == *text;
    });
    if (known) return;
    if (text) seen_.emplace_back(path, *text);
    SettingsFile file{path, told_by, unread()};
    if (!text) file.unheeded = text.error();
    if (text && terms_.settings) file.unheeded = terms_.settings(*text, path);
    facts_.files.push_back(std::move(file));
  }

  void addNamed(const std::string& path, const std::string& told_by) {
    if (!path.empty()) add(path, told_by, tree_.text(path));
  }

  void addFound(const std::string& path) {
    const Text text = tree_.text(path);
    if (!isAbsent(text)) add(path, "", text);
  }

  void addMounted() {
    const std::string pods = terms_.kubelet_dir + "/pods";
    const auto names = tree_.list(pods);
    if (!names && !isAbsent(names)) facts_.unlisted = names.error();
    if (!names) return;
    for (const std::string& uid : *names) addFound(pods + "/" + uid + kMounted);
  }

  SettingsFacts result() { return std::move(facts_); }

 private:
  const RootFs& tree_;
  const NodeOptions& terms_;
  SettingsFacts facts_;
  std::vector<std::pair<std::string, std::string>> seen_;  // paths and contents
};

// In systemd's form: NAME=WORDS, quoted or not. Comments are skipped.
std::string givenIn(const std::string& defaults) {
  std::istringstream lines(defaults);
  std::string given;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#' || line[first] == ';') continue;
    const std::size_t at = line.find(kOption);
    if (at == std::string::npos) continue;
    const std::size_t begin =
        line.find_first_not_of(" =\"'", at + std::char_traits<char>::length(kOption));
    if (begin == std::string::npos) continue;
    given = line.substr(begin, line.find_first_of(" \t\"'", begin) - begin);
  }
  return given;
}

}  // namespace

SettingsFacts readSettings(const RootFs& tree, const NodeOptions& options,
                           const std::vector<RuntimeDir>& runtimes) {
  SettingsFinder finder(tree, options);
  finder.addNamed(options.settings_file, kOption);
  for (const RuntimeDir& dir : runtimes)
    for (const AgentFacts& agent : dir.agents)
      if (agent.answer && agent.answer->settings)
        finder.add(agent.answer->settings->path, "the agent of " + agent.dir,
                   agent.answer->settings->text);
  if (const Text defaults = tree.text(kDefaults)) finder.addNamed(givenIn(*defaults), kDefaults);
  finder.addFound(kUsual);
  finder.addMounted();
  return finder.result();
}

}  // namespace divvy::doctor
