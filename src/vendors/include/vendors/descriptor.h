// What there is to know about a family of accelerators: how shares of it are asked for.
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

// How many devices.
struct CountRule {
  std::string resource;      // empty: none of its own
  std::uint32_t absent = 0;  // taken where only other resources are asked for; 0: refused then
  bool pairs = false;        // handed out by twos: one becomes two, other odd numbers are refused
  std::vector<std::uint32_t> runs;  // several are neighbours: so many at a time; empty: any
  // Words of models of which a program uses one at a time, and nothing beside it.
  std::vector<std::string> alone;
};

// Memory of each device.
struct MemoryRule {
  std::string resource;                // empty: cannot be asked for
  std::string percent;                 // likewise, in percent of the device
  Bytes unit = mib(1);                 // of a bare number
  std::vector<std::uint64_t> amounts;  // in units: the only ones; empty: any
  std::vector<Bytes> steps;            // rounded up to one of them, ascending; empty: as asked
  std::uint64_t absent = 0;            // units taken where none are asked for; 0: all of it
  std::uint64_t mebibytes_above = 0;   // bare numbers above this are MiB; 0: none are
};

// Compute of each device.
struct CoreRule {
  std::string resource;          // empty: cannot be asked for
  std::uint32_t per_card = 100;  // of a whole device
  std::uint32_t absent = 0;      // taken where none are asked for; 0: what others leave
  bool clamp = false;            // more than a device is all of it; else refused
  bool follow_memory = false;    // in proportion to the memory
  bool counts = false;           // of all devices together: parts of one, or whole ones
};

// A part as the hardware makes them.
struct Template {
  std::string name;
  Bytes memory;
  std::uint32_t cores = 0;
  std::uint32_t cpus = 0;
};

struct Card {
  Bytes memory;  // 0: not known
  Bytes usable;  // of it
  std::uint32_t cores = 0;
  std::uint32_t cpus = 0;
};

// Which devices of a node are linked directly, by their index.
struct LinkRule {
  std::uint32_t of = 0;  // of nodes with so many; 0: of none it is known so
  std::vector<std::vector<std::uint32_t>> together;  // each of a group with each
  std::vector<std::vector<std::uint32_t>> wings;     // that are best used up or not begun; as `of`
  bool sparing = false;      // nodes go first where less is torn, for whoever wishes for links
  std::uint32_t points = 0;  // HAMi's, of a node for linked ones
  bool preferred = false;    // several devices are linked ones, if the pod does not say otherwise
  std::string annotation;    // of pods, true or false, with which it does; empty: none of its own
};

// An instance (MIG) as the hardware makes them: on so many slices of memory in a row, from one of
// the starts on.
struct Instance {
  std::string name;
  std::uint32_t compute = 0;  // of the geometry's
  std::uint32_t size = 0;
  std::vector<std::uint32_t> starts;
};

// How devices of some models are partitioned into instances.
struct Geometry {
  std::vector<std::string> models;  // words of their names
  Bytes slice;                      // memory of one, rather less than more: nodes report it exactly
  std::uint32_t slices = 0;
  std::uint32_t compute = 0;  // slices of compute
  std::vector<Instance> instances;
};

// What more than one device at a time are.
enum class Many : std::uint8_t {
  kShares,   // of each as much as is asked for
  kWhole,    // whole ones, whatever else is asked for
  kNoParts,  // whole ones; parts are refused
};

// Another name of one of a kind's resources, whatever that is called by now.
struct OtherName {
  std::string resource;
  enum class Means : std::uint8_t { kCount, kMemory, kPercent, kCores } means = Means::kCount;
};

// A count of devices of some models only: words of their names, as engine::ModelMatch::kWords.
struct ModelResource {
  std::string resource;
  std::vector<std::string> models;
  std::vector<std::string> not_models;
  friend bool operator==(const ModelResource&, const ModelResource&) = default;
};

// Keys of a pod's annotations: lists with commas.
struct KeyPair {
  std::string use;
  std::string not_use;
};

// What pods say of themselves that decides beside whom they may come onto a device.
struct ColocationWord {
  std::string is;                   // empty: who says nothing
  std::vector<std::string> beside;  // as `is` has them: who may be there already
  bool no_cores = false;            // whatever it asks for, it is charged none
  bool one_device = false;          // of several it is refused
};
struct ColocationRule {
  std::string annotation;
  std::string absent;  // the word of who says nothing; empty: one more, beside such only
  std::vector<ColocationWord> words;
};

// Devices that are asked for in the same words.
struct Kind {
  std::string name;  // what devices and shares of it are called on the wire
  std::string vendor;
  CountRule count;
  std::string slice;  // resource: the size of one slice of a device. Empty: none
  MemoryRule memory;
  CoreRule cores;
  std::string priority;             // resource; 0 is high
  bool whole_is_exclusive = false;  // all of the memory, and no cores: all of the compute, too
  Many many = Many::kShares;
  Card card;
  std::vector<Template> templates;  // ascending by memory; empty: any part
  // Annotation, and its value, with which templates do not count.
  std::string soft_split;
  std::string soft_split_value;
  // Annotation, and a word of its value, with which instances are asked for; and what the names of
  // resources of single instances begin with.
  std::string instances;
  std::string instances_value;
  std::string instances_prefix;
  std::vector<Geometry> geometries;
  LinkRule links;
  std::vector<ColocationRule> company;  // all of them hold; empty: everybody with everybody
  KeyPair models;
  KeyPair uuids;
  std::vector<OtherName> also;
  std::vector<ModelResource> of_models;
  Dialect wire;

  // Nothing of a device can be asked for, only devices.
  bool wholeOnly() const {
    return slice.empty() && memory.resource.empty() && memory.percent.empty() &&
           cores.resource.empty();
  }
};

// What `other` is another name of; empty: nothing any more.
const std::string& meant(const Kind& kind, const OtherName& other);

struct Descriptor {
  std::string vendor;
  std::vector<Kind> kinds;
};

// `source` is for messages: "vendors/nvidia/vendor.yaml". kUsage: file, line, column, what is
// wrong, what is accepted. Keys that are not known are errors.
Result<Descriptor> parseDescriptor(std::string_view yaml, const std::string& source);

// Further resources of models, from YAML; of two of one name the later counts. A kind that is not
// among `all` (--vendors) is left out. kUsage: as parseDescriptor.
//
//   model_resources:
//     - {kind: NVIDIA, resource: example.com/vgpu-number-l20, models: [L20]}
Result<void> addModelResources(std::string_view yaml, const std::string& source,
                               std::vector<Descriptor>* all);

// Those that the program was built with, ascending by vendor.
const std::vector<Descriptor>& builtIn();

}  // namespace divvy::vendors
