// Which sorts of values there are, by what they are in JSON. Private.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/name.h"
#include "engine/units.h"

namespace divvy::snapshot {

template <typename T>
struct IsName : std::false_type {};
template <typename Kind>
struct IsName<Name<Kind>> : std::true_type {};

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

template <typename T>
struct IsArray : std::false_type {};
template <typename T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
struct IsShared : std::false_type {};
template <typename T>
struct IsShared<std::shared_ptr<const T>> : std::true_type {};

// Amounts are whole numbers, of which so much is taken: what cannot be right the engine says.
template <typename T>
struct Amount {
  static constexpr bool kIs = false;
};
template <>
struct Amount<Bytes> {
  static constexpr bool kIs = true;
  static constexpr std::uint64_t kMin = 0, kMax = 1ull << 53;
  static auto& of(auto& bytes) { return bytes.count; }
};
template <>
struct Amount<engine::Cpu> {
  static constexpr bool kIs = true;
  static constexpr std::int64_t kMin = 0, kMax = 1ll << 40;
  static auto& of(auto& cpu) { return cpu.milli; }
};
template <>
struct Amount<engine::Compute> {
  static constexpr bool kIs = true;
  // Of all containers of a request together.
  static constexpr std::int32_t kMin = 0, kMax = 1 << 20;
  static auto& of(auto& compute) { return compute.milli; }
};
template <>
struct Amount<engine::Instant> {
  static constexpr bool kIs = true;
  static constexpr std::int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  static auto& of(auto& instant) { return instant.ms; }
};

}  // namespace divvy::snapshot
