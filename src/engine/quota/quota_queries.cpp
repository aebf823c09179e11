// Queries: refusals, the order of queues, and jobs that give capacity back.
#include <algorithm>
#include <functional>
#include <tuple>

#include "quota/quota_sums.h"

namespace divvy::engine {
namespace {

// The refusal of an amount that exceeds `most`, among the requested resources.
std::optional<QuotaRefusal> above(const Amounts& used, const Amounts& asked, const Amounts& most,
                                  bool only_named) {
  for (const auto& [resource, amount] : asked) {
    if (amount == 0 || (only_named && most.count(resource) == 0)) continue;
    const std::int64_t left = of(most, resource) - of(used, resource);
    if (amount > left)
      return QuotaRefusal{QuotaWhy::kFull, {}, resource, amount, std::max<std::int64_t>(left, 0)};
  }
  return std::nullopt;
}

bool within(const Amounts& used, const Amounts& asked, const Amounts& most) {
  return !above(used, asked, most, false);
}

}  // namespace

// Refusals that no end of another job can lift.
std::optional<QuotaRefusal> Quota::refusedFor(const Chain& chain, const Amounts& amounts) const {
  // Reclaimable capacity of other queues is checked at each queue.
  const Amounts nothing;
  if (auto refusal = above(nothing, amounts, capacity_, false)) return refusal;
  for (const Node* node : chain) {
    if (auto refusal = above(nothing, amounts, node->queue.limit, true)) {
      refusal->why = QuotaWhy::kLimit;
      refusal->queue = node->queue.name;
      return refusal;
    }
  }
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    const Node& node = *chain[i];
    // From here up the amounts are within the queue's own guarantee.
    if (within(node.used, amounts, node.queue.guarantee)) break;
    if (node.queue.borrows) continue;
    auto refusal = above(node.used, amounts, node.queue.guarantee, false);
    refusal->why = QuotaWhy::kBorrowing;
    refusal->queue = node.queue.name;
    return refusal;
  }
  return std::nullopt;
}

Result<Admission> Quota::evaluate(const QueueName& queue, const Amounts& amounts) const {
  const Chain chain = chainOf(queue);
  if (chain.empty())
    return Error{ErrorCode::kNotFound, "no queue is called \"" + queue.text + "\""};
  for (const auto& [resource, amount] : amounts)
    if (amount < 0)
      return Error{ErrorCode::kUsage,
                   std::to_string(amount) + " of " + resource.text + "; accepted: 0 or more"};
  Admission admission;
  admission.refusal = refusedFor(chain, amounts);
  if (admission.refusal) return admission;
  admission.borrowed = !within(chain[0]->used, amounts, chain[0]->queue.guarantee);
  std::optional<QuotaRefusal> lacks;
  for (const Node* node : chain) {
    const bool root = node->queue.name.empty();
    lacks = above(node->used, amounts, root ? capacity_ : node->queue.limit, !root);
    if (!lacks) continue;
    lacks->why = root ? QuotaWhy::kFull : QuotaWhy::kLimit;
    lacks->queue = node->queue.name;
    break;
  }
  if (!lacks) return admission;
  admission.reclaim = victimsFor(chain, amounts);
  if (admission.reclaim.empty()) admission.refusal = lacks;
  return admission;
}

// Whether the queue would exceed its guarantee, and by how much for its weight. Takes the resource
// with the largest excess, as a part of the total.
std::pair<bool, double> Quota::excessOf(const Node& node, const Amounts& more) const {
  if (within(node.used, more, node.queue.guarantee)) return {false, 0};
  double most = 0;
  for (const auto& [resource, used] : node.used) {
    const auto over = static_cast<double>(used - of(node.queue.guarantee, resource));
    const std::int64_t all = of(capacity_, resource);
    if (all > 0) most = std::max(most, over / static_cast<double>(all));
  }
  return {true, most / static_cast<double>(node.queue.weight)};
}

Result<std::optional<std::size_t>> Quota::next(const std::vector<Job>& waiting) const {
  // First the best of each queue, then the best of its children, in one descent from the root.
  std::map<QueueName, std::size_t> best;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const Job& job = waiting[i];
    if (job.queue.empty() || nodes_.count(job.queue) == 0)
      return Error{ErrorCode::kNotFound, "no queue is called \"" + job.queue.text + "\""};
    const auto [at, fresh] = best.emplace(job.queue, i);
    const Job& other = waiting[at->second];
    if (!fresh && std::tuple(-job.priority, job.since_ms, job.name) <
                      std::tuple(-other.priority, other.since_ms, other.name))
      at->second = i;
  }
  // The best of the queue's own requests and those of its children.
  const std::function<std::optional<std::size_t>(const QueueName&)> choose =
      [&](const QueueName& name) -> std::optional<std::size_t> {
    const auto own = best.find(name);
    if (own != best.end()) return own->second;
    std::optional<std::size_t> chosen;
    std::pair<bool, double> lowest;
    for (const QueueName& child : nodes_.at(name).children) {
      const std::optional<std::size_t> theirs = choose(child);
      if (!theirs) continue;
      const auto stands = excessOf(nodes_.at(child), waiting[*theirs].amounts);
      if (chosen && !(stands < lowest)) continue;
      chosen = theirs;
      lowest = stands;
    }
    return chosen;
  };
  return choose(QueueName());
}

}  // namespace divvy::engine
