// The chunks that executable graphs name, as AccessRecency has to know when they are launched.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/cuda_types.h"
#include "support/address_map.h"
#include "support/slab.h"

namespace divvy::interposer {

// One per process, in static storage. Any thread; nobody waits.
class GraphWorkingSet {
 public:
  // What the nodes of `graph` name is what `exec`, just made of it, uses from now on; what is
  // changed in it later is not followed. Only where memory can be swapped.
  void remember(CUgraphExec exec, CUgraph graph);
  void forget(CUgraphExec exec);

  // A launch of the graph with this Work::key: what it names is used now.
  void use(std::uint64_t key);

  void forgetAfterFork();

 private:
  static constexpr unsigned kMax = 250;  // chunks of a graph

  struct Record {  // valid when zero
    std::atomic<std::uint32_t> taken;
    std::atomic<std::uint32_t>
        period;  // AccessRecency::period() at its last launch that was looked at
    std::atomic<std::uint32_t> count;
    std::atomic<std::uint64_t> addresses[kMax];
  };
  struct Collector;

  static void collect(CUgraph graph, int depth, Collector& into);
  static void collectNode(CUgraphNode node, int depth, Collector& into);

  Slab<Record> records_;
  AddressMap by_key_;  // by Work::key: `bytes` is the record's number
};

}  // namespace divvy::interposer
