// What Books tells those who only ask.
#include <algorithm>
#include <utility>

#include "cache/cache_impl.h"
#include "codec/vendor_plugin.h"

namespace divvy::scheduler {

std::vector<Refused> Books::refused() const {
  return inside_->waiting.all();
}

const engine::Request* Books::askOf(const std::string& uid) const {
  return inside_->waiting.askOf(uid);
}

const engine::Engine& Books::engine() const {
  return inside_->engine;
}

Result<std::optional<engine::Request>> Books::requestFor(const kube::Pod& pod) const {
  Result<std::optional<engine::Request>> request =
      requestOf(pod, inside_->catalog, inside_->config.devices);
  if (!request) return Error{ErrorCode::kUsage, request.error().message()};
  return request;
}

const engine::Node* Books::nodeNamed(const std::string& name) const {
  const auto known = inside_->nodes.find(name);
  return known == inside_->nodes.end() ? nullptr : &known->second.node;
}

bool Books::excludesItself(const std::string& model) const {
  if (model == kOwnPlugin || isNotServedBy(model)) return true;
  for (const vendors::Kind* kind : inside_->catalog.kinds())
    if (std::find(kind->count.alone.begin(), kind->count.alone.end(), model) !=
        kind->count.alone.end())
      return true;
  return false;
}

std::string Books::faultOf(const std::string& node) const {
  const auto fault = inside_->unreadable.find(node);
  if (fault != inside_->unreadable.end()) return fault->second;
  return inside_->nodes.contains(node) ? "" : kNothingRegistered;
}

}  // namespace divvy::scheduler
