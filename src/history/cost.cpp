#include "history/cost.h"

#include <algorithm>
#include <numeric>

namespace divvy::history {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMaxPrice = 1'000'000'000'000'000;
constexpr std::int64_t kHourSeconds = 3600;
// The parts of a device are counted in this many.
constexpr std::int64_t kWhole = 1'000'000'000;

Wide wide(std::int64_t value) {
  return Wide(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)));
}

// amount / whole in units of 1/kWhole, rounded up so that a promise is never free; at most kWhole.
std::int64_t partOf(std::int64_t amount, Wide whole) {
  if (amount <= 0 || whole == 0) return 0;
  const Wide part = (wide(amount) * static_cast<std::uint64_t>(kWhole) + whole - 1) / whole;
  return static_cast<std::int64_t>(std::min<Wide>(part, static_cast<std::uint64_t>(kWhole)));
}

// Divides `price` among `parts` of `whole`; the sum of parts is at most `whole`. Each gets its
// quotient; what is left of the common total goes to the largest remainders.
std::vector<MicroUnits> divided(MicroUnits price, const std::vector<std::int64_t>& parts,
                                std::int64_t whole) {
  std::vector<MicroUnits> shares(parts.size());
  std::vector<std::int64_t> rest(parts.size());
  const auto quotient = [&](std::int64_t part) {
    return static_cast<std::int64_t>(wide(price) * wide(part) / wide(whole));
  };
  const std::int64_t sum = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  MicroUnits left = quotient(sum);
  for (std::size_t at = 0; at < parts.size(); ++at) {
    shares[at] = quotient(parts[at]);
    rest[at] = static_cast<std::int64_t>(wide(price) * wide(parts[at]) % wide(whole));
    left -= shares[at];
  }
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
  for (std::size_t at = 0; left > 0; ++at, --left) ++shares[order[at]];
  return shares;
}

}  // namespace

MicroUnits priceOf(MicroUnits per_hour, std::int64_t seconds) {
  const Wide price = wide(std::min(per_hour, kMaxPrice));
  const Wide time = wide(std::min(seconds, kHourSeconds));
  return static_cast<MicroUnits>((price * time + kHourSeconds / 2) / kHourSeconds);
}

DeviceCost divideCost(const CostedDevice& device, const std::vector<ShareOfDevice>& shares) {
  DeviceCost cost;
  cost.shares.resize(shares.size());
  const MicroUnits price = std::clamp<MicroUnits>(device.price, 0, kMaxPrice);
  if (device.seconds <= 0) {
    cost.unallocated = price;
    return cost;
  }
  std::vector<std::int64_t> parts;
  std::int64_t sum = 0;
  for (const ShareOfDevice& share : shares) {
    parts.push_back(
        std::max(partOf(share.promised_byte_seconds, wide(device.byte_seconds)),
                 partOf(share.promised_compute_milli_seconds, wide(device.seconds) * 1000)));
    sum += parts.back();
  }
  cost.promised_milli = sum / (kWhole / 1000);
  const auto charged = divided(price, parts, std::max(sum, kWhole));
  cost.unallocated = price;
  for (std::size_t at = 0; at < shares.size(); ++at) {
    ShareCost& share = cost.shares[at];
    share.charged = charged[at];
    const Wide used =
        wide(price) * wide(shares[at].device_ns) / (wide(device.seconds) * 1'000'000'000);
    share.used = static_cast<MicroUnits>(std::min(used, wide(share.charged)));
    share.idle = share.charged - share.used;
    cost.unallocated -= share.charged;
  }
  return cost;
}

}  // namespace divvy::history
