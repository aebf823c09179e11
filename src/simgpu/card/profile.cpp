#include "card/profile.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kGB = 1'000'000'000ULL;
constexpr std::uint32_t kVendor = 0x10de;

constexpr std::uint32_t pciId(std::uint32_t device) {
  return device << 16 | kVendor;
}

constexpr Profile kConsumer{
    .name = "rtx4070",
    .model = "NVIDIA GeForce RTX 4070",
    .memory_bytes = 12282 * kMiB,
    .reserved_bytes = 404 * kMiB,
    .context_bytes = 264 * kMiB,
    .l2_bytes = 36 * kMiB,
    .host_link = 25 * kGB,
    .peer_link = 20 * kGB,
    .memory_link = 504 * kGB,
    .sm_count = 46,
    .cc_major = 8,
    .cc_minor = 9,
    .threads_per_sm = 1536,
    .blocks_per_sm = 24,
    .shared_per_sm = 100 << 10,
    .shared_per_block = 99 << 10,
    .sm_mhz = 2475,
    .memory_mhz = 10501,
    .bus_bits = 192,
    .copy_engines = 2,
    .nvlinks = 0,
    .nvlink_version = 0,
    .pcie_generation = 4,
    .power_limit_mw = 200'000,
    .idle_power_mw = 9'000,
    .cores_per_sm = 128,
    .pci_device_id = pciId(0x2786),
    .ecc = false,
    .mig_capable = false,
    .answers_at_once = false,
};

constexpr Profile rtx4090() {
  Profile p = kConsumer;
  p.name = "rtx4090";
  p.model = "NVIDIA GeForce RTX 4090";
  p.memory_bytes = 24564 * kMiB;
  p.reserved_bytes = 357 * kMiB;
  p.context_bytes = 392 * kMiB;
  p.l2_bytes = 72 * kMiB;
  p.memory_link = 1008 * kGB;
  p.sm_count = 128;
  p.sm_mhz = 2520;
  p.bus_bits = 384;
  p.power_limit_mw = 450'000;
  p.idle_power_mw = 15'000;
  p.pci_device_id = pciId(0x2684);
  return p;
}

constexpr Profile kDataCenter{
    .name = "v100",
    .model = "Tesla V100-SXM2-16GB",
    .memory_bytes = 16384 * kMiB,
    .reserved_bytes = 235 * kMiB,
    .context_bytes = 308 * kMiB,
    .l2_bytes = 6 * kMiB,
    .host_link = 12 * kGB,
    .peer_link = 150 * kGB,
    .memory_link = 900 * kGB,
    .sm_count = 80,
    .cc_major = 7,
    .cc_minor = 0,
    .threads_per_sm = 2048,
    .blocks_per_sm = 32,
    .shared_per_sm = 96 << 10,
    .shared_per_block = 96 << 10,
    .sm_mhz = 1530,
    .memory_mhz = 877,
    .bus_bits = 4096,
    .copy_engines = 5,
    .nvlinks = 6,
    .nvlink_version = 2,
    .pcie_generation = 3,
    .power_limit_mw = 300'000,
    .idle_power_mw = 42'000,
    .cores_per_sm = 64,
    .pci_device_id = pciId(0x1db1),
    .ecc = true,
    .mig_capable = false,
    .answers_at_once = false,
};

constexpr Profile v100x32() {
  Profile p = kDataCenter;
  p.name = "v100-32";
  p.model = "Tesla V100-SXM2-32GB";
  p.memory_bytes = 32768 * kMiB;
  p.reserved_bytes = 268 * kMiB;
  p.pci_device_id = pciId(0x1db5);
  return p;
}

