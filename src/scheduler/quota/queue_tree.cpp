#include "quota/queue_tree.h"

#include <algorithm>

#include "base/model_name.h"

namespace divvy::scheduler {
namespace {

constexpr const char* kAny = "*";
// No queue of a cluster can be called so.
const engine::QueueName kNobody("(none)");

using Measure = std::pair<std::string, bool>;

engine::ResourceName resourceOf(const Measure& measure) {
  return engine::ResourceName((measure.second ? "memoryMiB/" : "gpuMilli/") + measure.first);
}

// "gpuMilli of A100"
std::string wordsOf(const engine::ResourceName& resource, std::string* model) {
  const std::size_t slash = resource.text.find('/');
  *model = resource.text.substr(slash + 1);
  const std::string unit = resource.text.substr(0, slash);
  return *model == kAny ? unit : unit + " of " + *model;
}

void readInto(const std::vector<kube::QueueAmount>& amounts, engine::Amounts* out) {
  for (const kube::QueueAmount& one : amounts) {
    const std::string model = one.model.empty() ? kAny : one.model;
    if (one.milli) (*out)[resourceOf({model, false})] = *one.milli;
    if (one.mebibytes) (*out)[resourceOf({model, true})] = *one.mebibytes;
  }
}

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool QueueTree::matches(const std::string& pattern, const std::string& model) {
  if (pattern.empty() || pattern == kAny) return true;
  return namesModel(pattern, model);
}

bool QueueTree::counts(const std::string& pattern, const std::string& model) const {
  constexpr std::size_t kMaxModels = 4096;
  std::map<std::string, bool>& known = matched_[pattern];
  if (known.size() > kMaxModels) known.clear();
  const auto [at, fresh] = known.try_emplace(model, false);
  if (fresh) at->second = matches(pattern, model);
  return at->second;
}

void QueueTree::set(kube::Queue queue) {
  const std::string name = queue.meta.name;
  const auto known = queues_.find(name);
  // Its written status changes nothing.
  stale_ = stale_ || known == queues_.end() || !known->second.sameTerms(queue);
  queues_.insert_or_assign(name, std::move(queue));
}

void QueueTree::remove(const std::string& name) {
  stale_ = queues_.erase(name) > 0 || stale_;
}

bool QueueTree::setNamespaceQueue(const std::string& namespace_name, const std::string& queue) {
  if (queue.empty()) return namespace_queues_.erase(namespace_name) > 0;
  std::string& known = namespace_queues_[namespace_name];
  return std::exchange(known, queue) != queue;
}

Result<std::string> QueueTree::queueFor(const std::string& namespace_name,
                                        const std::string& named) const {
  const auto own = namespace_queues_.find(namespace_name);
  const std::string said = own == namespace_queues_.end() ? std::string() : own->second;
  std::string name = named.empty() ? said : named;
  if (name.empty()) {
    for (const auto& [known, queue] : queues_)
      if (names(queue.namespaces, namespace_name)) return known;
    return std::string();
  }
  const auto found = queues_.find(name);
  if (found == queues_.end()) return Error{ErrorCode::kNotFound, "no queue \"" + name + "\""};
  // A queue without a list admits all; an administrator may also send other namespaces there.
  const bool may = name == said || found->second.namespaces.empty() ||
                   names(found->second.namespaces, namespace_name);
  if (may) return name;
  return Error{ErrorCode::kUsage, "queue " + name + " does not admit namespace " + namespace_name};
}

std::string QueueTree::poolOf(const std::string& queue) const {
  auto at = queues_.find(queue);
  // As far up as there are queues, lest one is below itself.
  for (std::size_t steps = 0; at != queues_.end() && steps < queues_.size(); ++steps) {
    if (!at->second.pool.empty()) return at->second.pool;
    at = queues_.find(at->second.parent);
  }
  return {};
}

void QueueTree::setCapacity(const std::vector<ModelUsage>& capacity) {
  if (capacity == capacity_) return;
  capacity_ = capacity;
  stale_ = true;
}

void QueueTree::charge(const std::string& uid, QueueCharge held) {
  const auto known = held_.find(uid);
  if (known != held_.end() && known->second == held) return;
  discharge(uid);
  const QueueCharge& has = held_.emplace(uid, std::move(held)).first->second;
  if (!stale_) book(uid, has);
}

void QueueTree::discharge(const std::string& uid) {
  if (held_.erase(uid) > 0 && !stale_) quota_.remove(engine::JobName(uid));
}

void QueueTree::book(const std::string& uid, const QueueCharge& held) {
  constexpr std::int64_t kMsPerSecond = 1000;
  const engine::Job job{engine::JobName(uid),
                        forced(held.queue),
                        amountsOf(held.use),
                        held.standing.priority,
                        held.standing.since * kMsPerSecond,
                        held.standing.group};
  // Its name is new and its queue is known.
  const Result<void> booked = quota_.add(job);
  (void)booked;
}

engine::Amounts QueueTree::amountsOf(const std::vector<ModelUsage>& use) const {
  engine::Amounts amounts;
  for (const Measure& measure : measured_) {
    std::int64_t sum = 0;
    for (const ModelUsage& one : use)
      if (counts(measure.first, one.model)) sum += measure.second ? one.mebibytes : one.milli;
    if (sum > 0) amounts[resourceOf(measure)] = sum;
  }
  return amounts;
}

engine::QueueName QueueTree::forced(const std::string& queue) const {
  const bool is = !queue.empty() && queues_.contains(queue) && !faults_.contains(queue);
  return is ? engine::QueueName(queue) : kNobody;
}

engine::Queue QueueTree::inEngine(const kube::Queue& queue) const {
  engine::Queue made;
  made.name = engine::QueueName(queue.meta.name);
  made.parent = engine::QueueName(queue.parent);
  made.weight = queue.weight;
  readInto(queue.guarantee, &made.guarantee);
  readInto(queue.limit, &made.limit);
  // It may have resources that it does not state, so each stated guarantee is a limit.
  if (!queue.borrows)
    for (const auto& [resource, amount] : made.guarantee) {
      const auto limit = made.limit.emplace(resource, amount).first;
      limit->second = std::min(limit->second, amount);
    }
  return made;
}

// Parents before those below them.
void QueueTree::enter(const std::string& name) {
  const kube::Queue& queue = queues_.at(name);
  std::string fault;
  const bool waits = !queue.parent.empty() && !queues_.contains(queue.parent);
  if (waits) fault = "no queue \"" + queue.parent + "\" to be its parent";
  if (!queue.borrows && queue.guarantee.empty())
    fault = "it has no guarantee and does not borrow: its pods could never start";
  for (const auto* amounts : {&queue.guarantee, &queue.limit})
    for (const kube::QueueAmount& one : *amounts)
      if (!one.model.empty() && one.model != kAny && !isModelPattern(one.model))
        fault = "its model \"" + one.model +
                "\" has no letter or digit; accepted: " + std::string(kModelPatterns) +
                ", or * for all";
  if (fault.empty()) {
    const Result<void> set = quota_.setQueue(inEngine(queue));
    if (!set) fault = set.error().message();
  }
  if (!fault.empty()) faults_[name] = fault;
}

void QueueTree::rebuild() {
  if (!stale_) return;
  stale_ = false;
  quota_ = engine::Quota();
  faults_.clear();
  measured_.clear();
  matched_.clear();
  for (const auto& [name, queue] : queues_)
    for (const auto* amounts : {&queue.guarantee, &queue.limit})
      for (const kube::QueueAmount& one : *amounts) {
        const std::string model = one.model.empty() ? kAny : one.model;
        if (one.milli) measured_.emplace(model, false);
        if (one.mebibytes) measured_.emplace(model, true);
      }
  // Weights count even where no queue states a resource.
  if (measured_.empty()) measured_.emplace(kAny, false);
  const Result<void> sized = quota_.setCapacity(amountsOf(capacity_));
  engine::Queue nobody;
  nobody.name = kNobody;
  const Result<void> made = quota_.setQueue(nobody);
  (void)sized;
  (void)made;
  std::set<std::string> entered;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [name, queue] : queues_) {
      const bool ready =
          queue.parent.empty() || entered.contains(queue.parent) || !queues_.contains(queue.parent);
      if (!ready || entered.contains(name)) continue;
      enter(name);
      entered.insert(name);
      more = true;
    }
  }
  for (const auto& [name, queue] : queues_)
    if (!entered.contains(name)) faults_[name] = "it is its own ancestor";
  for (const auto& [uid, held] : held_) book(uid, held);
}

