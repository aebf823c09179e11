// What devices can be split into, to test with.
#pragma once

#include <memory>
#include <utility>

#include "engine/partition.h"

namespace divvy::engine::some {

// Seven eighths to give out, as NVIDIA's larger cards have.
inline std::shared_ptr<const Partitioning> sevenths(std::uint64_t gib_each) {
  const auto part = [&](const char* name, std::uint64_t slices, int compute,
                        std::vector<std::uint32_t> starts) {
    return DevicePart{PartName(name),
                      gib(gib_each * slices),
                      {compute * 1000 / 7},
                      0,
                      static_cast<std::uint32_t>(slices),
                      std::move(starts)};
  };
  return std::make_shared<Partitioning>(
      Partitioning{{part("1g", 1, 1, {0, 1, 2, 3, 4, 5, 6}), part("1g.big", 2, 1, {0, 2, 4, 6}),
                    part("2g", 2, 2, {0, 2, 4}), part("3g", 4, 3, {0, 4}), part("4g", 4, 4, {0}),
                    part("7g", 8, 7, {0})},
                   0,
                   8});
}

inline std::shared_ptr<const Partitioning> quarters() {
  return std::make_shared<Partitioning>(
      Partitioning{{{PartName("1g"), gib(6), {250}, 0, 1, {0, 1, 2, 3}},
                    {PartName("2g"), gib(12), {500}, 0, 2, {0, 2}},
                    {PartName("4g"), gib(24), {1000}, 0, 4, {0}}},
                   0,
                   4});
}

// Sums only; its processors are short before its memory is.
inline std::shared_ptr<const Partitioning> sums() {
  return std::make_shared<Partitioning>(
      Partitioning{{{PartName("vir01"), gib(3), {125}, 1, 0, {}},
                    {PartName("vir02"), gib(6), {250}, 2, 0, {}},
                    {PartName("vir04"), gib(12), {500}, 4, 0, {}}},
                   7,
                   0});
}

}  // namespace divvy::engine::some
