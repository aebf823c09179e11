#include "ipc/import.h"

#include "cuda/capture_scope.h"
#include "cuda/current_context.h"
#include "ipc/authentication.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

// limit for waiting on other threads that open the same block
constexpr std::uint64_t kOpenPatience = 60'000'000'000;
// nor IDs of blocks of this process
constexpr std::uint64_t kOwnBufferIds = std::uint64_t{3} << 62;
constexpr long kNap = 200'000;

bool isSame(const IpcImport& one, const IpcImport& other) {
  return one.context == other.context &&
         __builtin_memcmp(&one.token, &other.token, sizeof one.token) == 0;
}

CUresult endWork(CUcontext owner) {
  const CurrentContext current(owner);
  return current.set() ? real<Cu::cuCtxSynchronize>()() : CUDA_SUCCESS;
}

// Another process may listen there now; it must not learn anything.
bool askFor(const IpcToken& token, const IpcSocket& exporter) {
  IpcHello hello{IpcToken::kMagic, 0};
  IpcChallenge challenge;
  if (!drawRandom(&hello.nonce) || !exporter.send(&hello, sizeof hello, -1) ||
      !exporter.receive(&challenge, sizeof challenge, nullptr)) {
    return false;
  }
  const ledger::SipKey key = ipcKey();
  if (challenge.magic != IpcToken::kMagic ||
      challenge.proof != exporterProof(key, hello, challenge.nonce, token.server)) {
    return false;
  }
  const IpcAsk ask{token, importerProof(key, hello, challenge.nonce, token)};
  return exporter.send(&ask, sizeof ask, -1);
}

CUresult refuseOpening(const IpcToken& token, CUresult why) {
  noteFault(Fault::kIpcRefused, static_cast<std::uint32_t>(Cu::cuIpcOpenMemHandle_v2),
            token.address, static_cast<std::uint64_t>(why));
  return why;
}

}  // namespace

// Addresses that another process's chunks are mapped at.
struct IpcImports::Mapping {
  CUdeviceptr address;
  std::uint64_t bytes;
  std::uint64_t filled = 0;
};

// An import of the same block in the same context that is open, or that will be open before `own`.
// An import in the list without a ticket may still draw an earlier one.
IpcImport* IpcImports::earlier(const IpcImport& own) {
  IpcImport* found = nullptr;
  imports_.forEach([&](std::uint32_t, IpcImport& other) {
    const ImportState now = other.now();
    const bool stands = now == ImportState::kOpen ||
                        (now == ImportState::kOpening &&
                         other.ticket.load(std::memory_order_seq_cst) < own.ticket.load());
    if (&other != &own && stands && isSame(own, other)) found = &other;
    return found == nullptr;
  });
  return found;
}

// Increments its use count. Returns false if it is not open, or was just closed.
bool IpcImports::join(const IpcImport& own, IpcImport& other) {
  std::uint32_t opens = other.opens.load(std::memory_order_seq_cst);
  while (opens != 0 && !other.opens.compare_exchange_weak(opens, opens + 1)) {
  }
  if (opens == 0) return false;
  if (isSame(own, other)) return true;
  release(other);  // the record has become another import
  return false;
}

// Returns true if the caller must open it, or if it was opened as *joined.
bool IpcImports::begin(IpcImport& own, IpcImport** joined) {
  own.opens.store(0, std::memory_order_relaxed);
  own.ticket.store(0, std::memory_order_relaxed);
  own.become(ImportState::kOpening);
  any_.store(true, std::memory_order_seq_cst);
  own.ticket.store(tickets_.fetch_add(1, std::memory_order_seq_cst) + 1, std::memory_order_seq_cst);
  *joined = nullptr;
  for (const std::uint64_t until = sys::now() + kOpenPatience; sys::now() < until;) {
    IpcImport* const other = earlier(own);
    if (other == nullptr) return true;
    if (join(own, *other)) {
      *joined = other;
      return true;
    }
    sys::nap(kNap);
  }
  return false;
}

