// How many GPUs a workload needs: a card for each pod, against shares with memory promised k times.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/policy.h"
#include "simulator/openb.h"
#include "simulator/progress.h"

namespace divvy::simulator {

// A workload and the variants to compute.
struct Plan {
  std::vector<OpenbNode> nodes;
  std::vector<OpenbPod> pods;
  // Ratios k in thousandths. A pod's part of a card counts as memory; time is shared. A pod that
  // requests a whole card has it alone.
  std::vector<std::uint32_t> overcommit;
  engine::Policy policy = engine::Policy::kPacking;
  std::vector<std::uint64_t> seeds;  // of the pods' order
  bool cards_only = false;           // nodes have endless processors and memory
};

// Results for one k. Means over the seeds.
struct PlanRow {
  std::uint32_t overcommit = 0;  // thousandths; 0: a card for each pod
  double gpus = 0;               // with at least one pod
  double sharing_gpus = 0;       // of these, with pods that request a part of a card
  double node_gpus = 0;          // of nodes with a pod on any of their GPUs
  double unplaced = 0;           // pods that fit nowhere
  double saved = 0;              // in percent of `gpus` of the first row
  double sharing_saved = 0;      // in percent of `sharing_gpus` of the first row
};

// Results for all k.
struct PlanResult {
  // Number of copies of each node: as many as a card for each pod needs.
  std::uint32_t copies = 1;
  std::vector<PlanRow> rows;  // first a card for each pod, then each Plan::overcommit
};

// Computes the plan on `threads` threads. The result does not depend on their number. kUsage: a
// node or pod that the engine does not accept.
Result<PlanResult> runPlan(const Plan& plan, unsigned threads, const Progress& progress);

// Returns "1.3" for 1300.
std::string overcommitWord(std::uint32_t thousandths);
// Return the results as a JSON document and as SVG charts.
std::string json(const Plan& plan, const PlanResult& result);
std::string svg(const Plan& plan, const PlanResult& result);

}  // namespace divvy::simulator
