// The catalogue of the simulation, for `divvy sim` and for users: profiles and fault injections.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace divvy::simgpu {

struct ProfileEntry {
  std::string_view name;   // for SIMGPU_PROFILE; "xN" after it makes N cards
  std::string_view alias;  // another accepted spelling, or empty
  std::string_view model;
  std::uint64_t memory_bytes;   // as NVML shows it
  std::uint64_t usable_bytes;   // as the CUDA driver shows it: the sum that processes can hold
  std::uint64_t context_bytes;  // cost of each context
  int sm_count;
  int cc_major;
  int cc_minor;
  std::string_view note;
};
std::span<const ProfileEntry> profileCatalog();
inline constexpr int kMaxSimulatedCards = 16;

struct FaultEntry {
  std::string_view form;  // for SIMGPU_FAULTS, e.g. "oom-after=N"
  std::string_view effect;
};
std::span<const FaultEntry> faultCatalog();

// A kernel that the simulated driver brings along. Programs name it in a text that they load as a
// module. The text: "simgpu-builtin 1", then lines "kernel NAME [= BUILTIN] [cost_ns=N]", "all", or
// "global NAME BYTES".
struct KernelEntry {
  std::string_view name;
  std::string_view params;  // as in C, comma-separated; types u8 u32 u64 float double and pointers
  std::string_view effect;
};
std::span<const KernelEntry> kernelCatalog();

// "H100" -> {"h100", "h100", 1}, "4090x2" -> {"rtx4090x2", "rtx4090", 2}, "l20+h100x2" -> three
// cards of two kinds. nullopt: not a profile, or not 1..16 cards.
struct SimulatedMachine {
  std::string name;     // canonical, as used in directory names: "rtx4090x2"
  std::string profile;  // of the first card
  int cards;
};
std::optional<SimulatedMachine> findMachine(std::string_view text);

}  // namespace divvy::simgpu
