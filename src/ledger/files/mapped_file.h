// A file of a tenant directory, as the tenant maps it. Freestanding.
#pragma once

#include <string.h>

#include <cstddef>
#include <cstdint>

#include "ledger/pages.h"

namespace divvy::ledger {

struct MappedFile {
  OpenStatus status;
  void* memory;
};

// Opens <dir>/<name>, checks its head by pread (a mapping of a short file would fault), and maps
// it.
MappedFile mapFile(const char* dir, const char* name, bool writable, std::uint64_t magic,
                   std::size_t size);

template <typename Header>
inline bool sameTenant(const ControlHeader& control, const Header& header) {
  return memcmp(control.id.boot_id, header.id.boot_id, sizeof control.id.boot_id) == 0 &&
         control.id.generation == header.id.generation &&
         memcmp(control.tenant_id, header.tenant_id, sizeof control.tenant_id) == 0;
}

}  // namespace divvy::ledger
