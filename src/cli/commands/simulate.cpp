// `divvy simulate openb`: reads files; writes a table, JSON and a picture.
#include <cstdio>
#include <filesystem>
#include <set>

#include "commands/commands.h"
#include "files/simulate_files.h"
#include "simulator/runs.h"
#include "view/json_text.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

using simulator::Runs;
using simulator::WorkloadResult;

// "openb_pod_list_default.csv" is the workload "default".
std::string workloadOf(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  const std::string prefix = "openb_pod_list_";
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  return name;
}

Result<Runs> load(const OpenbOptions& options) {
  Runs runs;
  const Result<std::string> nodes = readFile(options.nodes, "a CSV file");
  if (!nodes) return nodes.error();
  auto parsed = simulator::parseOpenbNodes(*nodes, options.nodes);
  if (!parsed) return parsed.error();
  runs.nodes = *std::move(parsed);
  std::set<std::string> names;
  for (const std::string& path : options.pods) {
    const std::string name = workloadOf(path);
    if (!names.insert(name).second) {
      return Error{ErrorCode::kUsage,
                   "--pods: two files are called \"" + name + "\"; accepted: different names"};
    }
    const Result<std::string> text = readFile(path, "a CSV file");
    if (!text) return text.error();
    auto pods = simulator::parseOpenbPods(*text, path);
    if (!pods) return pods.error();
    runs.workloads.push_back({name, *std::move(pods)});
  }
  runs.policies = options.policies;
  for (unsigned i = 0; i < options.seeds; ++i) runs.seeds.push_back(options.first_seed + i);
  runs.tune = options.tune;
  runs.sample_percent = options.sample_percent;
  return runs;
}

void print(const std::vector<WorkloadResult>& outcomes) {
  Table table(
      {"WORKLOAD", "POLICY", "ALLOC@100>", "SD>", "FRAG@50>", "FRAG@100>", "PODS>", "FAILED>"});
  for (const WorkloadResult& one : outcomes) {
    table.add({one.workload, std::string(nameOf(one.policy)), fixed(one.mean, 2) + "%",
               fixed(one.sd, 2), fixed(one.curve.fragment_ratio[50], 2) + "%",
               fixed(one.curve.fragment_ratio[100], 2) + "%", fixed(one.pods, 0),
               fixed(one.failed_gpus, 0)});
  }
  std::fputs(table.text(true, outputWidth()).c_str(), stdout);
}

}  // namespace

int simulateOpenb(const OpenbOptions& options) {
  const Result<Runs> runs = load(options);
  if (!runs) return fail(runs.error());
  const Result<void> writable = checkWritable({options.json, options.svg});
  if (!writable) return fail(writable.error());
  Result<std::vector<WorkloadResult>> outcomes = std::vector<WorkloadResult>{};
  {
    ProgressBar bar;
    outcomes = simulator::runAll(*runs, jobsOf(options.jobs), bar.progress());
  }
  if (!outcomes) return fail(outcomes.error());
  print(*outcomes);
  return writeFiles({{options.json, simulator::json(*runs, *outcomes)},
                     {options.svg, simulator::svg(*runs, *outcomes)}});
}

}  // namespace divvy::cli
