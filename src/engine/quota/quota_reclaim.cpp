// Reclaim: the jobs that give borrowed capacity back.
#include <algorithm>
#include <tuple>

#include "quota/quota_sums.h"

namespace divvy::engine {

// Takes back borrowed capacity only. The limit is the queue where the two paths to the root join.
// Below it the requester must stay within a guarantee on its side, and the victim's side must
// exceed its own.
class Quota::Reclaim {
 public:
  // Without terms the rules of `ask` apply.
  Reclaim(const Quota& quota, const Chain& chain, const Amounts& amounts,
          const ReclaimOptions* terms);

  // Returns the jobs to end, all of them needed. Empty: the amounts cannot be freed.
  std::vector<JobName> choose();
  // As Quota::givers.
  std::vector<std::vector<JobName>> all();

 private:
  // A job, or all jobs of a group.
  struct Candidate {
    std::vector<JobName> names;
    QueueName queue;
    Amounts amounts;
    std::int64_t priority = 0;
    std::int64_t since_ms = 0;
    std::size_t joins = 0;  // index in the chain of the queue where its path to the root joins
  };

  void gather();
  std::optional<std::size_t> joinOf(const Job& job) const;
  bool mayGive(const Job& job, std::size_t place, const Node& mine) const;
  void choose(const Candidate& each);
  bool borrowed(const Candidate& each);
  bool helps(const Candidate& each) const;
  bool satisfied() const;
  void apply(const Candidate& each, int sign);
  template <typename Visit>
  void eachBelow(const Candidate& each, Visit visit) const;

  const Quota& quota_;
  const Chain& chain_;
  const Amounts& asked_;
  const ReclaimOptions* terms_;
  std::vector<Amounts> lacks_;  // what must come free at each queue of the chain
  std::vector<Candidate> candidates_;
  std::map<QueueName, Amounts> left_;  // what other queues would have left
};

Quota::Reclaim::Reclaim(const Quota& quota, const Chain& chain, const Amounts& amounts,
                        const ReclaimOptions* terms)
    : quota_(quota), chain_(chain), asked_(amounts), terms_(terms), lacks_(chain.size()) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const bool root = chain[i]->queue.name.empty();
    const Amounts& most = root ? quota.capacity_ : chain[i]->queue.limit;
    for (const auto& [resource, amount] : amounts) {
      if (!root && most.count(resource) == 0) continue;
      lacks_[i][resource] = of(chain[i]->used, resource) + amount - of(most, resource);
    }
  }
  gather();
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.priority, -a.since_ms, a.names.front()) <
           std::tuple(b.priority, -b.since_ms, b.names.front());
  });
}

// If one member of a group may not be asked, no member is.
void Quota::Reclaim::gather() {
  std::map<std::string, Candidate> groups;
  std::set<std::string> kept;
  for (const auto& [name, job] : quota_.jobs_) {
    const std::optional<std::size_t> joins = joinOf(job);
    if (!joins && !job.group.empty()) kept.insert(job.group);
    if (!joins) continue;
    if (job.group.empty()) {
      candidates_.push_back({{name}, job.queue, job.amounts, job.priority, job.since_ms, *joins});
      continue;
    }
    const auto [at, fresh] = groups.try_emplace(job.group);
    Candidate& group = at->second;
    if (fresh) group = {{}, job.queue, {}, job.priority, job.since_ms, *joins};
    if (group.queue != job.queue) kept.insert(job.group);
    group.names.push_back(name);
    addTo(&group.amounts, job.amounts, 1);
    group.priority = std::max(group.priority, job.priority);
    group.since_ms = std::max(group.since_ms, job.since_ms);
  }
  for (auto& [name, group] : groups)
    if (!kept.contains(name)) candidates_.push_back(std::move(group));
}

// None: the job may not be asked.
std::optional<std::size_t> Quota::Reclaim::joinOf(const Job& job) const {
  if (terms_ != nullptr && terms_->spared.contains(job.name)) return std::nullopt;
  if (terms_ != nullptr && terms_->only && !terms_->only->contains(job.name)) return std::nullopt;
  if (job.queue == chain_[0]->queue.name)
    return mayGive(job, 0, *chain_[0]) ? std::optional<std::size_t>(0) : std::nullopt;
  for (QueueName at = job.queue; !at.empty(); at = quota_.nodes_.at(at).queue.parent) {
    const QueueName& parent = quota_.nodes_.at(at).queue.parent;
    const auto joins = std::find_if(chain_.begin(), chain_.end(),
                                    [&](const Node* each) { return each->queue.name == parent; });
    if (joins == chain_.end()) continue;
    if (joins == chain_.begin()) return std::nullopt;  // below the requesting queue: its own
    const auto place = static_cast<std::size_t>(joins - chain_.begin());
    const Node& mine = *chain_[place - 1];
    if (mine.queue.name == at || !mayGive(job, place, mine)) return std::nullopt;
    return place;
  }
  return std::nullopt;
}

