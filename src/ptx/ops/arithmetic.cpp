// Integer arithmetic, and the words it shares with floating point.
#include <algorithm>
#include <limits>

#include "machine/arithmetic.h"
#include "machine/pick.h"

namespace divvy::ptx {
namespace {

using Wide = __int128;
using UnsignedWide = unsigned __int128;

// In 64 bits without a sign nothing overflows that matters.
constexpr std::uint64_t bits(auto value) {
  return static_cast<std::uint64_t>(value);
}

struct Add {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(bits(a) + bits(b));
  }
};
struct Sub {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(bits(a) - bits(b));
  }
};
struct MulLow {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(bits(a) * bits(b));
  }
};
struct MulHigh {
  template <typename T>
  static T apply(T a, T b) {
    using Product = std::conditional_t<std::is_signed_v<T>, Wide, UnsignedWide>;
    return static_cast<T>(static_cast<Product>(a) * static_cast<Product>(b) >> 8 * sizeof(T));
  }
};
template <typename Mul>
struct Mad {
  template <typename T>
  static T apply(T a, T b, T c) {
    return Add::apply<T>(Mul::template apply<T>(a, b), c);
  }
};

// Real cards give all ones for a division by zero, and the dividend for its remainder.
struct Div {
  template <typename T>
  static T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Sub::apply<T>(0, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <typename T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return std::min(a, b);
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return std::max(a, b);
  }
};
struct Abs {
  template <typename T>
  static T apply(T a) {
    return a < 0 ? Sub::apply<T>(0, a) : a;
  }
};
struct Neg {
  template <typename T>
  static T apply(T a) {
    return Sub::apply<T>(0, a);
  }
};
struct Sad {
  template <typename T>
  static T apply(T a, T b, T c) {
    return Add::apply<T>(c, a < b ? Sub::apply<T>(b, a) : Sub::apply<T>(a, b));
  }
};

std::int32_t saturate(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}

// add, sub, mad.hi with .sat, which are of s32 only
template <Arith Op>
bool saturated(const Inst& i, Thread& t) {
  const std::int64_t a = t.get<std::int32_t>(i.a);
  const std::int64_t b = t.get<std::int32_t>(i.b);
  std::int64_t result = 0;
  if constexpr (Op == Arith::kAdd) result = a + b;
  if constexpr (Op == Arith::kSub) result = a - b;
  if constexpr (Op == Arith::kFma) result = (a * b >> 32) + t.get<std::int32_t>(i.c);
  t.set(i.dst, saturate(result));
  return true;
}

// mul.wide and mad.wide
template <typename Narrow, typename Result, bool kAdd>
bool wide(const Inst& i, Thread& t) {
  const auto a = static_cast<Result>(t.get<Narrow>(i.a));
  const auto b = static_cast<Result>(t.get<Narrow>(i.b));
  std::uint64_t product = bits(a) * bits(b);
  if constexpr (kAdd) product += t.raw(i.c);
  t.set(i.dst, static_cast<Result>(product));
  return true;
}

template <bool kAdd>
Handler wideHandler(Type type) {
  switch (type) {
    case Type::kU16:
      return wide<std::uint16_t, std::uint32_t, kAdd>;
    case Type::kS16:
      return wide<std::int16_t, std::int32_t, kAdd>;
    case Type::kU32:
      return wide<std::uint32_t, std::uint64_t, kAdd>;
    case Type::kS32:
      return wide<std::int32_t, std::int64_t, kAdd>;
    default:
      return nullptr;
  }
}

// mul24 and mad24: flag for the upper half, kind for mad
template <bool kSigned>
bool short24(const Inst& i, Thread& t) {
  const auto narrow = [&](Operand operand) -> std::int64_t {
    const auto value = static_cast<std::uint32_t>(t.raw(operand)) << 8;
    return kSigned ? static_cast<std::int32_t>(value) >> 8 : static_cast<std::int64_t>(value >> 8);
  };
  const std::uint64_t product = bits(narrow(i.a)) * bits(narrow(i.b));
  const std::uint64_t part = i.flag ? product >> 16 : product;
  t.set(i.dst, static_cast<std::uint32_t>(part + (i.kind != 0 ? t.raw(i.c) : 0)));
  return true;
}

// a + b + carry, or a - b - borrow (which is the carry here). kind: uses it; flag: makes it.
template <typename T, bool kSubtract>
bool carried(const Inst& i, Thread& t) {
  const UnsignedWide a = t.get<T>(i.a);
  const UnsignedWide b = t.get<T>(i.b);
  const unsigned in = i.kind != 0 && t.carry ? 1 : 0;
  const UnsignedWide result = kSubtract ? a - b - in : a + b + in;
  if (i.flag) t.carry = (result >> 8 * sizeof(T) & 1) != 0;
  t.set(i.dst, static_cast<T>(result));
  return true;
}

