// What of the cluster is followed, and how it stands with each of it. Private.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "kube/client.h"
#include "kube/informer.h"
#include "runtime/readiness.h"

namespace divvy::scheduler {

// For one thread, that of the client. Client and flag outlive it, and it what is followed.
class Informers {
 public:
  Informers(boost::asio::any_io_executor executor, kube::Client& client, const bool* stopped)
      : executor_(std::move(executor)), client_(client), stopped_(stopped) {}

  // Until *stopped is true. `name` is what /readyz calls it. What it returns lives as long as this.
  const kube::Informer& follow(std::string name, kube::EventHandlers follower);
  // All of everything has been told that there was at the beginning, or when relist() was called.
  bool known() const;
  // Everything is listed anew, by reads that begin after this.
  void relist();
  std::vector<HealthSource> sources() const;  // in the order in which they were named

 private:
  struct InformerEntry {
    std::string name;
    kube::Informer informer;
  };

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const bool* stopped_;
  std::list<InformerEntry> all_;  // reins stay where they are
};

}  // namespace divvy::scheduler
