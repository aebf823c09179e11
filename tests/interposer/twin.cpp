#include "twin.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace divvy::interposer {
namespace {

constexpr std::size_t kMaxBlocks = 16;
constexpr std::size_t kMaxHeld = 8 * kMiB;
constexpr std::size_t kMaxBytes = 768 << 10;
constexpr std::size_t kPinned = 256 << 10;
constexpr std::size_t kMaxGraphs = 6;
constexpr unsigned kNonBlocking = 1;

// The word-wise sum that the card's kernel computes.
void addTo(std::vector<unsigned char>& bytes, std::size_t from, std::size_t words,
           std::uint32_t value) {
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, &bytes[from + 4 * i], sizeof word);
    word += value;
    std::memcpy(&bytes[from + 4 * i], &word, sizeof word);
  }
}

CUDA_MEMCPY2D boxOf(std::size_t pitch, std::size_t width, std::size_t height) {
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcPitch = box.dstPitch = pitch;
  box.WidthInBytes = width;
  box.Height = height;
  return box;
}

// A wait for the whole context is refused while another twin captures, and spoils the capture.
std::mutex capturing;

}  // namespace

Twin::Twin(std::uint64_t seed, CUcontext context, TwinReader& reader, bool in_order)
    : random_(seed), context_(context), in_order_(in_order), reader_(reader) {
  CUmodule module = nullptr;
  good(
      cu<Cu::cuModuleLoadData>(
          &module, static_cast<const void*>("simgpu-builtin 1\nkernel a = add\nkernel c = copy\n")),
      "cuModuleLoadData");
  good(cu<Cu::cuModuleGetFunction>(&add_, module, "a"), "cuModuleGetFunction");
  good(cu<Cu::cuModuleGetFunction>(&copy_, module, "c"), "cuModuleGetFunction");
  good(cu<Cu::cuStreamCreate>(&capture_, kNonBlocking), "cuStreamCreate");
  for (CUstream& lane : lanes_) good(cu<Cu::cuStreamCreate>(&lane, kNonBlocking), "cuStreamCreate");
  void* memory = nullptr;
  good(cu<Cu::cuMemHostAlloc>(&memory, kPinned, 0u), "cuMemHostAlloc");
  pinned_ = static_cast<unsigned char*>(memory);
  while (blocks_.size() < 4 && failure_.empty()) allocate();
}

Twin::~Twin() {
  while (!blocks_.empty() && failure_.empty()) release();
}

bool Twin::good(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS && failure_.empty()) {
    failure_ = std::string(what) + ": " + std::to_string(result);
  }
  return result == CUDA_SUCCESS;
}

Twin::Range Twin::rangeOf(const Block& block, std::size_t unit) {
  const std::size_t units = block.twin.size() / unit;
  const std::size_t from = below(units);
  return {from * unit, (1 + below(std::min(units - from, kPinned / unit))) * unit};
}

Twin::Bytes Twin::noise(std::size_t bytes) {
  Bytes made(bytes);
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random_();
    std::memcpy(&made[at], &word, std::min(sizeof word, bytes - at));
  }
  return made;
}

void Twin::settle(const Block& block) {
  good(cu<Cu::cuStreamSynchronize>(block.stream), "cuStreamSynchronize");
}

void Twin::before(const Block& one, const Block& other) {
  if (&one == &other) return;
  good(cu<Cu::cuEventRecord>(other.done, other.stream), "cuEventRecord");
  good(cu<Cu::cuStreamWaitEvent>(one.stream, other.done, 0u), "cuStreamWaitEvent");
}

void Twin::after(const Block& one, const Block& other) {
  if (&one == &other) return;
  good(cu<Cu::cuEventRecord>(one.done, one.stream), "cuEventRecord");
  good(cu<Cu::cuStreamWaitEvent>(other.stream, one.done, 0u), "cuStreamWaitEvent");
}

void Twin::launch(CUfunction kernel, CUdeviceptr to, std::uint64_t second, std::uint64_t third,
                  CUstream stream) {
  void* parameters[] = {&to, &second, &third};
  good(cu<Cu::cuLaunchKernel>(kernel, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream,
                              static_cast<void**>(parameters), static_cast<void**>(nullptr)),
       "cuLaunchKernel");
}

