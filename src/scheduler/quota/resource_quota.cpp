#include "quota/resource_quota.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/device_memory.h"
#include "base/quantity.h"

namespace divvy::scheduler {
namespace {

constexpr std::string_view kPrefix = "limits.";
// Limit of memory: no namespace has more.
constexpr Bytes kMaxMemory = gib(256 * 1024);
constexpr std::int64_t kMaxCores = std::int64_t{1} << 40;
constexpr std::int64_t kWhole = 1000;

// In bytes or thousandths of a device. kUsage names the accepted form.
Result<std::int64_t> mostOf(const std::string& text, const vendors::Kind& kind, bool memory) {
  const Result<Quantity> read = Quantity::parse(text);
  if (!read) return read.error();
  if (memory) {
    const Result<Bytes> bytes = deviceMemory(*read, kind.memory.unit, kMaxMemory);
    if (!bytes) return bytes.error();
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes->count, INT64_MAX));
  }
  const auto whole = read->whole();
  if (!whole || *whole < 0) return Error(ErrorCode::kUsage, "accepted: a whole number");
  return std::min(*whole, kMaxCores) * kWhole / kind.cores.per_card;
}

// In the resource's own units.
std::int64_t unitsOf(std::int64_t amount, const vendors::Kind& kind, bool memory) {
  if (memory) return amount / static_cast<std::int64_t>(kind.memory.unit.count);
  return amount * kind.cores.per_card / kWhole;
}

