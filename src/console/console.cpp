#include "console/console.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "api/api_service.h"
#include "api/reply.h"
#include "asio/rethrow.h"
#include "http/loop_watch.h"
#include "metrics/exposition.h"
#include "reading/agents_reader.h"
#include "reading/cluster_reader.h"
#include "reading/view_poller.h"
#include "web_files.h"

namespace divvy::console {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kBeat{15};

Result<void> checkLoopback(const std::string& host) {
  boost::system::error_code fault;
  const asio::ip::address address = asio::ip::make_address(host, fault);
  // Of the others that are loopback no browser's request would pass RequestGuard.
  if (!fault && (address == asio::ip::make_address_v4("127.0.0.1") ||
                 address == asio::ip::make_address_v6("::1")))
    return {};
  return Error{
      ErrorCode::kUsage,
      "--listen " + host +
          ": accepted is a loopback address, 127.0.0.1 or ::1; a console without login must "
          "not be reached from other machines (forward the port with ssh -L)"};
}

Result<void> checkAddress(const std::string& host) {
  boost::system::error_code fault;
  asio::ip::make_address(host, fault);
  if (!fault) return {};
  return Error{ErrorCode::kUsage, "--listen " + host + ": accepted is an IP address"};
}

// The proxies that name viewers. A wide range has addresses that are of none.
Result<http::TrustedProxies> namingProxies(const std::vector<std::string>& ranges) {
  Result<http::TrustedProxies> proxies = http::TrustedProxies::parse(ranges);
  if (!proxies) return Error(proxies.error()).context("--trust-headers-from");
  if (proxies->hasWideRange())
    return Error{ErrorCode::kUsage,
                 "--trust-headers-from: a range wider than /8 trusts nearly every address, and "
                 "each could name any viewer; accepted: addresses of the proxy, as 10.0.0.7"};
  return proxies;
}

http::Fields securityFields() {
  return {{"Content-Security-Policy",
           "default-src 'self'; img-src 'self' data:; "
           "frame-ancestors 'none'; base-uri 'self'; form-action 'self'; object-src 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"}};
}

constexpr std::string_view kBase = "<base href=\"/\">";

// The page of every path that is no file, with its base path.
std::string indexPage(const std::string& base_path) {
  for (const WebFile& file : webFiles()) {
    if (file.path != "index.html") continue;
    std::string page(file.file.identity);
    const std::size_t at = page.find(kBase);
    if (at != std::string::npos)
      page.replace(at, kBase.size(), "<base href=\"" + base_path + "\">");
    return page;
  }
  return {};
}

http::Answer pageAnswer(const http::Query& query, const std::string& index) {
  const std::string_view path = query.capture("path");
  for (const WebFile& file : webFiles()) {
    if (file.path == path && path != "index.html") return file.file.answer(query);
  }
  if (path.starts_with("assets/") || path.starts_with("api/"))
    return errorAnswer(404, "not-found", "there is no such address");
  if (index.empty())
    return http::plainText(200, "This build of Divvy has no web page (-DDIVVY_CONSOLE=OFF).");
  http::Answer answer;
  answer.type = "text/html; charset=utf-8";
  answer.fixed = index;
  answer.fields.set("Cache-Control", "no-cache");
  return answer;
}

}  // namespace

