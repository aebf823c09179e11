// The lease watcher: reads the Lease of the kube-scheduler beside Divvy periodically, to find out
// whether this replica leads. Private.
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

// For the event loop's thread only.
class LeaseWatcher {
 public:
  struct Options {
    // The Lease. No name: there is none, and this replica always leads.
    std::string namespace_name, name;
    std::string identity;  // as of Leadership
  };

  // Makes a separate client, so that no other call delays the reads. `loop` outlives the result.
  // Errors: as of kube::Client::make.
  static Result<std::unique_ptr<LeaseWatcher>> make(boost::asio::io_context& loop,
                                                    const kube::Access& access, Options options);

  // Starts reading, until *stopped is true. `began` is called when a term of this replica has
  // started; `said` when the leader changes, or the Lease cannot be read.
  void start(std::function<void()> began, std::function<void(const std::string&)> said,
             const bool* stopped);
  // Reads the Lease now instead of after the pause.
  void readNow() { pause_.cancel(); }

  LeaderStatus verdict() const;
  // Returns the start of the first of the failed reads since the last good one; none: the last read
  // was good.
  std::optional<engine::Instant> failingSince() const { return failing_; }
  const std::string& fault() const { return fault_; }

  // Returns the time of a monotonic clock that also counts while the machine sleeps.
  static engine::Instant now();

 private:
  LeaseWatcher(boost::asio::io_context& loop, Options options,
               std::unique_ptr<kube::Client> client);
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> read();
  void notify(const std::string& why);

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
