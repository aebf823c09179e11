// Models of simulated cards. Profiles are data: a new card is one more row in profile.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::simgpu {

inline constexpr int kMaxCards = 16;
inline constexpr std::string_view kDefaultProfile = "h100";  // when SIMGPU_PROFILE is not set

// One model of card. Bytes, MHz, milliwatts and bytes per second; figures from vendors' public data
// sheets, context and reserve costs typical of what nvidia-smi shows.
struct Profile {
  std::string_view name;         // value of SIMGPU_PROFILE
  std::string_view model;        // result of cuDeviceGetName and nvmlDeviceGetName
  std::uint64_t memory_bytes;    // total as NVML shows it
  std::uint64_t reserved_bytes;  // kept by driver and firmware: CUDA's total is memory - reserved
  std::uint64_t context_bytes;   // charged to the card by every context
  std::uint64_t l2_bytes;
  std::uint64_t host_link;    // bytes per second, one direction, host <-> device
  std::uint64_t peer_link;    // bytes per second, one direction, between two such cards
  std::uint64_t memory_link;  // bytes per second of device memory
  int sm_count;
  int cc_major;
  int cc_minor;
  int threads_per_sm;
  int blocks_per_sm;
  int shared_per_sm;     // bytes
  int shared_per_block;  // bytes, opt-in maximum
  int sm_mhz;
  int memory_mhz;
  int bus_bits;
  int copy_engines;
  int nvlinks;  // 0: peers go over PCIe
  int nvlink_version;
  int pcie_generation;
  int power_limit_mw;
  int idle_power_mw;
  int cores_per_sm;
  std::uint32_t pci_device_id;  // (device << 16) | vendor, as nvmlPciInfo_t has it
  bool ecc;
  bool mig_capable;
  bool answers_at_once;  // the `null` profile: no accounts, no contents, no time
  // The rate of each copy engine while both directions copy: together about 1.6 times one.
  std::uint32_t duplex_permille = 800;
  // How long calls of virtual memory management keep their caller, whatever the size. As kvcached
  // measured with handles of 2 MiB on an A100 (benchmarks/bench_vmm/README.md).
  std::uint64_t vmm_create_ns = 193'000;
  std::uint64_t vmm_map_ns = 1'450;
  std::uint64_t vmm_access_ns = 36'000;
  std::uint64_t vmm_unmap_ns = 25'600;
  std::uint64_t vmm_granule = 2ULL << 20;  // sizes and addresses are multiples of it
  // For an instance of a partitioned card (MIG): the name of its kind ("1g.10gb"), and the number
  // of the card's compute slices that it has. Empty: this is a card.
  std::string_view part = {};
  int slices = 0;
  // The instances of a partitioned card.
  const Profile* first_part = nullptr;
  int part_count = 0;

  std::span<const Profile> parts() const;
  std::uint64_t usableBytes() const { return memory_bytes - reserved_bytes; }
  double peakFlops() const;  // fp32 multiply-adds counted twice, per second
};

// All profiles in the order in which they are listed to people.
std::span<const Profile> profiles();

// A host and its cards, in PCI order.
struct Machine {
  // Devices that programs can use: cards that are not partitioned, and the instances of those that
  // are.
  std::vector<const Profile*> cards;
  std::vector<const Profile*> boards;  // physical cards
  std::vector<int> board_of;           // for each of `cards` its place in `boards`

  // "a100", "a100x8", "l20+h100x2": the canonical form, also part of directory names.
  std::string name() const;
  bool answersAtOnce() const { return cards.front()->answers_at_once; }
};

// "h100", "a100x8", "h100-mig", "4090x2" (with or without the rtx of the consumer cards), "null";
// cards of several kinds joined by "+". Case does not matter. nullopt: an unknown profile, no card
// or more than kMaxCards in all, or `null` together with others.
std::optional<Machine> parseMachine(std::string_view text);

// Identity of card `index` of a machine: the same in every process and after every restart.
struct CardIdentity {
  bool part;  // an instance of a partitioned card, with the card's place on the bus
  std::uint8_t uuid[16];
  std::uint32_t pci_domain;
  std::uint32_t pci_bus;
  std::uint32_t pci_device;

  std::string uuidText() const;  // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", of instances "MIG-"
  std::string serialText() const;  // 13 digits
};
CardIdentity cardIdentity(const Profile& profile, int index);
// For `machine.cards[unit]`, card or instance.
CardIdentity unitIdentity(const Machine& machine, int unit);

}  // namespace divvy::simgpu
