// How the values of enumerations are called in a snapshot, in their order. Private.
#pragma once

#include <array>
#include <string_view>

#include "engine/config.h"
#include "engine/model.h"
#include "engine/request.h"
#include "snapshot/snapshot.h"

namespace divvy::snapshot {

template <typename Enum>
struct EnumText;

template <>
struct EnumText<engine::Health> {
  static constexpr std::array<std::string_view, 2> kAll{"healthy", "unhealthy"};
};
template <>
struct EnumText<engine::Mode> {
  static constexpr std::array<std::string_view, 6> kAll{"shared", "exclusive", "mig",
                                                        "mps",    "external",  "whole"};
};
template <>
struct EnumText<engine::ComputeRule> {
  static constexpr std::array<std::string_view, 2> kAll{"bound", "weight"};
};
template <>
struct EnumText<engine::DeviceOrder> {
  static constexpr std::array<std::string_view, 3> kAll{"tightest", "binpack", "spread"};
};
template <>
struct EnumText<engine::Preference> {
  static constexpr std::array<std::string_view, 3> kAll{"none", "preferred", "required"};
};
template <>
struct EnumText<engine::ModelMatch> {
  static constexpr std::array<std::string_view, 3> kAll{"contains", "exact", "words"};
  // What snapshots of earlier versions have instead of "words".
  static constexpr std::string_view kFormer = "loose";
};
template <>
struct EnumText<engine::UuidMatch> {
  static constexpr std::array<std::string_view, 2> kAll{"exact", "prefix"};
};
template <>
struct EnumText<engine::Compat> {
  static constexpr std::array<std::string_view, 2> kAll{"none", "hami"};
};
template <>
struct EnumText<RequestOutcome> {
  static constexpr std::array<std::string_view, 3> kAll{"placed", "queued", "refused"};
};
template <>
struct EnumText<engine::Policy> {
  static inline const std::array<std::string_view, engine::kPolicies.size()> kAll = [] {
    std::array<std::string_view, engine::kPolicies.size()> names;
    for (const engine::Policy policy : engine::kPolicies)
      names[static_cast<std::size_t>(policy)] = engine::nameOf(policy);
    return names;
  }();
};

}  // namespace divvy::snapshot
