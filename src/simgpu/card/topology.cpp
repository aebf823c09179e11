#include "card/topology.h"

#include <array>
#include <charconv>
#include <numeric>

namespace divvy::simgpu {
namespace {

constexpr int kFirstSwitched = 3;  // version of NVLink
constexpr int kLastPaired = 4;     // generation of PCIe: since then each card has a port of its own
constexpr int kMesh = 8;
constexpr unsigned kCardsPerNode = 4;
constexpr unsigned kMaxNodes = 64;

// Links between the eight cards of a DGX-1, six of each: a cube, and the diagonals of two sides.
constexpr std::array<std::array<int, kMesh>, kMesh> kCube{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                           {1, 0, 2, 1, 0, 2, 0, 0},
                                                           {1, 2, 0, 2, 0, 0, 1, 0},
                                                           {2, 1, 2, 0, 0, 0, 0, 1},
                                                           {2, 0, 0, 0, 0, 1, 1, 2},
                                                           {0, 2, 0, 0, 1, 0, 2, 1},
                                                           {0, 0, 1, 0, 1, 2, 0, 2},
                                                           {0, 0, 0, 1, 2, 1, 2, 0}}};

// Removes a whole number up to `most` from the front of the text.
std::optional<unsigned> parseNumber(std::string_view* text, unsigned most) {
  unsigned number = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (fault != std::errc() || number > most) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return number;
}

bool parseChar(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

// Calls each(part) for the texts between commas, until it returns false.
template <typename Each>
bool everyPart(std::string_view text, Each each) {
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!each(text.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

bool CardTopology::readLink(std::string_view text, LinkCounts* links) const {
  const auto last = static_cast<unsigned>(cards_.size()) - 1;
  const auto a = parseNumber(&text, last);
  const bool both = a && parseChar(&text, '-');
  if (!a || (!both && !parseChar(&text, '>'))) return false;
  const auto b = parseNumber(&text, last);
  if (!b || *b == *a || !parseChar(&text, '=')) return false;
  const auto count = parseNumber(&text, kMaxLinks);
  if (!count || !text.empty()) return false;
  (*links)[*a][*b] += static_cast<int>(*count);
  if (both) (*links)[*b][*a] += static_cast<int>(*count);
  return true;
}

bool CardTopology::readLinks(std::string_view text) {
  LinkCounts links{};
  if (!everyPart(text, [&](std::string_view part) { return readLink(part, &links); })) return false;
  for (const auto& row : links)
    if (std::accumulate(row.begin(), row.end(), 0) > kMaxLinks) return false;
  link_counts_ = links;
  return true;
}

bool CardTopology::readNodes(std::string_view text) {
  std::vector<unsigned> nodes;
  const bool good = everyPart(text, [&](std::string_view part) {
    const auto node = parseNumber(&part, kMaxNodes - 1);
    if (node) nodes.push_back(*node);
    return node && part.empty();
  });
  if (!good || nodes.size() != cards_.size()) return false;
  nodes_ = std::move(nodes);
  return true;
}

unsigned CardTopology::numaNodeOf(int card) const {
  const auto at = static_cast<std::size_t>(card);
  return nodes_.empty() ? static_cast<unsigned>(card) / kCardsPerNode : nodes_[at];
}

int CardTopology::linkCount(int card) const {
  const auto at = static_cast<std::size_t>(card);
  if (!link_counts_) return cards_[at]->nvlinks;
  return std::accumulate((*link_counts_)[at].begin(), (*link_counts_)[at].end(), 0);
}

bool CardTopology::switched(int card) const {
  if (link_counts_) return false;
  const Profile& profile = *cards_[static_cast<std::size_t>(card)];
  return profile.nvlinks > 0 && profile.nvlink_version >= kFirstSwitched;
}

// Cards with switches have no links from card to card; absent cards and others have none.
int CardTopology::straight(int a, int b) const {
  if (link_counts_)
    return (*link_counts_)[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  const auto meshed = [&](int card) {
    return static_cast<std::size_t>(card) < cards_.size() && !switched(card) &&
           cards_[static_cast<std::size_t>(card)]->nvlinks > 0;
  };
  if (a == b || a / kMesh != b / kMesh || !meshed(a) || !meshed(b)) return 0;
  return kCube[static_cast<std::size_t>(a % kMesh)][static_cast<std::size_t>(b % kMesh)];
}

LinkEnd CardTopology::endOf(int card, int link) const {
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

bool CardTopology::linked(int a, int b) const {
  return (switched(a) && switched(b)) || straight(a, b) > 0;
}

bool CardTopology::onOneSwitch(int a, int b) const {
  const auto paired = [&](int card) {
    const Profile& profile = *cards_[static_cast<std::size_t>(card)];
    return profile.nvlinks > 0 && profile.pcie_generation <= kLastPaired;
  };
  // A switch is in one place.
  return a / 2 == b / 2 && numaNodeOf(a) == numaNodeOf(b) && paired(a) && paired(b);
}

}  // namespace divvy::simgpu
