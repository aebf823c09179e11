// Loads and stores.
#include <atomic>

#include "machine/pick.h"

namespace divvy::ptx {
namespace {

std::uint64_t addressOf(const Inst& i, const Thread& t) {
  return t.raw(i.a) + static_cast<std::uint64_t>(i.offset);
}

template <typename T>
std::uint64_t extended(T value) {
  return static_cast<std::uint64_t>(value);  // a signed one with its sign
}

template <Space S, typename T>
bool loadOne(const Inst& i, Thread& t) {
  const std::byte* const from = t.reach<S>(i, addressOf(i, t), sizeof(T), false);
  if (from == nullptr) return false;
  T value;
  std::memcpy(&value, from, sizeof value);
  t.regs[i.dst] = extended(value) & i.mask;
  return true;
}

template <Space S, typename T>
bool storeOne(const Inst& i, Thread& t) {
  std::byte* const to = t.reach<S>(i, addressOf(i, t), sizeof(T), true);
  if (to == nullptr) return false;
  const auto value = static_cast<T>(t.raw(i.b));
  std::memcpy(to, &value, sizeof value);
  return true;
}

// extra: the list of registers
template <Space S, typename T>
bool loadVector(const Inst& i, Thread& t) {
  const auto& list = t.grid->program->lists[static_cast<std::size_t>(i.extra)];
  const auto bytes = static_cast<unsigned>(sizeof(T) * list.size());
  const std::byte* from = t.reach<S>(i, addressOf(i, t), bytes, false);
  if (from == nullptr) return false;
  for (const Operand to : list) {
    T value;
    std::memcpy(&value, from, sizeof value);
    t.regs[to] = extended(value) & i.mask;
    from += sizeof value;
  }
  return true;
}

template <Space S, typename T>
bool storeVector(const Inst& i, Thread& t) {
  const auto& list = t.grid->program->lists[static_cast<std::size_t>(i.extra)];
  const auto bytes = static_cast<unsigned>(sizeof(T) * list.size());
  std::byte* to = t.reach<S>(i, addressOf(i, t), bytes, true);
  if (to == nullptr) return false;
  for (const Operand from : list) {
    const auto value = static_cast<T>(t.raw(from));
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  }
  return true;
}

template <Space S, typename T>
Handler handlerOf(bool load, bool vector) {
  if (load) return vector ? loadVector<S, T> : loadOne<S, T>;
  using Bits = std::make_unsigned_t<T>;
  return vector ? storeVector<S, Bits> : storeOne<S, Bits>;
}

template <Space S>
Handler bySize(Type type, bool load, bool vector) {
  switch (type) {
    case Type::kS8:
      return handlerOf<S, std::int8_t>(load, vector);
    case Type::kS16:
      return handlerOf<S, std::int16_t>(load, vector);
    case Type::kS32:
      return handlerOf<S, std::int32_t>(load, vector);
    default:
      break;
  }
  switch (type == Type::kPred ? 0 : sizeOf(type)) {
    case 1:
      return handlerOf<S, std::uint8_t>(load, vector);
    case 2:
      return handlerOf<S, std::uint16_t>(load, vector);
    case 4:
      return handlerOf<S, std::uint32_t>(load, vector);
    case 8:
      return handlerOf<S, std::uint64_t>(load, vector);
    default:
      return nullptr;
  }
}

Handler bySpace(Space space, Type type, bool load, bool vector) {
  switch (space) {
    case Space::kShared:
      return bySize<Space::kShared>(type, load, vector);
    case Space::kLocal:
      return bySize<Space::kLocal>(type, load, vector);
    case Space::kParam:
      return bySize<Space::kParam>(type, load, vector);
    case Space::kGeneric:
      return bySize<Space::kGeneric>(type, load, vector);
    case Space::kGlobal:
    case Space::kConst:
      return bySize<Space::kGlobal>(type, load, vector);
  }
  return nullptr;
}

std::size_t takeVector(Decode& d) {
  const std::string_view vector = d.takeAny({"v2", "v4", "v8"});
  return vector.empty() ? 1 : static_cast<std::size_t>(vector[1] - '0');
}

void decodeLoad(Decode& d) {
  d.memoryModifiers();
  const Space space = d.space();
  const std::size_t lanes = takeVector(d);
  const Type type = d.type();
  d.expectCount(2, 2);
  const auto named = d.address(1);
  if (lanes == 1) {
    d.inst.dst = d.destination(0);
  } else {
    d.inst.extra = d.list(0, lanes, type, true);
  }
  const Space where = space == Space::kGeneric && named ? *named : space;
  emitOrFail(d, bySpace(where, type, true, lanes != 1));
}

void decodeStore(Decode& d) {
  d.memoryModifiers();
  const Space space = d.space();
  const std::size_t lanes = takeVector(d);
  const Type type = d.type();
  d.expectCount(2, 2);
  if (space == Space::kConst) d.unknownForm();
  const auto named = d.address(0);
  if (lanes == 1) {
    d.inst.b = d.source(1, type);
  } else {
    d.inst.extra = d.list(1, lanes, type, false);
  }
  const Space where = space == Space::kGeneric && named ? *named : space;
  emitOrFail(d, bySpace(where, type, false, lanes != 1));
}

bool nothing(const Inst&, Thread&) {
  return true;
}

bool fence(const Inst&, Thread&) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

void decodeFence(Decode& d) {
  d.memoryModifiers();
  d.takeAny({"gl"});
  d.expectCount(0, 0);
  d.emit(fence);
}

// Hints: whatever is behind the first word.
void decodeHint(Decode& d) {
  d.memoryModifiers();
  d.space();
  d.takeAny({"L1", "L2", "L2::evict_last", "L2::evict_normal", "uniform"});
  d.expectCount(1, 2);
  d.emit(nothing);
}

// cp.async: done at once, so that waiting for it is nothing. kind: bytes; b: how many of them are
// read (the rest becomes zero)
bool copyAsync(const Inst& i, Thread& t) {
  const auto wanted = std::min<std::uint64_t>(t.get<std::uint32_t>(i.b), i.kind);
  std::byte* const to = t.at(i, Space::kShared, addressOf(i, t), i.kind, true);
  if (to == nullptr) return false;
  std::byte staged[16] = {};
  if (wanted != 0) {
    const std::uint64_t address = t.raw(i.c) + static_cast<std::uint64_t>(i.extra);
    const std::byte* const from = t.at(i, Space::kGlobal, address, i.kind, false);
    if (from == nullptr) return false;
    std::memcpy(staged, from, wanted);
  }
  std::memcpy(to, staged, i.kind);
  return true;
}

void decodeCopy(Decode& d) {
  if (!d.take("async")) d.unknownForm();
  if (!d.takeAny({"commit_group", "wait_all"}).empty()) {
    d.expectCount(0, 0);
    return d.emit(nothing);
  }
  if (d.take("wait_group")) {
    d.expectCount(1, 1);
    return d.emit(nothing);
  }
  d.memoryModifiers();
  if (d.takeAny({"shared", "shared::cta"}).empty() || !d.take("global")) d.unknownForm();
  d.expectCount(3, 4);
  const std::uint64_t bytes = d.integer(2);
  if (bytes != 4 && bytes != 8 && bytes != 16) d.fail("a size that is not 4, 8 or 16");
  d.inst.kind = static_cast<std::uint8_t>(bytes);
  d.address(1);
  d.inst.c = d.inst.a;
  d.inst.extra = static_cast<std::int32_t>(d.inst.offset);
  d.address(0);
  d.inst.b = d.count() == 4 ? d.source(3, Type::kU32) : d.builder.constant(bytes);
  d.emit(copyAsync);
}

}  // namespace

void addMemoryOps(DecoderTable& table) {
  table["ld"] = decodeLoad;
  table["ldu"] = decodeLoad;
  table["st"] = decodeStore;
  table["membar"] = decodeFence;
  table["fence"] = decodeFence;
  table["prefetch"] = decodeHint;
  table["prefetchu"] = decodeHint;
  table["discard"] = decodeHint;
  table["applypriority"] = decodeHint;
  table["cp"] = decodeCopy;
}

}  // namespace divvy::ptx