// mad.cc and madc: kind and flag as above, kind2 for .hi
template <typename T, typename Signed>
bool carriedMad(const Inst& i, Thread& t) {
  const T part =
      i.kind2 != 0 ? static_cast<T>(MulHigh::apply<Signed>(t.get<Signed>(i.a), t.get<Signed>(i.b)))
                   : MulLow::apply<T>(t.get<T>(i.a), t.get<T>(i.b));
  const unsigned in = i.kind != 0 && t.carry ? 1 : 0;
  const UnsignedWide result = UnsignedWide{part} + t.get<T>(i.c) + in;
  if (i.flag) t.carry = (result >> 8 * sizeof(T) & 1) != 0;
  t.set(i.dst, static_cast<T>(result));
  return true;
}

// dp4a and dp2a: kind: bytes of a step of b; kind2: bit 0: a signed, bit 1: b signed
bool dotProduct(const Inst& i, Thread& t) {
  const auto element = [](std::uint32_t word, unsigned at, unsigned width, bool is_signed) {
    const std::uint32_t top = word << (32 - at - width);
    return is_signed ? static_cast<std::int64_t>(static_cast<std::int32_t>(top) >> (32 - width))
                     : static_cast<std::int64_t>(top >> (32 - width));
  };
  const auto a = t.get<std::uint32_t>(i.a);
  const auto b = t.get<std::uint32_t>(i.b);
  std::uint64_t sum = t.raw(i.c);
  const unsigned width = i.kind;  // of an element of a
  for (unsigned k = 0; k < 32 / width; ++k) {
    const unsigned at = 8 * k + (i.flag ? 16 : 0);
    sum += bits(element(a, width * k, width, (i.kind2 & 1) != 0) *
                element(b, at, 8, (i.kind2 & 2) != 0));
  }
  t.set(i.dst, static_cast<std::uint32_t>(sum));
  return true;
}

template <bool kSubtract>
Handler carriedHandler(Type type) {
  return sizeOf(type) == 8 ? carried<std::uint64_t, kSubtract> : carried<std::uint32_t, kSubtract>;
}

void decodeCarried(Decode& d, bool subtract, bool uses) {
  d.inst.kind = uses ? 1 : 0;
  d.inst.flag = d.take("cc");
  const Type type = d.type();
  if (sizeOf(type) < 4 || isFloat(type)) d.unknownForm();
  d.expectCount(3, 3);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type});
  d.emit(subtract ? carriedHandler<true>(type) : carriedHandler<false>(type));
}

Handler integerHandler(Arith op, Type type) {
  switch (op) {
    case Arith::kAdd:
      return pickBinary<Add>(type);
    case Arith::kSub:
      return pickBinary<Sub>(type);
    case Arith::kDiv:
      return pickBinary<Div>(type);
    case Arith::kMin:
      return pickBinary<Min>(type);
    case Arith::kMax:
      return pickBinary<Max>(type);
    case Arith::kAbs:
      return pickUnary<Abs>(type);
    case Arith::kNeg:
      return pickUnary<Neg>(type);
    default:
      return nullptr;
  }
}

// add sub div min max abs neg of any type. Their .approx and .full are of f32 only.
template <Arith Op>
void decodeCommon(Decode& d) {
  const bool additive = Op == Arith::kAdd || Op == Arith::kSub;
  const std::string_view name = d.statement.opcode;
  if (additive && name.find(".cc.") != std::string_view::npos) {
    return decodeCarried(d, Op == Arith::kSub, false);
  }
  d.inst.rounding = d.rounding();
  d.floatModifiers();
  d.inst.flag = d.take("NaN");
  d.inst.kind2 = d.take("xorsign") && d.take("abs") ? 1 : 0;
  const bool relu = d.take("relu");
  if (Op == Arith::kDiv) d.takeAny({"approx", "full"});
  const Type type = d.type();
  if (relu) d.inst.kind2 |= 2;
  if (type == Type::kF32 || type == Type::kF64) return decodeFloat(d, Op, type);
  if (isFloat(type)) return decodeHalf(d, Op, type);
  d.expectCount(operandsOf(Op) + 1, operandsOf(Op) + 1);
  d.inst.dst = d.destination(0);
  if (operandsOf(Op) == 1) {
    d.sources(1, {type});
  } else {
    d.sources(1, {type, type});
  }
  if (d.inst.ftz || d.inst.flag || d.inst.kind2 != 0) d.unknownForm();
  if (!d.inst.sat) return emitOrFail(d, integerHandler(Op, type));
  if (type != Type::kS32 || !additive) d.unknownForm();
  d.emit(saturated < Op == Arith::kAdd ? Arith::kAdd : Arith::kSub >);
}

void decodeMul(Decode& d) {
  d.inst.rounding = d.rounding();
  d.floatModifiers();
  const std::string_view part = d.takeAny({"lo", "hi", "wide"});
  const Type type = d.type();
  if (type == Type::kF32 || type == Type::kF64) return decodeFloat(d, Arith::kMul, type);
  if (isFloat(type)) return decodeHalf(d, Arith::kMul, type);
  d.expectCount(3, 3);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type});
  if (part.empty()) d.unknownForm();
  emitOrFail(d, part == "wide" ? wideHandler<false>(type)
                : part == "hi" ? pickBinary<MulHigh>(type)
                               : pickBinary<MulLow>(type));
}

