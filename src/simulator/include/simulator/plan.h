// How many GPUs a workload takes: a card for each pod against shares, with memory promised so many
// times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/policy.h"
#include "simulator/openb.h"
#include "simulator/progress.h"

namespace divvy::simulator {

struct Plan {
  std::vector<OpenbNode> nodes;
  std::vector<OpenbPod> pods;
  // Thousandths: how much of a card is promised. What a pod asks of a card is taken for memory;
  // time is shared, and whoever asks for all of a card has it alone.
  std::vector<std::uint32_t> overcommit;
  engine::Policy policy = engine::Policy::kPacking;
  std::vector<std::uint64_t> seeds;  // of the order in which pods come
  bool cards_only = false;           // nodes never run out of processors and memory
};

// Means over the seeds.
struct PlanRow {
  std::uint32_t overcommit = 0;  // thousandths; 0: a card for each pod
  double gpus = 0;               // with anything on them
  double sharing_gpus = 0;       // of these, with pods that ask for a part
  double node_gpus = 0;          // of nodes with anything on any of theirs
  double unplaced = 0;           // pods that no node takes
  double saved = 0;              // percent of `gpus` of the first row
  double sharing_saved = 0;      // percent of its `sharing_gpus`
};

struct PlanResult {
  // The nodes were there so many times: as often as it takes for a card for each pod.
  std::uint32_t copies = 1;
  std::vector<PlanRow> rows;  // first a card for each pod, then as Plan::overcommit
};

// The same for any number of `threads`. kUsage: a node or pod that the engine does not take.
Result<PlanResult> runPlan(const Plan& plan, unsigned threads, const Progress& progress);

// "1.3" of 1300.
std::string overcommitWord(std::uint32_t thousandths);
std::string json(const Plan& plan, const PlanResult& result);
std::string svg(const Plan& plan, const PlanResult& result);

}  // namespace divvy::simulator
