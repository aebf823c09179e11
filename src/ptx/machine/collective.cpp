#include "machine/collective.h"

#include <algorithm>
#include <bit>

#include "machine/thread.h"

namespace divvy::ptx {
namespace {

// The lanes that complete one collective instruction, as a set of bits and by number.
struct Group {
  Thread* lanes;  // of the warp, from lane 0
  std::uint32_t members;

  template <typename Body>
  void each(Body&& body) const {
    for (std::uint32_t rest = members; rest != 0; rest &= rest - 1) {
      body(lanes[std::countr_zero(rest)]);
    }
  }
  std::uint32_t where(bool (*condition)(const Exchange&, std::uint64_t), std::uint64_t with) const {
    std::uint32_t found = 0;
    each([&](const Thread& t) {
      if (condition(t.exchange, with)) found |= 1U << t.lane();
    });
    return found;
  }
};

bool equals(const Exchange& exchange, std::uint64_t value) {
  return exchange.value == value;
}

void shuffle(const Group& group, Collective how) {
  group.each([&](Thread& t) {
    const std::uint32_t lane = t.lane();
    const std::uint32_t by = t.exchange.lane & 31;
    const std::uint32_t segment = t.exchange.clamp >> 8 & 31;
    const std::uint32_t low = lane & segment;
    const std::uint32_t limit = low | (t.exchange.clamp & 31 & ~segment);
    int from = 0;
    bool inside = false;
    if (how == Collective::kShuffleUp) {
      from = static_cast<int>(lane) - static_cast<int>(by);
      inside = from >= static_cast<int>(limit);
    } else {
      const std::uint32_t index = how == Collective::kShuffleDown        ? lane + by
                                  : how == Collective::kShuffleButterfly ? lane ^ by
                                                                         : low | (by & ~segment);
      from = static_cast<int>(index);
      inside = index <= limit;
    }
    if (!inside) from = static_cast<int>(lane);
    // A lane that brought nothing leaves the result to chance on real cards; here: one's own value.
    const bool there = (group.members >> from & 1) != 0;
    t.set(t.exchange.inst->dst2, std::uint8_t{inside});
    t.set(t.exchange.inst->dst,
          static_cast<std::uint32_t>(there ? group.lanes[from].exchange.value : t.exchange.value));
  });
}

void vote(const Group& group, Collective how) {
  const std::uint32_t yes = group.where(equals, 1);
  std::uint32_t result = yes;
  if (how == Collective::kVoteAll) result = yes == group.members;
  if (how == Collective::kVoteAny) result = yes != 0;
  if (how == Collective::kVoteUniform) result = yes == 0 || yes == group.members;
  group.each([&](Thread& t) { t.set(t.exchange.inst->dst, result); });
}

void match(const Group& group, Collective how) {
  group.each([&](Thread& t) {
    const std::uint32_t same = group.where(equals, t.exchange.value);
    const bool all = same == group.members;
    t.set(t.exchange.inst->dst2, std::uint8_t{all});
    t.set(t.exchange.inst->dst, how == Collective::kMatchAny || all ? same : 0U);
  });
}

std::uint32_t combine(Collective how, std::uint32_t x, std::uint32_t y) {
  switch (how) {
    case Collective::kReduceAdd:
      return x + y;
    case Collective::kReduceMin:
      return std::min(x, y);
    case Collective::kReduceMax:
      return std::max(x, y);
    case Collective::kReduceMinSigned:
      return static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y) ? x : y;
    case Collective::kReduceMaxSigned:
      return static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y) ? y : x;
    case Collective::kReduceAnd:
      return x & y;
    case Collective::kReduceOr:
      return x | y;
    default:
      return x ^ y;
  }
}

void reduce(const Group& group, Collective how) {
  const Thread& first = group.lanes[std::countr_zero(group.members)];
  auto result = static_cast<std::uint32_t>(first.exchange.value);
  const Group rest{group.lanes, group.members & (group.members - 1)};
  rest.each([&](const Thread& t) {
    result = combine(how, result, static_cast<std::uint32_t>(t.exchange.value));
  });
  group.each([&](Thread& t) { t.set(t.exchange.inst->dst, result); });
}

