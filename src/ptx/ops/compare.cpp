// setp, set, selp and slct.
#include "machine/pick.h"
#include "program/float_math.h"
#include "program/half.h"

namespace divvy::ptx {
namespace {

enum class Compare : std::uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,  // the same, or unordered
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan,
};
enum class Combine : std::uint8_t { kNone, kAnd, kOr, kXor };

template <Compare C, typename T>
bool holds(T a, T b) {
  if constexpr (C == Compare::kEq) return a == b;
  if constexpr (C == Compare::kNe) return a < b || a > b;
  if constexpr (C == Compare::kLt) return a < b;
  if constexpr (C == Compare::kLe) return a <= b;
  if constexpr (C == Compare::kGt) return a > b;
  if constexpr (C == Compare::kGe) return a >= b;
  if constexpr (C == Compare::kEqu) return !(a < b || a > b);
  if constexpr (C == Compare::kNeu) return !(a == b);
  if constexpr (C == Compare::kLtu) return !(a >= b);
  if constexpr (C == Compare::kLeu) return !(a > b);
  if constexpr (C == Compare::kGtu) return !(a <= b);
  if constexpr (C == Compare::kGeu) return !(a < b);
  if constexpr (C == Compare::kNum) return a == a && b == b;
  return a != a || b != b;
}

bool combined(Combine how, bool result, bool with) {
  switch (how) {
    case Combine::kAnd:
      return result && with;
    case Combine::kOr:
      return result || with;
    case Combine::kXor:
      return result != with;
    default:
      return result;
  }
}

template <Compare C, typename T>
struct Set {
  static bool test(const Inst& i, Thread& t) {
    T a = t.get<T>(i.a);
    T b = t.get<T>(i.b);
    if constexpr (std::is_same_v<T, float>) {
      if (i.ftz) {
        a = flushed(a);
        b = flushed(b);
      }
    }
    return holds<C, T>(a, b);
  }
  // setp with one result and nothing to combine it with
  static bool simple(const Inst& i, Thread& t) {
    t.regs[i.dst] = holds<C, T>(t.get<T>(i.a), t.get<T>(i.b)) ? 1 : 0;
    return true;
  }
  static bool full(const Inst& i, Thread& t) {
    const auto how = static_cast<Combine>(i.kind);
    const bool with = t.predicate(i.c);
    const bool result = test(i, t);
    t.regs[i.dst2] = combined(how, !result, with) ? 1 : 0;
    t.regs[i.dst] = combined(how, result, with) ? 1 : 0;
    return true;
  }
  // set: kind2: 0: all ones, 1: 1.0f
  static bool value(const Inst& i, Thread& t) {
    const bool result = combined(static_cast<Combine>(i.kind), test(i, t), t.predicate(i.c));
    const std::uint32_t yes = i.kind2 != 0 ? std::bit_cast<std::uint32_t>(1.0F) : ~0U;
    t.set(i.dst, result ? yes : 0U);
    return true;
  }
};

struct Handlers {
  Handler simple = nullptr;
  Handler full = nullptr;
  Handler value = nullptr;
};

template <typename T, Compare C>
Handlers handlersOf() {
  return {Set<C, T>::simple, Set<C, T>::full, Set<C, T>::value};
}

template <typename T, std::size_t... Indices>
Handlers handlersFor(Compare compare, std::index_sequence<Indices...>) {
  static constexpr std::size_t kCount = sizeof...(Indices);
  const Handlers all[kCount] = {handlersOf<T, static_cast<Compare>(Indices)>()...};
  return static_cast<std::size_t>(compare) < kCount ? all[static_cast<std::size_t>(compare)]
                                                    : Handlers{};
}

// Of integers the first six exist.
template <typename T>
Handlers integerHandlers(Compare compare) {
  return handlersFor<T>(compare, std::make_index_sequence<6>());
}
template <typename T>
Handlers floatHandlers(Compare compare) {
  return handlersFor<T>(compare, std::make_index_sequence<14>());
}

Handlers handlersFor(Compare compare, Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return integerHandlers<std::uint16_t>(compare);
    case Type::kB32:
    case Type::kU32:
      return integerHandlers<std::uint32_t>(compare);
    case Type::kB64:
    case Type::kU64:
      return integerHandlers<std::uint64_t>(compare);
    case Type::kS16:
      return integerHandlers<std::int16_t>(compare);
    case Type::kS32:
      return integerHandlers<std::int32_t>(compare);
    case Type::kS64:
      return integerHandlers<std::int64_t>(compare);
    case Type::kF32:
      return floatHandlers<float>(compare);
    case Type::kF64:
      return floatHandlers<double>(compare);
    default:
      return {};
  }
}

