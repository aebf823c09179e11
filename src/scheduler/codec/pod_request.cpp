#include "codec/pod_request.h"

#include <algorithm>

#include "annotations/placement_annotations.h"
#include "annotations/share_annotations.h"
#include "codec/vendor_plugin.h"
#include "requests/colocation.h"
#include "requests/models.h"
#include "requests/shape.h"
#include "vendors/ask.h"

namespace divvy::scheduler {

bool asksForDevices(const kube::Pod& pod, const vendors::Catalog& catalog) {
  const auto asks = [&](const kube::PodContainer& container) {
    for (const kube::Quantities* amounts : {&container.limits, &container.requests})
      for (const auto& [name, amount] : *amounts)
        if (catalog.owner(name) != nullptr) return true;
    return false;
  };
  return std::any_of(pod.init.begin(), pod.init.end(), asks) ||
         std::any_of(pod.containers.begin(), pod.containers.end(), asks);
}

namespace {

// A container with several devices gets none that can only be used alone.
void keepFromLoners(const std::vector<requests::ContainerRequests>& init,
                    const std::vector<requests::ContainerRequests>& containers,
                    engine::Shape* shape) {
  for (const auto* list : {&init, &containers}) {
    for (const requests::ContainerRequests& one : *list) {
      for (const vendors::KindRequest& ask : one.devices) {
        if (ask.count < 2 || ask.kind->count.alone.empty()) continue;
        auto& models = requests::selectorOf(engine::DeviceKind(ask.kind->name), shape).not_models;
        for (const std::string& word : ask.kind->count.alone) {
          const engine::ModelName model(word);
          if (std::find(models.begin(), models.end(), model) == models.end())
            models.push_back(model);
        }
      }
    }
  }
}

}  // namespace

Result<std::optional<engine::Request>> requestOf(const kube::Pod& pod,
                                                 const vendors::Catalog& catalog,
                                                 const engine::DevicePolicy& base) {
  bool any = false;
  std::optional<Error> fault;
  const auto read = [&](const std::vector<kube::PodContainer>& containers) {
    std::vector<requests::ContainerRequests> result;
    for (const kube::PodContainer& one : containers) {
      Result<std::vector<vendors::KindRequest>> asked =
          vendors::readRequests(catalog, one.limits, one.requests, pod.meta.annotations);
      if (!asked) {
        if (!fault) fault = std::move(asked).error().context("container " + one.name);
        return result;
      }
      any = any || !asked->empty();
      result.push_back({{}, {}, std::move(*asked), one.sidecar});
    }
    return result;
  };
  const std::vector<requests::ContainerRequests> init = read(pod.init);
  const std::vector<requests::ContainerRequests> containers = read(pod.containers);
  if (fault) return *fault;
  if (!any) return std::optional<engine::Request>();
  engine::Request request{engine::RequestId(pod.meta.uid),
                          requests::shapeOf(init, containers, pod.meta.annotations),
                          engine::UserName(pod.meta.namespace_name)};
  const Result<ShareAnnotations> wishes = ShareAnnotations::of(pod);
  if (!wishes) return wishes.error();
  const Result<void> wished = wishes->apply(pod, &request.shape);
  if (!wished) return wished.error();
  const Result<void> models = requests::selectModels(init, containers, &request.shape);
  if (!models) return models.error();
  const Result<void> company =
      requests::applyColocation(init, containers, pod.meta.annotations, &request.shape);
  if (!company) return company.error();
  for (const auto* list : {&init, &containers})
    for (const requests::ContainerRequests& one : *list)
      for (const vendors::KindRequest& ask : one.devices) keepFromOtherNames(ask, &request.shape);
  keepFromLoners(init, containers, &request.shape);
  Result<engine::DevicePolicy> linked = base;
  for (const requests::ContainerRequests& container : containers) {
    for (const vendors::KindRequest& ask : container.devices) {
      if (ask.count < 2) continue;
      linked = withLinks(pod.meta.annotations, *linked, ask.kind->links);
      if (!linked) return linked.error();
    }
  }
  const Result<void> preferred = readPreferences(pod.meta.annotations, *linked, &request.shape);
  if (!preferred) return preferred.error();
  if (*linked != base && !request.shape.devices) request.shape.devices = *linked;
  return std::optional(std::move(request));
}

}  // namespace divvy::scheduler
