// atom and red.
#include <algorithm>
#include <atomic>

#include "machine/pick.h"
#include "program/float_math.h"
#include "program/half.h"

namespace divvy::ptx {
namespace {

enum class Atomic : std::uint8_t {
  kAdd,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kExchange,
  kCompare,
  kIncrement,
  kDecrement,
};

template <typename W>
W minimum(W x, W y, bool is_signed) {
  using Signed = std::make_signed_t<W>;
  const bool less = is_signed ? static_cast<Signed>(x) < static_cast<Signed>(y) : x < y;
  return less ? x : y;
}

std::uint32_t addFloats(const Inst& i, std::uint32_t x, std::uint32_t y) {
  auto a = std::bit_cast<float>(x);
  auto b = std::bit_cast<float>(y);
  // Device memory flushes, shared memory does not.
  if (i.ftz) {
    a = flushed(a);
    b = flushed(b);
  }
  const float sum = canonical(a + b);
  return std::bit_cast<std::uint32_t>(i.ftz ? flushed(sum) : sum);
}

std::uint32_t addSmall(Type type, std::uint32_t x, std::uint32_t y) {
  const bool brain = type == Type::kBf16 || type == Type::kBf16x2;
  const SmallFormat& format = brain ? kBrain : kHalf;
  std::uint32_t result = 0;
  for (unsigned at = 0; at < 8 * sizeOf(type); at += 16) {
    const double sum =
        unpackSmall(format, x >> at & 0xffff) + unpackSmall(format, y >> at & 0xffff);
    result |= packSmall(format, sum, Rounding::kNearest, Overflow::kInfinity) << at;
  }
  return result;
}

template <typename W>
W add(const Inst& i, W x, W y) {
  const auto type = static_cast<Type>(i.kind2);
  if (type == Type::kF64) {
    const double sum =
        std::bit_cast<double>(std::uint64_t{x}) + std::bit_cast<double>(std::uint64_t{y});
    return static_cast<W>(std::bit_cast<std::uint64_t>(sum));
  }
  if (type == Type::kF32) {
    return static_cast<W>(
        addFloats(i, static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y)));
  }
  if (isFloat(type)) {
    return static_cast<W>(
        addSmall(type, static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y)));
  }
  return static_cast<W>(x + y);
}

template <typename W>
W updated(const Inst& i, W old, W b, W c) {
  const bool is_signed = isSigned(static_cast<Type>(i.kind2));
  switch (static_cast<Atomic>(i.kind)) {
    case Atomic::kAdd:
      return add(i, old, b);
    case Atomic::kMin:
      return minimum(old, b, is_signed);
    case Atomic::kMax:
      return minimum(old, b, is_signed) == old ? b : old;
    case Atomic::kAnd:
      return old & b;
    case Atomic::kOr:
      return old | b;
    case Atomic::kXor:
      return old ^ b;
    case Atomic::kExchange:
      return b;
    case Atomic::kCompare:
      return old == b ? c : old;
    case Atomic::kIncrement:
      return old >= b ? W{0} : static_cast<W>(old + 1);
    case Atomic::kDecrement:
      return old == 0 || old > b ? b : static_cast<W>(old - 1);
  }
  return old;
}

template <Space S, typename W>
bool atomic(const Inst& i, Thread& t) {
  const std::uint64_t address = t.raw(i.a) + static_cast<std::uint64_t>(i.offset);
  std::byte* const host = t.reach<S>(i, address, sizeof(W), true);
  if (host == nullptr) return false;
  const std::atomic_ref<W> word(*reinterpret_cast<W*>(host));
  const W b = t.get<W>(i.b);
  const W c = t.get<W>(i.c);
  W old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, updated(i, old, b, c))) {
  }
  t.regs[i.dst] = old;
  return true;
}

template <typename W>
Handler bySpace(Space space) {
  return space == Space::kShared ? atomic<Space::kShared, W> : atomic<Space::kGeneric, W>;
}

Atomic takeOperation(Decode& d) {
  constexpr std::string_view kNames[] = {"add", "min",  "max", "and", "or",
                                         "xor", "exch", "cas", "inc", "dec"};
  for (std::uint8_t k = 0; k < std::size(kNames); ++k) {
    if (d.take(kNames[k])) return static_cast<Atomic>(k);
  }
  d.unknownForm();
}

bool isAllowed(Atomic op, Type type) {
  const unsigned size = sizeOf(type);
  switch (op) {
    case Atomic::kAdd:
      return size >= 2 && size <= 8 && (size >= 4 || isFloat(type));
    case Atomic::kMin:
    case Atomic::kMax:
      return (size == 4 || size == 8) && !isFloat(type);
    case Atomic::kCompare:
      return size >= 2 && size <= 8 && !isFloat(type);
    case Atomic::kIncrement:
    case Atomic::kDecrement:
      return type == Type::kU32;
    default:
      return size == 4 || size == 8;
  }
}

// `result`: operand 0 is a register for the old value.
void decodeAtomic(Decode& d, bool result) {
  d.memoryModifiers();
  const Space space = d.space();
  const Atomic op = takeOperation(d);
  d.take("noftz");
  const Type type = d.type();
  if (!isAllowed(op, type)) d.unknownForm();
  const std::size_t first = result ? 1 : 0;
  const std::size_t count = first + (op == Atomic::kCompare ? 3 : 2);
  d.expectCount(count, count);
  d.inst.kind = static_cast<std::uint8_t>(op);
  d.inst.kind2 = static_cast<std::uint8_t>(type);
  d.inst.dst = result ? d.destination(0) : 0;
  const auto named = d.address(first);
  const Space where = space == Space::kGeneric && named ? *named : space;
  d.inst.ftz = where != Space::kShared && type == Type::kF32;
  d.inst.b = d.source(first + 1, type);
  d.inst.c = op == Atomic::kCompare ? d.source(first + 2, type) : d.inst.b;
  switch (sizeOf(type)) {
    case 2:
      return d.emit(bySpace<std::uint16_t>(where));
    case 4:
      return d.emit(bySpace<std::uint32_t>(where));
    default:
      return d.emit(bySpace<std::uint64_t>(where));
  }
}

}  // namespace

void addAtomicOps(DecoderTable& table) {
  table["atom"] = [](Decode& d) { decodeAtomic(d, true); };
  table["red"] = [](Decode& d) { decodeAtomic(d, false); };
}

}  // namespace divvy::ptx
