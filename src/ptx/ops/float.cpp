// Arithmetic and functions of f32 and f64.
#include "machine/arithmetic.h"
#include "machine/pick.h"
#include "program/float_math.h"
#include "program/half.h"

namespace divvy::ptx {
namespace {

template <Arith Op, typename T>
T compute(T a, T b, T c) {
  if constexpr (Op == Arith::kAdd) return a + b;
  if constexpr (Op == Arith::kSub) return a - b;
  if constexpr (Op == Arith::kMul) return a * b;
  if constexpr (Op == Arith::kDiv) return a / b;
  if constexpr (Op == Arith::kFma) return std::fma(a, b, c);
  return a;
}

// Rounded to nearest, without modifiers.
template <Arith Op, typename T>
bool plain(const Inst& i, Thread& t) {
  const T c = Op == Arith::kFma ? t.get<T>(i.c) : T{0};
  t.set(i.dst, canonical(compute<Op, T>(t.get<T>(i.a), t.get<T>(i.b), c)));
  return true;
}

template <Arith Op, typename T>
bool modified(const Inst& i, Thread& t) {
  T a = t.get<T>(i.a);
  T b = t.get<T>(i.b);
  T c = Op == Arith::kFma ? t.get<T>(i.c) : T{0};
  if (i.ftz) {
    a = flushed(a);
    b = flushed(b);
    c = flushed(c);
  }
  T result = underRounding<T>(i.rounding, compute<Op, T>, a, b, c);
  if (i.ftz) result = flushed(result);
  if (i.sat) result = saturated(result);
  t.set(i.dst, canonical(result));
  return true;
}

template <Arith Op, typename T>
bool extreme(const Inst& i, Thread& t) {
  T a = t.get<T>(i.a);
  T b = t.get<T>(i.b);
  if (i.ftz) {
    a = flushed(a);
    b = flushed(b);
  }
  const bool negative = std::signbit(a) != std::signbit(b);
  if (i.kind2 == 1) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  T result = Op == Arith::kMin ? smaller(a, b, i.flag) : larger(a, b, i.flag);
  if (i.kind2 == 1) result = std::copysign(result, negative ? T{-1} : T{1});
  t.set(i.dst, canonical(result));
  return true;
}

template <Arith Op, typename T>
bool signOp(const Inst& i, Thread& t) {
  T a = t.get<T>(i.a);
  if (i.ftz) a = flushed(a);
  t.set(i.dst, Op == Arith::kAbs ? std::fabs(a) : -a);
  return true;
}

template <typename T>
Handler floatHandler(Arith op, bool simple) {
  switch (op) {
    case Arith::kAdd:
      return simple ? plain<Arith::kAdd, T> : modified<Arith::kAdd, T>;
    case Arith::kSub:
      return simple ? plain<Arith::kSub, T> : modified<Arith::kSub, T>;
    case Arith::kMul:
      return simple ? plain<Arith::kMul, T> : modified<Arith::kMul, T>;
    case Arith::kDiv:
      return simple ? plain<Arith::kDiv, T> : modified<Arith::kDiv, T>;
    case Arith::kFma:
      return simple ? plain<Arith::kFma, T> : modified<Arith::kFma, T>;
    case Arith::kMin:
      return extreme<Arith::kMin, T>;
    case Arith::kMax:
      return extreme<Arith::kMax, T>;
    case Arith::kAbs:
      return signOp<Arith::kAbs, T>;
    case Arith::kNeg:
      return signOp<Arith::kNeg, T>;
  }
  return nullptr;
}

// Functions. The approximate ones are computed in double and rounded once: better than real cards
// promise, and the same everywhere.
enum class Fn : std::uint8_t { kRcp, kSqrt, kRsqrt, kSin, kCos, kLg2, kEx2, kTanh };

double function(Fn fn, double x) {
  switch (fn) {
    case Fn::kRcp:
      return 1.0 / x;
    case Fn::kSqrt:
      return std::sqrt(x);
    case Fn::kRsqrt:
      return 1.0 / std::sqrt(x);
    case Fn::kSin:
      return std::sin(x);
    case Fn::kCos:
      return std::cos(x);
    case Fn::kLg2:
      return std::log2(x);
    case Fn::kEx2:
      return std::exp2(x);
    case Fn::kTanh:
      return std::tanh(x);
  }
  return x;
}

bool functionF32(const Inst& i, Thread& t) {
  float a = t.get<float>(i.a);
  if (i.ftz) a = flushed(a);
  auto result = static_cast<float>(function(static_cast<Fn>(i.kind), a));
  if (i.ftz) result = flushed(result);
  t.set(i.dst, canonical(result));
  return true;
}

// flag: only the upper words of operand and result count
bool functionF64(const Inst& i, Thread& t) {
  constexpr std::uint64_t kUpper = ~0ULL << 32;
  std::uint64_t bits = t.raw(i.a);
  if (i.flag) bits &= kUpper;
  double a = std::bit_cast<double>(bits);
  if (i.ftz) a = flushed(a);
  double result = function(static_cast<Fn>(i.kind), a);
  if (i.ftz) result = flushed(result);
  t.set(i.dst, i.flag ? std::bit_cast<std::uint64_t>(result) & kUpper
                      : std::bit_cast<std::uint64_t>(result));
  return true;
}

// rcp and sqrt with a rounding
template <typename T>
bool exactFunction(const Inst& i, Thread& t) {
  T a = t.get<T>(i.a);
  if (i.ftz) a = flushed(a);
  const bool root = static_cast<Fn>(i.kind) == Fn::kSqrt;
  T result = underRounding<T>(
      i.rounding, [root](T x, T, T) { return root ? std::sqrt(x) : T{1} / x; }, a);
  if (i.ftz) result = flushed(result);
  t.set(i.dst, canonical(result));
  return true;
}

// ex2 and tanh of small formats; flag: two at once
template <bool kBf16>
bool functionSmall(const Inst& i, Thread& t) {
  constexpr SmallFormat kFormat = kBf16 ? kBrain : kHalf;
  const auto bits = t.get<std::uint32_t>(i.a);
  std::uint32_t result = 0;
  for (unsigned at = 0; at < (i.flag ? 32U : 16U); at += 16) {
    const double a = unpackSmall(kFormat, bits >> at & 0xffff);
    result |= packSmall(kFormat, function(static_cast<Fn>(i.kind), a), Rounding::kNearest,
                        Overflow::kInfinity)
              << at;
  }
  t.set(i.dst, result);
  return true;
}

bool copySign(const Inst& i, Thread& t) {
  t.set(i.dst, std::copysign(t.get<float>(i.b), t.get<float>(i.a)));
  return true;
}
bool copySignWide(const Inst& i, Thread& t) {
  t.set(i.dst, std::copysign(t.get<double>(i.b), t.get<double>(i.a)));
  return true;
}

enum class Property : std::uint8_t {
  kFinite,
  kInfinite,
  kNumber,
  kNotANumber,
  kNormal,
  kSubnormal
};

template <typename T>
bool testProperty(const Inst& i, Thread& t) {
  const T a = t.get<T>(i.a);
  bool holds = false;
  switch (static_cast<Property>(i.kind)) {
    case Property::kFinite:
      holds = std::isfinite(a);
      break;
    case Property::kInfinite:
      holds = std::isinf(a);
      break;
    case Property::kNumber:
      holds = !std::isnan(a);
      break;
    case Property::kNotANumber:
      holds = std::isnan(a);
      break;
    case Property::kNormal:
      holds = std::isnormal(a);
      break;
    case Property::kSubnormal:
      holds = std::fpclassify(a) == FP_SUBNORMAL;
      break;
  }
  t.set(i.dst, std::uint8_t{holds});
  return true;
}

bool isSmall(Type type) {
  return type == Type::kF16 || type == Type::kF16x2 || type == Type::kBf16 || type == Type::kBf16x2;
}

template <Fn F>
void decodeFunction(Decode& d) {
  d.inst.kind = static_cast<std::uint8_t>(F);
  const bool approximate = d.take("approx");
  d.inst.rounding = d.rounding();
  d.inst.ftz = d.take("ftz");
  const Type type = d.type();
  d.expectCount(2, 2);
  d.inst.dst = d.destination(0);
  d.sources(1, {type});
  if (isSmall(type) && (F == Fn::kEx2 || F == Fn::kTanh)) {
    d.inst.flag = sizeOf(type) == 4;
    const bool brain = type == Type::kBf16 || type == Type::kBf16x2;
    return d.emit(brain ? functionSmall<true> : functionSmall<false>);
  }
  if (type != Type::kF32 && type != Type::kF64) d.unknownForm();
  if (!approximate) {
    if (F != Fn::kRcp && F != Fn::kSqrt) d.unknownForm();
    return d.emit(type == Type::kF32 ? exactFunction<float> : exactFunction<double>);
  }
  if (type == Type::kF32) return d.emit(functionF32);
  if (F != Fn::kRcp && F != Fn::kRsqrt) d.unknownForm();
  d.inst.flag = F == Fn::kRcp || d.inst.ftz;
  d.emit(functionF64);
}

void decodeCopySign(Decode& d) {
  const Type type = d.type();
  d.expectCount(3, 3);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type});
  if (type != Type::kF32 && type != Type::kF64) d.unknownForm();
  d.emit(type == Type::kF32 ? copySign : copySignWide);
}

