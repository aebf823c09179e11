#include "policy/apportion.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace divvy::arbiter {
namespace {

std::uint64_t allot(std::uint64_t* rest, std::uint64_t wanted) {
  const std::uint64_t part = std::min(*rest, wanted);
  *rest -= part;
  return part;
}

}  // namespace

std::vector<std::uint64_t> splitAllowed(std::uint64_t allowed,
                                        const std::vector<SplitPart>& parts) {
  std::uint64_t rest = allowed;
  std::vector<std::uint64_t> result(parts.size());
  if (parts.empty()) return result;
  for (std::size_t i = 0; i < parts.size(); ++i) result[i] = allot(&rest, parts[i].pinned);

  std::uint64_t excess = 0;
  std::vector<std::uint64_t> kept;
  for (const SplitPart& part : parts) {
    kept.push_back(std::min(part.mapped, part.swappable));
    excess += kept.back();
  }
  excess -= std::min(excess, rest);
  std::vector<std::size_t> largest(parts.size());
  std::iota(largest.begin(), largest.end(), std::size_t{0});
  std::stable_sort(largest.begin(), largest.end(),
                   [&](std::size_t a, std::size_t b) { return kept[a] > kept[b]; });
  for (const std::size_t i : largest) kept[i] -= allot(&excess, kept[i]);
  for (std::size_t i = 0; i < parts.size(); ++i) result[i] += allot(&rest, kept[i]);

  for (std::size_t i = 0; i < parts.size(); ++i)
    result[i] += allot(&rest, parts[i].swappable - std::min(parts[i].swappable, kept[i]));
  for (std::size_t i = 0; i < parts.size(); ++i)
    result[i] += allot(&rest, rest / (parts.size() - i));
  return result;
}

}  // namespace divvy::arbiter
