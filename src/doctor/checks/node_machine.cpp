// Checks of the machine: control groups, clock, shared memory.
#include "base/bytes.h"
#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

// CUDA's and NCCL's segments are a few MiB each; MPS and data loaders take more.
constexpr std::uint64_t kMinShared = 16u << 20;
// Leases last 8 s, so an error of a second is harmless.
constexpr std::uint64_t kMaxClockErrorUs = 1'000'000;

void checkCgroups(const NodeFacts& facts, FindingBuilder& sink) {
  const MachineFacts& machine = facts.machine;
  if (!machine.cgroups_read) return sink.skip("/sys/fs/cgroup does not exist");
  if (machine.cgroup_v2) return sink.ok("version 2");
  sink.warn({machine.cgroup_hybrid ? "version 1, with version 2 beside it" : "version 1",
             "Divvy reads both; kubelets from 1.35 on do not start with version 1",
             "systemd.unified_cgroup_hierarchy=1 on the kernel's command line"});
}

void checkClock(const NodeFacts& facts, FindingBuilder& sink) {
  const MachineFacts& machine = facts.machine;
  if (!machine.clock_synchronised) return sink.skip("the kernel did not report it");
  const std::string off = std::to_string(machine.clock_error_us / 1000) + " ms";
  if (!*machine.clock_synchronised)
    return sink.warn({"it is not synchronised",
                      "certificates, leases and events use a clock that may be wrong; limits do "
                      "not depend on it",
                      "apt-get install chrony, or: timedatectl set-ntp true"});
  if (machine.clock_error_us > kMaxClockErrorUs)
    return sink.warn({"it may be off by " + off, "leases and certificates may be misjudged",
                      "chronyc tracking"});
  sink.ok("synchronised, off by " + off + " at most");
}

void checkShared(const NodeFacts& facts, FindingBuilder& sink) {
  const MachineFacts& machine = facts.machine;
  if (!machine.shm)
    return sink.warn({"/dev/shm does not exist",
                      "programs that share memory between processes (NCCL, data loaders, simulated "
                      "cards) fail",
                      "mount -t tmpfs tmpfs /dev/shm"});
  if (machine.shm->kind != PathInfo::Kind::kFolder)
    return sink.fault({"/dev/shm is not a directory", "programs that share memory fail",
                       "mount -t tmpfs tmpfs /dev/shm"});
  if ((machine.shm->mode & 01777u) != 01777u)
    sink.warn({"/dev/shm has mode " + modeText(machine.shm->mode) + ", not 1777",
               "programs of other users cannot share memory, or can remove others'",
               "chmod 1777 /dev/shm"});
  if (!machine.shm_space) {
    if (!sink.hasFindings()) sink.skip(machine.shm_space.error().message());
    return;
  }
  if (machine.shm_space->free < kMinShared)
    sink.warn({formatBytes({machine.shm_space->free}) + " free of " +
                   formatBytes({machine.shm_space->size}),
               "programs that share memory fail, often by SIGBUS", "ls -lS /dev/shm"});
  if (!sink.hasFindings()) sink.ok(formatBytes({machine.shm_space->free}) + " free");
}

}  // namespace

NodeEntries machineChecks() {
  return {{"cgroup-version", "which version of control groups is mounted", checkCgroups},
          {"clock", "is the clock kept synchronised", checkClock},
          {"shared-memory", "is there space in /dev/shm", checkShared}};
}

}  // namespace divvy::doctor
