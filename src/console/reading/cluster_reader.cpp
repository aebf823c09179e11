#include "reading/cluster_reader.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace divvy::console {
namespace {

bool failed(const ClusterReading& reading) {
  return std::any_of(reading.collections.begin(), reading.collections.end(),
                     [](const ClusterCollection& one) { return !one.failure.empty(); });
}

}  // namespace

void ClusterReader::read() {
  ClusterReading reading = source_.read();
  if (reading.known() || !reading_.known()) {
    reading_ = std::move(reading);
  } else if (!reading.collections.empty()) {
    // Rows of an earlier reading are better than none.
    for (ClusterCollection& one : reading_.collections)
      one.failure = reading.collections.front().failure;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  view_ = std::make_shared<const ConsoleView>(
      builder_.build(reading_, std::chrono::duration_cast<std::chrono::milliseconds>(now).count()));
}

std::shared_ptr<const ConsoleView> ClusterReader::take(history::Instant now) {
  if (!reading_.known() && !failed(reading_)) return nullptr;
  if (reading_.known()) recorder_.record(reading_, *view_, now);
  return view_;
}

}  // namespace divvy::console
