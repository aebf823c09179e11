#include "wiring.h"

#include <array>

namespace divvy::simgpu {
namespace {

constexpr int kFirstSwitched = 3;  // version of NVLink
constexpr int kLastPaired = 4;     // generation of PCIe: since then each card has a port of its own
constexpr int kMesh = 8;

// Links between the eight cards of a DGX-1, six of each: a cube, and the diagonals of two sides.
constexpr std::array<std::array<int, kMesh>, kMesh> kCube{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                           {1, 0, 2, 1, 0, 2, 0, 0},
                                                           {1, 2, 0, 2, 0, 0, 1, 0},
                                                           {2, 1, 2, 0, 0, 0, 0, 1},
                                                           {2, 0, 0, 0, 0, 1, 1, 2},
                                                           {0, 2, 0, 0, 1, 0, 2, 1},
                                                           {0, 0, 1, 0, 1, 2, 0, 2},
                                                           {0, 0, 0, 1, 2, 1, 2, 0}}};

}  // namespace

bool Wiring::switched(int card) const {
  const Profile& profile = *cards_[static_cast<std::size_t>(card)];
  return profile.nvlinks > 0 && profile.nvlink_version >= kFirstSwitched;
}

// Those with switches have none from card to card. Absent cards and others have none.
int Wiring::straight(int a, int b) const {
  const auto meshed = [&](int card) {
    return static_cast<std::size_t>(card) < cards_.size() && !switched(card) &&
           cards_[static_cast<std::size_t>(card)]->nvlinks > 0;
  };
  if (a == b || a / kMesh != b / kMesh || !meshed(a) || !meshed(b)) return 0;
  return kCube[static_cast<std::size_t>(a % kMesh)][static_cast<std::size_t>(b % kMesh)];
}

LinkEnd Wiring::endOf(int card, int link) const {
  const auto count = static_cast<int>(cards_.size());
  if (switched(card)) {
    for (int other = 0; other < count; ++other)
      if (other != card && switched(other)) return {LinkEnd::Kind::kSwitch, 0};
    return {};
  }
  for (int other = 0; other < count; ++other) {
    link -= straight(card, other);
    if (link < 0) return {LinkEnd::Kind::kCard, other};
  }
  return {};
}

bool Wiring::linked(int a, int b) const {
  return (switched(a) && switched(b)) || straight(a, b) > 0;
}

bool Wiring::onOneSwitch(int a, int b) const {
  const auto paired = [&](int card) {
    const Profile& profile = *cards_[static_cast<std::size_t>(card)];
    return profile.nvlinks > 0 && profile.pcie_generation <= kLastPaired;
  };
  return a / 2 == b / 2 && paired(a) && paired(b);
}

}  // namespace divvy::simgpu
