#include "device/visible_devices.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include <atomic>

#include "device/pci_order.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr char kPrefix[] = "CUDA_VISIBLE_DEVICES=";
constexpr size_t kPrefixLength = sizeof kPrefix - 1;
constexpr int kWaitRounds = 1000;
constexpr long kWaitNanoseconds = 100'000;

enum class Exchange : int { kNever, kStarting, kDone };
constinit std::atomic<Exchange> exchange_state{Exchange::kNever};

// Never moved: a thread that copies the environment meanwhile may keep a pointer.
constinit VisibleList spelled;

bool isIndex(const char* text, size_t length) {
  for (size_t i = 0; i < length; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
  }
  return length > 0 && length < 4;
}

// The only device with a UUID that begins with this text; `count` if there is none or several.
unsigned findPrefix(const char* text, size_t length, const ledger::DeviceControl* devices,
                    unsigned count) {
  unsigned found = count;
  for (unsigned i = 0; i < count; ++i) {
    if (length < 5 || ::strncasecmp(devices[i].uuid, text, length) != 0) continue;
    if (found != count) return count;
    found = i;
  }
  return found;
}

unsigned findChoice(const char* text, size_t length, const ledger::DeviceControl* devices,
                    unsigned count, const std::uint8_t* order) {
  if (!isIndex(text, length)) return findPrefix(text, length, devices, count);
  unsigned index = 0;
  for (size_t i = 0; i < length; ++i) index = index * 10 + static_cast<unsigned>(text[i] - '0');
  return index < count ? order[index] : count;
}

void appendChoice(const ledger::DeviceControl& device, VisibleList* out) {
  if (!out->empty()) out->append(",");
  out->append(device.uuid, ::strnlen(device.uuid, sizeof device.uuid));
}

}  // namespace

void selectVisible(const char* value, const ledger::DeviceControl* devices, unsigned count,
                   VisibleList* out) {
  std::uint8_t order[ledger::kMaxDevices];
  sortByPci(devices, count, order);
  if (value == nullptr) {
    for (unsigned i = 0; i < count; ++i) appendChoice(devices[order[i]], out);
    return;
  }
  for (const char* at = value;; ++at) {
    at += ::strspn(at, " \t");
    size_t length = ::strcspn(at, ",");
    const char* end = at + length;
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t')) --length;
    const unsigned choice = findChoice(at, length, devices, count, order);
    if (choice == count) return;
    appendChoice(devices[choice], out);
    if (*end == '\0') return;
    at = end;
  }
}

bool tenantIsSubset(const ledger::ControlPage& control) {
  return control.header.node_devices > control.header.device_count;
}

VisibleDevices::VisibleDevices() {
  if (!tenantIsSubset(runtime().tenant.control())) return;
  Exchange state = Exchange::kNever;
  if (exchange_state.compare_exchange_strong(state, Exchange::kStarting)) {
    mine_ = true;
    exchange();
    exchange_state.store(Exchange::kDone, std::memory_order_release);
    return;
  }
  for (int round = 0; round < kWaitRounds; ++round) {
    if (exchange_state.load(std::memory_order_acquire) == Exchange::kDone) return;
    sys::nap(kWaitNanoseconds);
  }
}

VisibleDevices::~VisibleDevices() {
  if (mine_) restore();
}

void VisibleDevices::exchange() {
  const ErrnoKeeper keeper;
  const ledger::ControlPage& control = runtime().tenant.control();
  VisibleList choice;
  selectVisible(::getenv("CUDA_VISIBLE_DEVICES"), control.devices, runtime().tenant.deviceCount(),
                &choice);
  spelled.clear().append(kPrefix).append(choice.c_str());
  if (!choice.valid() || !spelled.valid() || environ == nullptr) return;
  auto* ours = const_cast<char*>(spelled.c_str());
  size_t count = 0;
  for (char** entry = environ; *entry != nullptr; ++entry, ++count) {
    if (::strncmp(*entry, kPrefix, kPrefixLength) != 0) continue;
    entry_ = entry;
    previous_ = *entry;
    *entry = ours;
    return;
  }
  auto** extended = static_cast<char**>(sys::mapAnonymous((count + 2) * sizeof(char*)));
  if (extended == nullptr) return;
  ::memcpy(extended, environ, count * sizeof(char*));
  extended[count] = ours;
  before_ = environ;
  extended_ = extended;
  environ = extended;
}

// The extended array stays mapped, because another thread may be reading it. If a setenv of another
// thread copied our environment meanwhile, our entry is removed from the copy.
void VisibleDevices::restore() {
  const char* ours = spelled.c_str();
  if (entry_ != nullptr && *entry_ == ours) *entry_ = previous_;
  if (extended_ == nullptr) return;
  if (environ == extended_) {
    environ = before_;
    return;
  }
  char** entry = environ;
  while (entry != nullptr && *entry != nullptr && *entry != ours) ++entry;
  if (entry == nullptr) return;
  for (; *entry != nullptr; ++entry) entry[0] = entry[1];
}

}  // namespace divvy::interposer