// How many letters are to be put in, left out or replaced.
std::size_t distanceOf(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

ResourceQuotaTracker::ResourceQuotaTracker(const vendors::Catalog& catalog) {
  for (const vendors::Kind* kind : catalog.kinds()) {
    if (!kind->memory.resource.empty()) resources_[kind->memory.resource] = {kind, true};
    if (!kind->cores.resource.empty()) resources_[kind->cores.resource] = {kind, false};
    for (const std::string* other :
         {&kind->count.resource, &kind->slice, &kind->memory.percent, &kind->priority})
      if (!other->empty()) resources_.try_emplace(*other);
    for (const vendors::ResourceAlias& other : kind->also)
      resources_.try_emplace(other.resource, resources_[vendors::meant(*kind, other)]);
  }
}

// The key that was probably meant; empty: it is none of Divvy's, or is known.
std::string ResourceQuotaTracker::meantBy(const std::string& key) const {
  constexpr std::size_t kMaxDistance = 2;
  for (const std::string_view prefix : {kPrefix, std::string_view("requests.")}) {
    if (!key.starts_with(prefix)) continue;
    const std::string name = key.substr(prefix.size());
    if (name.find('/') == std::string::npos || resources_.contains(name)) continue;
    for (const auto& [known, resource] : resources_) {
      const bool same_domain = known.starts_with(name.substr(0, name.find('/') + 1));
      if (same_domain && resource.kind != nullptr && distanceOf(name, known) <= kMaxDistance)
        return std::string(kPrefix) + known;
    }
  }
  return {};
}

Result<void> ResourceQuotaTracker::set(const kube::ResourceQuota& quota) {
  std::string fault;
  bool any = false;
  for (const auto& [key, amount] : quota.hard) {
    if (const std::string meant = meantBy(key); !meant.empty())
      fault = key + " names no resource; did you mean " + meant + "?";
    if (key.compare(0, kPrefix.size(), kPrefix) != 0) continue;
    const auto found = resources_.find(key.substr(kPrefix.size()));
    if (found == resources_.end()) continue;
    const auto& [kind, memory] = found->second;
    if (kind == nullptr) {
      fault = key + " is not counted; use limits of memory and cores";
    } else if (const auto most = mostOf(amount, *kind, memory); !most) {
      fault = key + ": " + amount + ": " + most.error().message();
    } else {
      any = true;
    }
  }
  const bool known = quotas_.contains(quota.meta.uid);
  if (any) {
    quotas_.insert_or_assign(quota.meta.uid, quota);
  } else {
    quotas_.erase(quota.meta.uid);
  }
  if (any || known) readAnew();
  if (fault.empty()) return {};
  return Error{ErrorCode::kUsage, "resource quota " + quota.meta.namespace_name + '/' +
                                      quota.meta.name + ": " + fault};
}

void ResourceQuotaTracker::remove(const std::string& uid) {
  if (quotas_.erase(uid) > 0) readAnew();
}

void ResourceQuotaTracker::readAnew() {
  limits_.clear();
  for (const auto& [uid, quota] : quotas_) {
    for (const auto& [key, amount] : quota.hard) {
      if (key.compare(0, kPrefix.size(), kPrefix) != 0) continue;
      const auto found = resources_.find(key.substr(kPrefix.size()));
      if (found == resources_.end() || found->second.kind == nullptr) continue;
      const auto most = mostOf(amount, *found->second.kind, found->second.memory);
      if (!most) continue;
      const auto [at, fresh] = limits_[quota.meta.namespace_name].try_emplace(
          found->first, Limit{quota.meta.name, *most});
      if (!fresh && *most < at->second.most) at->second = {quota.meta.name, *most};
    }
  }
}

void ResourceQuotaTracker::take(const std::string& uid, const std::string& namespace_name,
                                Amounts amounts) {
  give(uid);
  if (amounts.empty()) return;
  Amounts& sum = sums_[namespace_name];
  for (const auto& [kind, amount] : amounts) {
    sum[kind].memory.count += amount.memory.count;
    sum[kind].milli += amount.milli;
  }
  held_.insert_or_assign(uid, Held{namespace_name, std::move(amounts)});
}

void ResourceQuotaTracker::give(const std::string& uid) {
  const auto found = held_.find(uid);
  if (found == held_.end()) return;
  Amounts& sum = sums_[found->second.namespace_name];
  for (const auto& [kind, amount] : found->second.amounts) {
    Amount& left = sum[kind];
    left.memory.count -= amount.memory.count;
    left.milli -= amount.milli;
    if (left.memory.count == 0 && left.milli == 0) sum.erase(kind);
  }
  if (sum.empty()) sums_.erase(found->second.namespace_name);
  held_.erase(found);
}

std::int64_t ResourceQuotaTracker::of(const Resource& resource, const Amount& amount) const {
  return resource.memory ? static_cast<std::int64_t>(amount.memory.count) : amount.milli;
}

std::optional<std::string> ResourceQuotaTracker::check(const std::string& namespace_name,
                                                       const Amounts& held,
                                                       const Amounts& more) const {
  const auto limits = limits_.find(namespace_name);
  if (limits == limits_.end()) return std::nullopt;
  for (const auto& [name, limit] : limits->second) {
    const Resource& resource = resources_.at(name);
    const auto amount = [&](const Amounts& amounts) {
      const auto found = amounts.find(resource.kind);
      return found == amounts.end() ? 0 : of(resource, found->second);
    };
    const std::int64_t needs = amount(more);
    const std::int64_t has = amount(held);
    // A pod that needs none of it is admitted, even where too much is held.
    if (needs == 0 || needs <= limit.most - has) continue;
    const auto text = [&](std::int64_t value) {
      return std::to_string(unitsOf(value, *resource.kind, resource.memory));
    };
    std::string why = "exceeding resource quota " + limit.quota + " of namespace " +
                      namespace_name + ": " + name + ": " + text(limit.most) + " at most, ";
    if (has > 0) why += text(has) + " held, ";
    return why + text(needs) + " needed";
  }
  return std::nullopt;
}

std::optional<std::string> ResourceQuotaTracker::refusal(const std::string& namespace_name,
                                                         const std::string& uid,
                                                         const Amounts& more) const {
  if (!limits(namespace_name)) return std::nullopt;
  const auto sum = sums_.find(namespace_name);
  Amounts held = sum == sums_.end() ? Amounts{} : sum->second;
  const auto own = held_.find(uid);
  if (own != held_.end() && own->second.namespace_name == namespace_name) {
    for (const auto& [kind, amount] : own->second.amounts) {
      held[kind].memory.count -= amount.memory.count;
      held[kind].milli -= amount.milli;
    }
  }
  return check(namespace_name, held, more);
}

std::optional<std::string> ResourceQuotaTracker::never(const std::string& namespace_name,
                                                       const Amounts& more) const {
  return check(namespace_name, {}, more);
}

std::vector<QuotaUsage> ResourceQuotaTracker::uses() const {
  std::vector<QuotaUsage> all;
  for (const auto& [namespace_name, limits] : limits_) {
    const auto sum = sums_.find(namespace_name);
    for (const auto& [name, limit] : limits) {
      const Resource& resource = resources_.at(name);
      std::int64_t used = 0;
      if (sum != sums_.end()) {
        const auto found = sum->second.find(resource.kind);
        if (found != sum->second.end()) used = of(resource, found->second);
      }
      all.push_back({namespace_name, limit.quota, name,
                     unitsOf(limit.most, *resource.kind, resource.memory),
                     unitsOf(used, *resource.kind, resource.memory)});
    }
  }
  return all;
}

}  // namespace divvy::scheduler
