// All rows that viewers see at one instant. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rows/list_row.h"

namespace divvy::console {

class ShareIndex;

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
  SharedRows nodes, devices, shares, waiting, events;
  // Of a cluster only.
  SharedRows workloads, queues, pools, teams, models;
  SharedRow overview;  // null: none has been built
};

// The views that a new view shares rows with. Null: none.
struct EarlierViews {
  const ConsoleView* before = nullptr;  // of the same viewers
  const ConsoleView* whole = nullptr;   // hides nothing
  // A view and the reading that it was built from: rows of equal origin are not built again. Null:
  // none. Of a cluster only.
  const ConsoleView* known = nullptr;
  const ShareIndex* known_origin = nullptr;
};

// Puts rows into a list of `view`. A row that an earlier view has is shared with it.
void putRows(Rows rows, SharedRows ConsoleView::*list, const EarlierViews& earlier,
             ConsoleView& view);
// Puts the overview.
void putOverview(Row row, const EarlierViews& earlier, ConsoleView& view);

}  // namespace divvy::console