constexpr Profile a100() {
  Profile p = kDataCenter;
  p.name = "a100";
  p.model = "NVIDIA A100-SXM4-40GB";
  p.memory_bytes = 40960 * kMiB;
  p.reserved_bytes = 625 * kMiB;
  p.context_bytes = 416 * kMiB;
  p.l2_bytes = 40 * kMiB;
  p.host_link = 25 * kGB;
  p.peer_link = 300 * kGB;
  p.memory_link = 1555 * kGB;
  p.sm_count = 108;
  p.cc_major = 8;
  p.shared_per_sm = 164 << 10;
  p.shared_per_block = 163 << 10;
  p.sm_mhz = 1410;
  p.memory_mhz = 1215;
  p.bus_bits = 5120;
  p.nvlinks = 12;
  p.nvlink_version = 3;
  p.pcie_generation = 4;
  p.power_limit_mw = 400'000;
  p.idle_power_mw = 52'000;
  p.pci_device_id = pciId(0x20b0);
  p.mig_capable = true;
  return p;
}

constexpr Profile a100x80() {
  Profile p = a100();
  p.name = "a100-80";
  p.model = "NVIDIA A100-SXM4-80GB";
  p.memory_bytes = 81920 * kMiB;
  p.reserved_bytes = 768 * kMiB;
  p.memory_link = 2039 * kGB;
  p.memory_mhz = 1593;
  p.pci_device_id = pciId(0x20b2);
  return p;
}

constexpr Profile h100() {
  Profile p = a100();
  p.name = "h100";
  p.model = "NVIDIA H100 80GB HBM3";
  p.memory_bytes = 81559 * kMiB;
  p.reserved_bytes = 551 * kMiB;
  p.context_bytes = 520 * kMiB;
  p.l2_bytes = 50 * kMiB;
  p.host_link = 52 * kGB;
  p.peer_link = 450 * kGB;
  p.memory_link = 3352 * kGB;
  p.sm_count = 132;
  p.cc_major = 9;
  p.shared_per_sm = 228 << 10;
  p.shared_per_block = 227 << 10;
  p.sm_mhz = 1980;
  p.memory_mhz = 2619;
  p.nvlinks = 18;
  p.nvlink_version = 4;
  p.pcie_generation = 5;
  p.power_limit_mw = 700'000;
  p.idle_power_mw = 70'000;
  p.cores_per_sm = 128;
  p.pci_device_id = pciId(0x2330);
  return p;
}

constexpr Profile h200() {
  Profile p = h100();
  p.name = "h200";
  p.model = "NVIDIA H200";
  p.memory_bytes = 143771 * kMiB;
  p.reserved_bytes = 690 * kMiB;
  p.memory_link = 4800 * kGB;
  p.memory_mhz = 3201;
  p.bus_bits = 6144;
  p.pci_device_id = pciId(0x2335);
  return p;
}

constexpr Profile h20() {
  Profile p = h100();
  p.name = "h20";
  p.model = "NVIDIA H20";
  p.memory_bytes = 97871 * kMiB;
  p.reserved_bytes = 590 * kMiB;
  p.l2_bytes = 60 * kMiB;
  p.memory_link = 4000 * kGB;
  p.sm_count = 78;
  p.bus_bits = 6144;
  p.power_limit_mw = 500'000;
  p.pci_device_id = pciId(0x2329);
  return p;
}

constexpr Profile l20() {
  Profile p = kConsumer;
  p.name = "l20";
  p.model = "NVIDIA L20";
  p.memory_bytes = 46068 * kMiB;
  p.reserved_bytes = 613 * kMiB;
  p.context_bytes = 400 * kMiB;
  p.l2_bytes = 96 * kMiB;
  p.memory_link = 864 * kGB;
  p.sm_count = 92;
  p.sm_mhz = 2520;
  p.memory_mhz = 9001;
  p.bus_bits = 384;
  p.copy_engines = 3;
  p.power_limit_mw = 275'000;
  p.idle_power_mw = 35'000;
  p.pci_device_id = pciId(0x26ba);
  p.ecc = true;
  return p;
}

