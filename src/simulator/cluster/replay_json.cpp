// A replay as JSON.
#include <boost/json.hpp>

#include "simulator/replay.h"

namespace divvy::simulator {
namespace {

namespace bj = boost::json;

bj::object of(const ReplayedDecisions& part) {
  bj::array differences;
  for (const Difference& one : part.differences) {
    differences.push_back(bj::object{{"id", one.id},
                                     {"name", one.name},
                                     {"at_ms", one.at_ms},
                                     {"was", one.was},
                                     {"is", one.is},
                                     {"why", one.why}});
  }
  return {{"same", part.same},
          {"differ", part.differ},
          {"kept", part.kept},
          {"differences", std::move(differences)}};
}

bj::object of(const CapacityStats& figures) {
  return {{"compute_milli", figures.compute_milli},  {"used_milli", figures.used_milli},
          {"idle_milli", figures.idle_milli},        {"fragmented_milli", figures.fragmented_milli},
          {"memory_bytes", figures.memory_bytes},    {"used_bytes", figures.used_bytes},
          {"idle_bytes", figures.idle_bytes},        {"fragmented_bytes", figures.fragmented_bytes},
          {"devices_in_use", figures.devices_in_use}};
}

bj::array of(const std::vector<ReplayedPending>& pending) {
  bj::array all;
  for (const ReplayedPending& one : pending) {
    bj::array changes;
    for (const std::string& change : one.changes) changes.emplace_back(change);
    all.push_back(bj::object{{"id", one.id},
                             {"name", one.name},
                             {"differs", one.differs},
                             {"fits", one.fits},
                             {"where", one.where},
                             {"why", one.why},
                             {"changes", std::move(changes)},
                             {"fits_anew", one.fits_anew}});
  }
  return all;
}

}  // namespace

std::string json(const snapshot::Snapshot& snapshot, const Replay& replay) {
  const bj::object all{
      {"written_by", snapshot.written_by},
      {"written_at_ms", snapshot.written_at.ms},
      {"policy", std::string(engine::nameOf(replay.config.policy))},
      {"device_policy", engine::text(replay.config.devices)},
      {"as_written", replay.asWritten()},
      {"decisions", of(replay.decisions)},
      {"dropped", replay.dropped},
      {"anew", of(replay.anew)},
      {"pending", of(replay.pending)},
      {"before", of(replay.before)},
      {"after", of(replay.after)},
  };
  return bj::serialize(all) + "\n";
}

}  // namespace divvy::simulator
