// The Event that a change of the console leaves at its object. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "kube/call.h"

namespace divvy::cli {

struct ChangedObject {
  std::string api_version, kind;
  std::string namespace_name;  // empty: of the cluster
  std::string name, uid;
};

struct ChangeEvent {
  ChangedObject object;
  std::string reason;   // "ResizeRequested"
  std::string message;  // in UTF-8; it is cut to 1000 bytes
  bool warning = false;
};

// Returns the call that creates the Event (core/v1): in the object's namespace, or in "default".
// `nanoseconds`: since 1970, which also make the Event's name unique. `dry_run`: the API server
// checks it and writes nothing.
kube::Call changeEventCall(const ChangeEvent& event, std::int64_t nanoseconds, bool dry_run);

}  // namespace divvy::cli
