// Checks of Divvy's agents on this machine: running, of this version, with intact directories.
#include "base/bytes.h"
#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

// A tenant's pages are a few MiB; below this the next tenant may fail.
constexpr std::uint64_t kMinFree = 64u << 20;
constexpr std::uint64_t kMinFiles = 256;

template <typename Each>
void eachAgent(const NodeFacts& facts, Each each) {
  for (const RuntimeDir& dir : facts.runtimes)
    for (const AgentFacts& agent : dir.agents) each(agent);
}

std::string noneText(const NodeFacts& facts) {
  std::vector<std::string> looked;
  for (const RuntimeDir& dir : facts.runtimes) looked.push_back(dir.path);
  return looked.empty() ? "no runtime directory is known" : "no agent in " + joined(looked);
}

bool anyAgent(const NodeFacts& facts) {
  bool any = false;
  eachAgent(facts, [&any](const AgentFacts&) { any = true; });
  return any;
}

void checkAnswers(const NodeFacts& facts, FindingBuilder& sink) {
  eachAgent(facts, [&](const AgentFacts& agent) {
    if (agent.answer)
      return sink.ok(
          counted(agent.answer->cards, "device") + ", " + counted(agent.answer->tenants, "tenant"),
          agent.dir);
    const Error& why = agent.answer.error();
    if (why.code() == ErrorCode::kIo) return sink.skip(why.message(), agent.dir);
    if (why.code() == ErrorCode::kNotFound && agent.tenants == 0 && !agent.socket)
      return sink.ok("none runs, and nothing needs one", agent.dir);
    if (why.code() == ErrorCode::kNotFound)
      return sink.warn(
          {"no agent runs" + (agent.tenants == 0
                                  ? std::string(": its socket is stale")
                                  : ", " + counted(agent.tenants, "tenant") +
                                        (agent.tenants == 1 ? " is" : " are") + " there"),
           "limits hold, but resources of ended tenants are not freed",
           "divvy ls  (starts it; on a node of Kubernetes its pod or service does)"},
          agent.dir);
    sink.fault({"an agent runs and does not answer: " + why.message(),
                "no share is granted, and no container with devices starts",
                "kubectl rollout restart daemonset/divvy-agent, or kill the process of " +
                    agent.dir + "/agent.lock: tenants keep running"},
               agent.dir);
  });
  if (sink.hasFindings()) return;
  if (!facts.kubelet.there) return sink.ok(noneText(facts) + ": one is started when it is needed");
  sink.warn({noneText(facts) + ", and a kubelet runs here",
             "this node's devices are not registered",
             "helm install divvy (docs/guides/install.md)"});
}

void checkVersion(const NodeFacts& facts, FindingBuilder& sink) {
  eachAgent(facts, [&](const AgentFacts& agent) {
    if (!agent.answer) return;
    const std::string& agent_version = agent.answer->version;
    if (agent_version == facts.version) return sink.ok("both are " + agent_version, agent.dir);
    sink.warn(
        {agent_version.empty() ? "it does not report its version"
                               : "it is " + agent_version + ", this program is " + facts.version,
         "fields that only one of them knows are not exchanged",
         "divvy stop  (the next command starts this version's), or upgrade the chart"},
        agent.dir);
  });
  if (!sink.hasFindings()) sink.skip("no agent answered");
}

using Kind = PathAnomaly::Kind;

template <typename Say>
void eachOddity(const NodeFacts& facts, Say report) {
  for (const RuntimeDir& dir : facts.runtimes) {
    for (const PathAnomaly& one : dir.anomalies) report(one);
    for (const AgentFacts& agent : dir.agents)
      for (const PathAnomaly& one : agent.anomalies) report(one);
  }
}

std::size_t foldersThere(const NodeFacts& facts) {
  std::size_t count = 0;
  for (const RuntimeDir& dir : facts.runtimes) count += dir.place ? 1 : 0;
  return count;
}

void checkFolders(const NodeFacts& facts, FindingBuilder& sink) {
  if (foldersThere(facts) == 0) return sink.skip(noneText(facts));
  eachOddity(facts, [&](const PathAnomaly& one) {
    if (one.kind != Kind::kAccess) return;
    if (one.harmless) return sink.skip(one.what, one.path);
    sink.fault(
        {one.what,
         "users that can write there can raise limits or redirect the agent; agents refuse it",
         "chmod 700 " + one.path + ", or remove it while no agent runs"},
        one.path);
  });
  if (!sink.hasFindings()) sink.ok("not writable by others");
}

void checkState(const NodeFacts& facts, FindingBuilder& sink) {
  if (foldersThere(facts) == 0) return sink.skip(noneText(facts));
  eachOddity(facts, [&](const PathAnomaly& one) {
    switch (one.kind) {
      case Kind::kAccess:
        if (one.harmless) sink.skip(one.what, one.path);
        return;
      case Kind::kForeign:
        return sink.warn({one.what, "agents ignore unknown files",
                          "find its owner; remove it if it is not needed"},
                         one.path);
      case Kind::kHalfWritten:
        return sink.warn({one.what, "an agent was killed there; the file in use is complete",
                          "nothing: the next agent rewrites or removes it"},
                         one.path);
      case Kind::kOtherVersion:
        return sink.warn({one.what, "no agent of this version can recover its tenant",
                          "check with the version that wrote it, or end the tenant"},
                         one.path);
      case Kind::kBroken:
        return sink.fault(
            {one.what, "its tenant is listed as broken, or is not recovered by the next agent",
             "end the tenant's processes, then remove the directory; please report it (divvy "
             "doctor --bundle)"},
            one.path);
    }
  });
  if (!sink.hasFindings()) sink.ok("all files are readable");
}

