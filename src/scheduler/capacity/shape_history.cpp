#include "capacity/shape_history.h"

#include <algorithm>
#include <utility>

namespace divvy::scheduler {

void ShapeHistory::makePlace(const std::string& namespace_name) {
  const auto own = [&](const auto& entry) { return entry.second.namespace_name == namespace_name; };
  const auto count = static_cast<std::size_t>(std::count_if(shapes_.begin(), shapes_.end(), own));
  const bool only_own = count >= kMaxOfNamespace;
  if (!only_own && shapes_.size() < kMax) return;
  auto rarest = shapes_.end();
  for (auto at = shapes_.begin(); at != shapes_.end(); ++at) {
    if (only_own && !own(*at)) continue;
    if (rarest == shapes_.end() || std::pair(at->second.pods, at->second.last_s) <
                                       std::pair(rarest->second.pods, rarest->second.last_s))
      rarest = at;
  }
  shapes_.erase(rarest);
}

void ShapeHistory::see(const std::string& uid, const std::string& namespace_name,
                       const engine::Request& request, const PodResources& resources,
                       std::int64_t priority, std::int64_t now_s) {
  if (counted_.has(uid)) return;
  counted_.add(uid);
  Key key{request.shape, resources};
  auto known = shapes_.find(key);
  if (known == shapes_.end()) {
    makePlace(namespace_name);
    RecentShape seen{request, resources, namespace_name, priority, 0, now_s};
    seen.request.id = engine::RequestId("a further pod");
    known = shapes_.emplace(std::move(key), std::move(seen)).first;
  }
  RecentShape& seen = known->second;
  ++seen.pods;
  seen.priority = priority;
  seen.last_s = std::max(seen.last_s, now_s);
}

void ShapeHistory::expire(std::int64_t now_s) {
  std::erase_if(shapes_, [&](const auto& entry) { return entry.second.last_s + kKeepS < now_s; });
}

std::vector<const RecentShape*> ShapeHistory::all() const {
  std::vector<const RecentShape*> all;
  for (const auto& [key, seen] : shapes_) all.push_back(&seen);
  std::stable_sort(all.begin(), all.end(), [](const RecentShape* one, const RecentShape* two) {
    return one->pods > two->pods;
  });
  return all;
}

}  // namespace divvy::scheduler
