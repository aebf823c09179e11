// The web console of one machine, or of a cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/result.h"
#include "console/cluster_source.h"
#include "console/node_source.h"
#include "console/prices.h"
#include "console/viewer.h"
#include "http/trusted_proxies.h"

namespace divvy::console {

struct ConsoleOptions {
  std::string host = "127.0.0.1";            // or "::1"; with viewers' tokens any address
  std::uint16_t port = 9400;                 // 0: any free port
  std::string base_path = "/";               // begins and ends with a slash
  std::chrono::milliseconds interval{1000};  // between two readings
  bool allow_changes = false;
  std::string history_file;  // empty: the history is kept in memory
  std::string user;          // the person that changes are made for
  std::string place;         // name of the cluster; empty: the first node's
  std::string version, commit;
  PriceTable prices;                       // without a currency: usage has hours and no cost
  std::string certificate_file, key_file;  // PEM; both empty: no TLS
  // Addresses and ranges of reverse proxies (http/trusted_proxies.h): limits of an address count
  // for their clients.
  std::vector<std::string> trusted_proxies;
  // Not empty: viewers sign in at one of these proxies, which names them in X-Forwarded-User and
  // X-Forwarded-Groups, and no token opens a session. They count as trusted_proxies, too.
  std::vector<std::string> trust_headers_from;
  // Rights of viewers are reviewed at this interval, their tokens twice as often.
  std::chrono::milliseconds review_interval{60'000};
  // For the page "About": options as they are in effect.
  std::vector<std::pair<std::string, std::string>> configuration;
};

// Serves pages and API until it is destroyed. Agents or the cluster are read by threads of its own;
// the rest runs on the executor's thread.
class Console {
 public:
  // Called on the executor's thread with the address of a link that opens one session: at the
  // start, and each time that the present link was used.
  using ShowLink = std::function<void(const std::string& link)>;

  // kUsage: the address is not 127.0.0.1 or ::1; kIo: it is not available; errors of the history
  // (history/store.h).
  static Result<std::unique_ptr<Console>> start(boost::asio::any_io_executor executor,
                                                const ConsoleOptions& options,
                                                std::unique_ptr<NodeSource> source,
                                                WhySlow why_slow, ShowLink show_link);
  // The same for a cluster.
  static Result<std::unique_ptr<Console>> start(boost::asio::any_io_executor executor,
                                                const ConsoleOptions& options,
                                                std::unique_ptr<ClusterSource> source,
                                                ShowLink show_link);
  // The same for viewers that sign in with a token of the API server, or at a proxy. `reviews`
  // decide what each viewer sees. No link opens a session. kUsage: an address or range of proxies
  // is not accepted.
  static Result<std::unique_ptr<Console>> start(boost::asio::any_io_executor executor,
                                                const ConsoleOptions& options,
                                                std::unique_ptr<ClusterSource> source,
                                                std::unique_ptr<ViewerReviews> reviews);
  // Waits for a reading in progress, then closes all connections and the history.
  ~Console();

  // http://127.0.0.1:9400/
  std::string address() const;

 private:
  class Impl;
  // One of `agents` and `cluster` is not null.
  struct Sources {
    std::unique_ptr<NodeSource> agents;
    WhySlow why_slow;
    std::unique_ptr<ClusterSource> cluster;
    std::unique_ptr<ViewerReviews> reviews;  // null: a link opens sessions
    http::TrustedProxies naming{};           // that name the viewers in header fields
  };
  static Result<std::unique_ptr<Console>> make(boost::asio::any_io_executor executor,
                                               const ConsoleOptions& options, Sources sources,
                                               ShowLink show_link);
  explicit Console(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::console