bool compareDoubles(Compare compare, double a, double b) {
  switch (compare) {
    case Compare::kEq:
      return holds<Compare::kEq>(a, b);
    case Compare::kNe:
      return holds<Compare::kNe>(a, b);
    case Compare::kLt:
      return holds<Compare::kLt>(a, b);
    case Compare::kLe:
      return holds<Compare::kLe>(a, b);
    case Compare::kGt:
      return holds<Compare::kGt>(a, b);
    case Compare::kGe:
      return holds<Compare::kGe>(a, b);
    case Compare::kNum:
      return holds<Compare::kNum>(a, b);
    case Compare::kNan:
      return holds<Compare::kNan>(a, b);
    default: {
      // The unordered ones follow the ordered ones in the same order.
      const auto ordered = static_cast<int>(compare) - static_cast<int>(Compare::kEqu);
      return a != a || b != b || compareDoubles(static_cast<Compare>(ordered), a, b);
    }
  }
}

// setp and set of small formats: extra: the comparison; flag: bf16; kind2: 0: setp, 1: setp of
// pairs, 2: set to all ones, 3: set of pairs to 1.0 each, 4: set to 1.0, 5: set of pairs to ones
bool compareSmall(const Inst& i, Thread& t) {
  const SmallFormat format = i.flag ? kBrain : kHalf;
  const bool both = i.kind2 == 1 || i.kind2 == 3 || i.kind2 == 5;
  const auto half = [&](Operand operand, unsigned at) {
    const double value = unpackSmall(format, t.get<std::uint32_t>(operand) >> at & 0xffff);
    const double least = i.flag ? 0x1p-126 : 0x1p-14;
    return i.ftz && std::fabs(value) < least ? std::copysign(0.0, value) : value;
  };
  const auto compare = static_cast<Compare>(i.extra);
  const auto how = static_cast<Combine>(i.kind);
  const bool with = t.predicate(i.c);
  const bool low = compareDoubles(compare, half(i.a, 0), half(i.b, 0));
  const bool high = both && compareDoubles(compare, half(i.a, 16), half(i.b, 16));
  const bool first = combined(how, low, with);
  const bool second = combined(how, both ? high : !low, with);
  const std::uint32_t one = i.flag ? 0x3f80 : 0x3c00;
  switch (i.kind2) {
    case 2:
      t.regs[i.dst] = first ? i.mask & 0xffffffff : 0;
      break;
    case 3:
      t.set(i.dst, (first ? one : 0U) | (second ? one << 16 : 0U));
      break;
    case 4:
      t.set(i.dst, first ? one : 0U);
      break;
    case 5:
      t.set(i.dst, (first ? 0xffffU : 0U) | (second ? 0xffff0000U : 0U));
      break;
    default:
      t.regs[i.dst2] = second ? 1 : 0;
      t.regs[i.dst] = first ? 1 : 0;
  }
  return true;
}

bool select(const Inst& i, Thread& t) {
  t.regs[i.dst] = (t.predicate(i.c) ? t.raw(i.a) : t.raw(i.b)) & i.mask;
  return true;
}

// c >= 0 selects a; a NaN does not
bool selectBySign(const Inst& i, Thread& t) {
  t.regs[i.dst] = (t.get<std::int32_t>(i.c) >= 0 ? t.raw(i.a) : t.raw(i.b)) & i.mask;
  return true;
}
bool selectByFloat(const Inst& i, Thread& t) {
  const auto c = t.get<float>(i.c);
  t.regs[i.dst] = ((i.ftz ? flushed(c) : c) >= 0 ? t.raw(i.a) : t.raw(i.b)) & i.mask;
  return true;
}

