#include "clusters/cluster_capacity.h"

#include <utility>

#include <boost/json.hpp>

#include "hub/capacity_report.h"
#include "json/path.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

std::optional<std::uint64_t> knownAt(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  boost::system::error_code fault;
  const auto count = found->to_number<std::uint64_t>(fault);
  if (fault) return std::nullopt;
  return count;
}

std::uint64_t countAt(const json::object& object, std::string_view name) {
  return knownAt(object, name).value_or(0);
}

}  // namespace

Result<ClusterCapacity> capacityOf(const std::string& text) {
  Result<json::object> report = hub::reportOf(text);
  if (!report) return report.error();
  ClusterCapacity capacity;
  capacity.at_ms = integerAt(*report, {"at_ms"});
  if (const json::value* models = report->if_contains("models"); models && models->is_array())
    for (const json::value& one : models->get_array()) {
      if (!one.is_object()) continue;
      const json::object& row = one.get_object();
      capacity.models.push_back({textAt(row, {"model"}), countAt(row, "devices"),
                                 countAt(row, "healthy"), countAt(row, "idle"),
                                 countAt(row, "memory_bytes"), countAt(row, "allocated_bytes")});
    }
  capacity.report = std::move(*report);
  return capacity;
}

Result<FitCount> fitCountOf(const std::string& text) {
  const Result<json::object> fit = hub::answerOf(text);
  if (!fit) return fit.error();
  return FitCount{knownAt(*fit, "fit"), knownAt(*fit, "fit_after_eviction")};
}

}  // namespace divvy::cli
