#include "kube/inventory.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "objects/bounded_amounts.h"
#include "objects/members.h"

namespace divvy::kube {
namespace {

constexpr std::size_t kMaxModels = 256;
constexpr std::size_t kMaxUuids = 1024;
constexpr std::string_view kInstantForm = "0000-00-00T00:00:00Z";

bool isInstant(std::string_view text) {
  return std::equal(text.begin(), text.end(), kInstantForm.begin(), kInstantForm.end(),
                    [](char given, char form) {
                      return form == '0' ? given >= '0' && given <= '9' : given == form;
                    });
}

auto keyOf(const InventoryModel& one) {
  return std::tie(one.kind, one.model);
}

void sort(std::vector<std::string>* texts) {
  std::sort(texts->begin(), texts->end());
  texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
  if (texts->size() > kMaxUuids) texts->resize(kMaxUuids);
}

InventoryModel modelOf(Members& from) {
  InventoryModel one;
  from.text("kind", &one.kind);
  from.text("model", &one.model);
  if (one.kind.empty()) from.fail("kind", "the name of a vendor's kind of devices");
  if (one.model.empty()) from.fail("model", "a model as nodes register it");
  if (from.find("devices") == nullptr) from.fail("devices", "a whole number");
  count(from, "devices", kMaxCount, &one.devices);
  count(from, "memoryMB", kMaxMebibytes, &one.mebibytes);
  count(from, "cores", kMaxCores, &one.cores);
  from.list("uuids", &one.uuids);
  sort(&one.uuids);
  return one;
}

json::object objectOf(const InventoryModel& from) {
  json::object object{{"kind", from.kind}, {"model", from.model}, {"devices", from.devices}};
  if (from.mebibytes > 0) object["memoryMB"] = from.mebibytes;
  if (from.cores > 0) object["cores"] = from.cores;
  if (!from.uuids.empty()) object["uuids"] = json::array(from.uuids.begin(), from.uuids.end());
  return object;
}

InventoryModel* modelIn(std::vector<InventoryModel>* models, const InventoryModel& like) {
  const auto at =
      std::lower_bound(models->begin(), models->end(), like,
                       [](const auto& a, const auto& b) { return keyOf(a) < keyOf(b); });
  if (at != models->end() && keyOf(*at) == keyOf(like)) return &*at;
  return &*models->insert(at, {like.kind, like.model, 0, 0, 0, {}});
}

// A bound of 0 means no bound.
template <typename T>
T largerBound(T a, T b) {
  return a == 0 || b == 0 ? 0 : std::max(a, b);
}

}  // namespace

std::string encode(const Inventory& inventory) {
  json::object object;
  if (!inventory.learning_until.empty()) object["learningUntil"] = inventory.learning_until;
  json::array models;
  for (const InventoryModel& one : inventory.models) models.push_back(objectOf(one));
  object["models"] = std::move(models);
  return json::serialize(object);
}

Result<Inventory> decodeInventory(std::string_view text) {
  boost::system::error_code fault;
  const json::value whole = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  Members members(whole, "");
  Inventory inventory;
  members.text("learningUntil", &inventory.learning_until);
  if (!inventory.learning_until.empty() && !isInstant(inventory.learning_until))
    members.fail("learningUntil", "an instant such as 2026-01-02T03:04:05Z");
  if (members.find("models") == nullptr) members.fail("models", "a list");
  members.each("models", [&](Members& one) {
    InventoryModel model = modelOf(one);
    if (inventory.models.size() == kMaxModels)
      return one.fail("model", "one of " + std::to_string(kMaxModels) + " models at most");
    if (one.ok()) inventory.models.push_back(std::move(model));
  });
  if (!members.ok()) return members.error();
  std::sort(inventory.models.begin(), inventory.models.end(),
            [](const auto& a, const auto& b) { return keyOf(a) < keyOf(b); });
  const auto twice =
      std::adjacent_find(inventory.models.begin(), inventory.models.end(),
                         [](const auto& a, const auto& b) { return keyOf(a) == keyOf(b); });
  if (twice != inventory.models.end())
    return Error{ErrorCode::kCorrupt,
                 "model \"" + twice->model + "\" is given twice; accepted: once"};
  return inventory;
}

std::string modelOf(const std::string& kind, const RegisteredDevice& device) {
  return device.type.empty() ? kind : device.type;
}

Inventory inventoryOf(const std::string& kind, const std::vector<RegisteredDevice>& devices) {
  Inventory inventory;
  for (const RegisteredDevice& device : devices) {
    InventoryModel like;
    like.kind = kind;
    like.model = modelOf(kind, device);
    InventoryModel* model = modelIn(&inventory.models, like);
    ++model->devices;
    model->mebibytes = std::max(model->mebibytes, device.mebibytes);
    model->cores = std::max(model->cores, device.cores);
    model->uuids.push_back(device.id);
  }
  for (InventoryModel& one : inventory.models) sort(&one.uuids);
  return inventory;
}

Inventory joined(Inventory first, const Inventory& second) {
  for (const InventoryModel& from : second.models) {
    InventoryModel* into = modelIn(&first.models, from);
    const bool fresh = into->devices == 0 && into->uuids.empty();
    into->mebibytes = fresh ? from.mebibytes : largerBound(into->mebibytes, from.mebibytes);
    into->cores = fresh ? from.cores : largerBound(into->cores, from.cores);
    into->devices = std::max(into->devices, from.devices);
    into->uuids.insert(into->uuids.end(), from.uuids.begin(), from.uuids.end());
    sort(&into->uuids);
  }
  return first;
}

}  // namespace divvy::kube
