// Logic, shifts and bit fields.
#include <algorithm>
#include <bit>

#include "machine/pick.h"

namespace divvy::ptx {
namespace {

struct And {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <typename T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <typename T>
  static T apply(T a) {
    return a == 0 ? 1 : 0;
  }
};

// Amounts are of 32 bits and stop at the width.
template <typename T>
bool shiftLeft(const Inst& i, Thread& t) {
  const auto by = t.get<std::uint32_t>(i.b);
  const std::uint64_t value = t.get<std::make_unsigned_t<T>>(i.a);
  t.set(i.dst, static_cast<std::make_unsigned_t<T>>(by >= 8 * sizeof(T) ? 0 : value << by));
  return true;
}
template <typename T>
bool shiftRight(const Inst& i, Thread& t) {
  const std::uint32_t most = 8 * sizeof(T);
  const auto by = t.get<std::uint32_t>(i.b);
  const T value = t.get<T>(i.a);
  if constexpr (std::is_signed_v<T>) {
    t.set(i.dst, static_cast<T>(value >> std::min(by, most - 1)));
  } else {
    t.set(i.dst, static_cast<T>(by >= most ? 0 : value >> by));
  }
  return true;
}

// shf: flag: wrap the amount, else it stops at 32
template <bool kLeft>
bool funnel(const Inst& i, Thread& t) {
  const std::uint64_t both = t.get<std::uint64_t>(i.b) << 32 | t.get<std::uint32_t>(i.a);
  const auto amount = t.get<std::uint32_t>(i.c);
  const std::uint32_t by = i.flag ? amount & 31 : std::min(amount, 32U);
  t.set(i.dst, static_cast<std::uint32_t>(kLeft ? both << by >> 32 : both >> by));
  return true;
}

bool lop3(const Inst& i, Thread& t) {
  const auto a = t.get<std::uint32_t>(i.a);
  const auto b = t.get<std::uint32_t>(i.b);
  const auto c = t.get<std::uint32_t>(i.c);
  std::uint32_t result = 0;
  for (unsigned row = 0; row < 8; ++row) {
    if ((i.extra >> row & 1) == 0) continue;
    result |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  t.set(i.dst, result);
  return true;
}

// With a predicate beside it: (result != 0) combined with d.
bool lop3Predicate(const Inst& i, Thread& t) {
  const bool with = t.predicate(i.d);
  lop3(i, t);
  const bool any = t.get<std::uint32_t>(i.dst) != 0;
  t.set(i.dst2, std::uint8_t{i.kind == 0 ? any || with : any && with});
  return true;
}

enum class Permute : std::uint8_t { kSelect, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16 };

std::uint32_t permuteSelector(Permute mode, std::uint32_t c) {
  constexpr std::uint32_t kF4e[] = {0x3210, 0x4321, 0x5432, 0x6543};
  constexpr std::uint32_t kB4e[] = {0x5670, 0x6701, 0x7012, 0x0123};
  constexpr std::uint32_t kRc8[] = {0x0000, 0x1111, 0x2222, 0x3333};
  constexpr std::uint32_t kEcl[] = {0x3210, 0x3211, 0x3222, 0x3333};
  constexpr std::uint32_t kEcr[] = {0x0000, 0x1110, 0x2210, 0x3210};
  constexpr std::uint32_t kRc16[] = {0x1010, 0x3232, 0x1010, 0x3232};
  const std::uint32_t* const tables[] = {nullptr, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16};
  return mode == Permute::kSelect ? c : tables[static_cast<int>(mode)][c & 3];
}

bool permute(const Inst& i, Thread& t) {
  const std::uint64_t both = t.get<std::uint64_t>(i.b) << 32 | t.get<std::uint32_t>(i.a);
  const auto selector = permuteSelector(static_cast<Permute>(i.kind), t.get<std::uint32_t>(i.c));
  std::uint32_t result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const std::uint32_t choice = selector >> 4 * k & 0xf;
    auto byte = static_cast<std::uint32_t>(both >> 8 * (choice & 7) & 0xff);
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << 8 * k;
  }
  t.set(i.dst, result);
  return true;
}

// Position and length are the low bytes of b and c; what lies beyond the value is its sign.
template <typename T>
bool extractField(const Inst& i, Thread& t) {
  constexpr unsigned kBits = 8 * sizeof(T);
  const unsigned at = t.get<std::uint32_t>(i.b) & 0xff;
  const unsigned length = t.get<std::uint32_t>(i.c) & 0xff;
  const T value = t.get<T>(i.a);
  using Unsigned = std::make_unsigned_t<T>;
  bool sign = false;
  if (std::is_signed_v<T> && length != 0) {
    const unsigned last = std::min(at + length - 1, kBits - 1);
    sign = (static_cast<Unsigned>(value) >> last & 1) != 0;
  }
  Unsigned result = at < kBits ? static_cast<Unsigned>(static_cast<Unsigned>(value) >> at) : 0;
  const unsigned have = at < kBits ? std::min(length, kBits - at) : 0;
  if (have < kBits) {
    const auto keep = static_cast<Unsigned>((Unsigned{1} << have) - 1);
    result = static_cast<Unsigned>((result & keep) | (sign ? ~keep : Unsigned{0}));
  }
  t.set(i.dst, result);
  return true;
}

template <typename T>
bool insertField(const Inst& i, Thread& t) {
  constexpr unsigned kBits = 8 * sizeof(T);
  const unsigned at = t.get<std::uint32_t>(i.c) & 0xff;
  const unsigned length = t.get<std::uint32_t>(i.d) & 0xff;
  const T field = t.get<T>(i.a);
  const T into = t.get<T>(i.b);
  T result = into;
  if (at < kBits && length != 0) {
    const T ones = length >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
    const auto mask = static_cast<T>(ones << at);
    result = static_cast<T>((into & ~mask) | (static_cast<T>(field << at) & mask));
  }
  t.set(i.dst, result);
  return true;
}

// flag: .shiftamt
template <typename T>
bool findBit(const Inst& i, Thread& t) {
  using Unsigned = std::make_unsigned_t<T>;
  const T value = t.get<T>(i.a);
  const auto seen = static_cast<Unsigned>(value < 0 ? ~value : value);
  const int zeros = std::countl_zero(seen);
  const int top = static_cast<int>(8 * sizeof(T)) - 1 - zeros;
  t.set(i.dst, static_cast<std::uint32_t>(seen == 0 ? -1 : i.flag ? zeros : top));
  return true;
}

template <typename T>
bool reverse(const Inst& i, Thread& t) {
  T from = t.get<T>(i.a);
  T to = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k, from = static_cast<T>(from >> 1)) {
    to = static_cast<T>(to << 1 | (from & 1));
  }
  t.set(i.dst, to);
  return true;
}
template <typename T>
bool leadingZeros(const Inst& i, Thread& t) {
  t.set(i.dst, static_cast<std::uint32_t>(std::countl_zero(t.get<T>(i.a))));
  return true;
}
template <typename T>
bool population(const Inst& i, Thread& t) {
  t.set(i.dst, static_cast<std::uint32_t>(std::popcount(t.get<T>(i.a))));
  return true;
}

// flag: wrap position and length
bool bitMask(const Inst& i, Thread& t) {
  std::uint64_t at = t.get<std::uint32_t>(i.a);
  std::uint64_t length = t.get<std::uint32_t>(i.b);
  if (i.flag) {
    at &= 31;
    length &= 31;
  }
  const std::uint64_t ones = length >= 32 ? 0xffffffffULL : (1ULL << length) - 1;
  t.set(i.dst, static_cast<std::uint32_t>(at >= 32 ? 0 : ones << at));
  return true;
}

template <typename Op>
void decodeLogic(Decode& d) {
  const Type type = d.type();
  d.expectCount(3, 3);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type});
  const bool known = type == Type::kPred || (type >= Type::kB16 && type <= Type::kB64);
  if (!known) d.unknownForm();
  d.emit(type == Type::kPred ? binary<Op, std::uint64_t> : pickBinary<Op>(type));
}

