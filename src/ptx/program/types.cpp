#include "program/types.h"

#include <array>

namespace divvy::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  Type type;
  unsigned bytes;
  Type bits;
};

constexpr std::array kTypes = {
    TypeRow{"pred", Type::kPred, 1, Type::kPred},
    TypeRow{"b8", Type::kB8, 1, Type::kU8},
    TypeRow{"b16", Type::kB16, 2, Type::kU16},
    TypeRow{"b32", Type::kB32, 4, Type::kU32},
    TypeRow{"b64", Type::kB64, 8, Type::kU64},
    TypeRow{"b128", Type::kB128, 16, Type::kB128},
    TypeRow{"u8", Type::kU8, 1, Type::kU8},
    TypeRow{"u16", Type::kU16, 2, Type::kU16},
    TypeRow{"u32", Type::kU32, 4, Type::kU32},
    TypeRow{"u64", Type::kU64, 8, Type::kU64},
    TypeRow{"s8", Type::kS8, 1, Type::kS8},
    TypeRow{"s16", Type::kS16, 2, Type::kS16},
    TypeRow{"s32", Type::kS32, 4, Type::kS32},
    TypeRow{"s64", Type::kS64, 8, Type::kS64},
    TypeRow{"f16", Type::kF16, 2, Type::kU16},
    TypeRow{"f16x2", Type::kF16x2, 4, Type::kU32},
    TypeRow{"bf16", Type::kBf16, 2, Type::kU16},
    TypeRow{"bf16x2", Type::kBf16x2, 4, Type::kU32},
    TypeRow{"tf32", Type::kTf32, 4, Type::kU32},
    TypeRow{"e4m3x2", Type::kE4m3x2, 2, Type::kU16},
    TypeRow{"e5m2x2", Type::kE5m2x2, 2, Type::kU16},
    TypeRow{"f32", Type::kF32, 4, Type::kU32},
    TypeRow{"f64", Type::kF64, 8, Type::kU64},
};

const TypeRow& rowOf(Type type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row;
  }
  __builtin_unreachable();
}

}  // namespace

std::optional<Type> typeNamed(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

unsigned sizeOf(Type type) {
  return rowOf(type).bytes;
}

bool isSigned(Type type) {
  return type >= Type::kS8 && type <= Type::kS64;
}

bool isInteger(Type type) {
  return type != Type::kPred && type != Type::kB128 && !isFloat(type);
}

bool isFloat(Type type) {
  return type >= Type::kF16;
}

Type bitsOf(Type type) {
  return rowOf(type).bits;
}

}  // namespace divvy::ptx
