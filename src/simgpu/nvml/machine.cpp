#include "nvml/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "simgpu/card_reader.h"

namespace divvy::simgpu {
namespace {

const char* variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

bool listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

Card* NvmlCard::sharedCard() {
  if (partitioned()) return nullptr;
  if (!open_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    if (!open_.load(std::memory_order_relaxed)) {
      if (!card_.openExisting(dir_, unit_)) return nullptr;
      open_.store(true, std::memory_order_release);
    }
  }
  return &card_;
}

Card* NvmlCard::makeSharedCard() {
  if (Card* existing = sharedCard(); existing != nullptr || partitioned()) return existing;
  const std::lock_guard lock(mutex_);
  if (!prepareCardDirectory(dir_) || !card_.open(dir_, profile_, unit_)) return nullptr;
  open_.store(true, std::memory_order_release);
  return &card_;
}

bool NvmlCard::lostItself() {
  Card* card = sharedCard();
  return card != nullptr && card->lost();
}

bool NvmlCard::lost() {
  const NvmlCard& card = whole_ != nullptr ? *whole_ : *this;
  if (!card.partitioned()) return lostItself();
  return std::any_of(card.parts_.begin(), card.parts_.end(),
                     [](const auto& part) { return part->lostItself(); });
}

NvmlMachine& NvmlMachine::get() {
  // Never destroyed: calls may come from other libraries' exit handlers.
  static NvmlMachine& machine = *new NvmlMachine;
  return machine;
}

nvmlReturn_t NvmlMachine::load() {
  const auto machine = parseMachine(variable("SIMGPU_PROFILE", kDefaultProfile.data()));
  if (!machine) return NVML_ERROR_DRIVER_NOT_LOADED;
  const std::string dir = cardDirectory();
  // An earlier load that failed may have left some.
  cards_.clear();
  for (int board = 0; board < static_cast<int>(machine->boards.size()); ++board) {
    const Profile& profile = *machine->boards[static_cast<std::size_t>(board)];
    const auto first = std::find(machine->board_of.begin(), machine->board_of.end(), board);
    const int unit = static_cast<int>(first - machine->board_of.begin());
    NvmlCard& card = *cards_.emplace_back(std::make_unique<NvmlCard>(
        profile, cardIdentity(profile, board), dir, board, profile.part_count == 0 ? unit : -1));
    for (int at = 0; at < profile.part_count; ++at)
      card.addPart(std::make_unique<NvmlCard>(profile.parts()[static_cast<std::size_t>(at)],
                                              unitIdentity(*machine, unit + at), dir, at, unit + at,
                                              &card));
  }
  topology_ = CardTopology(machine->boards);
  const std::string_view links = variable("SIMGPU_NVLINKS", "");
  const std::string_view nodes = variable("SIMGPU_NUMA", "");
  if ((!links.empty() && !topology_.readLinks(links)) ||
      (!nodes.empty() && !topology_.readNodes(nodes)))
    return NVML_ERROR_DRIVER_NOT_LOADED;
  lost_here_ = listed(variable("SIMGPU_FAULTS", ""), "lost");
  driver_version_ = std::atoi(variable("SIMGPU_DRIVER_VERSION", "13050"));
  return NVML_SUCCESS;
}

nvmlReturn_t NvmlMachine::init() {
  const std::lock_guard lock(mutex_);
  if (!loaded_) {
    if (const nvmlReturn_t result = load(); result != NVML_SUCCESS) return result;
    loaded_ = true;
  }
  references_.fetch_add(1, std::memory_order_release);
  return NVML_SUCCESS;
}

nvmlReturn_t NvmlMachine::shutdown() {
  const std::lock_guard lock(mutex_);
  if (references_.load(std::memory_order_relaxed) == 0) return NVML_ERROR_UNINITIALIZED;
  references_.fetch_sub(1, std::memory_order_release);
  return NVML_SUCCESS;
}

NvmlCard* NvmlMachine::find(nvmlDevice_t device) const {
  for (const auto& card : cards_) {
    if (card->handle() == device) return card.get();
    for (const auto& part : card->parts())
      if (part->handle() == device) return part.get();
  }
  return nullptr;
}

nvmlReturn_t copyText(const std::string& text, char* out, unsigned length) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (length < text.size() + 1) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

}  // namespace divvy::simgpu