void decodeNot(Decode& d) {
  const Type type = d.type();
  d.expectCount(2, 2);
  d.inst.dst = d.destination(0);
  d.sources(1, {type});
  emitOrFail(d, type == Type::kPred ? unary<LogicalNot, std::uint64_t> : pickUnary<Not>(type));
}

void decodeCnot(Decode& d) {
  const Type type = d.type();
  d.expectCount(2, 2);
  d.inst.dst = d.destination(0);
  d.sources(1, {type});
  emitOrFail(d, pickUnary<LogicalNot>(type));
}

void decodeShift(Decode& d, bool left) {
  const Type type = d.type();
  d.expectCount(3, 3);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, Type::kU32});
  const unsigned size = sizeOf(type);
  if (type == Type::kPred || isFloat(type) || size == 1 || size > 8) d.unknownForm();
  if (left) {
    return d.emit(size == 2   ? shiftLeft<std::uint16_t>
                  : size == 4 ? shiftLeft<std::uint32_t>
                              : shiftLeft<std::uint64_t>);
  }
  if (isSigned(type)) {
    return d.emit(size == 2   ? shiftRight<std::int16_t>
                  : size == 4 ? shiftRight<std::int32_t>
                              : shiftRight<std::int64_t>);
  }
  d.emit(size == 2   ? shiftRight<std::uint16_t>
         : size == 4 ? shiftRight<std::uint32_t>
                     : shiftRight<std::uint64_t>);
}

