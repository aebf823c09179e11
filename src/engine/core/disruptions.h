// Whom moves interrupt, and what that costs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/defragmentation.h"

namespace divvy::engine {

class Disruptions {
 public:
  // `there`: who has something.
  Disruptions(const DefragmentationTerms& terms, const std::vector<RequestId>& there);

  // False: a budget does not allow for all of them, and nobody is interrupted.
  bool interrupt(const std::vector<RequestId>& all);
  std::size_t count() const { return interrupted_.size(); }
  std::int64_t workLost() const { return work_lost_; }

 private:
  // With its group.
  std::vector<RequestId> with(const RequestId& id) const;

  const DefragmentationTerms* terms_;
  std::map<std::string, std::vector<RequestId>> groups_;
  std::set<RequestId> interrupted_;
  std::map<std::string, std::int64_t> left_;
  std::int64_t work_lost_ = 0;
};

}  // namespace divvy::engine
