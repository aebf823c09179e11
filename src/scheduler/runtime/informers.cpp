#include "runtime/informers.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "runtime/log.h"

namespace divvy::scheduler {

const kube::Rein& Informers::follow(std::string name, kube::Follower follower) {
  InformerEntry& followed = all_.emplace_back(InformerEntry{std::move(name), {}});
  boost::asio::co_spawn(
      executor_, kube::follow(client_, std::move(follower), followed.rein, stopped_), rethrow);
  return followed.rein;
}

bool Informers::known() const {
  return std::all_of(all_.begin(), all_.end(),
                     [](const InformerEntry& one) { return one.rein.fresh(); });
}

void Informers::relist() {
  for (InformerEntry& one : all_) one.rein.anew();
}

std::vector<HealthSource> Informers::sources() const {
  std::vector<HealthSource> sources;
  for (const InformerEntry& one : all_) {
    HealthSource source{one.name, one.rein.fresh()};
    if (const auto since = one.rein.failingSince()) {
      const auto age = std::chrono::steady_clock::now() - *since;
      source.failing_ms = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
      source.fault = one.rein.fault();
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace divvy::scheduler