void Twin::compare(const Block& block, const Bytes& found, std::size_t from, const char* how) {
  if (!failure_.empty()) return;
  const auto wrong = std::mismatch(found.begin(), found.end(),
                                   block.twin.begin() + static_cast<std::ptrdiff_t>(from));
  if (wrong.first == found.end()) return;
  failure_ = std::string(how) + ": byte " + std::to_string(from + (wrong.first - found.begin())) +
             " of a block of " + std::to_string(block.twin.size()) + " is " +
             std::to_string(*wrong.first) + " and should be " + std::to_string(*wrong.second);
}

void Twin::compareAll() {
  for (const BlockPtr& block : blocks_) {
    settle(*block);
    Bytes found(block->twin.size());
    good(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(found.data()), block->at, found.size()),
         "cuMemcpyDtoH");
    compare(*block, found, 0, "everything");
  }
}

// ---- operations --------------------------------------------------------------------------------

// Small ones too, which share arenas with others, and odd sizes.
void Twin::allocate() {
  if (blocks_.size() == kMaxBlocks || held_ >= kMaxHeld) return release();
  const auto block = std::make_shared<Block>();
  const std::size_t bytes = below(3) == 0 ? 64 + below(20'000) : 65536 + below(kMaxBytes);
  if (below(4) == 0) {
    std::size_t pitch = 0;
    good(cu<Cu::cuMemAllocPitch_v2>(&block->at, &pitch, bytes / 4, std::size_t{4}, 4u),
         "cuMemAllocPitch");
    block->twin.resize(pitch * 4);
  } else if (below(3) == 0) {
    make(*block, bytes);
  } else if (in_order_ && below(2) == 0) {
    block->pooled = true;
    block->stream = lanes_[below(std::size(lanes_))];
    good(cu<Cu::cuMemAllocAsync>(&block->at, bytes, block->stream), "cuMemAllocAsync");
    block->twin.resize(bytes);
  } else {
    good(cu<Cu::cuMemAlloc_v2>(&block->at, bytes), "cuMemAlloc");
    block->twin.resize(bytes);
  }
  if (!block->pooled) {
    good(cu<Cu::cuStreamCreate>(&block->stream, kNonBlocking), "cuStreamCreate");
  }
  good(cu<Cu::cuEventCreate>(&block->done, 2u), "cuEventCreate");
  const auto value = static_cast<unsigned char>(random_());
  std::fill(block->twin.begin(), block->twin.end(), value);
  good(cu<Cu::cuMemsetD8Async>(block->at, value, block->twin.size(), block->stream),
       "cuMemsetD8Async");
  held_ += block->twin.size();
  blocks_.push_back(block);
}

void Twin::release() {
  const std::size_t index = below(blocks_.size());
  const BlockPtr block = blocks_[index];
  for (std::size_t i = graphs_.size(); i-- > 0;) {
    if (graphs_[i].block != block && graphs_[i].other != block) continue;
    good(cu<Cu::cuGraphExecDestroy>(graphs_[i].exec), "cuGraphExecDestroy");
    graphs_.erase(graphs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // Others' streams may wait for work with it; the free waits for all.
  if (block->handle != 0) {
    unmake(*block);
  } else if (in_order_ && below(4) != 0) {
    // All that others' streams did with it comes before what its own does next.
    good(cu<Cu::cuMemFreeAsync>(block->at, block->stream), "cuMemFreeAsync");
  } else {
    good(cu<Cu::cuMemFree_v2>(block->at), "cuMemFree");
  }
  if (!block->pooled) good(cu<Cu::cuStreamDestroy_v2>(block->stream), "cuStreamDestroy");
  good(cu<Cu::cuEventDestroy_v2>(block->done), "cuEventDestroy");
  held_ -= block->twin.size();
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
}

// As allocators do that keep addresses and change what is behind them.
void Twin::make(Block& block, std::size_t bytes) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  block.exportable = below(2) == 0;
  if (block.exportable) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemAllocationProp& asked = prop;
  std::size_t granule = 0;
  good(cu<Cu::cuMemGetAllocationGranularity>(&granule, &asked, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
       "cuMemGetAllocationGranularity");
  block.mapped = (bytes + granule - 1) / granule * granule;
  block.twin.resize(bytes);
  good(cu<Cu::cuMemCreate>(&block.handle, block.mapped, &asked, 0ull), "cuMemCreate");
  good(cu<Cu::cuMemAddressReserve>(&block.at, block.mapped, std::size_t{0}, CUdeviceptr{0}, 0ull),
       "cuMemAddressReserve");
  map(block);
}

void Twin::map(const Block& block) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUmemAccessDesc& asked = access;
  good(cu<Cu::cuMemMap>(block.at, block.mapped, std::size_t{0}, block.handle, 0ull), "cuMemMap");
  good(cu<Cu::cuMemSetAccess>(block.at, block.mapped, &asked, std::size_t{1}), "cuMemSetAccess");
}

// What others' streams do with it has to have ended, too.
void Twin::unmap(const Block& block) {
  {
    const std::lock_guard alone(capturing);
    good(cu<Cu::cuCtxSynchronize>(), "cuCtxSynchronize");
  }
  good(cu<Cu::cuMemUnmap>(block.at, block.mapped), "cuMemUnmap");
}

void Twin::unmake(const Block& block) {
  good(cu<Cu::cuMemRelease>(block.handle), "cuMemRelease");
  unmap(block);
  good(cu<Cu::cuMemAddressFree>(block.at, block.mapped), "cuMemAddressFree");
}

// At the address that graphs were told.
void Twin::remap() {
  const BlockPtr block = any();
  if (block->handle == 0) return;
  unmap(*block);
  map(*block);
}

void Twin::writeNow() {
  const BlockPtr block = any();
  const Range range = rangeOf(*block);
  const Bytes words = noise(range.bytes);
  settle(*block);
  good(cu<Cu::cuMemcpyHtoD_v2>(block->at + range.from, static_cast<const void*>(words.data()),
                               range.bytes),
       "cuMemcpyHtoD");
  std::copy(words.begin(), words.end(),
            block->twin.begin() + static_cast<std::ptrdiff_t>(range.from));
}

// From pageable or from pinned memory, which has to stay as it is until it was read.
void Twin::writeLater() {
  const BlockPtr block = any();
  const Range range = rangeOf(*block);
  const Bytes words = noise(range.bytes);
  const bool pinned = below(2) == 0;
  if (pinned) std::copy(words.begin(), words.end(), pinned_);
  const unsigned char* const from = pinned ? pinned_ : words.data();
  good(cu<Cu::cuMemcpyHtoDAsync_v2>(block->at + range.from, static_cast<const void*>(from),
                                    range.bytes, block->stream),
       "cuMemcpyHtoDAsync");
  if (pinned) settle(*block);
  std::copy(words.begin(), words.end(),
            block->twin.begin() + static_cast<std::ptrdiff_t>(range.from));
}

void Twin::readNow() {
  const BlockPtr block = any();
  const Range range = rangeOf(*block);
  Bytes found(range.bytes);
  settle(*block);
  good(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(found.data()), block->at + range.from,
                               range.bytes),
       "cuMemcpyDtoH");
  compare(*block, found, range.from, "read at once");
}

void Twin::readLater() {
  const BlockPtr block = any();
  const Range range = rangeOf(*block);
  good(cu<Cu::cuMemcpyDtoHAsync_v2>(static_cast<void*>(pinned_), block->at + range.from,
                                    range.bytes, block->stream),
       "cuMemcpyDtoHAsync");
  settle(*block);
  compare(*block, Bytes(pinned_, pinned_ + range.bytes), range.from, "read in its stream");
}

void Twin::setSome() {
  const BlockPtr block = any();
  const Range range = rangeOf(*block);
  const auto value = static_cast<unsigned char>(random_());
  good(cu<Cu::cuMemsetD8Async>(block->at + range.from, value, range.bytes, block->stream),
       "cuMemsetD8Async");
  std::fill_n(block->twin.begin() + static_cast<std::ptrdiff_t>(range.from), range.bytes, value);
}

// On the card: by a copy, as between peers, or by a kernel.
void Twin::copyBetween() {
  const BlockPtr from = any(), to = any();
  if (from == to) return;
  const std::size_t bytes = 1 + below(std::min(from->twin.size(), to->twin.size()));
  const std::size_t source = below(from->twin.size() - bytes + 1);
  const std::size_t target = below(to->twin.size() - bytes + 1);
  before(*to, *from);
  switch (below(3)) {
    case 0:
      good(cu<Cu::cuMemcpyDtoDAsync_v2>(to->at + target, from->at + source, bytes, to->stream),
           "cuMemcpyDtoDAsync");
      break;
    case 1:
      good(cu<Cu::cuMemcpyPeerAsync>(to->at + target, context_, from->at + source, context_, bytes,
                                     to->stream),
           "cuMemcpyPeerAsync");
      break;
    default:
      launch(copy_, to->at + target, from->at + source, bytes, to->stream);
  }
  after(*to, *from);
  std::copy_n(from->twin.begin() + static_cast<std::ptrdiff_t>(source), bytes,
              to->twin.begin() + static_cast<std::ptrdiff_t>(target));
}

void Twin::copyBox() {
  const BlockPtr from = any(), to = any();
  const std::size_t least = std::min(from->twin.size(), to->twin.size());
  if (from == to || least < 256) return;
  const std::size_t pitch = 64 + below(least / 4 - 63), height = least / pitch;
  const std::size_t width = 1 + below(pitch);
  CUDA_MEMCPY2D box = boxOf(pitch, width, height);
  box.srcDevice = from->at;
  box.dstDevice = to->at;
  before(*to, *from);
  good(cu<Cu::cuMemcpy2DAsync_v2>(static_cast<const CUDA_MEMCPY2D*>(&box), to->stream),
       "cuMemcpy2DAsync");
  after(*to, *from);
  for (std::size_t row = 0; row < height; ++row) {
    std::copy_n(from->twin.begin() + static_cast<std::ptrdiff_t>(row * pitch), width,
                to->twin.begin() + static_cast<std::ptrdiff_t>(row * pitch));
  }
}

void Twin::writeBox() {
  const BlockPtr block = any();
  if (block->twin.size() < 256) return;
  const std::size_t pitch = 64 + below(block->twin.size() / 4 - 63);
  const std::size_t width = 1 + below(pitch), height = 1 + below(block->twin.size() / pitch);
  const Bytes words = noise(pitch * height);
  CUDA_MEMCPY2D box = boxOf(pitch, width, height);
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = words.data();
  box.dstDevice = block->at;
  settle(*block);
  good(cu<Cu::cuMemcpy2D_v2>(static_cast<const CUDA_MEMCPY2D*>(&box)), "cuMemcpy2D");
  for (std::size_t row = 0; row < height; ++row) {
    const auto at = static_cast<std::ptrdiff_t>(row * pitch);
    std::copy_n(words.begin() + at, width, block->twin.begin() + at);
  }
}

void Twin::addSome() {
  const BlockPtr block = any();
  const Range range = rangeOf(*block, 4);
  const auto value = static_cast<std::uint32_t>(random_());
  launch(add_, block->at + range.from, range.bytes / 4, value, block->stream);
  addTo(block->twin, range.from, range.bytes / 4, value);
}

// A graph that sets, adds and copies on. The addresses in it are those of now.
void Twin::record() {
  const BlockPtr block = any(), other = any();
  if (graphs_.size() == kMaxGraphs || block == other) return replay();
  const Range range = rangeOf(*block, 4);
  const std::size_t bytes = std::min(range.bytes, other->twin.size());
  const auto value = static_cast<std::uint32_t>(random_());
  const auto set = static_cast<unsigned char>(random_());
  const std::size_t some = 1 + below(range.bytes);
  CUgraph graph = nullptr;
  Recorded made{nullptr, block, other, {}};
  const std::lock_guard alone(capturing);
  good(cu<Cu::cuStreamBeginCapture_v2>(capture_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
       "cuStreamBeginCapture");
  launch(add_, block->at + range.from, range.bytes / 4, value, capture_);
  good(cu<Cu::cuMemsetD8Async>(block->at + range.from, set, some, capture_), "captured memset");
  good(cu<Cu::cuMemcpyDtoDAsync_v2>(other->at, block->at + range.from, bytes, capture_),
       "captured copy");
  good(cu<Cu::cuStreamEndCapture>(capture_, &graph), "cuStreamEndCapture");
  good(cu<Cu::cuGraphInstantiateWithFlags>(&made.exec, graph, 0ull), "cuGraphInstantiate");
  good(cu<Cu::cuGraphDestroy>(graph), "cuGraphDestroy");
  Block* const one = block.get();
  Block* const two = other.get();
  made.effects.push_back([=] {
    const auto begin = one->twin.begin() + static_cast<std::ptrdiff_t>(range.from);
    addTo(one->twin, range.from, range.bytes / 4, value);
    std::fill_n(begin, some, set);
    std::copy_n(begin, bytes, two->twin.begin());
  });
  if (failure_.empty()) graphs_.push_back(std::move(made));
}

void Twin::replay() {
  if (graphs_.empty()) return;
  const Recorded& graph = graphs_[below(graphs_.size())];
  before(*graph.block, *graph.other);
  good(cu<Cu::cuGraphLaunch>(graph.exec, graph.block->stream), "cuGraphLaunch");
  after(*graph.block, *graph.other);
  for (const auto& effect : graph.effects) effect();
}

// A child has none of it, and harms none of it.
void Twin::forkOnce() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::uint32_t word = 0;
    const bool refused = cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(&word), blocks_[0]->at,
                                                 sizeof word) != CUDA_SUCCESS;
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  if (status != 0 && failure_.empty()) failure_ = "a forked child has its parent's memory";
}

