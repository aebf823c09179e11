// One function per subcommand. Each prints its errors and returns the exit status.
#pragma once

#include "options/options.h"
#include "view/output.h"

namespace divvy::cli {

int run(const RunOptions& options);
int share(const ShareOptions& options);
int explain(const ExplainOptions& options);
int explainPod(const ExplainPodOptions& options);
int explainReason(const ExplainReasonOptions& options);
int planPods(const PlanPodsOptions& options);
int list(const ListOptions& options);
int listCluster(const ListOptions& options);
int cordon(const CordonOptions& options);
int top(const TopOptions& options);
int console(const ConsoleOptions& options);
int set(const SetOptions& options);
int setPod(const SetPodOptions& options);
int events(const EventsOptions& options);
int snapshot(const SnapshotOptions& options);
int wait(const WaitOptions& options);
int stop(const StopOptions& options);
int examine(const DoctorOptions& options);
int serveAgent(const AgentOptions& options);
int serveAgentHelper(const AgentHelperOptions& options);
int serveScheduler(const SchedulerOptions& options);
int probe(const ProbeOptions& options);
int sim(const SimOptions& options);
int queues(const QueuesOptions& options);
int clusters(const ClustersOptions& options);
int serveHub(const HubOptions& options);
int size(const SizeOptions& options);
int version(const VersionOptions& options);
int simulateOpenb(const OpenbOptions& options);
int simulatePlan(const PlanOptions& options);
int simulateDefrag(const DefragOptions& options);
int simulateDay(const DayOptions& options);
int simulateReplay(const ReplayOptions& options);

// Returns the snapshot of a cluster.
Result<std::string> clusterSnapshot(const ClusterChoice& choice);

}  // namespace divvy::cli
