// Which handles of one kind are alive. A handle is the object's address; nothing is read through it
// before it was found here.
#pragma once

#include <mutex>
#include <unordered_set>

namespace divvy::simgpu {

// Any thread. Objects are owned elsewhere. Using one while another thread destroys it is an error
// of the caller, as with the real driver.
template <typename Object, typename Handle>
class HandleSet {
 public:
  static HandleSet& get() {
    static HandleSet* const set = new HandleSet;  // never destroyed: threads outlive exit()
    return *set;
  }

  Handle add(Object* object) {
    const std::lock_guard guard(mutex_);
    alive_.insert(object);
    return reinterpret_cast<Handle>(object);
  }
  // True for the one caller that took it out.
  bool remove(Object* object) {
    const std::lock_guard guard(mutex_);
    return alive_.erase(object) != 0;
  }
  Object* find(Handle handle) {
    auto* object = reinterpret_cast<Object*>(handle);
    const std::lock_guard guard(mutex_);
    return alive_.count(object) != 0 ? object : nullptr;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<Object*> alive_;
};

}  // namespace divvy::simgpu
