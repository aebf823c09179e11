#include "simgpu/catalog.h"

#include <vector>

#include "card/profile.h"

namespace divvy::simgpu {
namespace {

std::string_view aliasOf(std::string_view name) {
  if (name == "rtx4070") return "4070";
  if (name == "rtx4090") return "4090";
  if (name == "v100") return "v100-16";
  if (name == "a100") return "a100-40";
  return "";
}

std::string_view noteOf(const Profile& profile) {
  if (profile.answers_at_once) return "answers every call at once; for measuring overheads";
  if (profile.name == "swap") return "small, its link at 1 GB/s; for measuring swapping";
  if (profile.part_count > 0)
    return "partitioned (MIG): four instances of 3, 2, 1 and 1 of seven slices";
  return "";
}

std::vector<ProfileEntry> makeProfiles() {
  std::vector<ProfileEntry> entries;
  for (const Profile& p : profiles()) {
    entries.push_back({p.name, aliasOf(p.name), p.model, p.memory_bytes, p.usableBytes(),
                       p.context_bytes, p.sm_count, p.cc_major, p.cc_minor, noteOf(p)});
  }
  return entries;
}

constexpr FaultEntry kFaults[] = {
    {"oom", "every allocation of device memory is refused"},
    {"oom-after=N", "the first N allocations of device memory succeed, later ones are refused"},
    {"xid=NN",
     "the first allocation or launch raises Xid NN: NVML's event calls report it, the "
     "context is poisoned where the real one would be"},
    {"lost",
     "the card has fallen off the bus for this process: CUDA calls answer "
     "CUDA_ERROR_UNKNOWN, NVML answers NVML_ERROR_GPU_IS_LOST (xid=79: for everybody)"},
    {"ecc=N",
     "N uncorrectable memory errors: reported by NVML's counters, events and remapped rows "
     "(xid=63, xid=64: by the latter alone)"},
    {"slow=US", "every driver call takes US microseconds longer"},
    {"missing=SYMBOL[+SYMBOL...]",
     "cuGetProcAddress does not find these names, calls of them "
     "answer CUDA_ERROR_NOT_FOUND"},
    {"strict-unmap",
     "cuMemUnmap of memory that pending work of the process touches poisons the work's context "
     "with CUDA_ERROR_ILLEGAL_ADDRESS, also where it would not have noticed; kernels of which is "
     "not known what they touch touch everything"},
    {"strict-unmap=any", "likewise, as if every kernel and memset touched everything"},
    {"no-host-map",
     "no memory of the host can be mapped by cuMemMap: the attribute that tells is 0, and "
     "cuMemCreate of such memory answers CUDA_ERROR_NOT_SUPPORTED"},
    {"kill-at=SYMBOL:N", "the process is killed by SIGKILL as it enters its N-th call of SYMBOL"},
    {"fail-at=SYMBOL:N=CODE",
     "the process's N-th call of SYMBOL does nothing and answers CODE, a CUresult as a number"},
    {"checkpoint=fail", "checkpoints that this process makes of others leave them in state FAILED"},
    {"checkpoint=slow:MS", "they, and restores, take MS milliseconds longer"},
    {"SIMGPU_DRIVER_VERSION=NNNNN",
     "(a variable of its own) an older driver, e.g. 11040: its "
     "version, and none of the names introduced since"},
    {"SIMGPU_TIME_SCALE=N",
     "(a variable of its own) the card's time runs N times as fast, 0.001 to 1000; whoever makes "
     "the card's file decides"},
};

}  // namespace

std::span<const ProfileEntry> profileCatalog() {
  // Never destroyed: exit handlers call the driver.
  static const auto& entries = *new std::vector<ProfileEntry>(makeProfiles());
  return entries;
}

std::span<const FaultEntry> faultCatalog() {
  return kFaults;
}

std::optional<SimulatedMachine> findMachine(std::string_view text) {
  static_assert(kMaxSimulatedCards == kMaxCards);
  const std::optional<Machine> machine = parseMachine(text);
  if (!machine) return std::nullopt;
  return SimulatedMachine{machine->name(), std::string(machine->cards.front()->name),
                          static_cast<int>(machine->cards.size())};
}

}  // namespace divvy::simgpu
