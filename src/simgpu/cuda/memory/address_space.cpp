#include "cuda/memory/address_space.h"

namespace divvy::simgpu {

void AddressSpace::reset(std::uint64_t begin, std::uint64_t end) {
  holes_.clear();
  holes_by_size_.clear();
  begin_ = begin;
  end_ = end;
  free_bytes_ = 0;
  if (end > begin) addHole(begin, end - begin);
}

std::optional<std::uint64_t> AddressSpace::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto fit = holes_by_size_.lower_bound({bytes, 0}); fit != holes_by_size_.end(); ++fit) {
    const auto [length, begin] = *fit;
    const std::uint64_t at = (begin + alignment - 1) & ~(alignment - 1);
    if (at - begin + bytes > length) continue;
    carve(holes_.find(begin), at, bytes);
    return at;
  }
  return std::nullopt;
}

bool AddressSpace::allocateAt(std::uint64_t at, std::uint64_t bytes) {
  auto hole = holes_.upper_bound(at);
  if (hole == holes_.begin()) return false;
  --hole;
  if (at - hole->first > hole->second || hole->second - (at - hole->first) < bytes) return false;
  carve(hole, at, bytes);
  return true;
}

void AddressSpace::release(std::uint64_t at, std::uint64_t bytes) {
  auto after = holes_.lower_bound(at);
  if (after != holes_.end() && at + bytes == after->first) {
    bytes += after->second;
    const auto merged = after++;
    removeHole(merged);
  }
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == at) {
      at = before->first;
      bytes += before->second;
      removeHole(before);
    }
  }
  addHole(at, bytes);
}

bool AddressSpace::wholeFree() const {
  return free_bytes_ == end_ - begin_;
}

void AddressSpace::addHole(std::uint64_t at, std::uint64_t bytes) {
  holes_.emplace(at, bytes);
  holes_by_size_.emplace(bytes, at);
  free_bytes_ += bytes;
}

void AddressSpace::removeHole(Hole hole) {
  free_bytes_ -= hole->second;
  holes_by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

void AddressSpace::carve(Hole hole, std::uint64_t at, std::uint64_t bytes) {
  const std::uint64_t begin = hole->first;
  const std::uint64_t end = begin + hole->second;
  removeHole(hole);
  if (at > begin) addHole(begin, at - begin);
  if (at + bytes < end) addHole(at + bytes, end - at - bytes);
}

}  // namespace divvy::simgpu
