#include "engine/quota.h"

#include <algorithm>

#include "quota/quota_sums.h"

namespace divvy::engine {
namespace {

constexpr std::int64_t kMaxOfAny = std::int64_t{1} << 50;
constexpr std::int64_t kMaxWeight = 1'000'000;

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

Result<void> checkAmounts(const std::string& who, const Amounts& amounts) {
  for (const auto& [resource, amount] : amounts) {
    if (resource.empty()) return usage(who + ": a resource without a name");
    if (amount < 0 || amount > kMaxOfAny)
      return usage(who + ": " + std::to_string(amount) + " of " + resource.text +
                   "; accepted: 0 to " + std::to_string(kMaxOfAny));
  }
  return {};
}

}  // namespace

std::string text(const QuotaRefusal& refusal) {
  const std::string of = refusal.queue.empty() ? "the cluster" : "queue " + refusal.queue.text;
  const std::string amounts = std::to_string(refusal.needed) + " of " + refusal.resource.text +
                              ", " + std::to_string(refusal.available);
  switch (refusal.why) {
    case QuotaWhy::kLimit:
      return "needs " + amounts + " left of the limit of " + of;
    case QuotaWhy::kBorrowing:
      return "needs " + amounts + " left of the guarantee of " + of + ", which does not borrow";
    case QuotaWhy::kFull:
      break;
  }
  return "needs " + amounts + " can be had of what " + of + " has";
}

Result<void> Quota::setCapacity(const Amounts& capacity) {
  const Result<void> checked = checkAmounts("capacity", capacity);
  if (!checked) return checked;
  capacity_ = capacity;
  return {};
}

Result<void> Quota::check(const Queue& queue) const {
  if (queue.name.empty()) return usage("a queue without a name");
  const std::string who = "queue " + queue.name.text;
  for (const Amounts* amounts : {&queue.guarantee, &queue.limit})
    if (const Result<void> checked = checkAmounts(who, *amounts); !checked) return checked;
  if (queue.weight < 1 || queue.weight > kMaxWeight)
    return usage(who + ": weight " + std::to_string(queue.weight) + "; accepted: 1 to " +
                 std::to_string(kMaxWeight));
  for (const auto& [resource, limit] : queue.limit)
    if (of(queue.guarantee, resource) > limit)
      return usage(who + ": guarantees " + std::to_string(of(queue.guarantee, resource)) + " of " +
                   resource.text + ", its limit is " + std::to_string(limit));
  const auto parent = nodes_.find(queue.parent);
  if (parent == nodes_.end())
    return Error{ErrorCode::kNotFound, who + ": no queue is called \"" + queue.parent.text + "\""};
  const auto known = nodes_.find(queue.name);
  if (known != nodes_.end() && known->second.queue.parent != queue.parent)
    return usage(who + ": is below \"" + known->second.queue.parent.text +
                 "\"; accepted: the same, or remove it first");
  Amounts children;
  if (known != nodes_.end())
    for (const QueueName& child : known->second.children)
      addTo(&children, nodes_.at(child).queue.guarantee, 1);
  for (const auto& [resource, sum] : children)
    if (sum > of(queue.guarantee, resource))
      return usage(who + ": guarantees " + std::to_string(of(queue.guarantee, resource)) + " of " +
                   resource.text + ", the queues below it " + std::to_string(sum));
  if (queue.parent.empty()) return {};
  Amounts siblings = queue.guarantee;
  for (const QueueName& child : parent->second.children)
    if (child != queue.name) addTo(&siblings, nodes_.at(child).queue.guarantee, 1);
  for (const auto& [resource, sum] : siblings)
    if (sum > of(parent->second.queue.guarantee, resource))
      return usage(who + ": with its siblings guarantees " + std::to_string(sum) + " of " +
                   resource.text + "; accepted: at most the " +
                   std::to_string(of(parent->second.queue.guarantee, resource)) + " of " +
                   queue.parent.text);
  return {};
}

Result<void> Quota::setQueue(const Queue& queue) {
  const Result<void> checked = check(queue);
  if (!checked) return checked;
  std::vector<QueueName>& siblings = nodes_[queue.parent].children;
  const auto place = std::lower_bound(siblings.begin(), siblings.end(), queue.name);
  if (place == siblings.end() || *place != queue.name) siblings.insert(place, queue.name);
  nodes_[queue.name].queue = queue;
  return {};
}

Result<void> Quota::removeQueue(const QueueName& name) {
  const auto known = nodes_.find(name);
  if (name.empty() || known == nodes_.end())
    return Error{ErrorCode::kNotFound, "no queue is called \"" + name.text + "\""};
  if (!known->second.children.empty()) return usage("queue " + name.text + ": has queues below it");
  for (const auto& [job, what] : jobs_)
    if (what.queue == name) return usage("queue " + name.text + ": has jobs, as " + job.text);
  std::vector<QueueName>& siblings = nodes_.at(known->second.queue.parent).children;
  siblings.erase(std::find(siblings.begin(), siblings.end(), name));
  nodes_.erase(known);
  return {};
}

Quota::Chain Quota::chainOf(const QueueName& queue) const {
  Chain chain;
  auto at = nodes_.find(queue);
  if (queue.empty() || at == nodes_.end()) return chain;
  for (;; at = nodes_.find(at->second.queue.parent)) {
    chain.push_back(&at->second);
    if (at->first.empty()) return chain;
  }
}

void Quota::charge(const Job& job, int sign) {
  for (QueueName at = job.queue;; at = nodes_.at(at).queue.parent) {
    addTo(&nodes_.at(at).used, job.amounts, sign);
    if (at.empty()) return;
  }
}

Result<void> Quota::add(const Job& job) {
  if (job.name.empty()) return usage("a job without a name");
  if (job.queue.empty() || nodes_.count(job.queue) == 0)
    return Error{ErrorCode::kNotFound,
                 "job " + job.name.text + ": no queue is called \"" + job.queue.text + "\""};
  const Result<void> checked = checkAmounts("job " + job.name.text, job.amounts);
  if (!checked) return checked;
  if (!jobs_.emplace(job.name, job).second)
    return usage("job " + job.name.text + ": another one has that name");
  charge(job, 1);
  return {};
}

bool Quota::remove(const JobName& name) {
  const auto known = jobs_.find(name);
  if (known == jobs_.end()) return false;
  charge(known->second, -1);
  jobs_.erase(known);
  return true;
}

const Amounts& Quota::used(const QueueName& queue) const {
  static const Amounts none;
  const auto known = nodes_.find(queue);
  return known == nodes_.end() ? none : known->second.used;
}

Amounts Quota::overpromised() const {
  Amounts sum;
  for (const QueueName& child : nodes_.at(QueueName()).children)
    addTo(&sum, nodes_.at(child).queue.guarantee, 1);
  Amounts over;
  for (const auto& [resource, promised] : sum)
    if (promised > of(capacity_, resource)) over[resource] = promised - of(capacity_, resource);
  return over;
}

}  // namespace divvy::engine
