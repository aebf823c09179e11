// cvt: between all pairs of types.
#include <algorithm>
#include <limits>

#include "machine/pick.h"
#include "program/float_math.h"
#include "program/half.h"

namespace divvy::ptx {
namespace {

// Inst::kind: how a float becomes an integral value.
enum class Integral : std::uint8_t { kNo, kNearest, kZero, kDown, kUp };

double integral(Integral how, double value) {
  switch (how) {
    case Integral::kNearest:
      return std::nearbyint(value);
    case Integral::kZero:
      return std::trunc(value);
    case Integral::kDown:
      return std::floor(value);
    case Integral::kUp:
      return std::ceil(value);
    case Integral::kNo:
      break;
  }
  return value;
}

// The value of a register as a type has it. Every float type but f64 is exact in double.
template <Type K>
auto load(const Inst& i, const Thread& t) {
  if constexpr (K == Type::kU8) return t.get<std::uint8_t>(i.a);
  if constexpr (K == Type::kU16) return t.get<std::uint16_t>(i.a);
  if constexpr (K == Type::kU32) return t.get<std::uint32_t>(i.a);
  if constexpr (K == Type::kU64) return t.get<std::uint64_t>(i.a);
  if constexpr (K == Type::kS8) return t.get<std::int8_t>(i.a);
  if constexpr (K == Type::kS16) return t.get<std::int16_t>(i.a);
  if constexpr (K == Type::kS32) return t.get<std::int32_t>(i.a);
  if constexpr (K == Type::kS64) return t.get<std::int64_t>(i.a);
  if constexpr (K == Type::kF32) {
    const auto value = t.get<float>(i.a);
    return static_cast<double>(i.ftz ? flushed(value) : value);
  }
  if constexpr (K == Type::kF64) return t.get<double>(i.a);
  if constexpr (K == Type::kF16) return unpackSmall(kHalf, t.get<std::uint16_t>(i.a));
  if constexpr (K == Type::kBf16) {
    return static_cast<double>(std::bit_cast<float>(t.get<std::uint32_t>(i.a) << 16));
  }
}

// extra: a NaN becomes the highest bit, else nothing.
template <typename To>
std::uint64_t toInteger(const Inst& i, double value) {
  using Limits = std::numeric_limits<To>;
  if (value != value) return i.extra != 0 ? 1ULL << (8 * sizeof(To) - 1) : 0;
  const double whole = integral(static_cast<Integral>(i.kind), value);
  // The limits of 64 bits are no doubles; the next power of two is.
  const double above = std::ldexp(1.0, Limits::digits);
  if (whole >= above) return static_cast<std::uint64_t>(Limits::max());
  if (whole < static_cast<double>(Limits::min())) return static_cast<std::uint64_t>(Limits::min());
  return static_cast<std::uint64_t>(static_cast<To>(whole));
}

template <typename To, typename From>
std::uint64_t toInteger(const Inst& i, From value) {
  using Limits = std::numeric_limits<To>;
  if (!i.sat) return static_cast<std::uint64_t>(static_cast<To>(value));
  using Wide = __int128;
  const Wide clamped = std::clamp<Wide>(value, Limits::min(), Limits::max());
  return static_cast<std::uint64_t>(static_cast<To>(clamped));
}

float narrowed(const Inst& i, double value) {
  const auto cast = [](double x, double, double) { return static_cast<float>(x); };
  float result = underRounding<float>(i.rounding, cast, value);
  if (i.ftz) result = flushed(result);
  if (i.sat) result = saturated(result);
  return canonical(result);
}

// Integers straight to their float: by way of double they would be rounded twice.
template <typename Result, typename From>
Result fromInteger(const Inst& i, From value) {
  volatile From kept = value;
  if (i.rounding != Rounding::kNearest) std::fesetround(hostRounding(i.rounding));
  volatile Result result = static_cast<Result>(kept);
  if (i.rounding != Rounding::kNearest) std::fesetround(FE_TONEAREST);
  return i.sat ? saturated(Result{result}) : Result{result};
}

std::uint32_t packed(const Inst& i, const SmallFormat& format, double value) {
  if (i.sat) value = saturated(value);
  if (i.flag && !(value > 0) && value == value) value = 0;  // .relu
  const Overflow overflow = i.kind2 != 0 ? Overflow::kFinite : Overflow::kInfinity;
  return packSmall(format, value, i.rounding, overflow);
}

template <Type To, typename From>
std::uint64_t store(const Inst& i, From value) {
  constexpr bool kFromFloat = std::is_same_v<From, double>;
  if constexpr (To == Type::kU8) return toInteger<std::uint8_t>(i, value);
  if constexpr (To == Type::kU16) return toInteger<std::uint16_t>(i, value);
  if constexpr (To == Type::kU32) return toInteger<std::uint32_t>(i, value);
  if constexpr (To == Type::kU64) return toInteger<std::uint64_t>(i, value);
  if constexpr (To == Type::kS8) return toInteger<std::int8_t>(i, value);
  if constexpr (To == Type::kS16) return toInteger<std::int16_t>(i, value);
  if constexpr (To == Type::kS32) return toInteger<std::int32_t>(i, value);
  if constexpr (To == Type::kS64) return toInteger<std::int64_t>(i, value);
  if constexpr (To == Type::kF32 && kFromFloat) {
    const double whole = integral(static_cast<Integral>(i.kind), value);
    return std::bit_cast<std::uint32_t>(narrowed(i, whole));
  }
  if constexpr (To == Type::kF64 && kFromFloat) {
    const double whole = integral(static_cast<Integral>(i.kind), value);
    return std::bit_cast<std::uint64_t>(i.sat ? saturated(whole) : whole);
  }
  if constexpr (To == Type::kF32) return std::bit_cast<std::uint32_t>(fromInteger<float>(i, value));
  if constexpr (To == Type::kF64) {
    return std::bit_cast<std::uint64_t>(fromInteger<double>(i, value));
  }
  if constexpr (To == Type::kF16 || To == Type::kBf16) {
    const SmallFormat format = To == Type::kF16 ? kHalf : kBrain;
    if constexpr (kFromFloat) {
      return packed(i, format, integral(static_cast<Integral>(i.kind), value));
    } else {
      // Beyond 53 bits only the first and whether anything follows matter.
      const double first = underRounding<double>(
          Rounding::kZero, [&](double, double, double) { return static_cast<double>(value); }, 0.0);
      const bool more = static_cast<__int128>(first) != static_cast<__int128>(value);
      const auto bits = std::bit_cast<std::uint64_t>(first) | (more ? 1U : 0U);
      return packed(i, format, std::bit_cast<double>(bits));
    }
  }
}

template <Type To, Type From>
bool convert(const Inst& i, Thread& t) {
  t.regs[i.dst] = store<To>(i, load<From>(i, t)) & i.mask;
  return true;
}

template <Type To>
Handler fromType(Type from) {
  switch (from) {
#define DIVVY_PTX_FROM(NAME) \
  case Type::NAME:           \
    return convert<To, Type::NAME>;
    DIVVY_PTX_FROM(kU8)
    DIVVY_PTX_FROM(kU16)
    DIVVY_PTX_FROM(kU32)
    DIVVY_PTX_FROM(kU64)
    DIVVY_PTX_FROM(kS8)
    DIVVY_PTX_FROM(kS16)
    DIVVY_PTX_FROM(kS32)
    DIVVY_PTX_FROM(kS64)
    DIVVY_PTX_FROM(kF16)
    DIVVY_PTX_FROM(kBf16)
    DIVVY_PTX_FROM(kF32)
    DIVVY_PTX_FROM(kF64)
#undef DIVVY_PTX_FROM
    default:
      return nullptr;
  }
}

Handler handlerOf(Type to, Type from) {
  switch (to) {
#define DIVVY_PTX_TO(NAME) \
  case Type::NAME:         \
    return fromType<Type::NAME>(from);
    DIVVY_PTX_TO(kU8)
    DIVVY_PTX_TO(kU16)
    DIVVY_PTX_TO(kU32)
    DIVVY_PTX_TO(kU64)
    DIVVY_PTX_TO(kS8)
    DIVVY_PTX_TO(kS16)
    DIVVY_PTX_TO(kS32)
    DIVVY_PTX_TO(kS64)
    DIVVY_PTX_TO(kF16)
    DIVVY_PTX_TO(kBf16)
    DIVVY_PTX_TO(kF32)
    DIVVY_PTX_TO(kF64)
#undef DIVVY_PTX_TO
    default:
      return nullptr;
  }
}

// Two floats into one register; a becomes the upper half.
template <Type To>
bool convertPair(const Inst& i, Thread& t) {
  const SmallFormat format = To == Type::kF16x2    ? kHalf
                             : To == Type::kBf16x2 ? kBrain
                             : To == Type::kE4m3x2 ? kE4m3
                                                   : kE5m2;
  const int width = To == Type::kE4m3x2 || To == Type::kE5m2x2 ? 8 : 16;
  const std::uint32_t high = packed(i, format, t.get<float>(i.a));
  const std::uint32_t low = packed(i, format, t.get<float>(i.b));
  t.set(i.dst, high << width | low);
  return true;
}

bool convertTensor(const Inst& i, Thread& t) {
  t.set(i.dst, packed(i, kTensor, t.get<float>(i.a)) << 13);
  return true;
}

// Two bytes of e4m3 or e5m2 (flag2: kind) to a pair of halves
template <bool kE5>
bool widenPair(const Inst& i, Thread& t) {
  const auto bits = t.get<std::uint32_t>(i.a);
  const SmallFormat from = kE5 ? kE5m2 : kE4m3;
  const std::uint32_t low =
      packSmall(kHalf, unpackSmall(from, bits & 0xff), Rounding::kNearest, Overflow::kInfinity);
  const std::uint32_t high = packSmall(kHalf, unpackSmall(from, bits >> 8 & 0xff),
                                       Rounding::kNearest, Overflow::kInfinity);
  t.set(i.dst, high << 16 | low);
  return true;
}

Handler pairHandler(Type to) {
  switch (to) {
    case Type::kF16x2:
      return convertPair<Type::kF16x2>;
    case Type::kBf16x2:
      return convertPair<Type::kBf16x2>;
    case Type::kE4m3x2:
      return convertPair<Type::kE4m3x2>;
    case Type::kE5m2x2:
      return convertPair<Type::kE5m2x2>;
    default:
      return nullptr;
  }
}

// Float to float of the same or a wider type keeps its value: without .rni no rounding is asked.
void takeRounding(Decode& d) {
  const std::string_view whole = d.takeAny({"rni", "rzi", "rmi", "rpi"});
  const Integral how = whole == "rni"   ? Integral::kNearest
                       : whole == "rzi" ? Integral::kZero
                       : whole == "rmi" ? Integral::kDown
                       : whole == "rpi" ? Integral::kUp
                                        : Integral::kNo;
  d.inst.kind = static_cast<std::uint8_t>(how);
  d.inst.rounding = d.rounding();
}

Type asUnsigned(Type type) {
  return type >= Type::kB8 && type <= Type::kB64 ? bitsOf(type) : type;
}

void decodePair(Decode& d, Type to, Type from) {
  if (from == Type::kE4m3x2 || from == Type::kE5m2x2) {
    d.expectCount(2, 2);
    d.sources(1, {from});
    if (to != Type::kF16x2) d.unknownForm();
    return d.emit(from == Type::kE5m2x2 ? widenPair<true> : widenPair<false>);
  }
  d.expectCount(3, 3);
  d.sources(1, {from, from});
  if (from != Type::kF32) d.unknownForm();
  emitOrFail(d, pairHandler(to));
}

void decodeConvert(Decode& d) {
  takeRounding(d);
  d.floatModifiers();
  d.inst.kind2 = d.take("satfinite") ? 1 : 0;
  d.inst.flag = d.take("relu");
  const Type to = asUnsigned(d.type());
  const Type from = asUnsigned(d.type());
  d.inst.dst = d.destination(0);
  const bool pair =
      to == Type::kF16x2 || to == Type::kBf16x2 || to == Type::kE4m3x2 || to == Type::kE5m2x2;
  if (pair) return decodePair(d, to, from);
  d.expectCount(2, 2);
  d.sources(1, {from});
  if (to == Type::kTf32) {
    if (from != Type::kF32) d.unknownForm();
    return d.emit(convertTensor);
  }
  // Integers truncate where nothing else is said.
  const auto none = static_cast<std::uint8_t>(Integral::kNo);
  if (isFloat(from) && !isFloat(to) && d.inst.kind == none) d.unknownForm();
  d.inst.extra = from == Type::kF64 || sizeOf(to) == 8 ? 1 : 0;
  emitOrFail(d, handlerOf(to, from));
}

}  // namespace

void addConvertOps(DecoderTable& table) {
  table["cvt"] = decodeConvert;
}

}  // namespace divvy::ptx
