#include "codec/inventory_bounds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace divvy::scheduler {
namespace {

using kube::InventoryModel;
using kube::RegisteredDevice;

constexpr std::size_t kMaxNamed = 3;
constexpr std::uint64_t kTolerance = 20;  // one part in so many

std::uint64_t mostOf(std::uint64_t mebibytes) {
  return mebibytes + mebibytes / kTolerance;
}

std::string listed(const std::vector<std::string>& uuids) {
  std::string text;
  for (std::size_t at = 0; at < std::min(uuids.size(), kMaxNamed); ++at)
    text += (at == 0 ? "" : ", ") + uuids[at];
  return uuids.size() > kMaxNamed ? text + ", ..." : text;
}

// Devices of one model of the inventory, as they are counted.
struct Counted {
  const InventoryModel* model;
  std::uint32_t devices = 0;
  std::uint64_t mebibytes = 0;
};

class Limits {
 public:
  Limits(const kube::Inventory& inventory, const std::string& kind,
         const RecordedElsewhere& elsewhere)
      : kind_(kind), elsewhere_(elsewhere) {
    for (const InventoryModel& one : inventory.models)
      if (one.kind == kind) counted_.try_emplace(one.model, Counted{&one});
  }

  bool records(const RegisteredDevice& device) const {
    const Counted* counted = find(device);
    return counted != nullptr && std::binary_search(counted->model->uuids.begin(),
                                                    counted->model->uuids.end(), device.id);
  }

  // Whether it counts; with no more than the inventory has.
  bool take(RegisteredDevice* device) {
    Counted* counted = find(*device);
    const std::string model = kube::modelOf(kind_, *device);
    if (counted == nullptr) return foreign_[model].push_back(device->id), false;
    const std::string owner = records(*device) || !elsewhere_ ? "" : elsewhere_(device->id);
    if (!owner.empty()) return owned_[owner].push_back(device->id), false;
    const bool part = counted->model->model != model;
    if (part ? !takePart(device, counted) : counted->devices == counted->model->devices)
      return surplus_[model].push_back(device->id), false;
    if (!part) ++counted->devices;
    lower(device, *counted->model);
    counted->mebibytes += device->mebibytes;
    return true;
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const auto& [type, uuids] : foreign_)
      all.push_back(number(uuids, type) + "; its inventory has none of that model (" +
                    listed(uuids) + ')');
    for (const auto& [type, uuids] : surplus_)
      all.push_back(number(uuids, type) + " beyond the " +
                    std::to_string(counted_.at(recordedFor(type)).model->devices) +
                    " of its inventory (" + listed(uuids) + ')');
    for (const auto& [node, uuids] : owned_)
      all.push_back(number(uuids, "in the inventory of node " + node) + " (" + listed(uuids) + ')');
    for (const auto& [text, uuids] : larger_) all.push_back(text + " (" + listed(uuids) + ')');
    return all;
  }

 private:
  static std::string number(const std::vector<std::string>& uuids, const std::string& what) {
    return "registers " + std::to_string(uuids.size()) +
           (uuids.size() == 1 ? " device " : " devices ") + what;
  }

  // The model of the device, for an instance that is not in the inventory.
  std::string recordedFor(const std::string& type) const {
    if (counted_.contains(type)) return type;
    const std::string profile = kube::profileIn(type);
    constexpr std::string_view kBetween = " MIG ";
    return profile.empty() ? type : type.substr(0, type.size() - profile.size() - kBetween.size());
  }
  const Counted* find(const RegisteredDevice& device) const {
    const auto found = counted_.find(recordedFor(kube::modelOf(kind_, device)));
    return found == counted_.end() ? nullptr : &found->second;
  }
  Counted* find(const RegisteredDevice& device) {
    return const_cast<Counted*>(std::as_const(*this).find(device));
  }

  bool takePart(RegisteredDevice* device, const Counted* counted) const {
    const InventoryModel& model = *counted->model;
    if (model.mebibytes == 0) return counted->devices < model.devices;
    return counted->mebibytes + device->mebibytes <= mostOf(model.devices * model.mebibytes);
  }

  void lower(RegisteredDevice* device, const InventoryModel& to) {
    if (to.mebibytes > 0 && device->mebibytes > mostOf(to.mebibytes)) {
      larger_["registers " + device->type + " with " + std::to_string(device->mebibytes) +
              " MiB; its inventory has " + std::to_string(to.mebibytes) + " MiB"]
          .push_back(device->id);
      device->mebibytes = to.mebibytes;
    }
    if (to.cores > 0 && device->cores > to.cores) {
      larger_["registers " + device->type + " with " + std::to_string(device->cores) +
              " cores; its inventory has " + std::to_string(to.cores)]
          .push_back(device->id);
      device->cores = to.cores;
    }
    for (kube::RegisteredProfile& one : device->profiles)
      one.mebibytes = std::min(one.mebibytes, device->mebibytes);
  }

  using Uuids = std::map<std::string, std::vector<std::string>>;
  const std::string& kind_;
  const RecordedElsewhere& elsewhere_;
  std::map<std::string, Counted> counted_;  // by model
  Uuids foreign_, surplus_;                 // by type
  Uuids owned_;                             // by node
  Uuids larger_;                            // by line
};

}  // namespace

std::vector<std::string> boundByInventory(const kube::Inventory& inventory, const std::string& kind,
                                          const RecordedElsewhere& elsewhere,
                                          std::vector<RegisteredDevice>* devices) {
  Limits limits(inventory, kind, elsewhere);
  std::vector<std::size_t> order(devices->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t at) { return limits.records((*devices)[at]); });
  std::vector<bool> counts(devices->size());
  for (const std::size_t at : order) counts[at] = limits.take(&(*devices)[at]);
  std::size_t at = 0;
  std::erase_if(*devices, [&](const RegisteredDevice&) { return !counts[at++]; });
  return limits.lines();
}

}  // namespace divvy::scheduler
