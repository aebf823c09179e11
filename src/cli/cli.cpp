#include "cli/cli.h"

#include <algorithm>
#include <cstdio>
#include <exception>

#include "commands/commands.h"
#include "options/version.h"
#include "view/output.h"

namespace divvy::cli {
namespace {

struct Dispatch {
  int operator()(const RunOptions& options) const { return run(options); }
  int operator()(const ShareOptions& options) const { return share(options); }
  int operator()(const ExplainOptions& options) const { return explain(options); }
  int operator()(const ExplainPodOptions& options) const { return explainPod(options); }
  int operator()(const ExplainReasonOptions& options) const { return explainReason(options); }
  int operator()(const PlanPodsOptions& options) const { return planPods(options); }
  int operator()(const ListOptions& options) const { return list(options); }
  int operator()(const CordonOptions& options) const { return cordon(options); }
  int operator()(const TopOptions& options) const { return top(options); }
  int operator()(const ConsoleOptions& options) const { return console(options); }
  int operator()(const SetOptions& options) const { return set(options); }
  int operator()(const SetPodOptions& options) const { return setPod(options); }
  int operator()(const EventsOptions& options) const { return events(options); }
  int operator()(const SnapshotOptions& options) const { return snapshot(options); }
  int operator()(const WaitOptions& options) const { return wait(options); }
  int operator()(const StopOptions& options) const { return stop(options); }
  int operator()(const DoctorOptions& options) const { return examine(options); }
  int operator()(const AgentOptions& options) const { return serveAgent(options); }
  int operator()(const AgentHelperOptions& options) const { return serveAgentHelper(options); }
  int operator()(const SchedulerOptions& options) const { return serveScheduler(options); }
  int operator()(const ProbeOptions& options) const { return probe(options); }
  int operator()(const SimOptions& options) const { return sim(options); }
  int operator()(const QueuesOptions& options) const { return queues(options); }
  int operator()(const ClustersOptions& options) const { return clusters(options); }
  int operator()(const HubOptions& options) const { return serveHub(options); }
  int operator()(const SizeOptions& options) const { return size(options); }
  int operator()(const VersionOptions& options) const { return version(options); }
  int operator()(const OpenbOptions& options) const { return simulateOpenb(options); }
  int operator()(const PlanOptions& options) const { return simulatePlan(options); }
  int operator()(const DefragOptions& options) const { return simulateDefrag(options); }
  int operator()(const DayOptions& options) const { return simulateDay(options); }
  int operator()(const ReplayOptions& options) const { return simulateReplay(options); }
  int operator()(const PrintOptions& options) const {
    std::fputs(options.text.c_str(), stdout);
    return 0;
  }
};

// A full disk or a closed pipe is a failure only if output was lost.
int finish(int status) {
  return std::fflush(stdout) == 0 || status != 0 ? status : 1;
}

}  // namespace

int main(int argc, char** argv, const SourceCommit& commit) {
  setSourceCommit(commit);
  try {
    const Result<Options> options = parseOptions(argc, argv);
    if (!options) return fail(options.error());
    return finish(std::visit(Dispatch{}, *options));
  } catch (const std::exception& fault) {
    return fail({ErrorCode::kInternal, std::string("internal error: ") + fault.what()});
  }
}

}  // namespace divvy::cli
