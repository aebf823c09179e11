#include "device/pci_order.h"

namespace divvy::interposer {
namespace {

constexpr unsigned kLongestPart = 8;

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::uint64_t pciOrder(const char* bus_id, unsigned size) {
  std::uint64_t parts[4] = {};
  unsigned count = 0;
  unsigned digits = 0;
  for (unsigned i = 0; i < size && bus_id[i] != '\0'; ++i) {
    const int digit = hexDigit(bus_id[i]);
    if (digit >= 0) {
      if (++digits > kLongestPart) return kNoAddress;
      parts[count] = parts[count] * 16 + static_cast<unsigned>(digit);
    } else if ((bus_id[i] == ':' || bus_id[i] == '.') && digits > 0 && count < 3) {
      ++count;
      digits = 0;
    } else {
      return kNoAddress;
    }
  }
  if (digits == 0 || count < 2) return kNoAddress;
  const std::uint64_t domain = count == 3 ? parts[0] : 0;
  const std::uint64_t* rest = parts + (count - 2);
  return domain << 32 | rest[0] << 16 | rest[1] << 8 | rest[2];
}

void sortByPci(const ledger::DeviceControl* devices, unsigned count, std::uint8_t* order) {
  std::uint64_t keys[ledger::kMaxDevices];
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t key = pciOrder(devices[i].pci_bus_id, sizeof devices[i].pci_bus_id);
    unsigned place = i;
    for (; place > 0 && keys[place - 1] > key; --place) {
      keys[place] = keys[place - 1];
      order[place] = order[place - 1];
    }
    keys[place] = key;
    order[place] = static_cast<std::uint8_t>(i);
  }
}

}  // namespace divvy::interposer
