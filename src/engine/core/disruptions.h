// Requests that moves interrupt, and the cost of that.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/defragmentation.h"

namespace divvy::engine {

// Counts each request once, however often it moves. Not thread-safe.
class Disruptions {
 public:
  // `there`: requests with an allocation. Keeps a pointer to `terms`, which must outlive it.
  Disruptions(const DefragmentationOptions& terms, const std::vector<RequestId>& there);

  // Interrupts `all` and their groups. Returns false and interrupts none if a disruption budget
  // does not allow all of them.
  bool interrupt(const std::vector<RequestId>& all);
  std::size_t count() const { return interrupted_.size(); }
  std::int64_t workLost() const { return work_lost_; }

 private:
  // Returns the request and its group.
  std::vector<RequestId> with(const RequestId& id) const;

  const DefragmentationOptions* terms_;
  std::map<std::string, std::vector<RequestId>> groups_;
  std::set<RequestId> interrupted_;
  std::map<std::string, std::int64_t> left_;
  std::int64_t work_lost_ = 0;
};

}  // namespace divvy::engine
