// Expected fragmentation of a node, as published with FGD (Weng et al. 2023). For each expected
// kind of request it is the idle compute that this kind cannot use. The result is the average by
// expected frequency. The arithmetic uses whole numbers: exact, and the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/target.h"
#include "nodes/hot_state.h"

namespace divvy::engine {

// Free capacity of a node, real or assumed.
struct FreeView {
  std::int64_t cpu = 0;
  const std::int32_t* compute = nullptr;  // of each device
  std::size_t devices = 0;
};

// Const member functions are safe to call from several threads.
class FragmentTable {
 public:
  FragmentTable() { setTarget({}); }
  void setTarget(const Target& target);
  const Target& target() const { return target_; }
  // Must be called before a node with that model is evaluated.
  void addModel(const ModelName& model);

  // Returns thousandths of a device, times the sum of weights. `models`: one for each device;
  // needed if `model` is kMixed.
  std::int64_t weighted(const FreeView& view, ModelId model, const ModelId* models) const;
  // Returns true if an expected request names models.
  bool namesModels() const { return names_models_; }
  std::int64_t weight() const { return weight_; }

  // floor(100 * sigmoid((before - after) / 1000)), without rounding on the way.
  std::uint32_t score(std::int64_t before, std::int64_t after) const;

 private:
  struct ExpectedRequest {
    std::int64_t cpu;
    std::int64_t weight;
    std::int32_t compute;
    std::uint32_t count;
    std::uint16_t level;
  };
  // For devices of one model. Compute below the first threshold is level 0, and so on.
  struct ModelLevels {
    std::array<std::uint16_t, 1001> level{};
    std::size_t levels = 1;
    std::vector<std::int64_t> cpus;        // of requests for one device, each amount once
    std::vector<std::int64_t> prefix;      // weights, by amount of processors, then level
    std::vector<ExpectedRequest> several;  // requests for more devices, by compute
  };
  static void addPrefixes(const std::vector<ExpectedRequest>& single, ModelLevels& compiled);
  std::int64_t usable(const FreeView& view, const ModelLevels& compiled) const;
  std::int64_t usableMixed(const FreeView& view, const ModelId* models) const;
  bool allows(const TargetClass& target, const ModelName& model) const;

  Target target_;
  std::vector<ModelName> models_;
  std::vector<ModelLevels> compiled_;
  std::vector<std::vector<std::uint8_t>> allowed_;  // by class, then model
  std::int64_t weight_ = 1;
  bool names_models_ = false;
  std::array<std::int64_t, 100> steps_{};  // difference from which on the score is 1 + its index
};

}  // namespace divvy::engine
