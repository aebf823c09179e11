#include "fit/block_topology.h"

#include <algorithm>
#include <map>

namespace divvy::engine {
namespace {

// All devices of a block or none. A device without a block goes with any other.
class BlockRule : public GroupRule {
 public:
  explicit BlockRule(const Node& node) : whole_(node.devices.size()) {
    std::map<std::pair<DeviceKind, std::uint32_t>, DeviceSet> blocks;
    const auto keyOf = [](const Device& device) { return std::pair(device.kind, *device.block); };
    for (unsigned i = 0; i < whole_.size(); ++i)
      if (node.devices[i].block) blocks[keyOf(node.devices[i])] |= only(i);
    for (unsigned i = 0; i < whole_.size(); ++i)
      whole_[i] = node.devices[i].block ? blocks[keyOf(node.devices[i])] : only(i);
  }

  NodeWhy why() const override { return NodeWhy::kBlocks; }
  bool allows(DeviceSet group) const override { return missing(group) == 0; }
  // A block that was begun is completed first.
  std::int64_t score(DeviceSet group) const override {
    return -static_cast<std::int64_t>(missing(group));
  }

 private:
  unsigned missing(DeviceSet group) const {
    DeviceSet all = group;
    for (DeviceSet left = group; left != 0; left &= left - 1) all |= whole_[firstOf(left)];
    return sizeOf(all & ~group);
  }

  std::vector<DeviceSet> whole_;  // by device
};

// Devices of one kind must be neighbours, in an allowed number, from an allowed position.
class RowRule : public GroupRule {
 public:
  explicit RowRule(const Node& node) : node_(node) {}

  NodeWhy why() const override { return NodeWhy::kRow; }
  bool allows(DeviceSet group) const override {
    std::map<DeviceKind, std::vector<const InRow*>> rows;
    for (DeviceSet left = group; left != 0; left &= left - 1) {
      const Device& device = node_.devices[firstOf(left)];
      if (device.row) rows[device.kind].push_back(&*device.row);
    }
    return std::all_of(rows.begin(), rows.end(), [](auto& row) { return isRun(row.second); });
  }
  // For incomplete groups: nearer devices score better.
  std::int64_t score(DeviceSet group) const override {
    std::map<DeviceKind, std::pair<std::uint32_t, std::uint32_t>> ends;
    for (DeviceSet left = group; left != 0; left &= left - 1) {
      const Device& device = node_.devices[firstOf(left)];
      if (!device.row) continue;
      const std::uint32_t place = device.row->place;
      const auto [at, added] = ends.try_emplace(device.kind, place, place);
      at->second = {std::min(at->second.first, place), std::max(at->second.second, place)};
    }
    std::int64_t span = 0;
    for (const auto& [kind, end] : ends) span += end.second - end.first;
    return static_cast<std::int64_t>(sizeOf(group)) - 1 - span;
  }
  std::int64_t most(unsigned count) const override { return std::int64_t{count} - 1; }

 private:
  static bool isRun(std::vector<const InRow*>& row) {
    std::sort(row.begin(), row.end(),
              [](const InRow* a, const InRow* b) { return a->place < b->place; });
    const auto count = static_cast<std::uint32_t>(row.size());
    const InRow& first = *row.front();
    if (row.back()->place - first.place != count - 1) return false;
    if (first.runs.empty()) return true;
    const bool may = std::find(first.runs.begin(), first.runs.end(), count) != first.runs.end();
    return may && first.place % count == 0;
  }

  const Node& node_;
};

bool hasBlock(const Device& device) {
  return device.block.has_value();
}
bool hasRow(const Device& device) {
  return device.row.has_value();
}

}  // namespace

void addArrangement(const Node& node, Groups::Rules* rules) {
  const std::vector<Device>& devices = node.devices;
  if (std::any_of(devices.begin(), devices.end(), hasBlock))
    rules->push_back(std::make_unique<BlockRule>(node));
  if (std::any_of(devices.begin(), devices.end(), hasRow))
    rules->push_back(std::make_unique<RowRule>(node));
}

bool groupedOn(const HotState& state, const ShapeClass& shape, Slot slot) {
  return shape.grouped() || (state.node.sums[slot] & (kArranged | kMerits)) != 0;
}

}  // namespace divvy::engine
