// `divvy simulate replay`.
#include <array>
#include <cstdio>
#include <ctime>

#include "commands/commands.h"
#include "files/simulate_files.h"
#include "simulator/replay.h"
#include "snapshot/text.h"
#include "view/json_text.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

using simulator::CapacityStats;
using simulator::Replay;
using simulator::ReplayedDecisions;

std::string timeOf(std::int64_t ms) {
  const std::time_t when = ms / 1000;
  std::tm local{};
  if (localtime_r(&when, &local) == nullptr) return std::to_string(ms) + " ms";
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return text.data();
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string who(const std::string& id, const std::string& name) {
  return name.empty() ? id : name + " (" + id + ")";
}

void print(const ReplayedDecisions& part) {
  for (const simulator::Difference& one : part.differences) {
    std::printf("  %s, %s: was %s, is %s\n    %s\n", who(one.id, one.name).c_str(),
                timeOf(one.at_ms).c_str(), one.was.c_str(), one.is.c_str(), one.why.c_str());
  }
  if (part.differ > part.differences.size())
    std::printf("  and %zu more\n", part.differ - part.differences.size());
}

void print(const simulator::ReplayedPending& one) {
  const std::string name = who(one.id, one.name);
  if (one.fits) {
    std::printf(
        "  %s: %s, on %s\n", name.c_str(),
        one.differs ? "differs: fits and is first in line" : "fits, but is not first in line",
        one.where.c_str());
  } else {
    std::printf("  %s: %s\n", name.c_str(), one.why.empty() ? "fits on no node" : one.why.c_str());
  }
  for (const std::string& change : one.changes) std::printf("    would fit: %s\n", change.c_str());
  if (one.fits_anew) std::printf("    fits beside the requests that are placed again\n");
}

void print(const CapacityStats& before, const CapacityStats& after, bool headers) {
  Table table({"", "USED>", "IDLE>", "FRAGMENTED>", "DEVICES-IN-USE>"});
  const auto devices = [](double milli) { return fixed(milli / 1000, 2); };
  for (const auto& [name, figures] : {std::pair("before", before), std::pair("again", after)}) {
    table.add({std::string("memory ") + name, sizeWord(figures.used_bytes),
               sizeWord(figures.idle_bytes),
               sizeWord(static_cast<std::uint64_t>(figures.fragmented_bytes)),
               std::to_string(figures.devices_in_use)});
    table.add({std::string("compute ") + name, devices(static_cast<double>(figures.used_milli)),
               devices(static_cast<double>(figures.idle_milli)), devices(figures.fragmented_milli),
               ""});
  }
  std::printf("\n%s", table.text(headers, outputWidth()).c_str());
}

void print(const snapshot::Snapshot& snapshot, const Replay& replay, bool headers) {
  std::size_t devices = 0;
  for (const engine::Node& node : snapshot.nodes) devices += node.devices.size();
  std::printf("%s by %s: %s, %s, %zu there, %zu waiting\n", timeOf(snapshot.written_at.ms).c_str(),
              snapshot.written_by.c_str(), counted(snapshot.nodes.size(), "node").c_str(),
              counted(devices, "device").c_str(), snapshot.allocations.size(),
              snapshot.pending.size());
  std::printf("decided again with policy %s, devices %s\n\n",
              std::string(engine::nameOf(replay.config.policy)).c_str(),
              engine::text(replay.config.devices).c_str());
  std::printf("decisions: %zu same, %zu differ", replay.decisions.same, replay.decisions.differ);
  if (replay.dropped != 0)
    std::printf(" (%llu older ones were not kept)",
                static_cast<unsigned long long>(replay.dropped));
  std::printf("\n");
  print(replay.decisions);
  std::printf("placed again: %zu same, %zu differ", replay.anew.same, replay.anew.differ);
  if (replay.anew.kept != 0)
    std::printf(" (%zu stay: their requests are unknown)", replay.anew.kept);
  std::printf("\n");
  print(replay.anew);
  if (!replay.pending.empty()) std::printf("waiting:\n");
  for (const simulator::ReplayedPending& one : replay.pending) print(one);
  print(replay.before, replay.after, headers);
}

}  // namespace

int simulateReplay(const ReplayOptions& options) {
  const Result<std::string> text = readFile(options.snapshot, "a snapshot in JSON");
  if (!text) return fail(text.error());
  const Result<snapshot::Snapshot> snapshot = snapshot::parse(*text, options.snapshot);
  if (!snapshot) return fail(snapshot.error());
  const Result<Replay> replay = simulator::replay(*snapshot, options.terms);
  if (!replay) return fail(replay.error());
  if (options.output.json) {
    std::fputs(simulator::json(*snapshot, *replay).c_str(), stdout);
  } else {
    print(*snapshot, *replay, options.output.headers);
  }
  return options.expect_same && !replay->asWritten() ? 1 : 0;
}

}  // namespace divvy::cli
