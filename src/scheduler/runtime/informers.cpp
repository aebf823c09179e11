#include "runtime/informers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "asio/rethrow.h"

namespace divvy::scheduler {

const kube::Informer& Informers::follow(std::string name, kube::EventHandlers follower) {
  InformerEntry& followed = all_.emplace_back(InformerEntry{std::move(name), {}});
  boost::asio::co_spawn(
      executor_, kube::runReflector(client_, std::move(follower), followed.informer, stopped_),
      rethrow);
  return followed.informer;
}

bool Informers::known() const {
  return std::all_of(all_.begin(), all_.end(),
                     [](const InformerEntry& one) { return one.informer.fresh(); });
}

void Informers::relist() {
  for (InformerEntry& one : all_) one.informer.relist();
}

std::vector<HealthSource> Informers::sources() const {
  std::vector<HealthSource> sources;
  for (const InformerEntry& one : all_) {
    HealthSource source{one.name, one.informer.fresh()};
    if (const auto since = one.informer.failingSince()) {
      const auto age = std::chrono::steady_clock::now() - *since;
      source.failing_ms = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
      source.fault = one.informer.fault();
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace divvy::scheduler
