// Looks at the Lease of the kube-scheduler beside us, again and again: whether we lead. Private.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "kube/client.h"
#include "runtime/leader_election.h"

namespace divvy::scheduler {

// For the loop's thread.
class LeaseWatcher {
 public:
  struct Options {
    std::string space, name;  // of the Lease; no name: there is none, and we always lead
    std::string identity;
  };

  // A client of its own: no other call keeps it waiting.
  static Result<std::unique_ptr<LeaseWatcher>> make(boost::asio::io_context& loop,
                                                    const kube::Access& access, Options options);

  // Until *stopped is true. `began`: a term of ours has begun; `said`: who leads has changed, or
  // the Lease cannot be read.
  void start(std::function<void()> began, std::function<void(const std::string&)> said,
             const bool* stopped);
  // Not only when it is time for it.
  void look() { pause_.cancel(); }

  LeaderStatus verdict() const;
  // Nothing was read since.
  std::optional<engine::Instant> failingSince() const { return failing_; }
  const std::string& fault() const { return fault_; }

  // Counts while the machine sleeps, too.
  static engine::Instant now();

 private:
  LeaseWatcher(boost::asio::io_context& loop, Options options,
               std::unique_ptr<kube::Client> client);
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> read();
  void tell(const std::string& why);

  boost::asio::io_context& loop_;
  Options options_;
  std::unique_ptr<kube::Client> client_;
  Leadership leadership_;
  boost::asio::steady_timer pause_;
  std::function<void()> began_;
  std::function<void(const std::string&)> said_;
  const bool* stopped_ = nullptr;
  std::optional<engine::Instant> failing_;
  std::string fault_;
  std::string told_;
};

}  // namespace divvy::scheduler
