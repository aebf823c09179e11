#include "runtime/lease_watcher.h"

#include <ctime>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "asio/rethrow.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// Each look is one read of one object; how old the Lease may be is known to this, too.
constexpr std::chrono::milliseconds kLookEvery{500};
// A look that gets no answer is given up before the Lease is too old to act upon.
constexpr kube::ClientOptions kTerms{20, 20, std::chrono::seconds(2), 1};

}  // namespace

engine::Instant LeaseWatcher::now() {
  timespec at{};
  clock_gettime(CLOCK_BOOTTIME, &at);
  return {static_cast<std::int64_t>(at.tv_sec) * 1000 + at.tv_nsec / 1'000'000};
}

Result<std::unique_ptr<LeaseWatcher>> LeaseWatcher::make(asio::io_context& loop,
                                                         const kube::Access& access,
                                                         Options options) {
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(loop.get_executor(), access, kTerms);
  if (!client) return client.error();
  return std::unique_ptr<LeaseWatcher>(
      new LeaseWatcher(loop, std::move(options), std::move(*client)));
}

LeaseWatcher::LeaseWatcher(asio::io_context& loop, Options options,
                           std::unique_ptr<kube::Client> client)
    : loop_(loop),
      options_(std::move(options)),
      client_(std::move(client)),
      leadership_(options_.identity),
      pause_(loop) {}

void LeaseWatcher::start(std::function<void()> began, std::function<void(const std::string&)> said,
                         const bool* stopped) {
  began_ = std::move(began);
  said_ = std::move(said);
  stopped_ = stopped;
  if (options_.name.empty()) return;
  asio::co_spawn(loop_, run(), rethrow);
}

LeaderStatus LeaseWatcher::verdict() const {
  if (options_.name.empty()) return {true, "", "leads: no lease is used"};
  return leadership_.verdict(now());
}

asio::awaitable<void> LeaseWatcher::run() {
  while (!*stopped_) {
    co_await read();
    pause_.expires_after(kLookEvery);
    co_await pause_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<void> LeaseWatcher::read() {
  const engine::Instant began = now();
  // Without a resourceVersion: the present state, and not that of a cache.
  kube::Call call{kube::Verb::kGet, kube::leasePath(options_.namespace_name, options_.name)};
  const Result<json::value> found = co_await client_->ask(std::move(call));
  std::optional<kube::Lease> lease;
  std::optional<Error> fault;
  if (found) {
    Result<kube::Lease> read = kube::leaseOf(*found);
    if (read) lease = std::move(*read);
    if (!read) fault = read.error();
  } else if (found.error().code() != ErrorCode::kNotFound) {
    fault = found.error();
  }
  if (fault) {
    if (!failing_) failing_ = began;
    fault_ = fault->message();
    notify("the lease cannot be read: " + fault_);
    co_return;
  }
  failing_.reset();
  if (leadership_.saw(began, lease)) began_();
  notify(verdict().why);
}

// The text changes with every read while a Lease grows old: only its first part is compared.
void LeaseWatcher::notify(const std::string& why) {
  const std::string topic = why.substr(0, why.find(','));
  if (topic == told_) return;
  told_ = topic;
  said_(why);
}

}  // namespace divvy::scheduler