std::string QueueTree::textOf(const engine::QuotaRefusal& refusal) const {
  std::string model;
  std::string text = "needs " + std::to_string(refusal.needed) + ' ' +
                     wordsOf(refusal.resource, &model) + ", " + std::to_string(refusal.available);
  if (refusal.why == engine::QuotaWhy::kFull) return text + " available in the cluster";
  const auto queue = queues_.find(refusal.queue.text);
  const bool borrows = queue == queues_.end() || queue->second.borrows;
  return text + " left of the " +
         (borrows ? "limit of queue " + refusal.queue.text
                  : "guarantee of queue " + refusal.queue.text + ", which does not borrow");
}

std::optional<QueueTree::QuotaRefusal> QueueTree::checkQuota(const std::string& queue,
                                                             const std::vector<ModelUsage>& use) {
  rebuild();
  if (const std::string wrong = fault(queue); !wrong.empty())
    return QuotaRefusal{"queue " + queue + " is not in force: " + wrong, ""};
  const Result<engine::Admission> asked = quota_.evaluate(forced(queue), amountsOf(use));
  if (!asked) return QuotaRefusal{asked.error().message(), ""};
  if (asked->refusal) {
    QuotaRefusal no{textOf(*asked->refusal), ""};
    wordsOf(asked->refusal->resource, &no.model);
    if (no.model == kAny) no.model.clear();
    return no;
  }
  if (asked->reclaim.empty()) return std::nullopt;
  return QuotaRefusal{
      "is within the guarantee of queue " + queue + ", which other queues borrowed: " +
          std::to_string(asked->reclaim.size()) + " of their pods would have to be evicted",
      ""};
}

