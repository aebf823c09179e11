#include "view/overview_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

namespace bj = boost::json;

bj::object cellOf(const ListRow& device) {
  bj::object cell;
  for (const char* name :
       {"id", "node", "index", "model", "state", "memory_total_bytes", "memory_limits_bytes",
        "memory_used_bytes", "compute_requested_percent", "utilisation_percent", "tenants"})
    cell[name] = device.at(name);
  return cell;
}

// By node, then by index.
bool isBefore(const ListRow* one, const ListRow* two) {
  const auto key = [](const ListRow& row) {
    return std::pair(std::string_view(row.at("node").get_string()),
                     row.at("index").to_number<std::uint64_t>());
  };
  return key(*one) < key(*two);
}

}  // namespace

bj::array deviceCells(const SharedRows& devices) {
  std::vector<const ListRow*> order;
  for (const auto& [id, device] : devices) order.push_back(device.get());
  std::sort(order.begin(), order.end(), isBefore);
  bj::array cells;
  for (const ListRow* device : order) cells.push_back(cellOf(*device));
  return cells;
}

void Attention::add(const char* severity, const char* code, const std::string& text,
                    const std::string& link) {
  auto& list = severity == std::string_view("critical")  ? critical_
               : severity == std::string_view("warning") ? warning_
                                                         : info_;
  list.push_back(
      bj::object{{"severity", severity}, {"code", code}, {"text", text}, {"link", link}});
}

bj::array Attention::take() {
  bj::array all = std::move(critical_);
  for (bj::value& item : warning_) all.push_back(std::move(item));
  for (bj::value& item : info_) all.push_back(std::move(item));
  return all;
}

}  // namespace divvy::console
