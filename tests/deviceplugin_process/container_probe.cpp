#include "container_probe.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <sstream>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kTrying{60};
constexpr int kOutOfMemory = 2;

// Source: docs/operations/node-agent.md, of a node with simulated cards. True: what can be written.
const std::map<std::string, bool> kMounts{{"/run/divvy/tenant/control", false},
                                          {"/run/divvy/tenant/residency", false},
                                          {"/run/divvy/tenant/report", true},
                                          {"/run/divvy/tenant/work", true},
                                          {"/run/divvy/tenant/swap", true},
                                          {"/run/divvy/reg", false},
                                          {"/run/divvy/lib/libdivvy-cuda.so", false},
                                          {"/run/divvy/lib/libdivvy-nvml.so", false},
                                          {"/etc/ld.so.preload", false},
                                          {"/run/divvy/simgpu", false},
                                          {"/run/divvy/card", true}};
const std::map<std::string, std::string> kVariables{{"LD_LIBRARY_PATH", "/run/divvy/simgpu"},
                                                    {"SIMGPU_PROFILE", "h100x4"},
                                                    {"SIMGPU_DIR", "/run/divvy/card"}};

std::string folderOf(const Allocated& given) {
  return fs::path(given.mounted("/run/divvy/tenant/control")).parent_path();
}

bool isPage(const std::string& inside) {
  return inside.starts_with("/run/divvy/tenant/");
}

std::string joined(const std::vector<std::string>& words, char between) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : std::string(1, between)) + word;
  return text;
}

}  // namespace

std::string unfit(const Allocated& given) {
  std::string wrong;
  const std::string folder = folderOf(given);
  for (const v1beta1::Mount& mount : given.response.mounts()) {
    const auto known = kMounts.find(mount.container_path());
    if (known == kMounts.end() || mount.read_only() == known->second)
      wrong += mount.container_path() + " is not to be there so; ";
    if (isPage(mount.container_path()) && fs::path(mount.host_path()).parent_path() != folder)
      wrong += mount.container_path() + " is another's; ";
    if (!fs::exists(mount.host_path())) wrong += "there is no " + mount.host_path() + "; ";
  }
  if (given.response.mounts_size() != static_cast<int>(kMounts.size()))
    wrong += std::to_string(given.response.mounts_size()) + " mounts; ";
  const auto& variables = given.response.envs();
  if (std::map<std::string, std::string>(variables.begin(), variables.end()) != kVariables)
    wrong += "other variables; ";
  if (given.response.devices_size() > 0) wrong += "devices of the node; ";
  return wrong;
}

std::string amiss(const std::vector<std::string>& seen, const ExpectedShare& portion) {
  std::set<std::string> expected{"more " + std::to_string(kOutOfMemory)};
  for (const std::string& uuid : portion.uuids)
    for (const char* asked : {"CUDA", "NVML"})
      expected.insert(std::string("by ") + asked + " " + uuid + " " +
                      std::to_string(portion.mebibytes << 20));
  if (seen.size() == expected.size() && std::set(seen.begin(), seen.end()) == expected) return "";
  return joined(seen, ';') + " and not " + joined({expected.begin(), expected.end()}, ';');
}

ContainerProbe::ContainerProbe() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = buildDir() + "/tests/container_probe_program";
  char* words[] = {program.data(), nullptr};
  if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, words, environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  in_ = fdopen(fcntl(ends[0], F_DUPFD_CLOEXEC, 0), "r");
  out_ = fdopen(ends[0], "w");
  for (const char* base : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"})
    joins_ = joins_ || made(base);
  if (!joins_) return;
  const std::vector<std::string> said = ask({"see", procsOf("nobody")});
  // Without the libraries there is nothing to be seen.
  mounts_ = !said.empty() && said.front().starts_with("cannot find");
}

bool ContainerProbe::made(const std::string& base) {
  static std::atomic<unsigned> count{0};
  root_ = base + "/divvy-process-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  if (!fs::exists(base + "/cgroup.procs") || mkdir(root_.c_str(), 0755) != 0) return false;
  const std::vector<std::string> said = ask({"see", procsOf("nobody")});
  if (!said.empty() && said.front() != "cannot join") return true;
  forget("nobody");
  rmdir(root_.c_str());
  return false;
}

ContainerProbe::~ContainerProbe() {
  if (in_ != nullptr) fclose(in_);
  if (out_ != nullptr) fclose(out_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  for (const std::string& group : groups_) rmdir(group.c_str());
  rmdir(root_.c_str());
}

// As a kubelet calls them.
std::string ContainerProbe::procsOf(const std::string& uid) {
  const std::string group = root_ + "/pod" + uid;
  if (groups_.insert(group).second) mkdir(group.c_str(), 0755);
  return group + "/cgroup.procs";
}

// It may be our program that is in it, until it is sent elsewhere.
void ContainerProbe::forget(const std::string& uid) {
  const std::string group = root_ + "/pod" + uid;
  if (groups_.contains(group) && rmdir(group.c_str()) == 0) groups_.erase(group);
}

std::vector<std::string> ContainerProbe::ask(const std::vector<std::string>& words) {
  std::vector<std::string> said;
  std::fputs((joined(words, '\t') + "\n").c_str(), out_);
  std::fflush(out_);
  char line[4096];
  while (std::fgets(line, sizeof line, in_) != nullptr) {
    std::string text(line);
    text.erase(text.find_last_not_of('\n') + 1);
    if (text == "end") return said;
    said.push_back(text);
  }
  return {"cannot hear it"};
}

std::optional<ledger::RegisterStatus> ContainerProbe::enroll(const std::string& uid,
                                                             const Allocated& given) {
  constexpr std::string_view kStatus = "status ";
  const std::string socket = given.mounted("/run/divvy/reg") + "/register.sock";
  const std::string tenant = fs::path(folderOf(given)).filename();
  std::optional<ledger::RegisterStatus> answer;
  eventually(
      [&] {
        const std::vector<std::string> said = ask({"enroll", procsOf(uid), socket, tenant});
        if (said.size() != 1 || !said.front().starts_with(kStatus)) return false;
        answer =
            static_cast<ledger::RegisterStatus>(std::stoul(said.front().substr(kStatus.size())));
        return true;
      },
      kTrying);
  return answer;
}

std::vector<std::string> ContainerProbe::look(const std::string& uid, const Allocated& given) {
  std::vector<std::string> words{"see", procsOf(uid)};
  for (const v1beta1::Mount& mount : given.response.mounts())
    words.insert(words.end(),
                 {"m", mount.host_path(), mount.container_path(), mount.read_only() ? "ro" : "rw"});
  for (const auto& [name, value] : given.response.envs())
    words.insert(words.end(), {"e", name + "=" + value});
  return ask(words);
}

}  // namespace divvy::test
