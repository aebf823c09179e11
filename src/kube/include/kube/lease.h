// Lease: which replica of a group leads. Source: the coordination/v1 API.
#pragma once

#include <cstdint>
#include <string>

#include "kube/object.h"

namespace divvy::kube {

struct Lease {
  Meta meta;
  // Empty: no holder.
  std::string holder;
  // Time after an observed renewal during which other replicas leave the lease to its holder.
  std::int64_t seconds = 0;
  // How often the holder changed.
  std::int64_t transitions = 0;
  friend bool operator==(const Lease&, const Lease&) = default;
};

// Reads a Lease, but not its times: they are of other machines' clocks. kCorrupt: a member differs
// from the API.
Result<Lease> leaseOf(const boost::json::value& object);

std::string leasePath(const std::string& namespace_name, const std::string& name);

}  // namespace divvy::kube
