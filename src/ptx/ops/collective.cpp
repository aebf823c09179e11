// What threads do together: barriers, shuffles, votes.
#include "machine/collective.h"
#include "machine/pick.h"

namespace divvy::ptx {
namespace {

// a: the value, b and c: lane and clamp of shuffles, d: the mask
bool together(const Inst& i, Thread& t) {
  t.exchange = {.inst = &i,
                .mask = t.get<std::uint32_t>(i.d) | 1U << t.lane(),
                .value = t.raw(i.a),
                .lane = t.get<std::uint32_t>(i.b),
                .clamp = t.get<std::uint32_t>(i.c)};
  t.state = State::kWarp;
  return false;
}

bool activeMask(const Inst& i, Thread& t) {
  t.exchange.inst = &i;
  t.state = State::kActiveMask;
  return false;
}

// a: number, b: threads (0: all), c: predicate of .red; flag: does not wait
bool barrier(const Inst& i, Thread& t) {
  const auto number = t.get<std::uint32_t>(i.a);
  const auto expected = t.get<std::uint32_t>(i.b);
  if (number >= kBarriers) return t.fail(i, FaultKind::kTrap);
  Barrier& here = t.block->barriers[number];
  const bool value = t.predicate(i.c);
  here.all = here.all && value;
  here.any = here.any || value;
  here.count += value ? 1 : 0;
  if (!i.flag) {
    t.exchange.inst = &i;
    t.barrier = static_cast<std::uint8_t>(number);
    t.state = State::kBarrier;
  }
  arriveAt(*t.block, number, expected);
  return i.flag || t.state == State::kReady;
}

void setKind(Decode& d, Collective kind) {
  d.inst.kind = static_cast<std::uint8_t>(kind);
}

void decodeShuffle(Decode& d) {
  if (!d.take("sync")) d.unknownForm();
  const std::string_view mode = d.takeAny({"up", "down", "bfly", "idx"});
  if (d.type() != Type::kB32 || mode.empty()) d.unknownForm();
  d.expectCount(5, 5);
  setKind(d, mode == "up"     ? Collective::kShuffleUp
             : mode == "down" ? Collective::kShuffleDown
             : mode == "bfly" ? Collective::kShuffleButterfly
                              : Collective::kShuffleIndex);
  d.inst.dst = d.destination(0);
  d.inst.dst2 = d.besides(0);
  d.sources(1, {Type::kB32, Type::kU32, Type::kU32, Type::kU32});
  d.emit(together);
}

void decodeVote(Decode& d) {
  if (!d.take("sync")) d.unknownForm();
  const std::string_view mode = d.takeAny({"all", "any", "uni", "ballot"});
  const Type type = d.type();
  if (mode.empty() || type != (mode == "ballot" ? Type::kB32 : Type::kPred)) d.unknownForm();
  d.expectCount(3, 3);
  setKind(d, mode == "all"   ? Collective::kVoteAll
             : mode == "any" ? Collective::kVoteAny
             : mode == "uni" ? Collective::kVoteUniform
                             : Collective::kVoteBallot);
  d.inst.dst = d.destination(0);
  d.inst.a = d.source(1, Type::kPred);
  d.inst.d = d.source(2, Type::kU32);
  d.emit(together);
}

void decodeMatch(Decode& d) {
  const std::string_view mode = d.takeAny({"any", "all"});
  if (!d.take("sync") || mode.empty()) d.unknownForm();
  const Type type = d.type();
  if (type != Type::kB32 && type != Type::kB64) d.unknownForm();
  d.expectCount(3, 3);
  setKind(d, mode == "any" ? Collective::kMatchAny : Collective::kMatchAll);
  d.inst.dst = d.destination(0);
  d.inst.dst2 = d.besides(0);
  d.inst.a = d.source(1, type);
  d.inst.d = d.source(2, Type::kU32);
  d.emit(together);
}

void decodeReduce(Decode& d) {
  if (!d.take("sync")) d.unknownForm();
  const std::string_view op = d.takeAny({"add", "min", "max", "and", "or", "xor"});
  const Type type = d.type();
  if (op.empty() || sizeOf(type) != 4 || isFloat(type)) d.unknownForm();
  d.expectCount(3, 3);
  const bool is_signed = type == Type::kS32;
  setKind(d, op == "add"   ? Collective::kReduceAdd
             : op == "min" ? (is_signed ? Collective::kReduceMinSigned : Collective::kReduceMin)
             : op == "max" ? (is_signed ? Collective::kReduceMaxSigned : Collective::kReduceMax)
             : op == "and" ? Collective::kReduceAnd
             : op == "or"  ? Collective::kReduceOr
                           : Collective::kReduceXor);
  d.inst.dst = d.destination(0);
  d.inst.a = d.source(1, type);
  d.inst.d = d.source(2, Type::kU32);
  d.emit(together);
}

void decodeElect(Decode& d) {
  if (!d.take("sync")) d.unknownForm();
  d.expectCount(2, 2);
  setKind(d, Collective::kElect);
  d.inst.dst = d.destination(0);
  d.inst.dst2 = d.besides(0);
  d.inst.d = d.source(1, Type::kU32);
  d.emit(together);
}

void decodeActiveMask(Decode& d) {
  if (d.type() != Type::kB32) d.unknownForm();
  d.expectCount(1, 1);
  d.inst.dst = d.destination(0);
  d.emit(activeMask);
}

// bar.red.popc.u32 d, a{, b}, {!}c and bar.red.and.pred p, a{, b}, {!}c
void decodeBarrierReduce(Decode& d) {
  const std::string_view op = d.takeAny({"popc", "and", "or"});
  d.take("aligned");
  const Type type = d.type();
  if (type != (op == "popc" ? Type::kU32 : Type::kPred) || op.empty()) d.unknownForm();
  const BarrierReduce kind = op == "popc"  ? BarrierReduce::kCount
                             : op == "and" ? BarrierReduce::kAll
                                           : BarrierReduce::kAny;
  d.inst.kind = static_cast<std::uint8_t>(kind);
  d.expectCount(3, 4);
  d.inst.dst = d.destination(0);
  d.inst.a = d.source(1, Type::kU32);
  d.inst.b = d.count() == 4 ? d.source(2, Type::kU32) : d.builder.constant(0);
  d.inst.c = d.source(d.count() - 1, Type::kPred);
  d.emit(barrier);
}

void decodeBarrier(Decode& d) {
  if (d.take("warp")) {
    if (!d.take("sync")) d.unknownForm();
    d.expectCount(1, 1);
    setKind(d, Collective::kSync);
    d.inst.d = d.source(0, Type::kU32);
    return d.emit(together);
  }
  d.take("cta");
  if (d.take("red")) return decodeBarrierReduce(d);
  const std::string_view mode = d.takeAny({"sync", "arrive"});
  if (mode.empty()) d.unknownForm();
  d.take("aligned");
  d.inst.flag = mode == "arrive";
  d.expectCount(d.inst.flag ? 2 : 1, 2);
  d.inst.a = d.source(0, Type::kU32);
  d.inst.b = d.count() == 2 ? d.source(1, Type::kU32) : d.builder.constant(0);
  d.inst.c = d.builder.constant(0);
  d.emit(barrier);
}

}  // namespace

void addCollectiveOps(DecoderTable& table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["match"] = decodeMatch;
  table["redux"] = decodeReduce;
  table["elect"] = decodeElect;
  table["activemask"] = decodeActiveMask;
  table["bar"] = decodeBarrier;
  table["barrier"] = decodeBarrier;
}

}  // namespace divvy::ptx
