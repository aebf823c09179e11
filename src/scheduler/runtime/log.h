// Lines of the log that several parts of the service write. Private.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "log/log.h"

namespace divvy::scheduler {

// For parts that get a callback: a line without fields.
inline void logWarning(const std::string& line) {
  log::warn(line);
}

// An object of the API server that cannot be used. `kind` is lower case: node, pod, resourcequota.
inline void logUnreadable(const char* kind, const Error& error) {
  log::warn("cannot read an object; it does not count",
            {{"kind", kind}, {"error", error.message()}});
}

// For kube::EventHandlers::trouble: a list or watch of `resource` (plural) failed and is repeated.
inline std::function<void(const Error&)> logWatchTrouble(const char* resource) {
  return [resource](const Error& error) {
    log::warn("watch failed; it is repeated", {{"resource", resource}, {"error", error.message()}});
  };
}

// Warnings about parts of objects that do not count. Logs them for each object when they change.
class ChangedWarnings {
 public:
  void update(const std::string& object, std::vector<std::string> what) {
    std::vector<std::string>& before = before_[object];
    if (before != what)
      for (const std::string& one : what)
        log::warn("cannot read a part of an object; it does not count",
                  {{"object", object}, {"error", one}});
    before = std::move(what);
    if (before.empty()) before_.erase(object);
  }

 private:
  std::map<std::string, std::vector<std::string>> before_;
};

}  // namespace divvy::scheduler
