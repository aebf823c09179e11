#include "controllers/node_inventory_controller.h"

#include <chrono>
#include <ctime>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "base/rfc3339.h"
#include "events/pod_events.h"
#include "log/log.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// From the first node to the writes, and after one that failed.
constexpr std::chrono::milliseconds kGather{20};
constexpr std::chrono::seconds kPause{5};
constexpr const char* kEventNamespace = "default";  // of objects that are in no namespace

std::string stateOf(const kube::Meta& node, const NodeInventory& inventory) {
  return node.uid + kube::encode(inventory.registered) +
         (inventory.inventory ? kube::encode(*inventory.inventory) : std::string());
}

}  // namespace

std::optional<kube::Inventory> toRecord(const NodeInventory& node, std::int64_t now_s,
                                        std::int64_t learning_s) {
  if (node.registered.models.empty()) return std::nullopt;
  if (!node.inventory) {
    kube::Inventory first = node.registered;
    first.learning_until = formatRfc3339(now_s + learning_s);
    return first;
  }
  if (node.surplus.empty() || node.inventory->learning_until <= formatRfc3339(now_s))
    return std::nullopt;
  kube::Inventory more = kube::joined(*node.inventory, node.registered);
  if (more == *node.inventory) return std::nullopt;
  return more;
}

NodeInventoryController::NodeInventoryController(asio::any_io_executor executor,
                                                 kube::Client& client, const SchedulerCache& cache,
                                                 Options options)
    : executor_(std::move(executor)),
      client_(client),
      cache_(cache),
      options_(std::move(options)) {}

void NodeInventoryController::onNodeUpdate(const kube::Node& updated) {
  if (options_.learning_s <= 0) return;
  const kube::Meta& node = updated.meta;
  const NodeInventory* inventory = cache_.nodes().inventoryOf(node.name);
  if (inventory == nullptr || !options_.why_not().empty()) return;
  const std::optional<kube::Inventory> record =
      toRecord(*inventory, std::time(nullptr), options_.learning_s);
  if (record) return write(node.name, {node.uid, kube::encode(*record), stateOf(node, *inventory)});
  wanted_.erase(node.name);
  tried_.erase(node.name);
  reportSurplus(node, inventory->surplus);
}

void NodeInventoryController::onNodeDelete(const std::string& node) {
  wanted_.erase(node);
  tried_.erase(node);
  told_.erase(node);
}

void NodeInventoryController::reportSurplus(const kube::Meta& node,
                                            const std::vector<std::string>& surplus) {
  LastNotice& told = told_[node.name];
  const bool changed = told.uid != node.uid || told.surplus != surplus;
  told = {node.uid, surplus};
  if (surplus.empty()) {
    told_.erase(node.name);
    return;
  }
  if (!changed) return;
  std::string message;
  for (const std::string& line : surplus) message += (message.empty() ? "" : "; ") + line;
  log::warn("node reports more than its recorded inventory; the surplus does not count",
            {{"node", node.name}, {"surplus", message}});
  message += ". If the node has them: kubectl annotate node " + node.name + ' ' +
             kube::kInventoryKey + '-';
  asio::co_spawn(
      executor_,
      [this, note = PodEvent{kEventNamespace, node.name, node.uid, "InventoryExceeded", message,
                             true, "Node"}]() -> asio::awaitable<void> {
        const std::int64_t nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                             std::chrono::system_clock::now().time_since_epoch())
                                             .count();
        const auto done = co_await client_.ask(eventCall(note, options_.name, nanoseconds));
        if (!done) log::warn("cannot write an Event", {{"error", done.error().message()}});
      },
      rethrow);
}

// Once for each state: a refused write is repeated once the node registers another state.
void NodeInventoryController::write(const std::string& node, Write what) {
  const auto tried = tried_.find(node);
  if (tried != tried_.end() && tried->second == what.state) return;
  tried_[node] = what.state;
  wanted_[node] = std::move(what);
  if (writing_) return;
  writing_ = true;
  asio::co_spawn(executor_, writeAll(), rethrow);
}

asio::awaitable<void> NodeInventoryController::writeAll() {
  asio::steady_timer pause(executor_, kGather);
  co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  while (!wanted_.empty() && options_.why_not().empty()) {
    const std::string node = wanted_.begin()->first;
    const Write what = wanted_.begin()->second;
    if (co_await put(node, what)) {
      const auto still = wanted_.find(node);
      if (still != wanted_.end() && still->second.text == what.text) wanted_.erase(still);
      continue;
    }
    pause.expires_after(kPause);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  // This replica decides unwritten changes again once it leads again.
  for (const auto& [node, what] : wanted_) tried_.erase(node);
  wanted_.clear();
  writing_ = false;
}

// False: to be tried again.
asio::awaitable<bool> NodeInventoryController::put(const std::string& node, const Write& what) {
  kube::Call call{kube::Verb::kPatch, "/api/v1/nodes/" + node};
  call.type = kube::kMergePatch;
  call.body = json::serialize(json::object{
      {"metadata", json::object{{"uid", what.uid},
                                {"annotations", json::object{{kube::kInventoryKey, what.text}}}}}});
  call.still = [this] { return options_.why_not().empty(); };
  const Result<json::value> done = co_await client_.ask(std::move(call));
  if (done || done.error().code() == ErrorCode::kNotFound) co_return true;
  log::warn("cannot record the inventory of a node",
            {{"node", node}, {"error", done.error().message()}});
  co_return done.error().code() != ErrorCode::kUnavailable;
}

}  // namespace divvy::scheduler