QueueTree::Groups QueueTree::reclaimable(const std::string& queue,
                                         const std::optional<std::vector<ModelUsage>>& use,
                                         const engine::ReclaimOptions& options) {
  rebuild();
  engine::Amounts asked;
  if (use) asked = amountsOf(*use);
  for (const Measure& measure : measured_)
    if (!use) asked[resourceOf(measure)] = 1;
  Groups all;
  for (const auto& group : quota_.reclaimable(forced(queue), asked, options)) {
    std::vector<std::string>& uids = all.emplace_back();
    for (const engine::JobName& name : group) uids.push_back(name.text);
  }
  return all;
}

bool QueueTree::reclaims(const std::string& queue) const {
  const auto known = queues_.find(queue);
  return known != queues_.end() && known->second.reclaims;
}

std::size_t QueueTree::next(const std::vector<QueueHead>& waiting) {
  rebuild();
  std::vector<engine::Job> jobs;
  jobs.reserve(waiting.size());
  for (const QueueHead& one : waiting)
    jobs.push_back({engine::JobName(), forced(one.queue),
                    amountsOf({{std::string(), one.milli, one.mebibytes}}), one.priority,
                    one.since});
  const Result<std::optional<std::size_t>> turn = quota_.next(jobs);
  return turn && *turn ? **turn : 0;
}

std::string QueueTree::fault(const std::string& queue) {
  rebuild();
  const auto found = faults_.find(queue);
  return found == faults_.end() ? std::string() : found->second;
}

std::size_t QueueTree::running(const std::string& queue) const {
  return static_cast<std::size_t>(std::count_if(
      held_.begin(), held_.end(), [&](const auto& one) { return one.second.queue == queue; }));
}

std::vector<kube::QueueAmount> QueueTree::used(const std::string& queue) {
  rebuild();
  std::set<std::string> models{kAny};
  const kube::Queue& said = queues_.at(queue);
  for (const auto* amounts : {&said.guarantee, &said.limit})
    for (const kube::QueueAmount& one : *amounts)
      if (!one.model.empty()) models.insert(one.model);
  std::vector<kube::QueueAmount> all;
  for (const std::string& model : models) all.push_back({model, 0, 0});
  for (const auto& [uid, held] : held_) {
    std::string at = held.queue;
    // As far up as there are queues; one that is below itself has faults all around.
    std::size_t steps = 0;
    while (!at.empty() && at != queue && steps++ < queues_.size()) {
      const auto up = queues_.find(at);
      at = up == queues_.end() ? std::string() : up->second.parent;
    }
    if (at != queue) continue;
    for (kube::QueueAmount& one : all)
      for (const ModelUsage& use : held.use) {
        if (!counts(one.model, use.model)) continue;
        *one.milli += use.milli;
        *one.mebibytes += use.mebibytes;
      }
  }
  return all;
}

}  // namespace divvy::scheduler