CUresult IpcImports::open(const IpcToken& token, unsigned flags, CUdeviceptr* out) {
  if (runtime().ipc_exports.isOwn(token)) return CUDA_ERROR_INVALID_CONTEXT;
  CUcontext context = nullptr;
  CUdevice ordinal = -1;
  if (real<Cu::cuCtxGetCurrent>()(&context) != CUDA_SUCCESS || context == nullptr ||
      real<Cu::cuCtxGetDevice>()(&ordinal) != CUDA_SUCCESS) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (out == nullptr || !token.isSound() ||
      (flags & ~unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const ErrnoKeeper keeper;
  const std::uint32_t number = imports_.take();
  if (number == Slab<IpcImport>::kNone) return refuseOpening(token, CUDA_ERROR_OUT_OF_MEMORY);
  IpcImport& own = imports_.at(number);
  own.number = number;
  own.token = token;
  own.context = context;
  IpcImport* joined = nullptr;
  CUresult result = CUDA_ERROR_MAP_FAILED;
  if (begin(own, &joined)) result = joined != nullptr ? CUDA_SUCCESS : fetch(own, ordinal);
  if (result == CUDA_SUCCESS) *out = (joined != nullptr ? joined : &own)->block.address;
  if (result == CUDA_SUCCESS && joined == nullptr) {
    own.opens.store(1, std::memory_order_seq_cst);
    own.become(ImportState::kOpen);
    if (runtime().swap_board.claimed()) runtime().swap_board.notePin(PinReason::kImported);
    return result;
  }
  own.become(ImportState::kNew);
  imports_.give(number);
  return result == CUDA_SUCCESS ? result : refuseOpening(token, result);
}

// Maps the exporter's chunks to addresses of this process.
CUresult IpcImports::fetch(IpcImport& own, int ordinal) {
  const IpcToken& token = own.token;
  ScopedIpcSocket exporter;
  if (!exporter.connect(token.server) || !askFor(token, exporter)) return CUDA_ERROR_MAP_FAILED;
  const RelaxedCapture relaxed;
  Mapping mapping{0, token.reserved};
  CUresult result = real<Cu::cuMemAddressReserve>()(&mapping.address, mapping.bytes, 0, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  SwapBlock& block = own.block;
  block.address = mapping.address + token.offset;
  block.requested = token.requested;
  block.reserved = mapping.bytes;
  block.owner = own.context;
  block.sync_memops.store(0, std::memory_order_relaxed);
  block.buffer_id = kOwnBufferIds | own.ticket.load(std::memory_order_relaxed);
  result = receiveAll(exporter, &mapping, &block.ordinal);
  if (result == CUDA_SUCCESS) result = allow(mapping, block.ordinal, ordinal);
  if (result == CUDA_SUCCESS) {
    const DeviceTable* devices = runtime().devices.get();
    block.device =
        devices == nullptr ? kNoDevice : devices->ledgerIndex(static_cast<CUdevice>(block.ordinal));
    return result;
  }
  undo(mapping);
  return result;
}

CUresult IpcImports::receiveAll(const IpcSocket& exporter, Mapping* mapping,
                                std::uint32_t* ordinal) {
  while (mapping->filled < mapping->bytes) {
    IpcReply reply;
    int fd = -1;
    const bool came = exporter.receive(&reply, sizeof reply, &fd);
    CUresult result = came ? static_cast<CUresult>(reply.result) : CUDA_ERROR_MAP_FAILED;
    const bool fits = came && fd >= 0 && reply.magic == IpcToken::kMagic &&
                      reply.offset == mapping->filled && reply.bytes != 0 &&
                      reply.bytes <= mapping->bytes - mapping->filled;
    if (result == CUDA_SUCCESS && !fits) result = CUDA_ERROR_MAP_FAILED;
    if (result == CUDA_SUCCESS) result = mapOne(fd, reply.bytes, mapping, ordinal);
    if (fd >= 0) sys::close(fd);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// The mapping keeps the memory alive, so the handle is not needed.
CUresult IpcImports::mapOne(int fd, std::uint64_t bytes, Mapping* mapping, std::uint32_t* ordinal) {
  CUmemGenericAllocationHandle handle = 0;
  void* const descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  CUresult result = real<Cu::cuMemImportFromShareableHandle>()(
      &handle, descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (result != CUDA_SUCCESS) return result;
  CUmemAllocationProp prop{};
  result = real<Cu::cuMemGetAllocationPropertiesFromHandle>()(&prop, handle);
  if (result == CUDA_SUCCESS) {
    *ordinal = static_cast<std::uint32_t>(prop.location.id);
    result = real<Cu::cuMemMap>()(mapping->address + mapping->filled, bytes, 0, handle, 0);
  }
  real<Cu::cuMemRelease>()(handle);
  if (result == CUDA_SUCCESS) mapping->filled += bytes;
  return result;
}

// Grants access to the memory's device, to the context's device, and to all other devices of the
// process that can reach it. So a context that enables peer access later has access.
CUresult IpcImports::allow(const Mapping& mapping, std::uint32_t home, int current) {
  int count = 0;
  if (real<Cu::cuDeviceGetCount>()(&count) != CUDA_SUCCESS) return CUDA_ERROR_MAP_FAILED;
  CUresult result = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  for (int i = 0; i < count; ++i) {
    CUmemAccessDesc desc{};
    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    int reaches = 0;
    if (real<Cu::cuDeviceGet>()(&desc.location.id, i) != CUDA_SUCCESS) continue;
    const bool is_home = desc.location.id == static_cast<int>(home);
    if (!is_home && (real<Cu::cuDeviceCanAccessPeer>()(
                         &reaches, desc.location.id, static_cast<CUdevice>(home)) != CUDA_SUCCESS ||
                     reaches == 0)) {
      continue;
    }
    const CUresult allowed = real<Cu::cuMemSetAccess>()(mapping.address, mapping.bytes, &desc, 1);
    if (desc.location.id == current) result = allowed;
  }
  return result;
}

void IpcImports::undo(const Mapping& mapping) {
  if (mapping.filled != 0) real<Cu::cuMemUnmap>()(mapping.address, mapping.filled);
  real<Cu::cuMemAddressFree>()(mapping.address, mapping.bytes);
}

// ---- afterwards --------------------------------------------------------------------------------

SwapBlock* IpcImports::find(std::uint64_t address) {
  if (!any_.load(std::memory_order_acquire)) return nullptr;
  SwapBlock* found = nullptr;
  imports_.forEach([&](std::uint32_t, IpcImport& import) {
    if (import.now() == ImportState::kOpen &&
        address - import.block.address < import.block.requested) {
      found = &import.block;
    }
    return found == nullptr;
  });
  return found;
}

CUresult IpcImports::close(CUdeviceptr address) {
  if (!any_.load(std::memory_order_acquire)) return CUDA_ERROR_NOT_FOUND;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  imports_.forEach([&](std::uint32_t, IpcImport& import) {
    if (import.now() == ImportState::kOpen && import.block.address == address) {
      result = release(import);
    }
    return result == CUDA_ERROR_NOT_FOUND;
  });
  return result;
}

// Decrements its use count. CUDA_ERROR_NOT_FOUND: another thread is just closing it.
CUresult IpcImports::release(IpcImport& import) {
  std::uint32_t opens = import.opens.load(std::memory_order_seq_cst);
  while (opens != 0 && !import.opens.compare_exchange_weak(opens, opens - 1)) {
  }
  if (opens == 0) return CUDA_ERROR_NOT_FOUND;
  return opens == 1 ? end(import, true) : CUDA_SUCCESS;
}

// Called by the thread that brought `opens` to 0. As for plain memory, work that uses the memory
// ends first.
CUresult IpcImports::end(IpcImport& import, bool wait) {
  const CUresult idle = wait ? endWork(import.context) : CUDA_SUCCESS;
  if (idle != CUDA_SUCCESS) {
    import.opens.store(1, std::memory_order_seq_cst);
    return idle;
  }
  import.become(ImportState::kClosing);
  {
    const RelaxedCapture relaxed;
    undo(
        {import.block.address - import.token.offset, import.block.reserved, import.block.reserved});
  }
  import.become(ImportState::kNew);
  imports_.give(import.number);
  return CUDA_SUCCESS;
}

void IpcImports::sweep(unsigned device, CUcontext context, bool all) {
  if (!any_.load(std::memory_order_acquire)) return;
  imports_.forEach([&](std::uint32_t, IpcImport& import) {
    const bool ends =
        (context != nullptr && import.context == context) || (all && import.block.device == device);
    if (import.now() != ImportState::kOpen || !ends) return true;
    if (import.opens.exchange(0, std::memory_order_seq_cst) != 0) end(import, false);
    return true;
  });
}

}  // namespace divvy::interposer
