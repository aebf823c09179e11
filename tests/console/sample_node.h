// A node with two devices, two tenants and one waiting request.
#pragma once

#include <string>

#include "agent/protocol.h"

namespace divvy::console {

inline agent::ShareView sampleShare(unsigned device, std::uint64_t limit, std::uint64_t used) {
  agent::ShareView share;
  share.device = device;
  share.uuid = "GPU-" + std::to_string(device);
  share.limit = limit;
  share.used = used;
  share.resident = used;
  share.cores = 30;
  return share;
}

inline agent::TenantView sampleTenant(const std::string& id, const std::string& name) {
  agent::TenantView tenant;
  tenant.id = id;
  tenant.name = name;
  tenant.state = "running";
  tenant.priority = "normal";
  tenant.pid = 100;
  tenant.processes = 1;
  tenant.created = 1'764'000'000;
  tenant.command = {"python", "train.py"};
  tenant.shares = {sampleShare(0, std::uint64_t{4} << 30, std::uint64_t{1} << 30)};
  return tenant;
}

inline agent::Snapshot sampleNode(const std::string& name = "studio") {
  agent::Snapshot node;
  node.node = name;
  node.driver = "570.00";
  node.agent_pid = 7;
  for (unsigned index = 0; index < 2; ++index) {
    agent::DeviceView device;
    device.index = index;
    device.uuid = "GPU-" + std::to_string(index);
    device.model = "NVIDIA H100 80GB HBM3";
    device.physical = std::uint64_t{80} << 30;
    node.devices.push_back(device);
  }
  node.devices[0].promised = std::uint64_t{8} << 30;
  node.devices[0].used = std::uint64_t{2} << 30;
  node.devices[0].cores = 60;
  node.devices[0].tenants = 2;
  node.tenants = {sampleTenant("t-1", "train"), sampleTenant("t-2", "serve")};
  agent::QueuedView queued;
  queued.pid = 4711;
  queued.name = "later";
  queued.memory = "79Gi";
  queued.reason = "device 0 has too little memory";
  node.queue = {queued};
  return node;
}

}  // namespace divvy::console
