#include "runtime/informers.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "runtime/log.h"

namespace divvy::scheduler {

const kube::Rein& Watches::follow(std::string name, kube::Follower follower) {
  Followed& followed = all_.emplace_back(Followed{std::move(name), {}});
  boost::asio::co_spawn(
      executor_, kube::follow(client_, std::move(follower), followed.rein, stopped_), rethrow);
  return followed.rein;
}

bool Watches::known() const {
  return std::all_of(all_.begin(), all_.end(),
                     [](const Followed& one) { return one.rein.fresh(); });
}

void Watches::anew() {
  for (Followed& one : all_) one.rein.anew();
}

std::vector<Source> Watches::sources() const {
  std::vector<Source> sources;
  for (const Followed& one : all_) {
    Source source{one.name, one.rein.fresh()};
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
