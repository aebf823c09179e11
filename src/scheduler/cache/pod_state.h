// States of a pod in the scheduler cache, their transitions, and the entry of a pod. Pure. Private.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/allocation.h"
#include "engine/request.h"
#include "kube/pod.h"
#include "scheduler/cache.h"

namespace divvy::scheduler {

// A pod's allocation, and the progress of its binding. The cache does not have the node of a pod on
// an unknown node (yet, or any more).
enum class PodState : std::uint8_t {
  kPending,               // holds nothing
  kNominated,             // holds capacity that victims leave, until its nomination expires
  kReserved,              // holds devices until its reservation expires
  kAssumed,               // a bind is in progress
  kUncertain,             // a bind ended without an answer: the watch of pods decides
  kBound,                 // bound with an assignment
  kCounted,               // bound without an assignment; the vendor plugin gave it devices
  kAssumedUnknownNode,    // as kAssumed, on an unknown node
  kUncertainUnknownNode,  // as kUncertain, on an unknown node
  kBoundUnknownNode,      // as kBound, on an unknown node
};
inline constexpr std::size_t kPodStates = 10;

// Returns the state's name for messages.
constexpr std::string_view nameOf(PodState state) {
  constexpr std::array<std::string_view, kPodStates> kNames = {
      "pending",
      "nominated",
      "reserved",
      "assumed",
      "uncertain",
      "bound",
      "counted",
      "assumed on an unknown node",
      "uncertain on an unknown node",
      "bound on an unknown node",
  };
  return kNames[static_cast<std::size_t>(state)];
}

// The table of transitions: for each state, the states that may follow.
inline constexpr auto kTransitions = [] {
  using enum PodState;
  std::array<std::array<bool, kPodStates>, kPodStates> table{};
  const auto allow = [&](PodState from, std::initializer_list<PodState> next) {
    for (const PodState to : next)
      table[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = true;
  };
  allow(kPending, {kNominated, kReserved, kBound, kCounted, kBoundUnknownNode});
  allow(kNominated, {kPending, kAssumed, kBound, kCounted});
  allow(kReserved, {kPending, kAssumed, kBound, kCounted});
  allow(kAssumed, {kPending, kUncertain, kBound, kCounted, kAssumedUnknownNode});
  // A bind may be repeated, and a bound pod be reported again.
  allow(kUncertain, {kPending, kAssumed, kBound, kCounted, kUncertainUnknownNode});
  allow(kBound, {kPending, kAssumed, kBound, kCounted, kBoundUnknownNode});
  allow(kCounted, {kPending, kAssumed, kBound, kCounted});
  allow(kAssumedUnknownNode, {kPending, kAssumed, kUncertainUnknownNode, kBoundUnknownNode});
  allow(kUncertainUnknownNode, {kPending, kUncertain});
  allow(kBoundUnknownNode, {kPending, kBound});
  return table;
}();
constexpr bool mayBecome(PodState from, PodState to) {
  return kTransitions[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

// Returns true if the engine has an allocation for a pod in this state.
constexpr bool isPlaced(PodState state) {
  return state >= PodState::kNominated && state <= PodState::kCounted;
}
constexpr bool isOnUnknownNode(PodState state) {
  return state >= PodState::kAssumedUnknownNode;
}
// Returns true if a pod in this state counts for the quota of its namespace.
constexpr bool isCharged(PodState state) {
  return state >= PodState::kReserved;
}
// Returns true if single cores of devices (CoreMasks) are the pod's in this state.
constexpr bool holdsCores(PodState state) {
  return state >= PodState::kAssumed && state <= PodState::kBound;
}
// Returns true if /filter may choose devices for a pod in this state.
constexpr bool mayBeFiltered(PodState state) {
  return state <= PodState::kReserved || state == PodState::kUncertain;
}

// Returns the state of the pod once the cache lacks its node. `state`: kAssumed, kUncertain or
// kBound.
constexpr PodState onUnknownNode(PodState state) {
  if (state == PodState::kAssumed) return PodState::kAssumedUnknownNode;
  return state == PodState::kUncertain ? PodState::kUncertainUnknownNode
                                       : PodState::kBoundUnknownNode;
}
// Returns the reverse of onUnknownNode().
constexpr PodState onKnownNode(PodState state) {
  if (state == PodState::kAssumedUnknownNode) return PodState::kAssumed;
  return state == PodState::kUncertainUnknownNode ? PodState::kUncertain : PodState::kBound;
}

// Data of a reservation's pod that a bind writes.
struct ContainerList {
  std::vector<std::string> containers;  // names, init containers first
  std::vector<bool> ends;   // for each init container: true if it ends, so is no sidecar
  kube::Labels for_agents;  // share annotations for agents, at the time of the decision
};

// A nomination, until its `expires`. It outlives the reservation of its pod.
struct Nomination {
  engine::Allocation held;
  std::string namespace_name;
};

struct UnknownNodePod {
  engine::Allocation held;
  std::optional<kube::Pod> said;  // to read the assignment again, with the devices of the node
};

// Data of a pod beside its state. Most pods are bound: the rest is for few.
struct PodDetails {
  std::optional<PodRef> pod;                  // none: its shares are in no list
  bool resizing = false;                      // in a resize, so it holds more than its share
  std::unique_ptr<ContainerList> containers;  // of a pod in a decision, or with a reservation
  // The request of the last fitting(), until reserve() chooses a node.
  std::unique_ptr<engine::Request> request;
};

// One pod. PodTable owns it, and alone writes state, node, nomination and unknown.
struct PodEntry {
  PodState state = PodState::kPending;
  std::string node;  // empty: pending
  std::unique_ptr<Nomination> nomination;
  std::unique_ptr<UnknownNodePod> unknown;  // null: not on an unknown node
  PodDetails details;
};

}  // namespace divvy::scheduler
