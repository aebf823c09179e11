// The service's informers, and the health of each. Private.
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

// For the client's thread only. `client` and `stopped` outlive it. It outlives the coroutines of
// its informers.
class Informers {
 public:
  Informers(boost::asio::any_io_executor executor, kube::Client& client, const bool* stopped)
      : executor_(std::move(executor)), client_(client), stopped_(stopped) {}

  // Starts an informer, which runs until *stopped is true. `name`: in /readyz. The result lives as
  // long as this object.
  const kube::Informer& follow(std::string name, kube::EventHandlers follower);
  // Returns true if each informer has reported a whole list since the start, or since relist().
  bool known() const;
  // Makes each informer list again, with a read that starts after this call.
  void relist();
  std::vector<HealthSource> sources() const;  // in the order of the follow() calls

 private:
  struct InformerEntry {
    std::string name;
    kube::Informer informer;
  };

  boost::asio::any_io_executor executor_;
  kube::Client& client_;
  const bool* stopped_;
  std::list<InformerEntry> all_;  // informers keep their addresses
};

}  // namespace divvy::scheduler