void decodeTest(Decode& d) {
  constexpr std::string_view kNames[] = {"finite",     "infinite", "number",
                                         "notanumber", "normal",   "subnormal"};
  bool found = false;
  for (std::uint8_t k = 0; k < 6 && !found; ++k) {
    found = d.take(kNames[k]);
    d.inst.kind = k;
  }
  const Type type = d.type();
  d.expectCount(2, 2);
  d.inst.dst = d.destination(0);
  d.sources(1, {type});
  if (!found || (type != Type::kF32 && type != Type::kF64)) d.unknownForm();
  d.emit(type == Type::kF32 ? testProperty<float> : testProperty<double>);
}

}  // namespace

void decodeFloat(Decode& d, Arith op, Type type) {
  const std::size_t count = operandsOf(op);
  d.expectCount(count + 1, count + 1);
  d.inst.dst = d.destination(0);
  Operand* const places[] = {&d.inst.a, &d.inst.b, &d.inst.c};
  for (std::size_t k = 0; k < count; ++k) *places[k] = d.source(k + 1, type);
  const bool narrow = type == Type::kF32;
  if (!narrow && (d.inst.ftz || d.inst.sat || d.inst.kind2 != 0)) d.unknownForm();
  if (d.inst.rounding == Rounding::kAway) d.unknownForm();
  const bool simple = d.inst.rounding == Rounding::kNearest && !d.inst.ftz && !d.inst.sat;
  emitOrFail(d, narrow ? floatHandler<float>(op, simple) : floatHandler<double>(op, simple));
}

void addFloatOps(DecoderTable& table) {
  table["rcp"] = decodeFunction<Fn::kRcp>;
  table["sqrt"] = decodeFunction<Fn::kSqrt>;
  table["rsqrt"] = decodeFunction<Fn::kRsqrt>;
  table["sin"] = decodeFunction<Fn::kSin>;
  table["cos"] = decodeFunction<Fn::kCos>;
  table["lg2"] = decodeFunction<Fn::kLg2>;
  table["ex2"] = decodeFunction<Fn::kEx2>;
  table["tanh"] = decodeFunction<Fn::kTanh>;
  table["copysign"] = decodeCopySign;
  table["testp"] = decodeTest;
}

}  // namespace divvy::ptx
