// Arithmetic of f16 and bf16, alone and in pairs.
#include "program/half.h"
#include "machine/arithmetic.h"
#include "machine/pick.h"
#include "program/float_math.h"

namespace divvy::ptx {
namespace {

template <bool kBf16>
struct Small {
  static constexpr SmallFormat kFormat = kBf16 ? kBrain : kHalf;
  static constexpr std::uint32_t kSign = 0x8000;

  static double unpack(std::uint32_t bits) {
    if constexpr (kBf16) return std::bit_cast<float>(bits << 16);
    return unpackSmall(kFormat, bits);
  }
  static std::uint32_t pack(double value) {
    return packSmall(kFormat, value, Rounding::kNearest, Overflow::kInfinity);
  }
  // Subnormal halves to zero.
  static std::uint32_t flush(std::uint32_t bits) {
    const std::uint32_t field = bits >> kFormat.mantissa & ((1U << kFormat.exponent) - 1);
    return field == 0 ? bits & kSign : bits;
  }
};

// One rounding each: double holds sums and products of either format well enough for that.
template <Arith Op, bool kBf16>
std::uint32_t computeOne(const Inst& i, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  using S = Small<kBf16>;
  if (i.ftz) {
    x = S::flush(x);
    y = S::flush(y);
    z = S::flush(z);
  }
  if constexpr (Op == Arith::kAbs) return x & ~S::kSign;
  if constexpr (Op == Arith::kNeg) return x ^ S::kSign;
  const double a = S::unpack(x);
  const double b = S::unpack(y);
  double result = 0;
  if constexpr (Op == Arith::kAdd) result = a + b;
  if constexpr (Op == Arith::kSub) result = a - b;
  if constexpr (Op == Arith::kMul) result = a * b;
  if constexpr (Op == Arith::kMin) result = smaller(a, b, i.flag);
  if constexpr (Op == Arith::kMax) result = larger(a, b, i.flag);
  if constexpr (Op == Arith::kFma) result = fusedToOdd(a, b, S::unpack(z));
  if (i.sat) result = saturated(result);
  if ((i.kind2 & 2) != 0 && !(result > 0) && result == result) result = 0;  // relu keeps a NaN
  const std::uint32_t bits = S::pack(result);
  return i.ftz ? S::flush(bits) : bits;
}

template <Arith Op, bool kBf16>
bool one(const Inst& i, Thread& t) {
  const auto a = t.get<std::uint16_t>(i.a);
  const auto b = t.get<std::uint16_t>(i.b);
  const auto c = t.get<std::uint16_t>(i.c);
  t.set(i.dst, static_cast<std::uint16_t>(computeOne<Op, kBf16>(i, a, b, c)));
  return true;
}

template <Arith Op, bool kBf16>
bool pair(const Inst& i, Thread& t) {
  const auto a = t.get<std::uint32_t>(i.a);
  const auto b = t.get<std::uint32_t>(i.b);
  const auto c = t.get<std::uint32_t>(i.c);
  const std::uint32_t low = computeOne<Op, kBf16>(i, a & 0xffff, b & 0xffff, c & 0xffff);
  const std::uint32_t high = computeOne<Op, kBf16>(i, a >> 16, b >> 16, c >> 16);
  t.set(i.dst, high << 16 | low);
  return true;
}

template <Arith Op>
Handler handlerOf(Type type) {
  switch (type) {
    case Type::kF16:
      return one<Op, false>;
    case Type::kF16x2:
      return pair<Op, false>;
    case Type::kBf16:
      return one<Op, true>;
    case Type::kBf16x2:
      return pair<Op, true>;
    default:
      return nullptr;
  }
}

Handler halfHandler(Arith op, Type type) {
  switch (op) {
    case Arith::kAdd:
      return handlerOf<Arith::kAdd>(type);
    case Arith::kSub:
      return handlerOf<Arith::kSub>(type);
    case Arith::kMul:
      return handlerOf<Arith::kMul>(type);
    case Arith::kFma:
      return handlerOf<Arith::kFma>(type);
    case Arith::kMin:
      return handlerOf<Arith::kMin>(type);
    case Arith::kMax:
      return handlerOf<Arith::kMax>(type);
    case Arith::kAbs:
      return handlerOf<Arith::kAbs>(type);
    case Arith::kNeg:
      return handlerOf<Arith::kNeg>(type);
    default:
      return nullptr;
  }
}

}  // namespace

void decodeHalf(Decode& d, Arith op, Type type) {
  const std::size_t count = operandsOf(op);
  d.expectCount(count + 1, count + 1);
  if (d.inst.rounding != Rounding::kNearest || (d.inst.kind2 & 1) != 0) d.unknownForm();
  d.inst.dst = d.destination(0);
  Operand* const places[] = {&d.inst.a, &d.inst.b, &d.inst.c};
  for (std::size_t k = 0; k < count; ++k) *places[k] = d.source(k + 1, type);
  emitOrFail(d, halfHandler(op, type));
}

}  // namespace divvy::ptx
