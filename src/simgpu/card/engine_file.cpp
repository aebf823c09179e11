#include "card/engine_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "card/populate.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kEngineMagic = 0x31454e49474e4544;  // "DENGINE1"
// How often it is checked whether neighbours live while their work blocks this process's work.
constexpr Nanos kSweepInterval = 2'000'000;

using BootId = std::array<std::uint64_t, 2>;

BootId bootId() {
  BootId id{};
  char text[40] = {};
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return id;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  int digits = 0;
  for (ssize_t i = 0; i < length && digits < 32; ++i) {
    const char c = text[i];
    if (c == '-') continue;
    const int value = c >= 'a' ? c - 'a' + 10 : c - '0';
    id[digits / 16] = id[digits / 16] << 4 | static_cast<std::uint64_t>(value & 15);
    ++digits;
  }
  return id;
}

}  // namespace

std::string engineFilePath(const std::string& dir, int index) {
  return dir + "/engine" + std::to_string(index) + ".v1." +
         std::to_string(sizeof(EngineFileLayout));
}

EngineFile::~EngineFile() {
  if (file_ != nullptr) munmap(file_, sizeof(EngineFileLayout));
}

bool EngineFile::open(Card& card, const std::string& dir, int index, const EngineConfig& config) {
  card_ = &card;
  const int fd = openCardFile(dir, engineFilePath(dir, index));
  if (fd < 0) return false;
  const CardLock lock(card);
  const bool ready = prepareLocked(fd, config);
  close(fd);
  if (!ready && file_ != nullptr) {
    munmap(file_, sizeof(EngineFileLayout));
    file_ = nullptr;
  }
  return ready;
}

bool EngineFile::prepareLocked(int fd, const EngineConfig& config) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return false;
  if (info.st_size != static_cast<off_t>(sizeof(EngineFileLayout)) &&
      (info.st_size != 0 || ftruncate(fd, sizeof(EngineFileLayout)) != 0)) {
    return false;
  }
  void* at = mmap(nullptr, sizeof(EngineFileLayout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return false;
  file_ = static_cast<EngineFileLayout*>(at);
  const BootId boot = bootId();
  const bool fresh = file_->magic != kEngineMagic || std::memcmp(file_->boot, &boot, 16) != 0 ||
                     file_->time_scale != card_->file().time_scale;
  if (!fresh) return true;
  // Made before the last boot, or its maker died in between: no process has it mapped with a valid
  // magic.
  file_->magic = 0;
  if (ftruncate(fd, 0) != 0 || ftruncate(fd, sizeof(EngineFileLayout)) != 0) return false;
  if (!populate(file_, offsetof(EngineFileLayout, state) + offsetof(TimelineState, ops))) {
    return false;
  }
  std::memcpy(file_->boot, &boot, 16);
  file_->time_scale = card_->file().time_scale;
  file_->made_ns = clockNow();
  Timeline::init(&file_->state, config, file_->made_ns);
  file_->magic = kEngineMagic;
  return true;
}

bool EngineFile::recordLives(std::uint32_t index, std::uint64_t generation) const {
  const ProcessRecord& record = card_->file().processes[index % kMaxProcesses];
  return record.claimed != 0 && record.generation == generation &&
         card_->alive(static_cast<int>(index % kMaxProcesses));
}

// Precedes advancing the time, so that work of a killed process does not continue.
void EngineFile::sweepBusyLocked(Nanos now) {
  if (now < file_->last_sweep + kSweepInterval) return;
  file_->last_sweep = now;
  TimelineState& state = file_->state;
  LaneBits busy{};
  for (const EngineState& engine : state.engines) {
    for (std::size_t i = 0; i < busy.size(); ++i) busy[i] |= engine.busy[i];
  }
  Timeline line(&state, this);
  for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane) {
    if ((busy[lane / 64] >> lane % 64 & 1) != 0 && !laneLives(state.lanes[lane])) {
      line.dropLane(lane);
    }
  }
}

std::uint32_t EngineFile::pickLaneLocked() {
  Timeline line(&file_->state, this);
  if (line.pickLane() == kNoLane) {
    for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane) {
      if (!laneLives(file_->state.lanes[lane])) line.dropLane(lane);
    }
  }
  return line.pickLane();
}

std::uint32_t EngineFile::addLane() {
  EngineLock lock(*this);
  const std::uint32_t lane = pickLaneLocked();
  if (lane == kNoLane || !populate(&file_->state.ops[lane], sizeof file_->state.ops[lane])) {
    return kNoLane;
  }
  const ProcessRecord& self = *card_->self();
  return lock.line().addLane({.pid = self.pid,
                              .record = static_cast<std::uint32_t>(card_->selfIndex()),
                              .generation = self.generation});
}

void EngineFile::dropLane(std::uint32_t lane) {
  EngineLock lock(*this);
  lock.line().dropLane(lane);
}

void EngineFile::ran(const Lane& lane, Engine engine, Nanos start_ns, Nanos end_ns) {
  ProcessRecord& record = card_->file().processes[lane.record % kMaxProcesses];
  if (record.claimed == 0 || record.generation != lane.generation) return;
  addBusyLocked(record, start_ns, end_ns, engine != Engine::kCompute);
}

EngineLock::EngineLock(EngineFile& file)
    : file_(file), lock_(*file.card_), line_(&file.file_->state, &file), now_(clockNow()) {
  if (file.file_->changing.load(std::memory_order_relaxed) != 0) line_.recover();
  file.file_->changing.store(1, std::memory_order_relaxed);
  orderStores();
  file.sweepBusyLocked(now_);
  line_.advance(now_);
}

EngineLock::~EngineLock() {
  orderStores();
  file_.file_->changing.store(0, std::memory_order_relaxed);
}

}  // namespace divvy::simgpu
