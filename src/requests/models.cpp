#include "requests/models.h"

#include <map>
#include <string>

namespace divvy::requests {
namespace {

// By the kind's name: how its devices are counted. Null: by no model's resource.
using ModelCounts = std::map<std::string, const vendors::ModelResource*>;

Result<void> count(std::span<const ContainerRequests> containers, ModelCounts* counted) {
  for (const ContainerRequests& one : containers) {
    for (const vendors::KindRequest& request : one.devices) {
      const auto [at, added] = counted->emplace(request.kind->name, request.of_model);
      if (added || at->second == request.of_model) continue;
      const auto name = [&](const vendors::ModelResource* by) {
        return by == nullptr ? request.kind->count.resource : by->resource;
      };
      return Error(ErrorCode::kUsage, "containers ask for " + name(at->second) + " and for " +
                                          name(request.of_model) +
                                          "; accepted: devices of one model for all containers");
    }
  }
  return {};
}

}  // namespace

Result<void> selectModels(std::span<const ContainerRequests> init,
                          std::span<const ContainerRequests> containers, engine::Shape* shape) {
  ModelCounts counted;
  for (const auto& list : {init, containers})
    if (const Result<void> good = count(list, &counted); !good) return good;
  for (const auto& [name, by] : counted) {
    if (by == nullptr) continue;
    engine::Selector* selector = &selectorOf(engine::DeviceKind(name), shape);
    if (!selector->models.empty() || !selector->not_models.empty())
      return Error(
          ErrorCode::kUsage,
          by->resource + " sets a model, and so does an annotation; accepted: one of them");
    selector->match = engine::ModelMatch::kWords;
    for (const std::string& model : by->models) selector->models.emplace_back(model);
    for (const std::string& model : by->not_models) selector->not_models.emplace_back(model);
  }
  return {};
}

}  // namespace divvy::requests
