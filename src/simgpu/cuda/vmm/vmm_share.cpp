#include "cuda/vmm/vmm_share.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "cuda/context/runtime.h"

namespace divvy::simgpu {
namespace {

// Memory without references in this process, but perhaps with references outside.
struct RetiredMemory {
  Physical physical;
  bool charged;  // this process still holds the block: a shareable handle may still be imported
};

std::vector<RetiredMemory>& retired() {
  static auto* const list = new std::vector<RetiredMemory>;
  return *list;
}

std::vector<std::weak_ptr<ForeignWindow>>& openWindows() {
  static auto* const list = new std::vector<std::weak_ptr<ForeignWindow>>;
  return *list;
}

struct flock lockOf(std::uint32_t byte, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// Locks belong to the open file `fd`, and are visible through any other.
bool holdByte(int fd, std::uint32_t byte) {
  struct flock lock = lockOf(byte, F_RDLCK);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}
void freeByte(int fd, std::uint32_t byte) {
  struct flock lock = lockOf(byte, F_UNLCK);
  fcntl(fd, F_OFD_SETLK, &lock);
}
bool heldByOthers(std::uint32_t byte) {
  struct flock lock = lockOf(byte, F_WRLCK);
  return fcntl(Window::get().fd(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

int reopen(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

bool sameFile(int a, int b) {
  struct stat first {};
  struct stat second {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool readHeader(int fd, WindowHeader* header) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (pread(fd, header, sizeof *header, 0) != static_cast<ssize_t>(sizeof *header)) return false;
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  return header->magic == kWindowMagic && header->data_offset < bytes &&
         header->exports_offset < header->bits_offset && header->bits_offset < header->data_offset;
}

// The entry that the file position of a shareable handle names; 0: none.
std::uint32_t entryIndex(int fd, const WindowHeader& header) {
  const off_t at = lseek(fd, 0, SEEK_CUR);
  const std::uint64_t from = header.exports_offset;
  if (at < 0 || static_cast<std::uint64_t>(at) <= from) return 0;
  const std::uint64_t index = (static_cast<std::uint64_t>(at) - from) / sizeof(ExportEntry);
  return index <= header.exports ? static_cast<std::uint32_t>(index) : 0;
}

// Makes this process a holder of the entry's block. If the last holder is dead, the bytes were not
// charged for a while, and are charged again.
bool holdBlock(Device& device, ExportEntry& entry, std::uint64_t* block) {
  std::atomic_ref<std::uint64_t> shared(entry.block);
  std::uint64_t seen = shared.load();
  *block = seen;
  if (device.card.holdBlock(seen)) return true;
  if (!device.card.charge(Charge::kVmm, entry.bytes)) return false;
  const std::uint64_t fresh = device.card.exportBlock(Charge::kVmm, entry.bytes);
  if (fresh == 0) {
    device.card.refund(Charge::kVmm, entry.bytes);
    return false;
  }
  *block = fresh;
  if (shared.compare_exchange_strong(seen, fresh)) return true;
  device.card.dropBlock(fresh);
  *block = seen;
  return device.card.holdBlock(seen);
}

// Returns true if nothing is left to wait for.
bool reclaim(RetiredMemory& item) {
  const std::uint32_t index = item.physical.export_index;
  const bool importable = heldByOthers(index);
  if (item.charged && !importable) {
    if (item.physical.block != 0) item.physical.device->card.dropBlock(item.physical.block);
    item.charged = false;
  }
  if (importable || heldByOthers(index + kMaxExports)) return false;
  Window::get().exported(index).kind = ExportKind::kNone;
  freePhysicalBytes(item.physical);
  return true;
}

// Imports a shareable handle of this process itself.
CUresult importOwn(std::uint32_t index, std::shared_ptr<Physical>* out) {
  PhysicalTable& table = PhysicalTable::get();
  for (const auto& [handle, physical] : table.all()) {
    if (physical->foreign != nullptr || physical->export_index != index) continue;
    table.retain(physical);
    *out = physical;
    return CUDA_SUCCESS;
  }
  const auto found =
      std::find_if(retired().begin(), retired().end(),
                   [&](const RetiredMemory& item) { return item.physical.export_index == index; });
  if (found == retired().end()) return CUDA_ERROR_INVALID_VALUE;
  Physical& physical = found->physical;
  if (!found->charged && physical.block != 0 &&
      !holdBlock(*physical.device, Window::get().exported(index), &physical.block)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = table.adopt(std::move(physical));
  retired().erase(found);
  return CUDA_SUCCESS;
}

}  // namespace

Device* deviceOfCard(std::uint32_t card_index) {
  for (const auto& device : Runtime::get().devices()) {
    if (device->card_index == static_cast<int>(card_index)) return device.get();
  }
  return nullptr;
}

ForeignWindow::~ForeignWindow() {
  if (front != nullptr) munmap(front, front_bytes);
  if (fd >= 0) close(fd);
}

std::shared_ptr<ForeignWindow> openForeign(int fd) {
  std::erase_if(openWindows(), [](const auto& window) { return window.expired(); });
  for (const auto& known : openWindows()) {
    if (auto window = known.lock(); window != nullptr && sameFile(window->fd, fd)) return window;
  }
  WindowHeader header{};
  if (!readHeader(fd, &header)) return nullptr;
  auto window = std::make_shared<ForeignWindow>();
  window->fd = reopen(fd);
  if (window->fd < 0) return nullptr;
  void* front = mmap(nullptr, header.data_offset, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE, window->fd, 0);
  if (front == MAP_FAILED) return nullptr;
  window->front = static_cast<std::byte*>(front);
  window->front_bytes = header.data_offset;
  window->bits = PoisonBits(
      reinterpret_cast<std::atomic<std::uint64_t>*>(window->front + header.bits_offset), 0);
  openWindows().push_back(window);
  return window;
}

std::uint32_t addExport(const ExportEntry& entry) {
  WindowHeader& header = Window::get().header();
  if (header.exports + 1 >= kMaxExports) return 0;
  Window::get().exported(header.exports + 1) = entry;
  return ++header.exports;
}

bool shareBlock(Physical& physical) {
  if (physical.block != 0 || physical.device == nullptr) return true;
  physical.block = physical.device->card.exportBlock(Charge::kVmm, physical.bytes);
  return physical.block != 0;
}

void releaseBlock(Device& device, std::uint64_t block) {
  for (const auto& [begin, region] : MemoryTable::get().all()) {
    if (region.block == block && region.device == &device) return;
  }
  device.card.dropBlock(block);
}

CUresult exportPhysical(const std::shared_ptr<Physical>& physical, int* fd) {
  const auto types = static_cast<unsigned>(physical->prop.requestedHandleTypes);
  if ((types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0) return CUDA_ERROR_INVALID_VALUE;
  if (physical->export_index == 0) {
    if (!shareBlock(*physical)) return CUDA_ERROR_OUT_OF_MEMORY;
    const Device* device = physical->device;
    physical->export_index =
        addExport({ExportKind::kHandle,
                   device == nullptr ? 0 : static_cast<std::uint32_t>(device->card_index),
                   physical->offset, physical->bytes, physical->block, physical->prop});
    if (physical->export_index == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const ForeignWindow* foreign = physical->foreign.get();
  const WindowHeader& header = foreign != nullptr ? foreign->header() : Window::get().header();
  const int fresh = reopen(foreign != nullptr ? foreign->fd : Window::get().fd());
  if (fresh < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  const std::uint64_t at = header.exports_offset + physical->export_index * sizeof(ExportEntry);
  if (lseek(fresh, static_cast<off_t>(at), SEEK_SET) < 0 ||
      !holdByte(fresh, physical->export_index)) {
    close(fresh);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  *fd = fresh;
  return CUDA_SUCCESS;
}

CUresult importPhysical(int fd, std::shared_ptr<Physical>* out) {
  WindowHeader header{};
  if (!readHeader(fd, &header)) return CUDA_ERROR_INVALID_VALUE;
  const std::uint32_t index = entryIndex(fd, header);
  if (index == 0) return CUDA_ERROR_INVALID_VALUE;
  if (sameFile(fd, Window::get().fd())) return importOwn(index, out);
  const auto foreign = openForeign(fd);
  if (foreign == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  for (const auto& [handle, known] : PhysicalTable::get().all()) {
    if (known->foreign != foreign || known->export_index != index) continue;
    PhysicalTable::get().retain(known);
    *out = known;
    return CUDA_SUCCESS;
  }
  ExportEntry& entry = foreign->entry(index);
  if (entry.kind != ExportKind::kHandle) return CUDA_ERROR_INVALID_VALUE;
  Physical imported;
  imported.bytes = entry.bytes;
  imported.offset = entry.offset;
  imported.prop = entry.prop;
  imported.export_index = index;
  imported.foreign = foreign;
  if (entry.prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    imported.device = deviceOfCard(entry.card_index);
    if (imported.device == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    imported.prop.location.id = imported.device->ordinal;
  }
  if (!holdByte(foreign->fd, index + kMaxExports)) return CUDA_ERROR_OPERATING_SYSTEM;
  if (imported.device != nullptr && !holdBlock(*imported.device, entry, &imported.block)) {
    freeByte(foreign->fd, index + kMaxExports);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = PhysicalTable::get().adopt(std::move(imported));
  return CUDA_SUCCESS;
}

void dropImported(Physical& physical) {
  freeByte(physical.foreign->fd, physical.export_index + kMaxExports);
  if (physical.block != 0) physical.device->card.dropBlock(physical.block);
}

void retireExported(const Physical& physical) {
  RetiredMemory item{physical, true};
  if (!reclaim(item)) retired().push_back(std::move(item));
}

void collectRetired() {
  std::erase_if(retired(), [](RetiredMemory& item) { return reclaim(item); });
}

}  // namespace divvy::simgpu