void decodeFunnel(Decode& d) {
  const bool left = d.takeAny({"l", "r"}) == "l";
  d.inst.flag = d.takeAny({"wrap", "clamp"}) == "wrap";
  const Type type = d.type();
  d.expectCount(4, 4);
  if (type != Type::kB32) d.unknownForm();
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type, type});
  d.emit(left ? funnel<true> : funnel<false>);
}

void decodeLop3(Decode& d) {
  const std::string_view combine = d.takeAny({"or", "and"});
  d.inst.kind = combine == "and" ? 1 : 0;
  const Type type = d.type();
  d.expectCount(combine.empty() ? 5 : 6, combine.empty() ? 5 : 6);
  d.inst.dst = d.destination(0);
  d.inst.dst2 = d.besides(0);
  d.sources(1, {type, type, type});
  d.inst.extra = static_cast<std::int32_t>(d.integer(4));
  if (combine.empty()) return d.emit(lop3);
  d.inst.d = d.source(5, Type::kPred);
  d.emit(lop3Predicate);
}

void decodePermute(Decode& d) {
  const Type type = d.type();
  const std::string_view mode = d.takeAny({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  d.expectCount(4, 4);
  const Permute kind = mode == "f4e"    ? Permute::kF4e
                       : mode == "b4e"  ? Permute::kB4e
                       : mode == "rc8"  ? Permute::kRc8
                       : mode == "ecl"  ? Permute::kEcl
                       : mode == "ecr"  ? Permute::kEcr
                       : mode == "rc16" ? Permute::kRc16
                                        : Permute::kSelect;
  d.inst.kind = static_cast<std::uint8_t>(kind);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type, type});
  d.emit(permute);
}

void decodeExtract(Decode& d) {
  const Type type = d.type();
  d.expectCount(4, 4);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, Type::kU32, Type::kU32});
  switch (type) {
    case Type::kU32:
      return d.emit(extractField<std::uint32_t>);
    case Type::kS32:
      return d.emit(extractField<std::int32_t>);
    case Type::kU64:
      return d.emit(extractField<std::uint64_t>);
    case Type::kS64:
      return d.emit(extractField<std::int64_t>);
    default:
      d.unknownForm();
  }
}

void decodeInsert(Decode& d) {
  const Type type = d.type();
  d.expectCount(5, 5);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type, Type::kU32, Type::kU32});
  d.emit(sizeOf(type) == 8 ? insertField<std::uint64_t> : insertField<std::uint32_t>);
}

void decodeFindBit(Decode& d) {
  d.inst.flag = d.take("shiftamt");
  const Type type = d.type();
  d.expectCount(2, 2);
  d.inst.dst = d.destination(0);
  d.sources(1, {type});
  const bool is_wide = sizeOf(type) == 8;
  if (isSigned(type)) return d.emit(is_wide ? findBit<std::int64_t> : findBit<std::int32_t>);
  d.emit(is_wide ? findBit<std::uint64_t> : findBit<std::uint32_t>);
}

void decodeCount(Decode& d, Handler narrow, Handler wide) {
  const Type type = d.type();
  d.expectCount(2, 2);
  if (type != Type::kB32 && type != Type::kB64) d.unknownForm();
  d.inst.dst = d.destination(0);
  d.sources(1, {type});
  d.emit(type == Type::kB64 ? wide : narrow);
}

void decodeBitMask(Decode& d) {
  d.inst.flag = d.takeAny({"clamp", "wrap"}) == "wrap";
  const Type type = d.type();
  d.expectCount(3, 3);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type});
  d.emit(bitMask);
}

}  // namespace

void addBitOps(DecoderTable& table) {
  table["and"] = decodeLogic<And>;
  table["or"] = decodeLogic<Or>;
  table["xor"] = decodeLogic<Xor>;
  table["not"] = decodeNot;
  table["cnot"] = decodeCnot;
  table["shl"] = [](Decode& d) { decodeShift(d, true); };
  table["shr"] = [](Decode& d) { decodeShift(d, false); };
  table["shf"] = decodeFunnel;
  table["lop3"] = decodeLop3;
  table["prmt"] = decodePermute;
  table["bfe"] = decodeExtract;
  table["bfi"] = decodeInsert;
  table["bfind"] = decodeFindBit;
  table["brev"] = [](Decode& d) { decodeCount(d, reverse<std::uint32_t>, reverse<std::uint64_t>); };
  table["clz"] = [](Decode& d) {
    decodeCount(d, leadingZeros<std::uint32_t>, leadingZeros<std::uint64_t>);
  };
  table["popc"] = [](Decode& d) {
    decodeCount(d, population<std::uint32_t>, population<std::uint64_t>);
  };
  table["bmsk"] = decodeBitMask;
}

}  // namespace divvy::ptx
