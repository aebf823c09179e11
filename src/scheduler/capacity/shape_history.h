// The shapes of requests that pods of the last day have. Pure. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/request.h"
#include "preemption/running_pods.h"
#include "runtime/recent_set.h"

namespace divvy::scheduler {

struct RecentShape {
  engine::Request request;     // its ID is of the shape
  PodResources resources;      // of a pod, beside devices
  std::string namespace_name;  // of the first pod
  std::int64_t priority = 0;   // of the last pod
  std::uint64_t pods = 0;      // that were seen with it
  std::int64_t last_s = 0;     // since 1970
};

// Bounded, also against namespaces that make many different pods. Not thread-safe.
class ShapeHistory {
 public:
  static constexpr std::size_t kMax = 64;
  static constexpr std::size_t kMaxOfNamespace = 16;  // that its pods brought
  static constexpr std::int64_t kKeepS = 24 * 3600;

  // Counts a pod once. If there is no place for its shape, that of the fewest pods goes; among
  // equals the one that was seen last the longest ago.
  void see(const std::string& uid, const std::string& namespace_name,
           const engine::Request& request, const PodResources& resources, std::int64_t priority,
           std::int64_t now_s);
  // Drops shapes that no pod had for kKeepS.
  void expire(std::int64_t now_s);

  // Returns the shapes, the one of the most pods first. Valid until the next change.
  std::vector<const RecentShape*> all() const;

 private:
  struct Key {
    engine::Shape shape;
    PodResources resources;
    auto operator<=>(const Key& other) const = default;
    bool operator==(const Key& other) const = default;
  };

  void makePlace(const std::string& namespace_name);

  std::map<Key, RecentShape> shapes_;
  RecentSet counted_{20'000};  // UIDs
};

}  // namespace divvy::scheduler