constexpr Profile nullCard() {
  Profile p = h100();
  p.name = "null";
  p.model = "simgpu null card";
  p.answers_at_once = true;
  p.vmm_create_ns = p.vmm_map_ns = p.vmm_access_ns = p.vmm_unmap_ns = 0;
  return p;
}

// For swapping on an ordinary machine. Its link is slow enough that the host's own memory and
// processors are not measured, and its memory small enough for every test to fill.
constexpr Profile swapCard() {
  Profile p = h100();
  p.name = "swap";
  p.model = "simgpu swap card";
  p.memory_bytes = 528 * kMiB;
  p.reserved_bytes = 16 * kMiB;
  p.context_bytes = 8 * kMiB;
  p.host_link = 1 * kGB;
  p.peer_link = 1 * kGB;
  p.memory_link = 100 * kGB;
  p.copy_engines = 2;
  p.vmm_granule = 64 << 10;
  return p;
}

// An instance also has a part of the memory bandwidth and caches.
constexpr Profile partOf(Profile whole, std::string_view name, std::string_view model,
                         std::string_view part, int slices, int sms, std::uint64_t mebibytes) {
  constexpr std::uint64_t kSlices = 7;
  const auto own = static_cast<std::uint64_t>(slices);
  Profile p = whole;
  p.name = name;
  p.model = model;
  p.part = part;
  p.slices = slices;
  p.sm_count = sms;
  p.memory_bytes = mebibytes * kMiB;
  p.reserved_bytes = 16 * kMiB;
  p.l2_bytes = whole.l2_bytes / kSlices * own;
  p.memory_link = whole.memory_link / kSlices * own;
  p.copy_engines = slices;
  p.nvlinks = 0;
  p.mig_capable = false;
  return p;
}

// A common partitioning: one large instance, a middle one and two small ones. Sizes as nvidia-smi
// shows them for these cards.
constexpr std::array kA100Parts{
    partOf(a100(), "a100-mig-3g", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", "3g.20gb", 3, 42, 20096),
    partOf(a100(), "a100-mig-2g", "NVIDIA A100-SXM4-40GB MIG 2g.10gb", "2g.10gb", 2, 28, 9984),
    partOf(a100(), "a100-mig-1g", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "1g.5gb", 1, 14, 4864),
    partOf(a100(), "a100-mig-1g", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "1g.5gb", 1, 14, 4864)};
constexpr std::array kH100Parts{
    partOf(h100(), "h100-mig-3g", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "3g.40gb", 3, 60, 40448),
    partOf(h100(), "h100-mig-2g", "NVIDIA H100 80GB HBM3 MIG 2g.20gb", "2g.20gb", 2, 32, 20096),
    partOf(h100(), "h100-mig-1g", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "1g.10gb", 1, 16, 9856),
    partOf(h100(), "h100-mig-1g", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "1g.10gb", 1, 16, 9856)};

constexpr Profile partitioned(Profile whole, std::string_view name, const Profile* parts,
                              int count) {
  Profile p = whole;
  p.name = name;
  p.first_part = parts;
  p.part_count = count;
  return p;
}

constexpr std::array kProfiles{kConsumer,
                               rtx4090(),
                               kDataCenter,
                               v100x32(),
                               a100(),
                               a100x80(),
                               h20(),
                               l20(),
                               h100(),
                               h200(),
                               swapCard(),
                               nullCard(),
                               partitioned(a100(), "a100-mig", kA100Parts.data(), 4),
                               partitioned(h100(), "h100-mig", kH100Parts.data(), 4)};

struct Alias {
  std::string_view from;
  std::string_view to;
};
constexpr Alias kAliases[] = {
    {"4070", "rtx4070"}, {"4090", "rtx4090"}, {"v100-16", "v100"}, {"a100-40", "a100"}};

const Profile* findProfile(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (name == alias.from) name = alias.to;
  }
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

// One part of a machine: "h100" or "h100x8".
bool appendCards(std::string_view part, Machine* machine) {
  int count = 1;
  const Profile* profile = findProfile(part);
  if (profile == nullptr) {
    const std::size_t x = part.rfind('x');
    if (x == std::string_view::npos) return false;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + x + 1, end, count);
    if (error != std::errc() || stop != end || count < 1) return false;
    profile = findProfile(part.substr(0, x));
  }
  for (int i = 0; profile != nullptr && i < count; ++i) {
    const auto board = static_cast<int>(machine->boards.size());
    machine->boards.push_back(profile);
    if (profile->part_count == 0) machine->cards.push_back(profile);
    for (const Profile& one : profile->parts()) machine->cards.push_back(&one);
    machine->board_of.resize(machine->cards.size(), board);
    if (machine->cards.size() > static_cast<std::size_t>(kMaxCards)) return false;
  }
  return profile != nullptr;
}

