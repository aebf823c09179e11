// Who leads a group of replicas, as they agreed on it. Source: the coordination/v1 API.
#pragma once

#include <cstdint>
#include <string>

#include "kube/object.h"

namespace divvy::kube {

struct Lease {
  Meta meta;
  std::string holder;            // empty: nobody
  std::int64_t seconds = 0;      // how long others leave it to its holder after they saw it renewed
  std::int64_t transitions = 0;  // how often it went from one holder to another
  friend bool operator==(const Lease&, const Lease&) = default;
};

// Its times are left: they are of other machines' clocks.
Result<Lease> leaseOf(const boost::json::value& object);

std::string leasePath(const std::string& space, const std::string& name);

}  // namespace divvy::kube
