// What a container asks for, in the words of all vendors, read into one form.
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
// Of a slice whose size only the node knows.
struct SliceMemory {
  friend bool operator==(SliceMemory, SliceMemory) = default;
};
using Memory = std::variant<WholeMemory, PercentMemory, Bytes, SliceMemory>;

// Of each of `count` devices of one kind.
struct Ask {
  const Kind* kind = nullptr;  // the catalogue's
  std::uint32_t count = 0;
  Memory memory;
  std::uint32_t compute_milli = 0;  // 0: what others leave; 1000: nobody else is on it
  const Template* part = nullptr;   // the kind's; null: none is needed
  std::uint64_t slice = 0;          // size; 0: none
  bool partitioned = false;         // of instances (MIG), the smallest with the memory and compute
  std::string instance;             // of those that are called so
  std::string counted_by;           // the resource; empty: by none, parts of devices are asked for
  const ModelResource* of_model = nullptr;  // the kind's: how they were counted; null: any model
  friend bool operator==(const Ask&, const Ask&) = default;
};

// By name, as a container's `resources.limits` or `.requests`.
using Quantities = std::map<std::string, std::string>;
using Annotations = std::map<std::string, std::string>;

// In the order of the catalogue; empty: no device. A resource's limit counts, else its request.
// Where a resource has several names one of them counts; two of them are refused.
// kUsage: which resource, what is wrong, what is accepted. Names that no kind has are none of ours.
// Sources: facts on the incumbent's control plane, 1.1 and 1.2; where that ignores what it does not
// understand, this refuses, and where it takes only numbers of MiB, this takes "16Gi" as well.
Result<std::vector<Ask>> readAsks(const Catalog& catalog, const Quantities& limits,
                                  const Quantities& requests, const Annotations& annotations = {});

// Which devices will do: parts of model names, whole UUIDs.
struct Selection {
  std::vector<std::string> models, not_models, uuids, not_uuids;
  friend bool operator==(const Selection&, const Selection&) = default;
};
Selection readSelection(const Kind& kind, const Annotations& annotations);

}  // namespace divvy::vendors