// A stable hash (FNV-1a) spread over 16 bytes; it only has to differ between cards.
void fillUuid(std::string_view seed, std::uint8_t (&uuid)[16]) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 16; ++i) {
    for (const char c : seed) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash ^= static_cast<std::uint64_t>(i) << 32;
    uuid[i] = static_cast<std::uint8_t>(hash >> 29);
  }
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
}

}  // namespace

double Profile::peakFlops() const {
  return 2.0 * cores_per_sm * sm_count * sm_mhz * 1e6;
}

std::span<const Profile> Profile::parts() const {
  return {first_part, static_cast<std::size_t>(part_count)};
}

std::span<const Profile> profiles() {
  return kProfiles;
}

std::string Machine::name() const {
  std::string text;
  for (std::size_t i = 0; i < boards.size();) {
    std::size_t end = i;
    while (end < boards.size() && boards[end] == boards[i]) ++end;
    if (!text.empty()) text += '+';
    text += boards[i]->name;
    if (end - i > 1) text += "x" + std::to_string(end - i);
    i = end;
  }
  return text;
}

std::optional<Machine> parseMachine(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  Machine machine;
  for (std::string_view rest = lower;;) {
    const std::size_t plus = rest.find('+');
    if (!appendCards(rest.substr(0, plus), &machine)) return std::nullopt;
    if (plus == std::string_view::npos) break;
    rest.remove_prefix(plus + 1);
  }
  const auto nulls = std::count_if(machine.cards.begin(), machine.cards.end(),
                                   [](const Profile* p) { return p->answers_at_once; });
  if (nulls != 0 && nulls != static_cast<long>(machine.cards.size())) return std::nullopt;
  return machine;
}

CardIdentity cardIdentity(const Profile& profile, int index) {
  CardIdentity identity{};
  fillUuid(std::string(profile.name) + "#" + std::to_string(index), identity.uuid);
  identity.pci_bus =
      0x17 + 0x11 * static_cast<std::uint32_t>(index % 8) + static_cast<std::uint32_t>(index / 8);
  return identity;
}

CardIdentity unitIdentity(const Machine& machine, int unit) {
  const int board = machine.board_of[static_cast<std::size_t>(unit)];
  const Profile& profile = *machine.cards[static_cast<std::size_t>(unit)];
  CardIdentity identity = cardIdentity(*machine.boards[static_cast<std::size_t>(board)], board);
  if (profile.part.empty()) return identity;
  identity.part = true;
  fillUuid(std::string(profile.name) + "#" + std::to_string(board) + "/" + std::to_string(unit),
           identity.uuid);
  return identity;
}

std::string CardIdentity::uuidText() const {
  std::string text = part ? "MIG-" : "GPU-";
  char digits[3];
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::snprintf(digits, sizeof digits, "%02x", uuid[i]);
    text += digits;
  }
  return text;
}

std::string CardIdentity::serialText() const {
  std::uint64_t number = 0;
  for (int i = 0; i < 5; ++i) number = number << 8 | uuid[i];
  std::string text = std::to_string(number % 1'000'000'000'000);
  return "1" + std::string(12 - text.size(), '0') + text;
}

}  // namespace divvy::simgpu