// `mine`: the queue on the requester's path that is a sibling of the victim's. Place 0: the job is
// of the requesting queue.
bool Quota::Reclaim::mayGive(const Job& job, std::size_t place, const Node& mine) const {
  if (terms_ != nullptr && terms_->below && job.priority < *terms_->below) return true;
  if (place == 0 || (terms_ != nullptr && !terms_->borrowed)) return false;
  return std::all_of(asked_.begin(), asked_.end(), [&](const auto& one) {
    return of(mine.used, one.first) + one.second <= of(mine.queue.guarantee, one.first);
  });
}

template <typename Visit>
void Quota::Reclaim::eachBelow(const Candidate& each, Visit visit) const {
  const QueueName& top = chain_[each.joins]->queue.name;
  for (QueueName at = each.queue; at != top; at = quota_.nodes_.at(at).queue.parent)
    visit(at, quota_.nodes_.at(at));
}

// `ask` takes from a queue while the queue exceeds its guarantee. A lender gets back what it lent,
// even if a job is larger than that. Afterwards no queue has less than its guarantee.
bool Quota::Reclaim::borrowed(const Candidate& each) {
  bool all = true;
  eachBelow(each, [&](const QueueName& name, const Node& node) {
    const Amounts& has = left_.emplace(name, node.used).first->second;
    bool beyond = false, below = false;
    for (const auto& [resource, amount] : each.amounts) {
      if (of(asked_, resource) == 0) continue;
      const std::int64_t over = of(has, resource) - of(node.queue.guarantee, resource);
      beyond = beyond || over > 0;
      below = below || over < amount;
    }
    all = all && beyond && !(below && terms_ != nullptr);
  });
  return all;
}

bool Quota::Reclaim::helps(const Candidate& each) const {
  for (std::size_t i = each.joins; i < lacks_.size(); ++i)
    for (const auto& [resource, lack] : lacks_[i])
      if (lack > 0 && of(each.amounts, resource) > 0) return true;
  return false;
}

bool Quota::Reclaim::satisfied() const {
  for (const Amounts& lacks : lacks_)
    for (const auto& [resource, lack] : lacks)
      if (lack > 0) return false;
  return true;
}

void Quota::Reclaim::apply(const Candidate& each, int sign) {
  for (std::size_t i = each.joins; i < lacks_.size(); ++i)
    for (auto& [resource, lack] : lacks_[i]) lack -= sign * of(each.amounts, resource);
}

std::vector<JobName> Quota::Reclaim::choose() {
  std::vector<Candidate> taken;
  for (const Candidate& each : candidates_) {
    if (satisfied()) break;
    if (!helps(each) || !borrowed(each)) continue;
    choose(each);
    apply(each, 1);
    taken.push_back(each);
  }
  if (!satisfied()) return {};
  // A job that was taken before a larger one may not be needed.
  for (std::size_t i = taken.size(); i-- > 0;) {
    apply(taken[i], -1);
    if (satisfied()) {
      taken.erase(taken.begin() + static_cast<long>(i));
    } else {
      apply(taken[i], 1);
    }
  }
  std::vector<JobName> names;
  for (const Candidate& each : taken)
    names.insert(names.end(), each.names.begin(), each.names.end());
  return names;
}

void Quota::Reclaim::choose(const Candidate& each) {
  eachBelow(each,
            [&](const QueueName& name, const Node&) { addTo(&left_.at(name), each.amounts, -1); });
}

std::vector<std::vector<JobName>> Quota::Reclaim::all() {
  std::vector<std::vector<JobName>> named;
  for (Candidate& each : candidates_) {
    if (!borrowed(each)) continue;
    if (terms_->together) choose(each);
    named.push_back(std::move(each.names));
  }
  return named;
}

std::vector<JobName> Quota::victimsFor(const Chain& chain, const Amounts& amounts) const {
  return Reclaim(*this, chain, amounts, nullptr).choose();
}

std::vector<std::vector<JobName>> Quota::reclaimable(const QueueName& queue, const Amounts& amounts,
                                                     const ReclaimOptions& terms) const {
  const Chain chain = chainOf(queue);
  if (chain.empty()) return {};
  return Reclaim(*this, chain, amounts, &terms).all();
}

}  // namespace divvy::engine
