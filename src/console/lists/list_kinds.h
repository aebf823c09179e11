// The lists of a console.
#pragma once

#include <vector>

#include "lists/list_query.h"
#include "view/console_view.h"

namespace divvy::console {

// A list, and where a view has its rows.
struct List {
  ListKind kind;
  SharedRows ConsoleView::*rows;
};

// Of one machine, and of a cluster. Valid for the life of the process.
const std::vector<List>& machineLists();
const std::vector<List>& clusterLists();

}  // namespace divvy::console
