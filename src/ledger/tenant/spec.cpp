#include "tenant/spec.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "ledger/layout_hash.h"
#include "process/proc_self.h"

namespace divvy::ledger {
namespace {

Error wrong(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

// For a field of `size` bytes that ends with a NUL inside.
bool fits(const std::string& text, std::size_t size) {
  return text.size() < size && text.find('\0') == std::string::npos;
}

template <std::size_t N>
void put(const std::string& text, char (&field)[N]) {
  std::memcpy(field, text.data(), std::min(text.size(), N - 1));
}

template <std::size_t N>
std::string get(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

bool isValidId(const std::string& id) {
  constexpr std::string_view kAccepted =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !id.empty() && id.find_first_not_of(kAccepted) == std::string::npos && id[0] != '.';
}

Result<void> checkDevice(const DeviceSpec& device) {
  if (device.uuid.empty() || !fits(device.uuid, sizeof DeviceControl::uuid)) {
    return wrong("device UUID '" + device.uuid + "': 1 to 47 characters are accepted");
  }
  if (!fits(device.pci_bus_id, sizeof DeviceControl::pci_bus_id + 1)) {  // may fill its field
    return wrong("PCI bus id '" + device.pci_bus_id + "': at most 16 characters are accepted");
  }
  if (device.ceiling.count == 0 || device.ceiling.count > INT64_MAX) {
    return wrong("memory ceiling of " + device.uuid + ": 1 to 2^63-1 bytes are accepted");
  }
  if (device.guarantee > device.ceiling) {
    return wrong("memory guarantee of " + device.uuid + " is above its ceiling");
  }
  if (device.cores_guarantee > device.cores_ceiling || device.cores_ceiling > 100) {
    return wrong("cores of " + device.uuid + ": 0 <= guarantee <= ceiling <= 100 is accepted");
  }
  return {};
}

void writeIdentification(const TenantSpec& spec, std::uint64_t magic, std::uint64_t size,
                         Identification& id) {
  id.magic = magic;
  id.major = kMajor;
  id.minor = kMinor;
  id.size = size;
  id.layout_hash = kLayoutHash;
  id.features = kFeatures;
  id.generation = spec.generation;
  readBootId(id.boot_id);
}

void writeDevice(const DeviceSpec& spec, DeviceControl& device) {
  put(spec.uuid, device.uuid);
  std::memcpy(device.pci_bus_id, spec.pci_bus_id.data(), spec.pci_bus_id.size());
  device.physical_bytes = spec.physical.count;
  device.context_bytes = spec.context.count;
  device.alloc_granule = spec.granule.count;
  device.mem_guarantee = spec.guarantee.count;
  device.mem_ceiling = spec.ceiling.count;
  device.headroom_bytes = spec.headroom.count;
  device.cores_guarantee = spec.cores_guarantee;
  device.cores_ceiling = spec.cores_ceiling;
}

}  // namespace

Result<void> checkSpec(const TenantSpec& spec) {
  if (!isValidId(spec.id) || !fits(spec.id, sizeof ControlHeader::tenant_id)) {
    return wrong("tenant id '" + spec.id + "': 1 to 31 of A-Z a-z 0-9 . _ - are accepted");
  }
  if (!fits(spec.name, sizeof ControlHeader::name))
    return wrong("tenant name: at most 63 bytes are accepted");
  if (!fits(spec.driver_path, sizeof ControlHeader::driver_path) ||
      !fits(spec.nvml_path, sizeof ControlHeader::nvml_path)) {
    return wrong("driver path: at most 255 bytes are accepted");
  }
  if (spec.agent_socket.size() > 107 ||
      !fits(spec.agent_socket, sizeof ControlHeader::agent_socket)) {
    return wrong("registration socket '" + spec.agent_socket +
                 "': at most 107 bytes are accepted (sockaddr_un)");
  }
  if (spec.devices.empty() || spec.devices.size() > kMaxDevices) {
    return wrong("a tenant has 1 to " + std::to_string(kMaxDevices) + " devices, not " +
                 std::to_string(spec.devices.size()));
  }
  if (spec.slots == 0 || spec.slots > kMaxSlots) {
    return wrong("a tenant has 1 to " + std::to_string(kMaxSlots) + " slots, not " +
                 std::to_string(spec.slots));
  }
  for (const DeviceSpec& device : spec.devices) {
    if (Result<void> good = checkDevice(device); !good) return good;
  }
  return {};
}

void writeControl(const TenantSpec& spec, ControlPage& page) {
  std::memset(static_cast<void*>(&page), 0, sizeof page);
  ControlHeader& header = page.header;
  writeIdentification(spec, kControlMagic, sizeof(ControlPage), header.id);
  put(spec.id, header.tenant_id);
  put(spec.name, header.name);
  header.device_count = static_cast<std::uint32_t>(spec.devices.size());
  header.slots_capacity = kMaxSlots;
  header.pressure_policy = spec.pressure_policy;
  header.node_devices = spec.node_devices;
  if (spec.context_overhead_outside) header.flags |= kContextOverheadOutside;
  if (spec.context_overhead_outside && spec.charges_contexts) header.flags |= kOneContextOutside;
  header.slots_ready = (spec.slots + kSlotChunk - 1) / kSlotChunk * kSlotChunk;
  put(spec.driver_path, header.driver_path);
  put(spec.nvml_path, header.nvml_path);
  put(spec.agent_socket, header.agent_socket);
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    writeDevice(spec.devices[i], page.devices[i]);
  }
}

void writeReportHeader(const TenantSpec& spec, ReportHeader& header) {
  std::memset(static_cast<void*>(&header), 0, sizeof header);
  writeIdentification(spec, kReportMagic, sizeof(ReportPage), header.id);
  put(spec.id, header.tenant_id);
}

void writeWorkHeader(const TenantSpec& spec, WorkHeader& header) {
  std::memset(static_cast<void*>(&header), 0, sizeof header);
  writeIdentification(spec, kWorkMagic, sizeof(WorkPage), header.id);
  put(spec.id, header.tenant_id);
}

TenantSpec specOf(const ControlPage& page) {
  const ControlHeader& header = page.header;
  TenantSpec spec;
  spec.id = get(header.tenant_id);
  spec.name = get(header.name);
  spec.context_overhead_outside = (header.flags & kContextOverheadOutside) != 0;
  spec.charges_contexts =
      !spec.context_overhead_outside || (header.flags & kOneContextOutside) != 0;
  spec.pressure_policy = header.pressure_policy;
  spec.node_devices = header.node_devices;
  spec.generation = header.id.generation;
  spec.driver_path = get(header.driver_path);
  spec.nvml_path = get(header.nvml_path);
  spec.agent_socket = get(header.agent_socket);
  spec.slots = header.slots_ready;
  for (unsigned i = 0; i < header.device_count; ++i) {
    const DeviceControl& device = page.devices[i];
    spec.devices.push_back({.uuid = get(device.uuid),
                            .pci_bus_id = get(device.pci_bus_id),
                            .guarantee = {device.mem_guarantee},
                            .ceiling = {device.mem_ceiling},
                            .headroom = {device.headroom_bytes},
                            .physical = {device.physical_bytes},
                            .context = {device.context_bytes},
                            .granule = {device.alloc_granule},
                            .cores_guarantee = device.cores_guarantee,
                            .cores_ceiling = device.cores_ceiling});
  }
  return spec;
}

}  // namespace divvy::ledger
