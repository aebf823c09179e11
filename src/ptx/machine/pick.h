// From a type to the instance of a handler for it.
#pragma once

#include "machine/decode.h"
#include "machine/thread.h"

namespace divvy::ptx {

// d = Op(a), d = Op(a, b), d = Op(a, b, c): Op::apply is a template over the type.
template <typename Op, typename T>
bool unary(const Inst& i, Thread& t) {
  t.set<T>(i.dst, Op::template apply<T>(t.get<T>(i.a)));
  return true;
}
template <typename Op, typename T>
bool binary(const Inst& i, Thread& t) {
  t.set<T>(i.dst, Op::template apply<T>(t.get<T>(i.a), t.get<T>(i.b)));
  return true;
}
template <typename Op, typename T>
bool ternary(const Inst& i, Thread& t) {
  t.set<T>(i.dst, Op::template apply<T>(t.get<T>(i.a), t.get<T>(i.b), t.get<T>(i.c)));
  return true;
}

// nullptr for types that are no integers of 16 to 64 bits.
#define DIVVY_PTX_PICK(NAME, SHAPE)      \
  template <typename Op>                 \
  Handler NAME(Type type) {              \
    switch (type) {                      \
      case Type::kU16:                   \
      case Type::kB16:                   \
        return SHAPE<Op, std::uint16_t>; \
      case Type::kU32:                   \
      case Type::kB32:                   \
        return SHAPE<Op, std::uint32_t>; \
      case Type::kU64:                   \
      case Type::kB64:                   \
        return SHAPE<Op, std::uint64_t>; \
      case Type::kS16:                   \
        return SHAPE<Op, std::int16_t>;  \
      case Type::kS32:                   \
        return SHAPE<Op, std::int32_t>;  \
      case Type::kS64:                   \
        return SHAPE<Op, std::int64_t>;  \
      default:                           \
        return nullptr;                  \
    }                                    \
  }
DIVVY_PTX_PICK(pickUnary, unary)
DIVVY_PTX_PICK(pickBinary, binary)
DIVVY_PTX_PICK(pickTernary, ternary)
#undef DIVVY_PTX_PICK

// Emits, or fails where there is no handler.
inline void emitOrFail(Decode& d, Handler handler) {
  if (handler == nullptr) d.unknownForm();
  d.emit(handler);
}

}  // namespace divvy::ptx
