// Outcomes as JSON.
#include "simulator/runs.h"

#include "text/format.h"

namespace divvy::simulator {
namespace {

template <typename List>
std::string listOf(const List& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + number(value);
  return "[" + text + "]";
}

// Without the braces; each line indented by `indent`.
std::string membersOf(const Runs& runs, const WorkloadResult& outcome, const std::string& indent) {
  const std::string next = ",\n" + indent;
  std::string seeds;
  for (std::size_t i = 0; i < runs.seeds.size(); ++i) {
    seeds += (i == 0 ? "" : ", ") + quoted(std::to_string(runs.seeds[i])) + ": " +
             number(outcome.alloc_at_100[i]);
  }
  return indent + "\"workload\": " + quoted(outcome.workload) + next +
         "\"policy\": " + quoted(std::string(nameOf(outcome.policy))) + next +
         "\"alloc_at_100\": {\"mean\": " + number(outcome.mean) +
         ", \"sd\": " + number(outcome.sd) + ", \"seeds\": {" + seeds + "}}" + next +
         "\"pods\": " + number(outcome.pods) + next +
         "\"failed_pods\": " + number(outcome.failed_pods) + next +
         "\"failed_gpus\": " + number(outcome.failed_gpus) + next + "\"by_arrival\": {\n" + indent +
         "  \"alloc_pct\": " + listOf(outcome.curve.allocated) + ",\n" + indent +
         "  \"frag_pct_of_idle\": " + listOf(outcome.curve.fragment_ratio) + ",\n" + indent +
         "  \"frag_pct_of_gpus\": " + listOf(outcome.curve.fragment_amount) + "\n" + indent + "}";
}

}  // namespace

std::string json(const Runs& runs, const std::vector<WorkloadResult>& outcomes) {
  std::uint64_t gpus = 0;
  for (const OpenbNode& node : runs.nodes) gpus += node.gpus;
  std::string text =
      "{\n  \"trace\": \"openb\",\n  \"nodes\": " + std::to_string(runs.nodes.size()) +
      ",\n  \"gpus\": " + std::to_string(gpus) + ",\n  \"tune\": " + number(runs.tune) +
      ",\n  \"sample_pct\": " + std::to_string(runs.sample_percent) + ",\n";
  if (outcomes.size() == 1) return text + membersOf(runs, outcomes[0], "  ") + "\n}\n";
  text += "  \"results\": [";
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    text += (i == 0 ? "\n" : ",\n") + std::string("    {\n") +
            membersOf(runs, outcomes[i], "      ") + "\n    }";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace divvy::simulator
