// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, by the real driver's rules.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cuda/context/device.h"

namespace divvy::simgpu {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

// As strtoul reads it: "1gpu" is 1. -1: not a number, or negative.
int leadingNumber(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text.front()))) return -1;
  int value = 0;
  for (const char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c))) break;
    if (value > 1'000'000) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Position in `uuids` of the only one that starts with `prefix`; -1 for none or several.
bool isInstance(std::string_view uuid) {
  return uuid.starts_with("MIG-");
}

int byUuid(std::string_view prefix, const std::vector<std::string>& uuids) {
  int found = -1;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (!std::string_view(uuids[i]).starts_with(prefix)) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

std::vector<int> visibleCards(const char* text, const std::vector<std::string>& uuids) {
  const int count = static_cast<int>(uuids.size());
  std::vector<int> visible;
  if (text == nullptr) {
    for (int i = 0; i < count; ++i)
      if (!isInstance(uuids[static_cast<std::size_t>(i)])) visible.push_back(i);
    if (visible.empty() && count > 0) visible.push_back(0);
    return visible;
  }
  // The first entry determines the form of all; an entry of another form ends the list.
  std::string_view rest = text;
  const auto named = [](std::string_view entry) {
    return entry.starts_with("GPU-") || isInstance(entry);
  };
  const bool uuid_form = named(trimmed(rest));
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = trimmed(rest.substr(0, comma));
    const bool is_uuid = named(entry);
    int index = -1;
    if (is_uuid == uuid_form) index = is_uuid ? byUuid(entry, uuids) : leadingNumber(entry);
    if (index < 0 || index >= count) return visible;
    const bool instance = isInstance(uuids[static_cast<std::size_t>(index)]);
    if (instance) return visible.empty() ? std::vector<int>{index} : visible;
    for (const int seen : visible) {
      if (seen == index) return {};
    }
    visible.push_back(index);
    if (comma == std::string_view::npos) return visible;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<int> cudaOrder(const char* text, const Machine& machine) {
  std::vector<int> order;
  const int count = static_cast<int>(machine.cards.size());
  for (int i = 0; i < count; ++i) order.push_back(i);
  if (text != nullptr && std::strcmp(text, "PCI_BUS_ID") == 0) return order;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return machine.cards[a]->peakFlops() > machine.cards[b]->peakFlops();
  });
  return order;
}

}  // namespace divvy::simgpu
