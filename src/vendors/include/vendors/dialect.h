// How devices of a kind, and shares of them, are written in the objects of a cluster. Source: facts
// on the incumbent's control plane, 2.1 and 2.2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace divvy::vendors {

// By what a node says which devices it has.
enum class NodeForm : std::uint8_t {
  kNone,
  kJson,      // an annotation: JSON that all vendors share
  kList,      // its older form, with commas and colons
  kMetax,     // MetaX' own JSON
  kDrs,       // Enflame's: devices, and the profiles of their slices
  kCapacity,  // none: how much of a resource the node has
};

// A node may be served by the vendor's own plugin instead of ours: it hands out whole devices by
// the count's resource, and nothing is registered. All of these are labels; empty: there is none.
struct VendorPlugin {
  bool there = false;
  std::string model;    // what its devices are
  std::string memory;   // of each, in MiB
  std::string sharing;  // says something but "none" where the plugin itself hands devices out twice
  std::string ours;     // says "on" where our agent, or the incumbent's, serves the node
};

// A node's driver is being changed: its devices get nobody new.
struct DriverUpgrade {
  std::string label;              // empty: nothing says so
  std::vector<std::string> over;  // its values with which nothing is going on
};

struct NodeDialect {
  NodeForm form = NodeForm::kNone;
  std::string annotation;
  std::string handshake;  // annotation that tells whether the agent is alive; empty: none
  std::string cordon;     // annotation: a list of devices that get nothing new; empty: none
  std::string scores;     // annotation: how well its devices are linked; empty: none
  // Annotations: by how many of them are taken, what is lost of links, and how good they are.
  std::string count_losses, count_scores;
  // Of kCapacity: cards are made from it, `per_card` of the resource each.
  std::string resource;
  std::uint32_t per_card = 1;
  std::string memory;         // resource: of all cards together; empty: what the kind's card has
  std::uint32_t tenants = 1;  // of each card at most
  std::string id;             // template: {node}, {index}
  VendorPlugin own_plugin;
  DriverUpgrade upgrade;
};

// What the number behind the memory says in an assignment.
enum class CoreForm : std::uint8_t {
  kPercent,
  kUnits,  // of as many as the device says that it has: compute units, cores
  kMask,   // which cores, a bit each
  kNone,   // of parts 0, else percent: the part's name says it
};

// An annotation beside the assignment.
struct Written {
  enum class Of : std::uint8_t {
    kPod,    // {node}, {seconds}, {nanoseconds}
    kFirst,  // of the first device: {index}, {minor}, {uuid}, {cores}, {units}, {mebibytes},
             // {size}, too
    kEach,   // of every device, once each, with commas between
    kForm,   // what no template says: see scheduler/annotations/assignment.h
  };
  std::string key;
  Of of = Of::kPod;
  std::string text;  // the template, or the form's name
};

struct PodDialect {
  std::string type;         // what is written as a device's type; empty: the name of its model
  std::string to_allocate;  // annotation; empty: none
  std::string allocated;    // annotation; empty: such devices are not placed
  std::string instances;    // annotation: which instance (MIG), and where; empty: none
  CoreForm cores = CoreForm::kPercent;
  std::vector<Written> further;
};

// What becomes of a pod that asks for such devices, when it is made.
struct Env {
  std::string name;
  std::string value;  // template: {container}, {priority}
  enum class Of : std::uint8_t {
    kAsking,  // of containers that ask; one with {priority} where that is asked for
    kOthers,  // of those that ask for nothing of the family, whatever they say themselves
    kEvery,
  } of = Of::kAsking;
};
struct Note {
  std::string key;
  std::string value;     // template: {count}
  bool several = false;  // only where more than one device is asked for
};
struct Mutation {
  std::vector<Env> env;
  std::string runtime_class;  // of pods that name none; empty: none
  std::vector<Note> notes;    // annotations, where there are none of that name
  // Of whole devices, the sums that are written: 0 none, 1 cores, 2 cores and memory.
  enum class Sums : std::uint8_t { kNone, kCores, kBoth } sums = Sums::kNone;
};

struct Dialect {
  NodeDialect node;
  PodDialect pod;
  Mutation door;
  // Annotation of the node: held by one pod from its binding until its agent has handed out its
  // devices. Empty: its agent needs none.
  std::string lock;

  bool placed() const { return !pod.allocated.empty(); }
};

// "{node}-x-{index}" with what `value` says of each name. A '{' without an end is left.
std::string fill(std::string_view text, const std::function<std::string(std::string_view)>& value);

}  // namespace divvy::vendors
