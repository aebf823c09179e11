// How the cards of a simulated machine are connected: by sockets, PCIe switches and NVLinks. As in
// machines that are sold: since the third NVLink, switches connect all cards. Before that, links go
// from card to card (DGX-1), with four cards to a socket and two to a PCIe switch. Or as
// configured.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "card/profile.h"

namespace divvy::simgpu {

inline constexpr int kMaxLinks = 18;  // of a card

// Where one NVLink of a card ends.
struct LinkEnd {
  enum class Kind { kNowhere, kSwitch, kCard };
  Kind kind = Kind::kNowhere;
  int card = 0;  // of kCard
};

class CardTopology {
 public:
  // The cards in their order.
  explicit CardTopology(std::vector<const Profile*> cards) : cards_(std::move(cards)) {}

  // "0-1=4,2-3=2": NVLinks between two cards, in place of those that such cards have. "0>1=2":
  // links that the first reports and the second does not. 18 of a card at most. False: not valid.
  bool readLinks(std::string_view text);
  // "0,0,1": the NUMA node, 0 to 63, of each card. False: not understood, or not as many as cards.
  bool readNodes(std::string_view text);

  unsigned numaNodeOf(int card) const;
  // NVLinks that it has, whether they lead anywhere or not.
  int linkCount(int card) const;
  // Link 0 to linkCount() - 1 of that card.
  LinkEnd endOf(int card, int link) const;
  // Whether two different cards reach each other by NVLinks.
  bool linked(int a, int b) const;
  // Whether one PCIe switch has both.
  bool onOneSwitch(int a, int b) const;

 private:
  using LinkCounts = std::array<std::array<int, kMaxCards>, kMaxCards>;

  bool readLink(std::string_view text, LinkCounts* links) const;
  bool switched(int card) const;
  int straight(int a, int b) const;

  std::vector<const Profile*> cards_;
  std::optional<LinkCounts> link_counts_;  // from the first card to the second
  std::vector<unsigned> nodes_;            // empty: four to each
};

}  // namespace divvy::simgpu
