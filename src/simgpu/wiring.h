// How the cards of a simulated machine are joined: by sockets, PCIe switches and NVLinks. Like
// machines that are sold: with the third NVLink came switches that join all, those before it have
// links from card to card (DGX-1), four to a socket and two to a PCIe switch.
#pragma once

#include <vector>

#include "profile.h"

namespace divvy::simgpu {

inline constexpr unsigned kCardsPerNode = 4;  // NUMA node

inline unsigned numaNodeOf(int card) {
  return static_cast<unsigned>(card) / kCardsPerNode;
}

// Where one NVLink of a card ends.
struct LinkEnd {
  enum class Kind { kNowhere, kSwitch, kCard };
  Kind kind = Kind::kNowhere;
  int card = 0;  // of kCard
};

class Wiring {
 public:
  // The cards in their order.
  explicit Wiring(std::vector<const Profile*> cards) : cards_(std::move(cards)) {}

  // Link 0 to nvlinks - 1 of that card.
  LinkEnd endOf(int card, int link) const;
  // Whether two different cards reach each other by NVLinks.
  bool linked(int a, int b) const;
  // Whether one PCIe switch has both.
  bool onOneSwitch(int a, int b) const;

 private:
  bool switched(int card) const;
  int straight(int a, int b) const;

  std::vector<const Profile*> cards_;
};

}  // namespace divvy::simgpu
