#include <sys/timex.h>

#include "facts/readers.h"
#include "kubelet/checkpoint.h"

namespace divvy::doctor {
namespace {

// Only bounds the read; the kubelet module accepts 16 MiB (src/kubelet/checkpoint.cpp).
constexpr std::size_t kMaxCheckpoint = 64u << 20;

std::optional<PathInfo> infoAt(const RootFs& tree, const std::string& path) {
  const Result<PathInfo> place = tree.infoOf(path, false);
  if (!place) return std::nullopt;
  return *place;
}

}  // namespace

KubeletFacts readKubelet(const RootFs& tree, const std::string& dir) {
  KubeletFacts facts;
  facts.dir = dir;
  const std::string plugins = dir + "/device-plugins";
  const Result<PathInfo> place = tree.infoOf(plugins);
  facts.there = !isAbsent(place) || !isAbsent(tree.infoOf(dir + "/pod-resources"));
  if (!facts.there) return facts;
  const auto names = tree.list(plugins);
  if (!names && !isAbsent(names)) facts.plugins_fault = names.error();
  const Result<PathInfo> resources = tree.infoOf(dir + "/pod-resources/kubelet.sock", false);
  if (!resources && !isAbsent(resources)) facts.plugins_fault = resources.error();
  facts.plugin_socket = infoAt(tree, plugins + "/kubelet.sock");
  facts.resources_socket = infoAt(tree, dir + "/pod-resources/kubelet.sock");
  if (names)
    for (const std::string& name : *names)
      if (name.ends_with(".sock") && name != "kubelet.sock") facts.sockets.push_back(name);
  const std::string path = plugins + "/" + kubelet::kCheckpointName;
  const Result<std::string> text = tree.text(path, kMaxCheckpoint);
  if (!text) {
    facts.checkpoint = text.error();
    return facts;
  }
  const auto noted = kubelet::checkpointOf(*text, &facts.checkpoint_doubt);
  if (!noted) {
    facts.checkpoint = Error(noted.error()).context(path);
    return facts;
  }
  facts.checkpoint = std::string();
  facts.checkpoint_entries = noted->size();
  return facts;
}

MachineFacts readMachine(const RootFs& tree, bool clock) {
  MachineFacts facts;
  facts.cgroups_read = tree.infoOf("/sys/fs/cgroup").has_value();
  facts.cgroup_v2 = tree.infoOf("/sys/fs/cgroup/cgroup.controllers").has_value();
  facts.cgroup_hybrid = tree.infoOf("/sys/fs/cgroup/unified").has_value();
  facts.shm = infoAt(tree, "/dev/shm");
  facts.shm_space = tree.space("/dev/shm");
  if (!clock) return facts;
  timex now{};
  const int state = adjtimex(&now);
  if (state < 0) return facts;
  facts.clock_synchronised = (now.status & STA_UNSYNC) == 0 && state != TIME_ERROR;
  facts.clock_error_us = static_cast<std::uint64_t>(now.maxerror < 0 ? 0 : now.maxerror);
  return facts;
}

}  // namespace divvy::doctor