Compare takeCompare(Decode& d) {
  constexpr std::string_view kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                         "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  for (std::uint8_t k = 0; k < std::size(kNames); ++k) {
    if (d.take(kNames[k])) return static_cast<Compare>(k);
  }
  // Unsigned comparisons by their other names.
  const std::string_view other = d.takeAny({"lo", "ls", "hi", "hs"});
  if (other.empty()) d.unknownForm();
  return other == "lo"   ? Compare::kLt
         : other == "ls" ? Compare::kLe
         : other == "hi" ? Compare::kGt
                         : Compare::kGe;
}

void takeCombine(Decode& d) {
  const std::string_view how = d.takeAny({"and", "or", "xor"});
  const Combine combine = how == "and"   ? Combine::kAnd
                          : how == "or"  ? Combine::kOr
                          : how == "xor" ? Combine::kXor
                                         : Combine::kNone;
  d.inst.kind = static_cast<std::uint8_t>(combine);
}

// The operands, after their type is known.
void takeCompared(Decode& d, Type type) {
  const bool combines = d.inst.kind != 0;
  d.expectCount(combines ? 4 : 3, combines ? 4 : 3);
  d.inst.dst = d.destination(0);
  d.inst.dst2 = d.besides(0);
  d.sources(1, {type, type});
  d.inst.c = combines ? d.source(3, Type::kPred) : 0;
}

bool isSmall(Type type) {
  return type == Type::kF16 || type == Type::kF16x2 || type == Type::kBf16 || type == Type::kBf16x2;
}

void decodeSetp(Decode& d) {
  const Compare compare = takeCompare(d);
  takeCombine(d);
  d.inst.ftz = d.take("ftz");
  const Type type = d.type();
  takeCompared(d, type);
  if (isSmall(type)) {
    d.inst.extra = static_cast<std::int32_t>(compare);
    d.inst.flag = type == Type::kBf16 || type == Type::kBf16x2;
    d.inst.kind2 = sizeOf(type) == 4 ? 1 : 0;
    return d.emit(compareSmall);
  }
  const Handlers handlers = handlersFor(compare, type);
  const bool simple = d.inst.kind == 0 && d.inst.dst2 == 0 && !d.inst.ftz;
  emitOrFail(d, simple ? handlers.simple : handlers.full);
}

void decodeSet(Decode& d) {
  const Compare compare = takeCompare(d);
  takeCombine(d);
  d.inst.ftz = d.take("ftz");
  const Type result = d.type();
  const Type type = d.type();
  takeCompared(d, type);
  d.inst.kind2 = result == Type::kF32 ? 1 : 0;
  if (isSmall(type)) {
    d.inst.extra = static_cast<std::int32_t>(compare);
    d.inst.flag = type == Type::kBf16 || type == Type::kBf16x2;
    if (sizeOf(type) == 4 && isSmall(result)) {
      d.inst.kind2 = 3;
    } else {
      if (result == Type::kF32) d.unknownForm();
      d.inst.kind2 = isSmall(result) ? 4 : sizeOf(type) == 4 ? 5 : 2;
    }
    return d.emit(compareSmall);
  }
  if (sizeOf(result) != 4 || isSmall(result)) d.unknownForm();
  emitOrFail(d, handlersFor(compare, type).value);
}

void decodeSelp(Decode& d) {
  const Type type = d.type();
  d.expectCount(4, 4);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type, Type::kPred});
  d.emit(select);
}

void decodeSlct(Decode& d) {
  d.inst.ftz = d.take("ftz");
  const Type type = d.type();
  const Type by = d.type();
  d.expectCount(4, 4);
  d.inst.dst = d.destination(0);
  d.sources(1, {type, type, by});
  if (by != Type::kS32 && by != Type::kF32) d.unknownForm();
  d.emit(by == Type::kS32 ? selectBySign : selectByFloat);
}

}  // namespace

void addCompareOps(DecoderTable& table) {
  table["setp"] = decodeSetp;
  table["set"] = decodeSet;
  table["selp"] = decodeSelp;
  table["slct"] = decodeSlct;
}

}  // namespace divvy::ptx
