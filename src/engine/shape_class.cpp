#include "shape_class.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace divvy::engine {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool sameLetter(char a, char b) {
  return lower(a) == lower(b);
}

bool matches(const std::vector<ModelName>& wanted, ModelMatch match, const std::string& model) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const ModelName& one) {
    if (match == ModelMatch::kExact) {
      return std::equal(one.text.begin(), one.text.end(), model.begin(), model.end(), sameLetter);
    }
    return std::search(model.begin(), model.end(), one.text.begin(), one.text.end(), sameLetter) !=
           model.end();
  });
}

std::vector<Ask> asksOf(const std::vector<Container>& containers, std::size_t first) {
  std::vector<Ask> asks;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const DeviceAsk& wanted = containers[i].devices;
    if (wanted.count == 0) continue;
    Ask ask{wanted.count, wanted.compute.milli, 0, 0, first + i};
    if (const auto* bytes = std::get_if<Bytes>(&wanted.memory)) {
      ask.bytes = static_cast<std::int64_t>(bytes->count);
    } else {
      ask.percent = std::get<Percent>(wanted.memory).value;
    }
    asks.push_back(ask);
  }
  return asks;
}

std::uint8_t kindOf(std::uint32_t devices, std::int64_t compute) {
  if (devices == 0) return 0;
  if (compute < std::int64_t{devices} * kWholeDevice.milli) return 1;
  return static_cast<std::uint8_t>(std::min<std::size_t>(1 + devices, kKinds - 1));
}

constexpr auto why(DeviceWhy reason) {
  return static_cast<std::uint8_t>(reason);
}

}  // namespace

ShapeClass::ShapeClass(Shape shape, Policy policy) : shape_(std::move(shape)), policy_(policy) {
  init_ = asksOf(shape_.init, 0);
  containers_ = asksOf(shape_.containers, shape_.init.size());
  for (const Container& one : shape_.containers) {
    cpu_ += one.cpu.milli;
    memory_ += static_cast<std::int64_t>(one.memory.count);
  }
  for (const Container& one : shape_.init) {
    cpu_ = std::max(cpu_, one.cpu.milli);
    memory_ = std::max(memory_, static_cast<std::int64_t>(one.memory.count));
  }
  std::uint32_t together = 0;
  for (const Ask& ask : containers_) {
    compute_ += std::int64_t{ask.count} * ask.compute;
    together += ask.count;
    widest_ = std::max(widest_, ask.count);
  }
  for (const Ask& ask : init_) {
    compute_ = std::max(compute_, std::int64_t{ask.count} * ask.compute);
    together = std::max(together, ask.count);
    widest_ = std::max(widest_, ask.count);
  }
  kind_ = kindOf(together, compute_);
}

std::uint8_t ShapeClass::judge(const ModelName& model) const {
  const Selector& selector = shape_.selector;
  if (matches(selector.not_models, selector.match, model.text)) {
    return why(DeviceWhy::kModelExcluded);
  }
  if (!selector.models.empty() && !matches(selector.models, selector.match, model.text)) {
    return why(DeviceWhy::kModelNotAsked);
  }
  return kOpen;
}

void ShapeClass::learn(const std::vector<ModelName>& models) {
  while (verdicts_.size() < models.size()) verdicts_.push_back(judge(models[verdicts_.size()]));
}

std::uint8_t ShapeClass::verdict(const DeviceUuid& uuid) const {
  const auto names = [&](const std::vector<DeviceUuid>& list) {
    return std::find(list.begin(), list.end(), uuid) != list.end();
  };
  if (names(shape_.selector.not_uuids)) return why(DeviceWhy::kUuidExcluded);
  if (!shape_.selector.uuids.empty() && !names(shape_.selector.uuids)) {
    return why(DeviceWhy::kUuidNotAsked);
  }
  return kOpen;
}

}  // namespace divvy::engine
