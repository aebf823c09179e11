// All rows that viewers see at one instant. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rows/rows.h"

namespace divvy::console {

// Whether and since when an agent, or a collection of the API server, answers.
struct SourceState {
  std::string node;           // the agent's node, or the collection
  bool reached = false;       // it has answered at least once
  std::int64_t since_ms = 0;  // of the present state; milliseconds since 1970
  std::string failure;        // empty: it answers
  Row row() const;
};

// What viewers see: rows by list, ascending by identifier. A value that is never changed once it is
// published, so that readers need no lock.
struct ConsoleView {
  std::uint64_t number = 0;  // differs between all views of a source; 0: it has none
  std::int64_t data_ms = 0;  // of the last reading in which a source answered; 0: none has
  std::vector<SourceState> sources;
  Rows nodes, devices, shares, waiting, events;
  // Of a cluster only.
  Rows workloads, queues, pools, teams, models;
  Row overview;
};

}  // namespace divvy::console
