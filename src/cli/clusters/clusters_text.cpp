#include "clusters/clusters_text.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <boost/json.hpp>

#include "view/table.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

std::string knownWord(const std::optional<std::uint64_t>& count) {
  return count ? std::to_string(*count) : "?";
}

json::value knownValue(const std::optional<std::uint64_t>& count) {
  return count ? json::value(*count) : json::value(nullptr);
}

// Texts of other clusters may be forged: no control character reaches the terminal.
std::string modelsWord(const std::vector<ModelCapacity>& models) {
  constexpr std::size_t kMaxModel = 64;
  std::string text;
  for (const ModelCapacity& one : models)
    text += (text.empty() ? "" : ", ") + std::to_string(one.devices) + "x " +
            commandLine({cut(one.model, kMaxModel)});
  return text.empty() ? "no devices" : text;
}

ModelCapacity sumOf(const std::vector<ModelCapacity>& models) {
  ModelCapacity sum;
  for (const ModelCapacity& one : models) {
    sum.devices += one.devices;
    sum.healthy += one.healthy;
    sum.idle += one.idle;
    sum.memory_bytes += one.memory_bytes;
    sum.allocated_bytes += one.allocated_bytes;
  }
  return sum;
}

std::string allocatedWord(const ModelCapacity& sum) {
  if (sum.memory_bytes == 0) return "-";
  return sizeWord(sum.allocated_bytes) + " of " + sizeWord(sum.memory_bytes);
}

// Larger goes first.
auto rankOf(const ClusterCapacity& cluster) {
  const FitCount fit = cluster.asked.value_or(FitCount{});
  return std::tuple(cluster.problem.empty(), fit.fit.value_or(0), fit.after_eviction.value_or(0));
}

}  // namespace

void sortByFit(std::vector<ClusterCapacity>& clusters) {
  std::stable_sort(clusters.begin(), clusters.end(),
                   [](const ClusterCapacity& one, const ClusterCapacity& two) {
                     return rankOf(one) > rankOf(two);
                   });
}

std::string clustersText(const std::vector<ClusterCapacity>& clusters, bool headers,
                         std::size_t width) {
  const bool asked = std::any_of(clusters.begin(), clusters.end(),
                                 [](const ClusterCapacity& one) { return one.asked.has_value(); });
  std::vector<std::string> headings{"CLUSTER"};
  if (asked) headings.insert(headings.end(), {"FIT>", "AFTER EVICTION>"});
  headings.insert(headings.end(), {"HEALTHY>", "IDLE>", "ALLOCATED", "DEVICES"});
  Table table(headings);
  for (const ClusterCapacity& cluster : clusters) {
    const ModelCapacity sum = sumOf(cluster.models);
    std::vector<std::string> cells{cluster.name};
    if (asked) {
      const FitCount fit = cluster.asked.value_or(FitCount{});
      cells.insert(cells.end(), {knownWord(fit.fit), knownWord(fit.after_eviction)});
    }
    if (cluster.problem.empty()) {
      cells.insert(cells.end(),
                   {std::to_string(sum.healthy) + "/" + std::to_string(sum.devices),
                    std::to_string(sum.idle), allocatedWord(sum), modelsWord(cluster.models)});
    } else {
      cells.insert(cells.end(), {"?", "?", "?", "not known: " + commandLine({cluster.problem})});
    }
    table.add(std::move(cells));
  }
  return table.text(headers, width);
}

std::string clustersJson(const std::vector<ClusterCapacity>& clusters) {
  json::array list;
  for (const ClusterCapacity& cluster : clusters) {
    json::object one{{"name", cluster.name}};
    one["problem"] = cluster.problem.empty() ? json::value(nullptr) : json::value(cluster.problem);
    if (cluster.asked) {
      one["fit"] = knownValue(cluster.asked->fit);
      one["fit_after_eviction"] = knownValue(cluster.asked->after_eviction);
    }
    one["capacity"] = cluster.report.empty() ? json::value(nullptr) : json::value(cluster.report);
    list.push_back(std::move(one));
  }
  return json::serialize(json::object{{"clusters", std::move(list)}}) + '\n';
}

}  // namespace divvy::cli
