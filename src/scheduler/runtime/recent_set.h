// The recent set: remembers a bounded number of names, the last that were added. Private.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>

namespace divvy::scheduler {

class RecentSet {
 public:
  explicit RecentSet(std::size_t most) : most_(most) {}

  void add(const std::string& name) {
    if (!names_.insert(name).second) return;
    order_.push_back(name);
    if (order_.size() <= most_) return;
    names_.erase(order_.front());
    order_.pop_front();
  }
  bool has(const std::string& name) const { return names_.contains(name); }

 private:
  std::size_t most_;
  std::set<std::string> names_;
  std::deque<std::string> order_;
};

}  // namespace divvy::scheduler
