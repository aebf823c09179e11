// What the families of types agree on about add, mul and their like.
#pragma once

#include "machine/decode.h"

namespace divvy::ptx {

enum class Arith : std::uint8_t { kAdd, kSub, kMul, kFma, kDiv, kMin, kMax, kAbs, kNeg };

inline std::size_t operandsOf(Arith op) {
  return op == Arith::kFma ? 3 : op == Arith::kAbs || op == Arith::kNeg ? 1 : 2;
}

// The whole statement, its modifiers but for those of floatModifiers() and rounding still there.
void decodeFloat(Decode& d, Arith op, Type type);
// f16, f16x2, bf16, bf16x2.
void decodeHalf(Decode& d, Arith op, Type type);

}  // namespace divvy::ptx
