#include "lists/list_kinds.h"

#include "rows/cluster_rows.h"
#include "rows/group_rows.h"
#include "rows/rows.h"

namespace divvy::console {

const std::vector<List>& machineLists() {
  static const std::vector<List> lists{
      {{"nodes", &nodeFields(), "node", {"node", "driver"}}, &ConsoleView::nodes},
      {{"devices", &deviceFields(), "index", {"uuid", "model", "node", "pool"}},
       &ConsoleView::devices},
      {{"shares", &shareFields(), "name", {"name", "tenant", "node", "command", "note"}},
       &ConsoleView::shares},
      {{"waiting", &waitingFields(), "position", {"name", "node", "reason"}},
       &ConsoleView::waiting},
      {{"events", &eventFields(), "-time_ms", {"text", "name", "kind", "node", "actor"}},
       &ConsoleView::events},
  };
  return lists;
}

const std::vector<List>& clusterLists() {
  static const std::vector<List> lists{
      {{"nodes", &clusterNodeFields(), "node", {"node", "models", "pool"}}, &ConsoleView::nodes},
      {{"devices", &clusterDeviceFields(), "id", {"uuid", "model", "node", "pool"}},
       &ConsoleView::devices},
      {{"shares",
        &clusterShareFields(),
        "name",
        {"name", "container", "node", "owner", "queue", "team", "image", "model_served"}},
       &ConsoleView::shares},
      {{"waiting", &clusterWaitingFields(), "position", {"name", "owner", "queue", "reason"}},
       &ConsoleView::waiting},
      {{"events", &eventFields(), "-time_ms", {"text", "name", "kind", "actor"}},
       &ConsoleView::events},
      {{"workloads",
        &workloadFields(),
        "id",
        {"namespace", "kind", "name", "queue", "team", "models", "images"}},
       &ConsoleView::workloads},
      {{"queues", &queueFields(), "path", {"name", "path", "pool"}}, &ConsoleView::queues},
      {{"pools", &poolFields(), "name", {"name"}}, &ConsoleView::pools},
      {{"teams", &teamFields(), "name", {"name", "namespaces"}}, &ConsoleView::teams},
      {{"models", &servedModelFields(), "name", {"name", "source", "images"}},
       &ConsoleView::models},
  };
  return lists;
}

}  // namespace divvy::console
