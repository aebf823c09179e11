// A plan as JSON and as a picture.
#include "simulator/chart.h"
#include "simulator/plan.h"
#include "text/format.h"

namespace divvy::simulator {

std::string overcommitWord(std::uint32_t thousandths) {
  std::string text = number(thousandths / 1000.0, 3);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text;
}

std::string json(const Plan& plan, const PlanResult& result) {
  std::uint64_t gpus = 0;
  for (const OpenbNode& node : plan.nodes) gpus += node.gpus;
  std::string rows;
  for (const PlanRow& row : result.rows) {
    rows += (rows.empty() ? "\n    {" : ",\n    {") + std::string("\"overcommit\": ") +
            (row.overcommit == 0 ? "null" : overcommitWord(row.overcommit)) +
            ", \"gpus\": " + number(row.gpus) + ", \"sharing_gpus\": " + number(row.sharing_gpus) +
            ", \"node_gpus\": " + number(row.node_gpus) +
            ", \"unplaced\": " + number(row.unplaced) + ", \"saved_pct\": " + number(row.saved) +
            ", \"sharing_saved_pct\": " + number(row.sharing_saved) + "}";
  }
  return "{\n  \"policy\": " + quoted(nameOf(plan.policy)) +
         ",\n  \"pods\": " + std::to_string(plan.pods.size()) +
         ",\n  \"nodes\": " + std::to_string(plan.nodes.size()) +
         ",\n  \"gpus\": " + std::to_string(gpus) +
         ",\n  \"copies\": " + std::to_string(result.copies) +
         ",\n  \"seeds\": " + std::to_string(plan.seeds.size()) +
         ",\n  \"cards_only\": " + (plan.cards_only ? "true" : "false") + ",\n  \"rows\": [" +
         rows + "\n  ]\n}\n";
}

std::string svg(const Plan& plan, const PlanResult& result) {
  Panel panel{"GPUs saved against a device for each pod",
              "memory promised, times what a device has",
              "GPUs saved, %",
              {{"all pods", {}}, {"pods that share", {}}},
              0};
  for (const PlanRow& row : result.rows) {
    if (row.overcommit == 0) continue;
    panel.lines[0].points.emplace_back(row.overcommit / 1000.0, row.saved);
    panel.lines[1].points.emplace_back(row.overcommit / 1000.0, row.sharing_saved);
  }
  return svg(std::to_string(plan.pods.size()) + " pods, policy " + std::string(nameOf(plan.policy)),
             {panel});
}

}  // namespace divvy::simulator
