#include "requests/models.h"

#include <map>
#include <string>

namespace divvy::requests {
namespace {

// By the kind's name: how its devices are counted. Null: by no model's resource.
using Counted = std::map<std::string, const vendors::ModelResource*>;

Result<void> count(std::span<const ContainerAsks> containers, Counted* counted) {
  for (const ContainerAsks& one : containers) {
    for (const vendors::Ask& ask : one.devices) {
      const auto [at, added] = counted->emplace(ask.kind->name, ask.of_model);
      if (added || at->second == ask.of_model) continue;
      const auto name = [&](const vendors::ModelResource* by) {
        return by == nullptr ? ask.kind->count.resource : by->resource;
      };
      return Error(ErrorCode::kUsage, "containers ask for " + name(at->second) + " and for " +
                                          name(ask.of_model) +
                                          "; accepted: devices of one model for all containers");
    }
  }
  return {};
}

}  // namespace

Result<void> selectModels(std::span<const ContainerAsks> init,
                          std::span<const ContainerAsks> containers, engine::Shape* shape) {
  Counted counted;
  for (const auto& list : {init, containers})
    if (const Result<void> good = count(list, &counted); !good) return good;
  for (const auto& [name, by] : counted) {
    if (by == nullptr) continue;
    engine::Selector* selector = &selectorOf(engine::DeviceKind(name), shape);
    if (!selector->models.empty() || !selector->not_models.empty())
      return Error(ErrorCode::kUsage, by->resource +
                                          " says which model, and so does an annotation; accepted: "
                                          "one of them");
    selector->match = engine::ModelMatch::kWords;
    for (const std::string& model : by->models) selector->models.emplace_back(model);
    for (const std::string& model : by->not_models) selector->not_models.emplace_back(model);
  }
  return {};
}

}  // namespace divvy::requests
