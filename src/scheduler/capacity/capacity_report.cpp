#include "capacity/capacity_report.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <boost/json.hpp>

namespace divvy::scheduler {
namespace {

namespace bj = boost::json;

constexpr std::size_t kMaxModels = 16;
constexpr std::size_t kMaxNames = 8;     // of a selector
constexpr std::size_t kMaxName = 64;     // bytes
constexpr std::size_t kForTheRest = 64;  // bytes: numbers at the end

std::string cut(const std::string& name) {
  return name.substr(0, kMaxName);
}

bj::object deviceObject(const engine::DeviceRequest& devices) {
  bj::object object{{"gpus", devices.count}};
  if (const auto* bytes = std::get_if<Bytes>(&devices.memory)) {
    if (bytes->count > 0) object["memory_bytes"] = bytes->count;
  } else {
    object["memory_percent"] = std::get<engine::Percent>(devices.memory).value;
  }
  if (devices.compute.milli > 0) object["compute_milli"] = devices.compute.milli;
  if (!devices.kind.empty()) object["kind"] = cut(devices.kind.text);
  if (devices.part) object["part"] = cut(devices.part->text);
  return object;
}

template <typename Names>
void addNames(bj::object& object, const char* key, const Names& names) {
  if (names.empty()) return;
  bj::array list;
  for (std::size_t i = 0; i < names.size() && i < kMaxNames; ++i)
    list.emplace_back(cut(names[i].text));
  object[key] = std::move(list);
}

void addContainers(bj::array& list, const std::vector<engine::Container>& containers, bool init) {
  for (const engine::Container& one : containers) {
    if (one.devices.count == 0 && one.others.empty()) continue;
    bj::object object = deviceObject(one.devices);
    if (init) object["init"] = true;
    if (!one.others.empty()) {
      bj::array others;
      for (const engine::DeviceRequest& other : one.others) others.push_back(deviceObject(other));
      object["others"] = std::move(others);
    }
    list.push_back(std::move(object));
  }
}

bj::value known(const std::optional<std::uint64_t>& count) {
  return count ? bj::value(*count) : bj::value(nullptr);
}

}  // namespace

void ModelSums::add(const DeviceUsage& device) {
  Sums& sums = models_[device.model];
  ++sums.devices;
  sums.healthy += device.healthy ? 1 : 0;
  sums.idle += device.healthy && device.tenants == 0 ? 1 : 0;
  sums.memory = sums.memory + device.memory;
  sums.allocated = sums.allocated + device.promised;
  sums.compute += device.compute.milli;
  sums.allocated_compute += device.promised_compute.milli;
}

bj::array ModelSums::rows(std::size_t& left_out) const {
  std::vector<std::pair<std::string, Sums>> order(models_.begin(), models_.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& one, const auto& two) {
    return one.second.devices > two.second.devices;
  });
  left_out = order.size() - std::min(order.size(), kMaxModels);
  order.resize(order.size() - left_out);
  bj::array rows;
  for (const auto& [model, sums] : order)
    rows.push_back(bj::object{{"model", cut(model)},
                              {"devices", sums.devices},
                              {"healthy", sums.healthy},
                              {"idle", sums.idle},
                              {"memory_bytes", sums.memory.count},
                              {"allocated_bytes", sums.allocated.count},
                              {"compute_milli", sums.compute},
                              {"allocated_milli", sums.allocated_compute}});
  return rows;
}

bj::object shapeObject(const RecentShape& shape) {
  bj::array containers;
  addContainers(containers, shape.request.shape.init, true);
  addContainers(containers, shape.request.shape.containers, false);
  bj::object object{{"containers", std::move(containers)}};
  if (shape.resources.cpu.milli > 0) object["cpu_milli"] = shape.resources.cpu.milli;
  if (shape.resources.memory.count > 0) object["host_bytes"] = shape.resources.memory.count;
  const engine::Selector& selector = shape.request.shape.selector;
  addNames(object, "models", selector.models);
  addNames(object, "not_models", selector.not_models);
  if (!selector.uuids.empty()) object["named_devices"] = selector.uuids.size();
  if (shape.request.shape.pool) object["pool"] = cut(shape.request.shape.pool->text);
  object["priority"] = shape.priority;
  object["pods"] = shape.pods;
  return object;
}

std::string reportText(const CapacityReport& report) {
  std::size_t models_left_out = 0;
  bj::object head{{"version", 1},
                  {"scheduler", cut(report.scheduler)},
                  {"identity", cut(report.identity)},
                  {"at_ms", report.at_ms},
                  {"models", report.models.rows(models_left_out)}};
  head["models_left_out"] = models_left_out;
  std::string text = bj::serialize(head);
  text.pop_back();
  text += ",\"shapes\":[";
  std::size_t left_out = 0;
  bool first = true;
  for (const ShapeCapacity& one : report.shapes) {
    bj::object object = shapeObject(one.shape);
    object["fit"] = known(one.fit);
    object["fit_after_eviction"] = known(one.fit_after_eviction);
    const std::string row = bj::serialize(object);
    if (text.size() + row.size() + kForTheRest > kMaxReportBytes) {
      ++left_out;
      continue;
    }
    if (!first) text += ',';
    text += row;
    first = false;
  }
  return text + "],\"shapes_left_out\":" + std::to_string(left_out) + "}";
}

}  // namespace divvy::scheduler
