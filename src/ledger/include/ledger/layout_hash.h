// A number that differs whenever a field of the pages moves or changes its size. So two builds with
// different layouts never share a page.
#pragma once

#include <initializer_list>

#include "ledger/layout.h"

namespace divvy::ledger {

struct LayoutField {
  std::uint32_t offset;
  std::uint32_t size;
};

// A member's place as the compiler lays it out. The list has the order of the file.
template <typename T, typename M>
constexpr LayoutField field(M T::*, std::size_t offset) {
  return {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(sizeof(M))};
}

inline constexpr LayoutField kLayoutFields[] = {
    field(&Identification::magic, offsetof(Identification, magic)),
    field(&Identification::major, offsetof(Identification, major)),
    field(&Identification::minor, offsetof(Identification, minor)),
    field(&Identification::size, offsetof(Identification, size)),
    field(&Identification::layout_hash, offsetof(Identification, layout_hash)),
    field(&Identification::features, offsetof(Identification, features)),
    field(&Identification::generation, offsetof(Identification, generation)),
    field(&Identification::boot_id, offsetof(Identification, boot_id)),
    field(&ControlHeader::tenant_id, offsetof(ControlHeader, tenant_id)),
    field(&ControlHeader::name, offsetof(ControlHeader, name)),
    field(&ControlHeader::device_count, offsetof(ControlHeader, device_count)),
    field(&ControlHeader::slots_capacity, offsetof(ControlHeader, slots_capacity)),
    field(&ControlHeader::pressure_policy, offsetof(ControlHeader, pressure_policy)),
    field(&ControlHeader::flags, offsetof(ControlHeader, flags)),
    field(&ControlHeader::agent_epoch, offsetof(ControlHeader, agent_epoch)),
    field(&ControlHeader::slots_ready, offsetof(ControlHeader, slots_ready)),
    field(&ControlHeader::fence_seq, offsetof(ControlHeader, fence_seq)),
    field(&ControlHeader::driver_path, offsetof(ControlHeader, driver_path)),
    field(&ControlHeader::nvml_path, offsetof(ControlHeader, nvml_path)),
    field(&ControlHeader::agent_socket, offsetof(ControlHeader, agent_socket)),
    field(&DeviceControl::uuid, offsetof(DeviceControl, uuid)),
    field(&DeviceControl::pci_bus_id, offsetof(DeviceControl, pci_bus_id)),
    field(&DeviceControl::physical_bytes, offsetof(DeviceControl, physical_bytes)),
    field(&DeviceControl::context_bytes, offsetof(DeviceControl, context_bytes)),
    field(&DeviceControl::alloc_granule, offsetof(DeviceControl, alloc_granule)),
    field(&DeviceControl::mem_guarantee, offsetof(DeviceControl, mem_guarantee)),
    field(&DeviceControl::mem_ceiling, offsetof(DeviceControl, mem_ceiling)),
    field(&DeviceControl::cores_guarantee, offsetof(DeviceControl, cores_guarantee)),
    field(&DeviceControl::cores_ceiling, offsetof(DeviceControl, cores_ceiling)),
    field(&DeviceControl::grant_word, offsetof(DeviceControl, grant_word)),
    field(&DeviceControl::pause_seq, offsetof(DeviceControl, pause_seq)),
    field(&DeviceControl::grant_seq, offsetof(DeviceControl, grant_seq)),
    field(&DeviceControl::quantum_us, offsetof(DeviceControl, quantum_us)),
    field(&DeviceControl::inflight_us, offsetof(DeviceControl, inflight_us)),
    field(&DeviceControl::idle_us, offsetof(DeviceControl, idle_us)),
    field(&DeviceControl::swap_seq, offsetof(DeviceControl, swap_seq)),
    field(&DeviceControl::swap_bytes, offsetof(DeviceControl, swap_bytes)),
    field(&ReportHeader::tenant_id, offsetof(ReportHeader, tenant_id)),
    field(&ReportHeader::fault_head, offsetof(ReportHeader, fault_head)),
    field(&ReportHeader::fault_counts, offsetof(ReportHeader, fault_counts)),
    field(&ReportHeader::counters, offsetof(ReportHeader, counters)),
    field(&ReportHeader::spare_map, offsetof(ReportHeader, spare_map)),
    field(&ReportHeader::faults, offsetof(ReportHeader, faults)),
    field(&FaultEntry::seq, offsetof(FaultEntry, seq)),
    field(&FaultEntry::code, offsetof(FaultEntry, code)),
    field(&FaultEntry::site, offsetof(FaultEntry, site)),
    field(&FaultEntry::detail, offsetof(FaultEntry, detail)),
    field(&FaultEntry::arg, offsetof(FaultEntry, arg)),
    field(&DeviceReport::total, offsetof(DeviceReport, total)),
    field(&DeviceReport::resident_bytes, offsetof(DeviceReport, resident_bytes)),
    field(&DeviceReport::swapped_bytes, offsetof(DeviceReport, swapped_bytes)),
    field(&DeviceReport::swap_ack, offsetof(DeviceReport, swap_ack)),
    field(&DeviceReport::pause_ack, offsetof(DeviceReport, pause_ack)),
    field(&Slot::state, offsetof(Slot, state)),
    field(&Slot::adopted_generation, offsetof(Slot, adopted_generation)),
    field(&Slot::host_pid, offsetof(Slot, host_pid)),
    field(&Slot::flags, offsetof(Slot, flags)),
    field(&Slot::context_bytes, offsetof(Slot, context_bytes)),
    field(&Slot::last_launch_ns, offsetof(Slot, last_launch_ns)),
    field(&Slot::exec_id, offsetof(Slot, exec_id)),
    field(&Slot::committed, offsetof(Slot, committed)),
    field(&Slot::counters, offsetof(Slot, counters)),
    field(&Slot::lanes, offsetof(Slot, lanes)),
    field(&Lane::seq, offsetof(Lane, seq)),
    field(&Lane::done, offsetof(Lane, done)),
    field(&Lane::used_after, offsetof(Lane, used_after)),
    field(&Lane::device, offsetof(Lane, device)),
    field(&Lane::word, offsetof(Lane, word)),
    field(&Lane::moving, offsetof(Lane, moving)),
    field(&Lane::used, offsetof(Lane, used)),
    field(&Lane::spare, offsetof(Lane, spare)),
    field(&ControlPage::devices, offsetof(ControlPage, devices)),
    field(&ReportPage::devices, offsetof(ReportPage, devices)),
    field(&ReportPage::slots, offsetof(ReportPage, slots)),
};

// FNV-1a over the fields in order. Fields that a minor version adds stay out of the list: they use
// bytes that were reserved, and the minor number covers them.
constexpr std::uint64_t layoutHash() {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const LayoutField& entry : kLayoutFields) {
    for (const std::uint32_t value : {entry.offset, entry.size}) {
      for (unsigned shift = 0; shift < 32; shift += 8) {
        hash = (hash ^ ((value >> shift) & 0xff)) * 0x100000001b3;
      }
    }
  }
  return hash;
}

inline constexpr std::uint64_t kLayoutHash = layoutHash();

}  // namespace divvy::ledger