void elect(const Group& group) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(group.members));
  group.each([&](Thread& t) {
    t.set(t.exchange.inst->dst, leader);
    t.set(t.exchange.inst->dst2, std::uint8_t{t.lane() == leader});
  });
}

void perform(const Group& group, Collective how) {
  if (how >= Collective::kShuffleUp && how <= Collective::kShuffleIndex) shuffle(group, how);
  if (how >= Collective::kVoteAll && how <= Collective::kVoteBallot) vote(group, how);
  if (how == Collective::kMatchAny || how == Collective::kMatchAll) match(group, how);
  if (how >= Collective::kReduceAdd && how <= Collective::kReduceXor) reduce(group, how);
  if (how == Collective::kElect) elect(group);
  group.each([](Thread& t) { t.state = State::kReady; });
}

void finishBarrier(Block& block, unsigned number) {
  const Barrier done = block.barriers[number];
  block.barriers[number] = {};
  for (unsigned i = 0; i < block.size; ++i) {
    Thread& t = block.threads[i];
    if (t.state != State::kBarrier || t.barrier != number) continue;
    t.state = State::kReady;
    switch (static_cast<BarrierReduce>(t.exchange.inst->kind)) {
      case BarrierReduce::kNone:
        break;
      case BarrierReduce::kCount:
        t.set(t.exchange.inst->dst, done.count);
        break;
      case BarrierReduce::kAll:
        t.set(t.exchange.inst->dst, std::uint8_t{done.all});
        break;
      case BarrierReduce::kAny:
        t.set(t.exchange.inst->dst, std::uint8_t{done.any});
        break;
    }
  }
}

bool isComplete(const Block& block, const Barrier& barrier) {
  if (barrier.arrived == 0) return false;
  return barrier.arrived >= (barrier.expected != 0 ? barrier.expected : block.live);
}

}  // namespace

void arriveAt(Block& block, unsigned number, unsigned expected) {
  Barrier& barrier = block.barriers[number];
  ++barrier.arrived;
  if (expected != 0) barrier.expected = expected;
  if (isComplete(block, barrier)) finishBarrier(block, number);
}

bool releaseBarriers(Block& block) {
  bool any = false;
  for (unsigned i = 0; i < kBarriers; ++i) {
    if (!isComplete(block, block.barriers[i])) continue;
    finishBarrier(block, i);
    any = true;
  }
  return any;
}

bool completeWarp(Block& block, unsigned first) {
  const unsigned count = std::min(kWarpSize, block.size - first);
  Thread* const lanes = block.threads.data() + first;
  bool any = false;
  for (unsigned i = 0; i < count; ++i) {
    if (lanes[i].state != State::kWarp) continue;
    const Exchange& wanted = lanes[i].exchange;
    std::uint32_t members = 0;
    std::uint32_t ended = count == kWarpSize ? 0 : ~0U << count;
    for (unsigned j = 0; j < count; ++j) {
      const Thread& t = lanes[j];
      if (t.state == State::kEnded) ended |= 1U << j;
      const bool same = t.state == State::kWarp && t.exchange.mask == wanted.mask &&
                        t.exchange.inst->kind == wanted.inst->kind;
      if (same) members |= 1U << j;
    }
    if ((wanted.mask & ~ended & ~members) != 0) continue;
    perform({lanes, members}, static_cast<Collective>(wanted.inst->kind));
    any = true;
  }
  return any;
}

bool completeActiveMask(Block& block, unsigned first) {
  const unsigned count = std::min(kWarpSize, block.size - first);
  Thread* const lanes = block.threads.data() + first;
  bool any = false;
  for (unsigned i = 0; i < count; ++i) {
    if (lanes[i].state != State::kActiveMask) continue;
    std::uint32_t members = 0;
    for (unsigned j = i; j < count; ++j) {
      const Thread& t = lanes[j];
      const bool together = t.state == State::kActiveMask && t.next == lanes[i].next &&
                            t.frames.size() == lanes[i].frames.size();
      if (together) members |= 1U << j;
    }
    const Group group{lanes, members};
    group.each([&](Thread& t) {
      t.set(t.exchange.inst->dst, members);
      t.state = State::kReady;
    });
    any = true;
  }
  return any;
}

}  // namespace divvy::ptx
