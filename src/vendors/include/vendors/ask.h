// Requests of a container, in all vendors' resources, read into one form.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vendors/catalog.h"

namespace divvy::vendors {

struct WholeMemory {
  friend bool operator==(WholeMemory, WholeMemory) = default;
};
struct PercentMemory {
  std::uint32_t value = 0;  // 1 to 100
  friend bool operator==(PercentMemory, PercentMemory) = default;
};
// Memory of a slice; only the node knows its size.
struct SliceMemory {
  friend bool operator==(SliceMemory, SliceMemory) = default;
};
using Memory = std::variant<WholeMemory, PercentMemory, Bytes, SliceMemory>;

// A request for `count` devices of one kind; the amounts are of each device.
struct KindRequest {
  const Kind* kind = nullptr;  // in the catalog
  std::uint32_t count = 0;
  Memory memory;
  std::uint32_t compute_milli = 0;  // 0: all that other tenants leave; 1000: the whole device
  const Template* part = nullptr;   // of the kind; null: none is needed
  std::uint64_t slice = 0;          // size; 0: none
  bool partitioned = false;         // MIG instances, the smallest with that memory and compute
  std::string instance;             // MIG instances of that name
  std::string counted_by;  // resource; empty: parts of devices are requested, without a count
  // The model of the counting resource; null: any model.
  const ModelResource* of_model = nullptr;
  friend bool operator==(const KindRequest&, const KindRequest&) = default;
};

// Amounts by resource name, as in `resources.limits` or `.requests`.
using Quantities = std::map<std::string, std::string>;
using Annotations = std::map<std::string, std::string>;

// Returns a container's requests in the catalog's order; empty: no devices. A resource's limit
// counts, else its request. If a resource has several names, one of them counts, and two are
// refused. Unknown names are ignored. kUsage names resource, fault and accepted values.
// Sources: facts on the incumbent's control plane, 1.1 and 1.2. It refuses values that the
// incumbent ignores, and accepts "16Gi" where that accepts MiB only.
Result<std::vector<KindRequest>> readRequests(const Catalog& catalog, const Quantities& limits,
                                              const Quantities& requests,
                                              const Annotations& annotations = {});

// Accepted and excluded devices: parts of model names, whole UUIDs.
struct Selection {
  std::vector<std::string> models, not_models, uuids, not_uuids;
  friend bool operator==(const Selection&, const Selection&) = default;
};
Selection readSelection(const Kind& kind, const Annotations& annotations);

}  // namespace divvy::vendors
