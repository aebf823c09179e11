// Dialects: how devices and shares of a kind are written in a cluster's objects. Source: facts on
// the incumbent's control plane, 2.1 and 2.2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace divvy::vendors {

// How a node states its devices.
enum class NodeForm : std::uint8_t {
  kNone,
  kJson,      // annotation: JSON, the same for all vendors
  kList,      // annotation: the older form with commas and colons
  kMetax,     // annotation: MetaX' own JSON
  kDrs,       // annotation: Enflame's devices, and the profiles of their slices
  kCapacity,  // no annotation: the node's amount of a resource
};

// Labels of nodes that the vendor's own plugin may serve instead of ours. It hands out whole
// devices by the count's resource, and registers nothing. Empty: no such label.
struct VendorPlugin {
  bool there = false;
  std::string model;    // model of its devices
  std::string memory;   // of each device, in MiB
  std::string sharing;  // other than "none": the plugin itself hands devices out several times
  std::string ours;     // "on": our agent or the incumbent's serves the node
};

// A driver upgrade on a node, during which its devices get no new tenants.
struct DriverUpgrade {
  std::string label;              // empty: nothing reports upgrades
  std::vector<std::string> over;  // its values without an upgrade
};

struct NodeDialect {
  NodeForm form = NodeForm::kNone;
  std::string annotation;
  std::string handshake;  // annotation: whether the agent is alive; empty: none
  std::string cordon;     // annotation: devices that get no new tenants; empty: none
  std::string scores;     // annotation: how well the devices are linked; empty: none
  // Annotations: lost links and quality of links by number of devices taken.
  std::string count_losses, count_scores;
  // For kCapacity: one device for each `per_card` of the resource.
  std::string resource;
  std::uint32_t per_card = 1;
  // Resource: memory of all devices together; empty: Kind::card has it.
  std::string memory;
  std::uint32_t tenants = 1;  // of each device at most
  std::string id;             // template: {node}, {index}
  VendorPlugin own_plugin;
  DriverUpgrade upgrade;
};

// Meaning of the number after the memory in an assignment.
enum class CoreForm : std::uint8_t {
  kPercent,
  kUnits,  // of as many as the device states: compute units, cores
  kMask,   // cores, a bit each
  kNone,   // 0 for parts, which their name describes; else percent
};

// An annotation beside the assignment.
struct AssignmentAnnotation {
  enum class Scope : std::uint8_t {
    // Template: {node}, {seconds}, {nanoseconds}.
    kPod,
    kFirst,  // of the first device: {index}, {minor}, {uuid}, {cores}, {units}, {mebibytes},
             // {size}, too
    // Once for each device, separated by commas.
    kEach,
    // A form in code: scheduler/annotations/assignment.h.
    kForm,
  };
  std::string key;
  Scope of = Scope::kPod;
  std::string text;  // template, or name of the form
};

struct PodDialect {
  // A device's type in the assignment; empty: the name of its model.
  std::string type;
  std::string to_allocate;  // annotation; empty: none
  std::string allocated;    // annotation; empty: such devices are not placed
  std::string instances;    // annotation: MIG instances and their placement; empty: none
  CoreForm cores = CoreForm::kPercent;
  std::vector<AssignmentAnnotation> further;
};

// An environment variable that the webhook adds to a pod that requests such devices.
struct EnvVariable {
  std::string name;
  std::string value;  // template: {container}, {priority}
  enum class Of : std::uint8_t {
    // Containers that request devices; with {priority} only those that request one.
    kAsking,
    // Containers that request nothing of the family; replaces their own value.
    kOthers,
    kEvery,
  } of = Of::kAsking;
};
struct PodAnnotation {
  std::string key;
  std::string value;     // template: {count}
  bool several = false;  // only if more than one device is requested
};
struct Mutation {
  std::vector<EnvVariable> env;
  std::string runtime_class;         // of pods that name none; empty: none
  std::vector<PodAnnotation> notes;  // annotations, added if absent
  // Sums written for whole devices: 0 none, 1 cores, 2 cores and memory.
  enum class Sums : std::uint8_t { kNone, kCores, kBoth } sums = Sums::kNone;
};

struct Dialect {
  NodeDialect node;
  PodDialect pod;
  Mutation mutation;
  // Annotation of the node, a lock: one pod holds it from its binding until the agent has handed
  // out its devices. Empty: the agent needs none.
  std::string lock;

  bool placed() const { return !pod.allocated.empty(); }
};

// Returns the template with each {name} replaced by `value`. A '{' without an end is kept.
std::string fill(std::string_view text, const std::function<std::string(std::string_view)>& value);

}  // namespace divvy::vendors