void checkSpace(const NodeFacts& facts, FindingBuilder& sink) {
  for (const RuntimeDir& dir : facts.runtimes) {
    if (!dir.place) continue;
    if (!dir.space) {
      sink.skip(dir.space.error().message(), dir.path);
      continue;
    }
    const FileSystemSpace& space = *dir.space;
    const bool files = space.files == 0 || space.files_free >= kMinFiles;
    if (space.read_only) {
      sink.fault({"is on a file system that is mounted read-only", "no share is granted",
                  "mount -o remount,rw"},
                 dir.path);
    } else if (space.free >= kMinFree && files) {
      sink.ok(formatBytes({space.free}) + " free", dir.path);
    } else {
      const std::string what =
          files ? formatBytes({space.free}) + " free of " + formatBytes({space.size})
                : std::to_string(space.files_free) + " files can still be created";
      Problem trouble{what, "a new tenant's files may not fit, and it is refused",
                      "find large files: du -x " + dir.path};
      if (space.free == 0 || space.files_free == 0) {
        sink.fault(std::move(trouble), dir.path);
      } else {
        sink.warn(std::move(trouble), dir.path);
      }
    }
  }
  if (!sink.hasFindings()) sink.skip(noneText(facts));
}

void checkCards(const NodeFacts& facts, FindingBuilder& sink) {
  eachAgent(facts, [&](const AgentFacts& agent) {
    if (!agent.answer) return;
    for (const std::string& one : agent.answer->card_faults)
      sink.fault({one, "no new tenant is placed there; running tenants keep it",
                  "docs/operations/runbooks.md#divvydeviceunhealthy"},
                 agent.dir);
    if (agent.answer->card_faults.empty())
      sink.ok(agent.answer->cards == 0 ? "it has no devices" : "all are in service", agent.dir);
  });
  if (!sink.hasFindings()) sink.skip(anyAgent(facts) ? "no agent answered" : noneText(facts));
}

// Kubelet, probes and tenants wait for the agent's event loop.
void checkLoop(const NodeFacts& facts, FindingBuilder& sink) {
  constexpr std::int64_t kMaxMs = 50;
  eachAgent(facts, [&](const AgentFacts& agent) {
    if (!agent.answer || agent.answer->loop_late_ms < 0) return;
    const std::string late = std::to_string(agent.answer->loop_late_ms) + " ms";
    if (agent.answer->loop_late_ms <= kMaxMs)
      return sink.ok("at most " + late + " late in the last minute", agent.dir);
    sink.warn({"its event loop was " + late + " late in the last minute; the bar is 50 ms",
               "containers with devices, probes and divvy ls are delayed",
               "docs/operations/runbooks.md#divvyagentlooplate"},
              agent.dir);
  });
  if (!sink.hasFindings())
    sink.skip(anyAgent(facts) ? "no agent measures it: those with --metrics-listen do"
                              : noneText(facts));
}

void checkTenants(const NodeFacts& facts, FindingBuilder& sink) {
  eachAgent(facts, [&](const AgentFacts& agent) {
    if (!agent.answer) return;
    const AgentAnswer& answer = *agent.answer;
    for (const std::string& one : answer.tenants_broken)
      sink.fault({one, "its shared memory cannot be read: its use is unknown", "divvy ls"},
                 agent.dir);
    for (const std::string& one : answer.tenants_garbled)
      sink.warn({one,
                 "a process of it wrote there: its use is shown as far as plausible; other tenants "
                 "are not affected",
                 "end it if its figures matter; if none of its programs writes there, report it "
                 "(divvy doctor --bundle)"},
                agent.dir);
    for (const std::string& one : answer.tenants_doubted)
      sink.warn(
          {one,
           "a program of it bypasses the limits: linked statically, built with musl, or on purpose",
           "docs/operations/runbooks.md#divvytenantbypass"},
          agent.dir);
    if (answer.tenants_broken.empty() && answer.tenants_garbled.empty() &&
        answer.tenants_doubted.empty())
      sink.ok(answer.tenants == 0 ? "no tenants" : "their figures agree with the driver's",
              agent.dir);
  });
  if (!sink.hasFindings()) sink.skip(anyAgent(facts) ? "no agent answered" : noneText(facts));
}

}  // namespace

NodeEntries agentChecks() {
  return {{"agent-answers", "do the agents of this machine answer", checkAnswers},
          {"agent-version", "are they of this program's version", checkVersion},
          {"agent-folders", "are their directories writable by their user only", checkFolders},
          {"agent-state", "are all files there readable", checkState},
          {"agent-space", "is there space for files of more tenants", checkSpace},
          {"agent-cards", "are all of their devices in service", checkCards},
          {"agent-loop", "does their event loop run in time", checkLoop},
          {"agent-tenants", "do limits hold for all of their tenants", checkTenants}};
}

}  // namespace divvy::doctor
