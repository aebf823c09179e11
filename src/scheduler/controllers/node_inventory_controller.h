// Writes the inventories of nodes, and reports devices that a node registers beyond its inventory.
// Private.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "kube/client.h"
#include "runtime/cluster_observer.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// Returns the inventory to write; none: it stays as it is. Pure.
//
// A node without an inventory gets everything that it registers. For `learning_s` seconds from
// `now_s` (seconds since 1970), devices beyond its inventory are added.
std::optional<kube::Inventory> toRecord(const NodeInventory& node, std::int64_t now_s,
                                        std::int64_t learning_s);

// For the client's thread only. `client` and `cache` outlive it.
class NodeInventoryController : public ClusterObserver {
 public:
  struct Options {
    std::string name;                      // of the scheduler, for Events
    std::int64_t learning_s = 0;           // as of toRecord(); 0: nothing is written or reported
    std::function<std::string()> why_not;  // why this replica does not write now; empty: it does
  };
  NodeInventoryController(boost::asio::any_io_executor executor, kube::Client& client,
                          const SchedulerCache& cache, Options options);

  void onNodeUpdate(const kube::Node& node) override;
  void onNodeDelete(const std::string& name) override;

 private:
  struct Write {
    std::string uid, text;
    std::string state;  // identity, registration and inventory that led to it
  };
  struct LastNotice {
    std::string uid;
    std::vector<std::string> surplus;
  };

  void reportSurplus(const kube::Meta& node, const std::vector<std::string>& surplus);
  void write(const std::string& node, Write what);
  boost::asio::awaitable<void> writeAll();
  boost::asio::awaitable<bool> put(const std::string& node, const Write& what);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const SchedulerCache& cache_;
  const Options options_;
  std::map<std::string, Write> wanted_;       // pending writes by node
  std::map<std::string, std::string> tried_;  // Write::state of the last attempt, by node
  std::map<std::string, LastNotice> told_;    // surplus that was reported, by node
  bool writing_ = false;
};

}  // namespace divvy::scheduler