void decodeMadCarried(Decode& d, bool uses, std::string_view part) {
  d.inst.kind = uses ? 1 : 0;
  d.inst.kind2 = part == "hi" ? 1 : 0;
  const Type type = d.type();
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type, type});
  switch (type) {
    case Type::kU32:
      return d.emit(carriedMad<std::uint32_t, std::uint32_t>);
    case Type::kS32:
      return d.emit(carriedMad<std::uint32_t, std::int32_t>);
    case Type::kU64:
      return d.emit(carriedMad<std::uint64_t, std::uint64_t>);
    case Type::kS64:
      return d.emit(carriedMad<std::uint64_t, std::int64_t>);
    default:
      d.unknownForm();
  }
}

void decodeMad(Decode& d) {
  d.expectCount(4, 4);
  const std::string_view part = d.takeAny({"lo", "hi", "wide"});
  if (d.take("cc")) {
    d.inst.flag = true;
    return decodeMadCarried(d, false, part);
  }
  d.inst.rounding = d.rounding();
  d.floatModifiers();
  const Type type = d.type();
  if (type == Type::kF32 || type == Type::kF64) return decodeFloat(d, Arith::kFma, type);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type, part == "wide" ? Type::kU64 : type});
  if (part.empty()) d.unknownForm();
  if (d.inst.sat) {
    if (part != "hi" || type != Type::kS32) d.unknownForm();
    return d.emit(saturated<Arith::kFma>);
  }
  emitOrFail(d, part == "wide" ? wideHandler<true>(type)
                : part == "hi" ? pickTernary<Mad<MulHigh>>(type)
                               : pickTernary<Mad<MulLow>>(type));
}

void decodeMadc(Decode& d) {
  d.expectCount(4, 4);
  const std::string_view part = d.takeAny({"lo", "hi"});
  d.inst.flag = d.take("cc");
  decodeMadCarried(d, true, part);
}

void decodeFma(Decode& d) {
  d.expectCount(4, 4);
  d.inst.rounding = d.rounding();
  d.floatModifiers();
  if (d.take("relu")) d.inst.kind2 = 2;
  const Type type = d.type();
  if (!isFloat(type)) d.unknownForm();
  if (type == Type::kF32 || type == Type::kF64) return decodeFloat(d, Arith::kFma, type);
  decodeHalf(d, Arith::kFma, type);
}

void decodeRem(Decode& d) {
  const Type type = d.type();
  d.expectCount(3, 3);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type});
  emitOrFail(d, pickBinary<Rem>(type));
}

void decodeSad(Decode& d) {
  const Type type = d.type();
  d.expectCount(4, 4);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type, type});
  emitOrFail(d, pickTernary<Sad>(type));
}

template <bool kAdd>
void decodeShort24(Decode& d) {
  d.inst.flag = d.takeAny({"lo", "hi"}) == "hi";
  const Type type = d.type();
  if (type != Type::kU32 && type != Type::kS32) d.unknownForm();
  d.expectCount(kAdd ? 4 : 3, kAdd ? 4 : 3);
  d.inst.kind = kAdd ? 1 : 0;
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type});
  if (kAdd) d.inst.c = d.source(3, type);
  d.emit(type == Type::kS32 ? short24<true> : short24<false>);
}

// width: bits of an element of a
template <unsigned kWidth>
void decodeDot(Decode& d) {
  d.inst.kind = kWidth;
  if (kWidth == 16) d.inst.flag = d.takeAny({"lo", "hi"}) == "hi";
  const Type a = d.type();
  const Type b = d.type();
  d.inst.kind2 = static_cast<std::uint8_t>((isSigned(a) ? 1 : 0) | (isSigned(b) ? 2 : 0));
  d.expectCount(4, 4);
  d.inst.dst = d.destination(0);
  d.sources(1, {a, b, a});
  d.emit(dotProduct);
}

}  // namespace

void addArithmeticOps(DecoderTable& table) {
  table["add"] = decodeCommon<Arith::kAdd>;
  table["sub"] = decodeCommon<Arith::kSub>;
  table["div"] = decodeCommon<Arith::kDiv>;
  table["min"] = decodeCommon<Arith::kMin>;
  table["max"] = decodeCommon<Arith::kMax>;
  table["abs"] = decodeCommon<Arith::kAbs>;
  table["neg"] = decodeCommon<Arith::kNeg>;
  table["mul"] = decodeMul;
  table["mad"] = decodeMad;
  table["madc"] = decodeMadc;
  table["fma"] = decodeFma;
  table["rem"] = decodeRem;
  table["sad"] = decodeSad;
  table["mul24"] = decodeShort24<false>;
  table["mad24"] = decodeShort24<true>;
  table["addc"] = [](Decode& d) { decodeCarried(d, false, true); };
  table["subc"] = [](Decode& d) { decodeCarried(d, true, true); };
  table["dp4a"] = decodeDot<8>;
  table["dp2a"] = decodeDot<16>;
}

}  // namespace divvy::ptx
