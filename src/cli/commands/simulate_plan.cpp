// `divvy simulate plan`.
#include <cstdio>

#include "commands/commands.h"
#include "files/simulate_files.h"
#include "simulator/plan.h"
#include "view/json_text.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

using simulator::Plan;
using simulator::PlanResult;
using simulator::PlanRow;

Result<Plan> load(const PlanOptions& options) {
  Plan plan;
  const Result<std::string> nodes = readFile(options.nodes, "a CSV file");
  if (!nodes) return nodes.error();
  auto parsed = simulator::parseOpenbNodes(*nodes, options.nodes);
  if (!parsed) return parsed.error();
  plan.nodes = *std::move(parsed);
  const Result<std::string> text = readFile(options.pods, "a CSV file");
  if (!text) return text.error();
  auto pods = simulator::parseOpenbPods(*text, options.pods);
  if (!pods) return pods.error();
  plan.pods = *std::move(pods);
  plan.overcommit = options.overcommit;
  plan.policy = options.policy;
  plan.cards_only = options.cards_only;
  for (unsigned i = 0; i < options.seeds; ++i) plan.seeds.push_back(options.first_seed + i);
  return plan;
}

void print(const PlanResult& result, bool headers) {
  Table table({"OVERCOMMIT", "GPUS>", "SAVED>", "SHARING>", "SAVED>", "NODE-GPUS>", "UNPLACED>"});
  for (const PlanRow& row : result.rows) {
    table.add({row.overcommit == 0 ? "device each" : simulator::overcommitWord(row.overcommit),
               fixed(row.gpus, 0), fixed(row.saved, 1) + "%", fixed(row.sharing_gpus, 0),
               fixed(row.sharing_saved, 1) + "%", fixed(row.node_gpus, 0), fixed(row.unplaced, 0)});
  }
  std::fputs(table.text(headers, outputWidth()).c_str(), stdout);
  if (headers && result.copies > 1) {
    std::printf("Each node was counted %u times: they are too few for one device for each pod.\n",
                result.copies);
  }
}

}  // namespace

int simulatePlan(const PlanOptions& options) {
  const Result<Plan> plan = load(options);
  if (!plan) return fail(plan.error());
  const Result<void> writable = checkWritable({options.json, options.svg});
  if (!writable) return fail(writable.error());
  Result<PlanResult> result = PlanResult{};
  {
    ProgressBar bar;
    result = simulator::runPlan(*plan, jobsOf(options.jobs), bar.progress());
  }
  if (!result) return fail(result.error());
  const std::string json = simulator::json(*plan, *result);
  if (options.output.json) {
    std::fputs(json.c_str(), stdout);
  } else {
    print(*result, options.output.headers);
  }
  return writeFiles({{options.json, json}, {options.svg, simulator::svg(*plan, *result)}});
}

}  // namespace divvy::cli
