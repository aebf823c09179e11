// `divvy simulate defrag`: computes a plan of moves from a snapshot; nothing is moved.
#include <cstdio>

#include "commands/commands.h"
#include "files/simulate_files.h"
#include "simulator/defrag.h"
#include "snapshot/text.h"
#include "view/json_text.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

using simulator::DefragPlan;

std::string placeOf(const engine::Placement& placement) {
  const std::string devices = simulator::devicesOf(placement);
  return placement.node.text + (devices.empty() ? "" : ": " + devices);
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void print(const DefragPlan& result, bool headers) {
  const engine::DefragmentationPlan& plan = result.plan;
  if (!plan.moves.empty()) {
    Table table({"MOVE>", "REQUEST", "FROM", "TO"});
    for (const engine::Move& move : plan.moves) {
      const auto name = result.names.find(move.id);
      table.add({std::to_string(&move - plan.moves.data() + 1),
                 name == result.names.end() ? move.id.text : name->second, placeOf(move.from),
                 placeOf(move.to)});
    }
    std::fputs(table.text(headers, outputWidth()).c_str(), stdout);
  }
  if (!headers) return;
  if (plan.moves.empty()) {
    std::fputs("no move helps\n", stdout);
  } else {
    std::printf("%s: %s and %s become empty, %s and %s become used\n",
                counted(plan.moves.size(), "move").c_str(),
                counted(plan.freed.size(), "device").c_str(),
                counted(plan.nodes_freed.size(), "node").c_str(),
                counted(plan.taken.size(), "device").c_str(),
                counted(plan.nodes_taken.size(), "node").c_str());
  }
  std::printf("idle devices that typical requests cannot use: %s before, %s after\n",
              fixed(plan.before.fragmented / 1000, 2).c_str(),
              fixed(plan.after.fragmented / 1000, 2).c_str());
  std::string unknown;
  for (const engine::RequestId& id : plan.unknown)
    unknown += (unknown.empty() ? "" : ", ") + id.text;
  if (!unknown.empty())
    std::printf("not moved, because their requests are unknown: %s\n", unknown.c_str());
}

}  // namespace

int simulateDefrag(const DefragOptions& options) {
  const Result<std::string> text = readFile(options.snapshot, "a snapshot in JSON");
  if (!text) return fail(text.error());
  const Result<snapshot::Snapshot> read = snapshot::parse(*text, options.snapshot);
  if (!read) return fail(read.error());
  const Result<DefragPlan> plan = simulator::planDefrag(*read, options.goal, options.most_moves);
  if (!plan) return fail(plan.error());
  if (options.output.json) {
    std::fputs(simulator::json(*plan).c_str(), stdout);
  } else {
    print(*plan, options.output.headers);
  }
  return 0;
}

}  // namespace divvy::cli
