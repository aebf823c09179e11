// Who gives back what was borrowed.
#include <algorithm>
#include <tuple>

#include "quota_sums.h"

namespace divvy::engine {

// Only where the one who asks stays within a guarantee on its side of the queue where the two ways
// up join, and the other one is beyond its own on the other side: what is taken was borrowed.
class Quota::Reclaim {
 public:
  Reclaim(const Quota& quota, const Chain& chain, const Amounts& amounts);

  // All that it takes, each of them needed; empty: it cannot be had.
  std::vector<JobName> choose();

 private:
  struct Candidate {
    const Job* job;
    std::size_t joins;  // place in the chain of the queue where its way up joins
  };

  void consider(const Job& job);
  bool borrowed(const Candidate& each);
  bool helps(const Candidate& each) const;
  bool satisfied() const;
  void give(const Candidate& each, int sign);
  template <typename Visit>
  void eachBelow(const Candidate& each, Visit visit) const;

  const Quota& quota_;
  const Chain& chain_;
  const Amounts& asked_;
  std::vector<Amounts> lacks_;  // what has to come free at each queue of the chain
  std::vector<Candidate> candidates_;
  std::map<QueueName, Amounts> left_;  // what others would have
};

Quota::Reclaim::Reclaim(const Quota& quota, const Chain& chain, const Amounts& amounts)
    : quota_(quota), chain_(chain), asked_(amounts), lacks_(chain.size()) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const bool root = chain[i]->queue.name.empty();
    const Amounts& most = root ? quota.capacity_ : chain[i]->queue.limit;
    for (const auto& [resource, amount] : amounts) {
      if (!root && most.count(resource) == 0) continue;
      lacks_[i][resource] = of(chain[i]->used, resource) + amount - of(most, resource);
    }
  }
  for (const auto& [name, job] : quota.jobs_) consider(job);
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.job->priority, -a.job->since_ms, a.job->name) <
           std::tuple(b.job->priority, -b.job->since_ms, b.job->name);
  });
}

void Quota::Reclaim::consider(const Job& job) {
  for (QueueName at = job.queue; !at.empty(); at = quota_.nodes_.at(at).queue.parent) {
    const QueueName& parent = quota_.nodes_.at(at).queue.parent;
    const auto joins = std::find_if(chain_.begin(), chain_.end(),
                                    [&](const Node* each) { return each->queue.name == parent; });
    if (joins == chain_.end()) continue;
    if (joins == chain_.begin()) return;  // below the queue that asks: its own
    const auto place = static_cast<std::size_t>(joins - chain_.begin());
    const Node& mine = *chain_[place - 1];
    if (mine.queue.name == at) return;
    for (const auto& [resource, amount] : asked_)
      if (of(mine.used, resource) + amount > of(mine.queue.guarantee, resource)) return;
    candidates_.push_back({&job, place});
    return;
  }
}

template <typename Visit>
void Quota::Reclaim::eachBelow(const Candidate& each, Visit visit) const {
  const QueueName& top = chain_[each.joins]->queue.name;
  for (QueueName at = each.job->queue; at != top; at = quota_.nodes_.at(at).queue.parent)
    visit(at, quota_.nodes_.at(at));
}

// A queue is asked for as long as it is beyond its guarantee: who lends gets back what he lent,
// also where a job is larger than that.
bool Quota::Reclaim::borrowed(const Candidate& each) {
  bool all = true;
  eachBelow(each, [&](const QueueName& name, const Node& node) {
    const Amounts& has = left_.emplace(name, node.used).first->second;
    bool beyond = false;
    for (const auto& [resource, amount] : each.job->amounts)
      beyond = beyond ||
               (of(asked_, resource) > 0 && of(has, resource) > of(node.queue.guarantee, resource));
    all = all && beyond;
  });
  return all;
}

bool Quota::Reclaim::helps(const Candidate& each) const {
  for (std::size_t i = each.joins; i < lacks_.size(); ++i)
    for (const auto& [resource, lack] : lacks_[i])
      if (lack > 0 && of(each.job->amounts, resource) > 0) return true;
  return false;
}

bool Quota::Reclaim::satisfied() const {
  for (const Amounts& lacks : lacks_)
    for (const auto& [resource, lack] : lacks)
      if (lack > 0) return false;
  return true;
}

void Quota::Reclaim::give(const Candidate& each, int sign) {
  for (std::size_t i = each.joins; i < lacks_.size(); ++i)
    for (auto& [resource, lack] : lacks_[i]) lack -= sign * of(each.job->amounts, resource);
}

std::vector<JobName> Quota::Reclaim::choose() {
  std::vector<Candidate> taken;
  for (const Candidate& each : candidates_) {
    if (satisfied()) break;
    if (!helps(each) || !borrowed(each)) continue;
    eachBelow(each, [&](const QueueName& name, const Node&) {
      addTo(&left_.at(name), each.job->amounts, -1);
    });
    give(each, 1);
    taken.push_back(each);
  }
  if (!satisfied()) return {};
  // Whoever was taken before a larger one may not be needed.
  for (std::size_t i = taken.size(); i-- > 0;) {
    give(taken[i], -1);
    if (satisfied()) {
      taken.erase(taken.begin() + static_cast<long>(i));
    } else {
      give(taken[i], 1);
    }
  }
  std::vector<JobName> names;
  for (const Candidate& each : taken) names.push_back(each.job->name);
  return names;
}

std::vector<JobName> Quota::victimsFor(const Chain& chain, const Amounts& amounts) const {
  return Reclaim(*this, chain, amounts).choose();
}

}  // namespace divvy::engine
