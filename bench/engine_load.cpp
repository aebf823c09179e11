#include "engine_load.h"

#include <algorithm>
#include <stdexcept>

#include "openb_shapes.h"

namespace divvy::bench {
namespace {

using namespace divvy::engine;

constexpr unsigned kCards = 8;
constexpr Instant kNever{INT64_MAX};
// Ends for room at most: far more than filling takes where it can be done.
constexpr unsigned kMaxRefused = 100'000;

std::vector<ModelName> modelsOf(const std::string& joined) {
  std::vector<ModelName> models;
  for (std::size_t from = 0; from < joined.size();) {
    const std::size_t end = std::min(joined.find('|', from), joined.size());
    models.emplace_back(joined.substr(from, end - from));
    from = end + 1;
  }
  return models;
}

// Per thousand cards of the trace.
std::string modelOf(std::uint64_t permille) {
  if (permille < 707) return "G2";
  if (permille < 842) return "T4";
  if (permille < 892) return "G3";
  if (permille < 935) return "P100";
  return permille < 968 ? "V100M32" : "V100M16";
}

Node nodeOf(unsigned number, Rng& rng) {
  Node node;
  node.name = NodeName("node-" + std::to_string(number));
  node.cpu = {128'000};
  node.memory = mib(786'432);
  const std::string model = modelOf(rng.below(1000));
  for (unsigned i = 0; i < kCards; ++i) {
    Device device;
    device.uuid = DeviceUuid("GPU-" + std::to_string(number) + "-" + std::to_string(i));
    device.model = ModelName(model);
    device.memory = gib(32);
    device.slots = 100;
    node.devices.push_back(device);
  }
  return node;
}

void must(bool good) {
  if (!good) throw std::runtime_error("the engine refused what it has to take");
}

}  // namespace

EngineLoad::EngineLoad(unsigned nodes, Policy policy) : engine_(Config{policy, 1}) {
  for (unsigned i = 0; i < nodes; ++i) {
    nodes_.push_back(nodeOf(i, rng_));
    must(engine_.setNode(nodes_.back()).has_value());
  }
  std::uint32_t sum = 0;
  for (const OpenbShape& one : openbShapes()) {
    Shape shape;
    shape.containers.push_back({{one.cpu_milli},
                                mib(static_cast<std::uint64_t>(one.memory_mib)),
                                {one.gpus, Bytes{}, {one.gpu_milli}}});
    shape.selector.match = ModelMatch::kExact;
    shape.selector.models = modelsOf(one.models);
    shapes_.push_back(shape);
    upto_.push_back(sum += one.count);
    target_.push_back(
        {{one.cpu_milli}, {one.gpu_milli}, one.gpus, shape.selector.models, one.count});
  }
  // The most frequent first, as far as 95 of 100 requests: what a real target holds.
  const auto typical = std::upper_bound(upto_.begin(), upto_.end(), sum / 20 * 19);
  target_.resize(static_cast<std::size_t>(typical - upto_.begin()) + 1);
  must(engine_.setTarget(target_).has_value());
}

Request EngineLoad::next() {
  const auto drawn = static_cast<std::uint32_t>(rng_.below(upto_.back()));
  const auto at = std::upper_bound(upto_.begin(), upto_.end(), drawn) - upto_.begin();
  return {RequestId("request-" + std::to_string(asked_++)), shapes_[static_cast<std::size_t>(at)]};
}

Request EngineLoad::never() {
  Request request = next();
  request.shape.containers[0].cpu.milli = 1 + static_cast<std::int64_t>(asked_ % 97);
  return request;
}

bool EngineLoad::fuller(double part) const {
  const Usage usage = engine_.usage();
  return static_cast<double>(usage.used) > part * static_cast<double>(usage.capacity);
}

void EngineLoad::endOne() {
  if (living_.empty()) return;
  std::swap(living_[rng_.below(living_.size())], living_.back());
  must(engine_.release(living_.back()));
  living_.pop_back();
}

void EngineLoad::fillTo(double part) {
  for (unsigned refused = 0; !fuller(part);) {
    const Request request = next();
    if (engine_.place(request, kNever)) {
      given(request.id);
      continue;
    }
    // Few nodes may never be that full, whoever ends for whom.
    if (++refused == kMaxRefused) throw std::runtime_error("the nodes do not get that full");
    endOne();
  }
}

}  // namespace divvy::bench
