#include "cache/refusal_texts.h"

#include <algorithm>

namespace divvy::scheduler {
namespace {

constexpr std::size_t kMaxModels = 3;
constexpr std::size_t kMaxLength = 40;  // of a model's name

// Models that the pod itself names: others have a remark in parentheses (codec/vendor_plugin.h).
std::string modelsIn(const engine::Shape& shape) {
  std::vector<std::string> models;
  const auto add = [&](const engine::Selector& selector) {
    for (const engine::ModelName& one : selector.models)
      if (one.text.find('(') == one.text.npos) models.push_back(one.text.substr(0, kMaxLength));
  };
  add(shape.selector);
  for (const engine::KindSelector& one : shape.by_kind) add(one.selector);
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  if (models.empty()) return {};
  std::string said = models.size() == 1 ? "; model asked for: " : "; models asked for: ";
  for (std::size_t at = 0; at < std::min(models.size(), kMaxModels); ++at)
    said += (at == 0 ? "" : ", ") + models[at];
  return models.size() > kMaxModels ? said + ", ..." : said;
}

bool ofModel(const engine::CompactRefusal& brief) {
  return brief.why == engine::NodeWhy::kDevices &&
         (brief.most == engine::DeviceWhy::kModelNotAsked ||
          brief.most == engine::DeviceWhy::kModelExcluded);
}

}  // namespace

RefusalTextCache::RefusalTextCache(std::vector<std::string> containers, const engine::Shape& shape)
    : containers_(std::move(containers)), models_(modelsIn(shape)) {}

// A pod's only container is not named.
const Reason& RefusalTextCache::reasonOf(const engine::CompactRefusal& brief) {
  const auto key = [](const engine::CompactRefusal& of) {
    return std::tie(of.why, of.container, of.needed, of.most, of.kind);
  };
  if (last_ != nullptr && key(*last_) == key(brief)) return *last_reason_;
  const auto [at, fresh] = made_.try_emplace(Key(key(brief)), Reason());
  last_ = &brief;
  last_reason_ = &at->second;
  if (!fresh) return at->second;
  const bool named = containers_.size() > 1 && brief.container < containers_.size();
  std::string text = engine::text(brief, named ? containers_[brief.container] : std::string());
  if (ofModel(brief)) text += models_;
  at->second = std::move(text);
  return at->second;
}

std::vector<Reason> RefusalTextCache::reasonsOf(
    const std::vector<engine::CompactRefusal>& different) {
  std::vector<Reason> reasons;
  for (const engine::CompactRefusal& one : different) reasons.push_back(reasonOf(one));
  return reasons;
}

}  // namespace divvy::scheduler