// To another process, which sees the bytes and sets some. From then on the block stays.
void Twin::show() {
  const BlockPtr block = any();
  if (block->pooled || (block->handle != 0 && !block->exportable)) return;
  const Range range = rangeOf(*block);
  TwinReader::Shown shown{};
  shown.by_descriptor = block->handle != 0;
  shown.mapped = block->mapped;
  shown.bytes = block->twin.size();
  shown.from = range.from;
  shown.set = range.bytes;
  shown.value = static_cast<unsigned char>(random_());
  settle(*block);
  int descriptor = -1;
  const CUresult named =
      shown.by_descriptor
          ? cu<Cu::cuMemExportToShareableHandle>(static_cast<void*>(&descriptor), block->handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ull)
          : cu<Cu::cuIpcGetMemHandle>(&shown.handle, block->at + range.from);
  // The last order may be older than what was pinned since: then it leaves no room for one more.
  if (named == CUDA_ERROR_OUT_OF_MEMORY) return reader_.countRefused();
  if (!good(named, shown.by_descriptor ? "cuMemExportToShareableHandle" : "cuIpcGetMemHandle"))
    return;
  const std::string wrong = reader_.show(shown, descriptor, block->twin);
  if (descriptor >= 0) ::close(descriptor);
  if (failure_.empty()) failure_ = wrong;
  std::fill_n(block->twin.begin() + static_cast<std::ptrdiff_t>(range.from), range.bytes,
              shown.value);
}

void Twin::step() {
  if (blocks_.empty()) return allocate();
  const std::size_t dice = below(1000);
  if (dice < 2) return forkOnce();
  if (dice < 8) return show();
  if (dice < 25) return compareAll();
  static constexpr void (Twin::*kOperations[])() = {
      &Twin::allocate,  &Twin::release,  &Twin::writeNow,    &Twin::writeLater,  &Twin::readNow,
      &Twin::readLater, &Twin::setSome,  &Twin::copyBetween, &Twin::copyBetween, &Twin::copyBox,
      &Twin::writeBox,  &Twin::addSome,  &Twin::addSome,     &Twin::record,      &Twin::replay,
      &Twin::replay,    &Twin::allocate, &Twin::remap};
  (this->*kOperations[below(std::size(kOperations))])();
}

}  // namespace divvy::interposer
