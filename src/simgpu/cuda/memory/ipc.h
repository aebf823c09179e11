// Plain allocations in other processes: cuIpcGetMemHandle and related calls.
//
// The 64 bytes of a handle name the exporter's memfd by process and descriptor, and an entry of its
// export table. As with the real driver, no process may use memory that its exporter has freed. The
// card stays charged until the last importer closes.
#pragma once

#include "cuda/vmm/vmm_share.h"

namespace divvy::simgpu {

CUresult exportAllocation(CUdeviceptr address, CUipcMemHandle* out);
CUresult openAllocation(Context& context, const CUipcMemHandle& handle, unsigned flags,
                        CUdeviceptr* out);
CUresult closeAllocation(CUdeviceptr address);

// Addresses for `bytes` bytes that lie at `offset` of a window, this process's or another's, in the
// virtual part. Bytes are mapped in whole chunks of poison, so that any offset will do. 0: no
// addresses left. Under MemoryTable::mutex, exclusive.
CUdeviceptr mapImport(const ForeignWindow* foreign, std::uint64_t offset, std::uint64_t bytes);
void unmapImport(CUdeviceptr address, std::uint64_t bytes);

}  // namespace divvy::simgpu
