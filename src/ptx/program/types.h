// The types that instructions and variables name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace divvy::ptx {

enum class Type : std::uint8_t {
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kTf32,
  kE4m3x2,
  kE5m2x2,
  kF32,
  kF64,
};

// "u32" without its dot.
std::optional<Type> typeNamed(std::string_view name);
// In bytes; of a predicate 1.
unsigned sizeOf(Type type);
bool isSigned(Type type);
bool isFloat(Type type);  // any floating-point type
// Of what an address or an index can be in: integers and .bN up to 64 bits.
bool isInteger(Type type);
// The unsigned integer type of the same size, for moving bits; integers and .bN as themselves.
Type bitsOf(Type type);

enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp, kAway };

enum class Space : std::uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam, kConst };

// Generic addresses: device memory as itself (all below 2^47), the others in windows above.
inline constexpr std::uint64_t kWindowBytes = 1ULL << 32;
inline constexpr std::uint64_t kSharedWindow = 1ULL << 48;
inline constexpr std::uint64_t kLocalWindow = kSharedWindow + kWindowBytes;
inline constexpr std::uint64_t kParamWindow = kLocalWindow + kWindowBytes;
// Addresses of functions: this plus 16 times their index. Nothing can be loaded from there.
inline constexpr std::uint64_t kCodeWindow = kParamWindow + kWindowBytes;
// The few words with which a grid's blocks meet, where %envreg1 and %envreg2 point to.
inline constexpr std::uint64_t kGridWindow = kCodeWindow + kWindowBytes;
// In the param space: bytes of the frame, not of the kernel's parameters.
inline constexpr std::uint64_t kFrameParamBit = 1ULL << 31;

}  // namespace divvy::ptx