class Console::Impl {
 public:
  Impl(asio::any_io_executor executor, const ConsoleOptions& options, Sources sources,
       history::Store store, ShowLink show_link)
      : executor_(std::move(executor)),
        options_(options),
        sources_(std::move(sources)),
        history_(std::move(store)),
        show_link_(std::move(show_link)),
        api_(executor_,
             {options_, history_, sources_.agents.get(), sources_.cluster.get(),
              sources_.reviews.get(), scopes_, pools_.blocking, pools_.changes, pools_.reports,
              sources_.naming},
             [this] { show_link_(link()); }),
        poller_(executor_, viewSource()) {}

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    *ended_ = true;
    server_.reset();
    pools_.blocking.join();
    pools_.changes.join();
    pools_.reports.join();
  }

  Result<void> start() {
    std::vector<http::Route> routes;
    api_.addRoutes(routes);
    addOwnRoutes(routes);
    http::Listen listen;
    listen.host = options_.host;
    listen.port = options_.port;
    listen.certificate_file = options_.certificate_file;
    listen.key_file = options_.key_file;
    listen.parse_parameters = true;
    std::vector<std::string> trusted = options_.trusted_proxies;
    trusted.insert(trusted.end(), options_.trust_headers_from.begin(),
                   options_.trust_headers_from.end());
    Result<http::TrustedProxies> proxies = http::TrustedProxies::parse(trusted);
    if (!proxies) return Error(proxies.error()).context("--trusted-proxies");
    listen.proxies = std::move(*proxies);
    listen.fields = securityFields();
    Result<std::unique_ptr<http::Server>> server =
        http::Server::start(executor_, listen, std::move(routes));
    if (!server && server.error().code() == ErrorCode::kIo)
      return Error{ErrorCode::kIo,
                   server.error().message() + "; --listen 127.0.0.1:0 takes a free port"};
    if (!server) return server.error();
    server_ = std::move(*server);
    options_.port = server_->port();
    api_.setPort(options_.port);
    watch_.emplace(executor_, [this](double late) { api_.setLateness(late * 1000); });
    poller_.start(options_.interval,
                  [this](std::shared_ptr<const ViewSet> views) { api_.publish(std::move(views)); });
    asio::co_spawn(executor_, beat(ended_), rethrow);
    if (show_link_) show_link_(link());
    return {};
  }

  std::string address() const {
    const bool six = options_.host.find(':') != std::string::npos;
    return (options_.certificate_file.empty() ? "http://" : "https://") +
           (six ? "[" + options_.host + "]" : options_.host) + ":" + std::to_string(options_.port) +
           options_.base_path;
  }

 private:
  using Ended = std::shared_ptr<bool>;

  std::unique_ptr<ViewSource> viewSource() {
    if (sources_.cluster != nullptr)
      return std::make_unique<ClusterReader>(*sources_.cluster, history_, scopes_);
    return std::make_unique<AgentsReader>(*sources_.agents, sources_.why_slow, history_);
  }

  std::string link() const { return address() + "#token=" + api_.linkToken(); }

  void addOwnRoutes(std::vector<http::Route>& routes) {
    const auto health = [this](bool ready) {
      return [this, ready](http::Query) -> asio::awaitable<http::Answer> {
        co_return ready && !api_.health().ready ? http::plainText(503, "nothing has been read yet")
                                                : http::plainText(200, "ok");
      };
    };
    routes.push_back({"GET", options_.base_path + "healthz", 0, health(false)});
    routes.push_back({"GET", options_.base_path + "readyz", 0, health(true)});
    // Without a session, as Prometheus has none: the figures name no object and no viewer.
    routes.push_back(
        {"GET", options_.base_path + "metrics", 0,
         [this](http::Query) -> asio::awaitable<http::Answer> {
           co_return http::Answer{200, consoleMetrics(api_.health()), metrics::kTextType};
         }});
    routes.push_back({"GET", options_.base_path + "{path...}", 0,
                      [this, index = indexPage(options_.base_path)](
                          http::Query query) -> asio::awaitable<http::Answer> {
                        if (std::optional<http::Answer> refused = api_.guard().refuse(query, false))
                          co_return std::move(*refused);
                        co_return pageAnswer(query, index);
                      }});
  }

  asio::awaitable<void> beat(Ended ended) {
    asio::steady_timer timer(executor_);
    while (!*ended) {
      timer.expires_after(kBeat);
      co_await timer.async_wait(asio::use_awaitable);
      if (*ended) continue;
      api_.beat();
      renewCertificate();
    }
  }

  // Certificates are replaced in their files. After an error the present one stays.
  void renewCertificate() {
    if (!options_.certificate_file.empty()) static_cast<void>(server_->reload());
  }

  asio::any_io_executor executor_;
  ConsoleOptions options_;
  Sources sources_;
  history::Store history_;
  ShowLink show_link_;
  ScopeList scopes_;
  struct Pools {
    asio::thread_pool blocking{1}, changes{ClusterChangeService::kMaxChanges}, reports{1};
  } pools_;
  ApiService api_;
  ViewPoller poller_;
  std::optional<http::LoopWatch> watch_;
  std::unique_ptr<http::Server> server_;
  Ended ended_ = std::make_shared<bool>(false);
};

Result<std::unique_ptr<Console>> Console::make(asio::any_io_executor executor,
                                               const ConsoleOptions& options, Sources sources,
                                               ShowLink show_link) {
  const Result<void> address =
      sources.reviews == nullptr ? checkLoopback(options.host) : checkAddress(options.host);
  if (!address) return address.error();
  Result<http::TrustedProxies> naming = namingProxies(options.trust_headers_from);
  if (!naming) return naming.error();
  sources.naming = std::move(*naming);
  history::StoreOptions kept;
  kept.path = options.history_file;
  Result<history::Store> store = history::Store::open(std::move(kept));
  if (!store) return store.error();
  auto impl = std::make_unique<Impl>(std::move(executor), options, std::move(sources),
                                     std::move(*store), std::move(show_link));
  const Result<void> started = impl->start();
  if (!started) return started.error();
  return std::unique_ptr<Console>(new Console(std::move(impl)));
}

Result<std::unique_ptr<Console>> Console::start(asio::any_io_executor executor,
                                                const ConsoleOptions& options,
                                                std::unique_ptr<NodeSource> source,
                                                WhySlow why_slow, ShowLink show_link) {
  return make(std::move(executor), options, {std::move(source), why_slow, nullptr, nullptr, {}},
              std::move(show_link));
}

Result<std::unique_ptr<Console>> Console::start(asio::any_io_executor executor,
                                                const ConsoleOptions& options,
                                                std::unique_ptr<ClusterSource> source,
                                                ShowLink show_link) {
  return make(std::move(executor), options, {nullptr, nullptr, std::move(source), nullptr, {}},
              std::move(show_link));
}

Result<std::unique_ptr<Console>> Console::start(asio::any_io_executor executor,
                                                const ConsoleOptions& options,
                                                std::unique_ptr<ClusterSource> source,
                                                std::unique_ptr<ViewerReviews> reviews) {
  return make(std::move(executor), options,
              {nullptr, nullptr, std::move(source), std::move(reviews), {}}, nullptr);
}

Console::Console(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Console::~Console() = default;

std::string Console::address() const {
  return impl_->address();
}

}  // namespace divvy::console
