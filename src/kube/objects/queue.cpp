#include "kube/queue.h"

#include "objects/read_meta.h"

namespace divvy::kube {
namespace {

void readAmounts(Members& from, std::string_view name, std::vector<QueueAmount>* out) {
  from.each(name, [&](Members& one) {
    QueueAmount& amount = out->emplace_back();
    one.text("model", &amount.model);
    const auto number = [&](std::string_view member, std::optional<std::int64_t>* into) {
      if (one.find(member) == nullptr) return;
      std::int64_t value = 0;
      one.number(member, &value);
      *into = value;
    };
    number("gpuMilli", &amount.milli);
    number("memoryMiB", &amount.mebibytes);
  });
}

json::array amountsOf(const std::vector<QueueAmount>& amounts) {
  json::array list;
  for (const QueueAmount& one : amounts) {
    json::object item{{"model", one.model}};
    if (one.milli) item["gpuMilli"] = *one.milli;
    if (one.mebibytes) item["memoryMiB"] = *one.mebibytes;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

bool Queue::sameTerms(const Queue& other) const {
  return meta.uid == other.meta.uid && meta.name == other.meta.name && parent == other.parent &&
         namespaces == other.namespaces && guarantee == other.guarantee && limit == other.limit &&
         borrows == other.borrows && reclaims == other.reclaims && weight == other.weight &&
         pool == other.pool;
}

Result<Queue> queueOf(const json::value& object) {
  Members members(object, "");
  Queue queue;
  readMeta(members, &queue.meta);
  members.in("spec", [&](Members& spec) {
    spec.text("parent", &queue.parent);
    spec.list("namespaces", &queue.namespaces);
    readAmounts(spec, "guarantee", &queue.guarantee);
    readAmounts(spec, "limit", &queue.limit);
    spec.flag("borrowing", &queue.borrows);
    std::string reclaim;
    spec.text("reclaim", &reclaim);
    queue.reclaims = reclaim != "never";
    spec.number("weight", &queue.weight);
    spec.text("pool", &queue.pool);
  });
  members.in("status", [&](Members& status) {
    readAmounts(status, "used", &queue.status.used);
    status.number("running", &queue.status.running);
    status.number("pending", &queue.status.pending);
    status.each("waiting", [&](Members& one) {
      QueueWaiting& waiting = queue.status.waiting.emplace_back();
      one.text("reason", &waiting.reason);
      one.number("pods", &waiting.pods);
      one.text("example", &waiting.example);
    });
    status.text("fault", &queue.status.fault);
  });
  if (!members.ok()) return members.error();
  return queue;
}

json::object statusOf(const QueueStatus& status) {
  json::array waiting;
  for (const QueueWaiting& one : status.waiting)
    waiting.push_back(
        json::object{{"reason", one.reason}, {"pods", one.pods}, {"example", one.example}});
  return {{"used", amountsOf(status.used)},
          {"running", status.running},
          {"pending", status.pending},
          {"waiting", std::move(waiting)},
          {"fault", status.fault}};
}

}  // namespace divvy::kube
