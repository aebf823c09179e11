#include "view/queues_view.h"

#include <functional>
#include <map>
#include <set>

#include <boost/json.hpp>

#include "base/bytes.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMilli = 1000;

struct Row {
  const kube::Queue* queue;
  std::size_t depth;
};

std::vector<Row> treeOf(const std::vector<kube::Queue>& queues) {
  std::map<std::string, const kube::Queue*> by_name;
  for (const kube::Queue& one : queues) by_name[one.meta.name] = &one;
  std::vector<Row> rows;
  std::set<std::string> seen;
  const std::function<void(const kube::Queue&, std::size_t)> add = [&](const kube::Queue& queue,
                                                                       std::size_t depth) {
    if (!seen.insert(queue.meta.name).second) return;
    rows.push_back({&queue, depth});
    for (const auto& [name, below] : by_name)
      if (below->parent == queue.meta.name) add(*below, depth + 1);
  };
  for (const auto& [name, queue] : by_name)
    if (queue->parent.empty() || !by_name.contains(queue->parent)) add(*queue, 0);
  for (const auto& [name, queue] : by_name) add(*queue, 0);
  return rows;
}

// "2.5": thousandths without rounding.
std::string thousandths(std::int64_t milli) {
  std::string text = std::to_string(milli / kMilli);
  if (milli % kMilli == 0) return text;
  std::string rest = std::to_string(kMilli + milli % kMilli).substr(1);
  rest.erase(rest.find_last_not_of('0') + 1);
  return text + '.' + rest;
}

// "2.5 GPUs, 40GiB; H100 1 GPU"
std::string amountsText(const std::vector<kube::QueueAmount>& amounts) {
  std::string text;
  for (const kube::QueueAmount& one : amounts) {
    std::string part;
    if (one.milli) part += thousandths(*one.milli) + (*one.milli == kMilli ? " GPU" : " GPUs");
    if (one.mebibytes)
      part += (part.empty() ? "" : ", ") +
              sizeWord(static_cast<std::uint64_t>(*one.mebibytes) * mib(1).count);
    if (part.empty()) continue;
    if (one.model != "*" && !one.model.empty()) part.insert(0, one.model + ' ');
    text += (text.empty() ? "" : "; ") + part;
  }
  return text.empty() ? "-" : text;
}

std::string waitsFor(const kube::QueueStatus& status) {
  if (!status.fault.empty()) return "not in force: " + status.fault;
  if (status.waiting.empty()) return "-";
  const kube::QueueWaiting& first = status.waiting.front();
  const std::string text = first.reason + " (" + first.example + ')';
  const std::size_t others = status.waiting.size() - 1;
  if (others == 1) return text + " and one more reason";
  return others == 0 ? text : text + " and " + std::to_string(others) + " more reasons";
}

json::array jsonOf(const std::vector<kube::QueueAmount>& amounts) {
  json::array list;
  for (const kube::QueueAmount& one : amounts) {
    json::object item{{"model", one.model}};
    if (one.milli) item["gpuMilli"] = *one.milli;
    if (one.mebibytes) item["memoryMiB"] = *one.mebibytes;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

std::string queuesText(const std::vector<kube::Queue>& queues, bool headers, std::size_t width) {
  Table table({"QUEUE", "USED", "?GUARANTEE", "LIMIT", "RUNNING>", "PENDING>", "WAITS FOR"});
  for (const Row& row : treeOf(queues)) {
    const kube::Queue& queue = *row.queue;
    table.add({std::string(row.depth * 2, ' ') + queue.meta.name, amountsText(queue.status.used),
               amountsText(queue.guarantee), amountsText(queue.limit),
               std::to_string(queue.status.running), std::to_string(queue.status.pending),
               waitsFor(queue.status)});
  }
  return table.text(headers, width);
}

std::string queuesJson(const std::vector<kube::Queue>& queues) {
  json::array list;
  for (const Row& row : treeOf(queues)) {
    const kube::Queue& queue = *row.queue;
    json::object one = kube::statusOf(queue.status);
    one["name"] = queue.meta.name;
    one["parent"] = queue.parent;
    one["namespaces"] = json::array(queue.namespaces.begin(), queue.namespaces.end());
    one["weight"] = queue.weight;
    if (!queue.pool.empty()) one["pool"] = queue.pool;
    one["borrowing"] = queue.borrows;
    one["guarantee"] = jsonOf(queue.guarantee);
    one["limit"] = jsonOf(queue.limit);
    list.push_back(std::move(one));
  }
  return json::serialize(json::object{{"queues", std::move(list)}}) + '\n';
}

}  // namespace divvy::cli
