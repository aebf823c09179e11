// Records what nodes register for the first time, and tells of what they register beyond that.
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

// The annotation that is to be written; none: it stays as it is. Pure.
//
// A node without one gets all that it registers, and learns for `learning_s` from `now_s` (seconds
// since 1970); until then what it registers beyond it is added.
std::optional<kube::Inventory> toRecord(const NodeInventory& node, std::int64_t now_s,
                                        std::int64_t learning_s);

// For one thread, that of the client. Client and cache outlive it.
class NodeInventoryController : public ClusterObserver {
 public:
  struct Options {
    std::string name;                      // of the scheduler, for Events
    std::int64_t learning_s = 0;           // toRecord(); 0: nothing is recorded
    std::function<std::string()> why_not;  // why nothing is written now; empty: it is
  };
  NodeInventoryController(boost::asio::any_io_executor executor, kube::Client& client,
                          const SchedulerCache& cache, Options options);

  void onNodeUpdate(const kube::Node& node) override;
  void onNodeDelete(const std::string& name) override;

 private:
  struct Write {
    std::string uid, text;
    std::string state;  // what it was decided by
  };
  struct LastNotice {
    std::string uid;
    std::vector<std::string> surplus;
  };

  void tell(const kube::Meta& node, const std::vector<std::string>& surplus);
  void write(const std::string& node, Write what);
  boost::asio::awaitable<void> writeAll();
  boost::asio::awaitable<bool> put(const std::string& node, const Write& what);

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const SchedulerCache& cache_;
  const Options options_;
  std::map<std::string, Write> wanted_;       // by node: to be written
  std::map<std::string, std::string> tried_;  // by node: Write::state since it was complete
  std::map<std::string, LastNotice> told_;    // by node: the surplus that was told of
  bool writing_ = false;
};

}  // namespace divvy::scheduler
