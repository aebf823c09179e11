// Counts calls in progress.
#pragma once

#include <memory>
#include <utility>

namespace divvy::console {

// Counts a call from its begin to its end, however it ends. The console may end before the call.
class CallCounter {
 public:
  explicit CallCounter(std::shared_ptr<unsigned> count) : count_(std::move(count)) { ++*count_; }
  ~CallCounter() { --*count_; }
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;

 private:
  std::shared_ptr<unsigned> count_;
};

}  // namespace divvy::console
