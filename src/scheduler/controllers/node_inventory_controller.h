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
#include "scheduler/cache.h"

namespace divvy::scheduler {

// The annotation that is to be written; none: it stays as it is. Pure.
//
// A node without one gets all that it registers, and learns for `learning_s` from `now_s` (seconds
// since 1970); until then what it registers beyond it is added.
std::optional<kube::Inventory> toRecord(const NodeInventory& node, std::int64_t now_s,
                                        std::int64_t learning_s);

// For one thread, that of the client, which outlives it.
class NodeInventoryController {
 public:
  struct Options {
    std::string name;                      // of the scheduler, for Events
    std::int64_t learning_s = 0;           // toRecord()
    std::function<std::string()> why_not;  // why nothing is written now; empty: it is
  };
  NodeInventoryController(boost::asio::any_io_executor executor, kube::Client& client,
                          Options options);

  // After each change of a node; null: what it registers cannot be read.
  void see(const kube::Meta& node, const NodeInventory* inventory);
  void remove(const std::string& node);

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
  const Options options_;
  std::map<std::string, Write> wanted_;       // by node: to be written
  std::map<std::string, std::string> tried_;  // by node: Write::state since it was complete
  std::map<std::string, LastNotice> told_;    // by node: the surplus that was told of
  bool writing_ = false;
};

}  // namespace divvy::scheduler
