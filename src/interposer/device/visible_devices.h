// CUDA_VISIBLE_DEVICES for a tenant that has only some of the node's devices.
//
// The driver reads the variable inside cuInit and numbers the node's devices by it, but the
// application's value counts the tenant's devices. So during the driver's cuInit the environment
// holds the same choice as UUIDs, and afterwards its previous value. Because the driver itself
// chooses, every CUdevice, peer and PCI call agrees without translation.
//
// The cost: a thread that reads the variable during the very first cuInit may see the UUIDs. A
// thread that calls setenv during it may keep them. Both values name the same devices. For a tenant
// that has all of the node's devices the variable is never changed.
#pragma once

#include <cstdint>

#include "ledger/layout.h"
#include "support/fixed_string.h"

namespace divvy::interposer {

using VisibleList = FixedString<1024>;

// Writes the UUIDs that `value` selects among the tenant's devices, comma separated. `value` is the
// variable's text; null: unset. It is read as CUDA does. Indices count from 0 in PCI order, as
// NVML's do. A UUID may be shortened while it stays unique. The first entry without a device ends
// the list.
void selectVisible(const char* value, const ledger::DeviceControl* devices, unsigned count,
                   VisibleList* out);

// Returns whether the driver would show this process devices that are not the tenant's.
bool tenantIsSubset(const ledger::ControlPage& control);

// Exchanges the variable for a scope. The first scope in the process does it; concurrent ones wait
// (bounded) until it is done.
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
  char** entry_ = nullptr;     // the exchanged entry of the environment
  char* previous_ = nullptr;   // its former value; or, if there was no entry:
  char** before_ = nullptr;    // the former environment
  char** extended_ = nullptr;  // the new environment, with the entry added
};

}  // namespace divvy::interposer
