// Descriptors: how shares of a vendor's accelerators are requested, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vendors/dialect.h"

namespace divvy::vendors {

// Number of devices.
struct CountRule {
  std::string resource;  // empty: none of its own
  // Devices if only other resources are requested; 0: such a request is refused.
  std::uint32_t absent = 0;
  bool pairs = false;  // handed out in twos: 1 becomes 2, larger odd numbers are refused
  std::vector<std::uint32_t> runs;  // several devices are neighbours, so many at a time; empty: any
  // Words of names of models of which a program uses one device at a time, and no other device.
  std::vector<std::string> alone;
};

// Memory of each device.
struct MemoryRule {
  std::string resource;                // empty: cannot be requested
  std::string percent;                 // in percent of the device; empty: cannot be requested
  Bytes unit = mib(1);                 // of a bare number
  std::vector<std::uint64_t> amounts;  // the only accepted amounts, in units; empty: any
  std::vector<Bytes> steps;  // a request is rounded up to a step; ascending; empty: as requested
  std::uint64_t absent = 0;  // units if none are requested; 0: the whole memory
  std::uint64_t mebibytes_above = 0;  // larger bare numbers are MiB; 0: none are
};

// Compute of each device.
struct CoreRule {
  std::string resource;          // empty: cannot be requested
  std::uint32_t per_card = 100;  // units of a whole device
  std::uint32_t absent = 0;      // units if none are requested; 0: all that other tenants leave
  bool clamp = false;            // more than a device has becomes all of it; else it is refused
  bool follow_memory = false;    // in proportion to the memory
  bool counts = false;           // units of all devices together: a part of one, or whole ones
};

// A part in hardware.
struct Template {
  std::string name;
  Bytes memory;
  std::uint32_t cores = 0;
  std::uint32_t cpus = 0;
};

struct Card {
  Bytes memory;  // 0: unknown
  Bytes usable;  // of `memory`
  std::uint32_t cores = 0;
  std::uint32_t cpus = 0;
};

// Devices of a node that are linked directly, by index.
struct LinkRule {
  std::uint32_t of = 0;  // for nodes with so many devices; 0: for none
  // Groups of devices that are all linked with each other.
  std::vector<std::vector<std::uint32_t>> together;
  std::vector<std::vector<std::uint32_t>> wings;  // groups to use up or not begin, as `of`
  bool sparing = false;      // for requests with links, prefers nodes where fewer links are torn
  std::uint32_t points = 0;  // HAMi's points of a node for linked devices
  bool preferred = false;    // several devices are linked, unless the pod states otherwise
  std::string annotation;    // pod annotation for that, true or false; empty: none of its own
};

// A MIG instance in hardware: on `size` consecutive memory slices, beginning at one of `starts`.
struct Instance {
  std::string name;
  std::uint32_t compute = 0;  // compute slices
  std::uint32_t size = 0;
  std::vector<std::uint32_t> starts;
};

// How devices of some models are partitioned into instances.
struct Geometry {
  std::vector<std::string> models;  // words of model names
  Bytes slice;                      // memory of a slice, rounded down; nodes report it exactly
  std::uint32_t slices = 0;
  std::uint32_t compute = 0;  // compute slices
  std::vector<Instance> instances;
};

// The result of a request for several devices.
enum class MultiDeviceRule : std::uint8_t {
  kShares,   // of each device the requested share
  kWhole,    // whole devices, whatever else is requested
  kNoParts,  // whole devices; requests for parts are refused
};

// Another name of one of a kind's resources.
struct ResourceAlias {
  std::string resource;
  enum class Means : std::uint8_t { kCount, kMemory, kPercent, kCores } means = Means::kCount;
};

// A count of devices of some models, by words of their names, as engine::ModelMatch::kWords.
struct ModelResource {
  std::string resource;
  std::vector<std::string> models;
  std::vector<std::string> not_models;
  friend bool operator==(const ModelResource&, const ModelResource&) = default;
};

// Keys of a pod's annotations with comma-separated lists.
struct KeyPair {
  std::string use;
  std::string not_use;
};

// Values of a pod's annotation that decide which pods it may share a device with.
struct ColocationValue {
  std::string is;                   // empty: pods without the annotation
  std::vector<std::string> beside;  // values of `is` of pods that may be on the device
  bool no_cores = false;            // it is charged no cores, whatever it requests
  bool one_device = false;          // requests for several devices are refused
};
struct ColocationRule {
  std::string annotation;
  // Value of pods without the annotation; empty: a class of their own, only beside each other.
  std::string absent;
  std::vector<ColocationValue> words;
};

// Devices that are requested by the same resources.
struct Kind {
  std::string name;  // name of its devices and shares in annotations
  std::string vendor;
  CountRule count;
  std::string slice;  // resource: size of one slice of a device; empty: none
  MemoryRule memory;
  CoreRule cores;
  std::string priority;             // resource; 0 is high
  bool whole_is_exclusive = false;  // all memory and no cores requested means all compute, too
  MultiDeviceRule many = MultiDeviceRule::kShares;
  Card card;
  std::vector<Template> templates;  // ascending by memory; empty: parts of any size
  // Annotation, and its value, with which templates do not count.
  std::string soft_split;
  std::string soft_split_value;
  // Annotation, and a word of its value, that request instances. Prefix of the resources that name
  // a single instance.
  std::string instances;
  std::string instances_value;
  std::string instances_prefix;
  std::vector<Geometry> geometries;
  LinkRule links;
  std::vector<ColocationRule> company;  // all must hold; empty: any pods together
  KeyPair models;
  KeyPair uuids;
  std::vector<ResourceAlias> also;
  std::vector<ModelResource> of_models;
  Dialect wire;

  // Returns whether only whole devices can be requested.
  bool wholeOnly() const {
    return slice.empty() && memory.resource.empty() && memory.percent.empty() &&
           cores.resource.empty();
  }
};

// Returns the resource that `other` is another name of; empty if the kind no longer has it.
const std::string& meant(const Kind& kind, const ResourceAlias& other);

struct Descriptor {
  std::string vendor;
  std::vector<Kind> kinds;
};

// Parses a descriptor. `source` is for messages: "vendors/nvidia/vendor.yaml". kUsage: file, line,
// column, fault and accepted input. Unknown keys are errors.
Result<Descriptor> parseDescriptor(std::string_view yaml, const std::string& source);

// Adds resources of models, from YAML. If two have one name, the later one counts. Kinds that are
// not in `all` (--vendors) are left out. kUsage: as parseDescriptor().
//
//   model_resources:
//     - {kind: NVIDIA, resource: example.com/vgpu-number-l20, models: [L20]}
Result<void> addModelResources(std::string_view yaml, const std::string& source,
                               std::vector<Descriptor>* all);

// Returns the descriptors that the program was built with, ascending by vendor.
const std::vector<Descriptor>& builtIn();

}  // namespace divvy::vendors
