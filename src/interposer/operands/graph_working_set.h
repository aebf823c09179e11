// The chunks that executable graphs name, for AccessRecency at each launch.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread; never waits.
class GraphWorkingSet {
 public:
  // Notes that `exec`, just instantiated from `graph`, uses the memory that the nodes of `graph`
  // name. Later changes of `exec` are not followed. To be called only where memory can be swapped.
  void remember(CUgraphExec exec, CUgraph graph);
  void forget(CUgraphExec exec);

  // Notes a launch of the graph with this CallWork::key: the chunks that it names are used now.
  void use(std::uint64_t key);

  void forgetAfterFork();

 private:
  static constexpr unsigned kMax = 250;  // chunks of a graph

  struct Record {  // valid when zero
    std::atomic<std::uint32_t> taken;
    std::atomic<std::uint32_t> period;  // AccessRecency::period() at its last examined launch
    std::atomic<std::uint32_t> count;
    std::atomic<std::uint64_t> addresses[kMax];
  };
  struct Collector;

  static void collect(CUgraph graph, int depth, Collector& into);
  static void collectNode(CUgraphNode node, int depth, Collector& into);

  Slab<Record> records_;
  AddressMap by_key_;  // by CallWork::key: `bytes` is the record's number
};

}  // namespace divvy::interposer
