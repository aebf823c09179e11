// CUDA_VISIBLE_DEVICES for a tenant that has only some of the node's devices.
//
// The driver reads the variable inside cuInit and numbers the node's devices by it; what the
// application wrote there counts the tenant's devices. So for the time of the driver's cuInit the
// environment holds the same choice spelled as UUIDs, and afterwards what it held before. With the
// choice made by the driver itself every CUdevice, peer and PCI call agrees without translation.
//
// The price: another thread that reads the variable during the very first cuInit may see our
// spelling, and one that calls setenv during it may keep it. Both name the same devices. A tenant
// that has all of the node's devices is never touched.
#pragma once

#include <cstdint>

#include "ledger/layout.h"
#include "support/fixed_string.h"

namespace divvy::interposer {

using VisibleList = FixedString<1024>;

// The UUIDs that `value` (the variable's text; null: unset) selects among the tenant's devices,
// comma separated, in CUDA's reading: indices count from 0 in PCI order as NVML's do, a UUID may be
// cut short where it stays unique, and the first entry that names nothing ends the list.
void selectVisible(const char* value, const ledger::DeviceControl* devices, unsigned count,
                   VisibleList* out);

// True if the driver would show this process devices that are not the tenant's.
bool tenantIsSubset(const ledger::ControlPage& control);

// The exchange, for the time of its scope. The first one in the process does it; others that run at
// the same time wait (bounded) until it is done.
class VisibleDevices {
 public:
  VisibleDevices();
  ~VisibleDevices();
  VisibleDevices(const VisibleDevices&) = delete;
  VisibleDevices& operator=(const VisibleDevices&) = delete;

 private:
  void exchange();
  void restore();

  bool mine_ = false;
  char** entry_ = nullptr;     // the exchanged entry of the environment ...
  char* previous_ = nullptr;   // ... and what it was; or, where there was none:
  char** before_ = nullptr;    // the environment ...
  char** extended_ = nullptr;  // ... and ours with the entry added
};

}  // namespace divvy::interposer
