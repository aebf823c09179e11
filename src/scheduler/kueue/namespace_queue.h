// A queue of UIDs in which namespaces take turns. Pure. Private.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

namespace divvy::scheduler {

// A namespace with many entries keeps no other one waiting. Not thread-safe.
class NamespaceQueue {
 public:
  void push(const std::string& namespace_name, const std::string& uid) {
    waiting_[namespace_name].push_back(uid);
  }
  // Removes and returns the first entry of the next namespace. None: it is empty.
  std::optional<std::string> pop() {
    if (waiting_.empty()) return std::nullopt;
    auto next = waiting_.upper_bound(last_);
    if (next == waiting_.end()) next = waiting_.begin();
    last_ = next->first;
    std::string uid = next->second.front();
    next->second.pop_front();
    if (next->second.empty()) waiting_.erase(next);
    return uid;
  }
  bool empty() const { return waiting_.empty(); }
  void clear() { waiting_.clear(); }

 private:
  std::map<std::string, std::deque<std::string>> waiting_;  // UIDs, by namespace
  std::string last_;                                        // namespace of the last pop()
};

}  // namespace divvy::scheduler
