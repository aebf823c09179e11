#include "fake_api.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace divvy::test {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using asio::ip::tcp;
using SocketPtr = std::shared_ptr<tcp::socket>;

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
constexpr unsigned kGone = 410;

FakeCall callOf(const http::request<http::string_body>& request) {
  const std::string target(request.target());
  const std::size_t mark = target.find('?');
  FakeCall call;
  call.method = std::string(request.method_string());
  call.path = target.substr(0, mark);
  if (mark != std::string::npos) call.query = target.substr(mark + 1);
  call.type = std::string(request[http::field::content_type]);
  call.authorization = std::string(request[http::field::authorization]);
  call.body = request.body();
  return call;
}

std::string chunkOf(const std::string& text) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

bool within(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + '/');
}

}  // namespace

struct FakeApi::Impl {
  Impl(asio::any_io_executor where, std::set<std::string> collections)
      : executor(std::move(where)),
        acceptor(executor, {asio::ip::address_v4::loopback(), 0}),
        objects(std::move(collections)) {}

  // Watches look for news.
  void wake() {
    for (asio::steady_timer* watch : watching) watch->cancel();
  }

  // The fault of a request, used up by one. None: it gets a plain reply.
  std::optional<Fault> takeFault(const FakeCall& call) {
    const auto found = std::find_if(faults.begin(), faults.end(), [&](const Fault& one) {
      return (one.method.empty() || one.method == call.method) &&
             (one.path.empty() || one.path == call.path);
    });
    if (found == faults.end()) return std::nullopt;
    Fault fault = *found;
    if (--found->times == 0) faults.erase(found);
    return fault;
  }

  void close(const SocketPtr& socket) {
    boost::system::error_code ignored;
    socket->close(ignored);
  }

  static asio::awaitable<void> accept(std::shared_ptr<Impl> self);
  static asio::awaitable<void> serve(std::shared_ptr<Impl> self, SocketPtr socket);
  static asio::awaitable<void> exchange(std::shared_ptr<Impl> self, SocketPtr socket,
                                        std::size_t at, bool keep);
  static asio::awaitable<void> watch(std::shared_ptr<Impl> self, SocketPtr socket, std::size_t at);

  asio::any_io_executor executor;
  tcp::acceptor acceptor;
  FakeObjects objects;
  std::vector<Fault> faults;
  std::vector<FakeCall> calls;
  std::set<asio::steady_timer*> watching;
  std::set<SocketPtr> watches;
  std::vector<std::weak_ptr<tcp::socket>> sockets;
};

asio::awaitable<void> FakeApi::Impl::accept(std::shared_ptr<Impl> self) {
  for (;;) {
    const auto socket = std::make_shared<tcp::socket>(self->executor);
    auto [fault] = co_await self->acceptor.async_accept(*socket, kNoThrow);
    // A connection that was accepted while the server ended would be served for ever.
    if (fault || !self->acceptor.is_open()) co_return;
    boost::system::error_code ignored;
    socket->set_option(tcp::no_delay(true), ignored);
    self->sockets.push_back(socket);
    asio::co_spawn(self->executor, serve(self, socket), asio::detached);
  }
}

asio::awaitable<void> FakeApi::Impl::serve(std::shared_ptr<Impl> self, SocketPtr socket) {
  beast::flat_buffer buffer;
  while (socket->is_open()) {
    http::request<http::string_body> request;
    auto [fault, size] = co_await http::async_read(*socket, buffer, request, kNoThrow);
    if (fault) break;
    const std::size_t at = self->calls.size();
    self->calls.push_back(callOf(request));
    const bool watches = self->objects.watches(self->calls[at]);
    if (watches) {
      co_await watch(self, socket, at);
    } else {
      co_await exchange(self, socket, at, request.keep_alive());
    }
  }
  self->close(socket);
}

asio::awaitable<void> FakeApi::Impl::exchange(std::shared_ptr<Impl> self, SocketPtr socket,
                                              std::size_t at, bool keep) {
  const std::optional<Fault> fault = self->takeFault(self->calls[at]);
  if (fault && fault->before) fault->before();
  if (fault && fault->delay.count() > 0) {
    asio::steady_timer pause(self->executor, fault->delay);
    co_await pause.async_wait(kNoThrow);
  }
  const FaultKind kind = fault ? fault->kind : FaultKind::kNone;
  if (kind == FaultKind::kBroken) {
    self->close(socket);
    co_return;
  }
  FakeReply reply;
  if (kind == FaultKind::kStatus) {
    reply = fault->body.empty() ? failure(fault->status, "Injected")
                                : FakeReply{fault->status, fault->body};
  } else {
    // A copy: what is processed may be followed by other requests.
    FakeCall call = self->calls[at];
    reply = self->objects.reply(call);
    self->calls[at] = std::move(call);
    self->wake();
  }
  self->calls[at].status = reply.status;
  if (kind == FaultKind::kAnswerLost) {
    self->close(socket);
    co_return;
  }
  http::response<http::string_body> response{http::int_to_status(reply.status), 11};
  response.set(http::field::content_type, "application/json");
  if (fault && fault->retry_after > 0)
    response.set(http::field::retry_after, std::to_string(fault->retry_after));
  response.keep_alive(keep);
  response.body() = std::move(reply.body);
  response.prepare_payload();
  auto [unsent, size] = co_await http::async_write(*socket, response, kNoThrow);
  if (unsent || !keep) self->close(socket);
}

asio::awaitable<void> FakeApi::Impl::watch(std::shared_ptr<Impl> self, SocketPtr socket,
                                           std::size_t at) {
  const FakeCall call = self->calls[at];
  const std::optional<Fault> fault = self->takeFault(call);
  if (fault && fault->before) fault->before();
  if (fault && fault->kind != FaultKind::kNone) {
    self->close(socket);
    co_return;
  }
  self->calls[at].status = 200;
  std::string text =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::uint64_t version = self->objects.versionOf(call);
  asio::steady_timer news(self->executor);
  self->watching.insert(&news);
  self->watches.insert(socket);
  bool over = false;
  while (!over && socket->is_open()) {
    const std::optional<std::string> lines = self->objects.eventsFor(call, &version);
    if (lines && !lines->empty()) text += chunkOf(*lines);
    if (!lines)
      text += chunkOf(R"({"type":"ERROR","object":)" + failure(kGone, "Expired").body + "}\n");
    over = !lines;
    if (!text.empty()) {
      auto [unsent, size] = co_await asio::async_write(*socket, asio::buffer(text), kNoThrow);
      text.clear();
      over = over || unsent;
      continue;
    }
    news.expires_at(asio::steady_timer::time_point::max());
    co_await news.async_wait(kNoThrow);
  }
  self->watching.erase(&news);
  self->watches.erase(socket);
  self->close(socket);
}

const std::set<std::string>& FakeApi::allCollections() {
  static const std::set<std::string> all{
      "/api/v1/events",
      "/api/v1/namespaces",
      "/api/v1/nodes",
      "/api/v1/pods",
      "/api/v1/resourcequotas",
      "/api/v1/secrets",
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
      "/apis/batch/v1/jobs",
      "/apis/coordination.k8s.io/v1/leases",
      "/apis/divvy.dev/v1alpha1/queues",
      "/apis/kueue.x-k8s.io/v1beta2/admissionchecks",
      "/apis/kueue.x-k8s.io/v1beta2/localqueues",
      "/apis/kueue.x-k8s.io/v1beta2/multikueueconfigs",
      "/apis/kueue.x-k8s.io/v1beta2/workloads",
      "/apis/policy/v1/poddisruptionbudgets",
  };
  return all;
}

FakeApi::FakeApi(asio::any_io_executor executor, std::set<std::string> collections)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(collections))) {
  asio::co_spawn(impl_->executor, Impl::accept(impl_), asio::detached);
}

FakeApi::~FakeApi() {
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
  for (const std::weak_ptr<tcp::socket>& one : impl_->sockets)
    if (const SocketPtr socket = one.lock()) impl_->close(socket);
  impl_->wake();
}

std::uint16_t FakeApi::port() const {
  return impl_->acceptor.local_endpoint().port();
}

void FakeApi::set(const std::string& path, json::object object) {
  impl_->objects.set(path, std::move(object));
  impl_->wake();
}

void FakeApi::remove(const std::string& path) {
  impl_->objects.remove(path);
  impl_->wake();
}

const json::object* FakeApi::find(const std::string& path) const {
  return impl_->objects.find(path);
}

std::vector<std::string> FakeApi::paths(const std::string& collection) const {
  return impl_->objects.paths(collection);
}

std::string FakeApi::annotation(const std::string& path, const std::string& key) const {
  const json::object* object = find(path);
  if (object == nullptr) return "";
  const json::value* all = object->at("metadata").as_object().if_contains("annotations");
  const json::value* value = all == nullptr ? nullptr : all->as_object().if_contains(key);
  return value == nullptr ? "" : std::string(value->as_string());
}

void FakeApi::annotate(const std::string& path, const std::string& key, const std::string& value) {
  json::object object = *find(path);
  json::value& annotations = object["metadata"].as_object()["annotations"];
  if (!annotations.is_object()) annotations.emplace_object();
  annotations.get_object()[key] = value;
  set(path, std::move(object));
}

void FakeApi::inject(Fault fault) {
  impl_->faults.push_back(std::move(fault));
}

void FakeApi::expireHistory() {
  impl_->objects.expireHistory();
}

void FakeApi::breakWatches() {
  const std::set<SocketPtr> open = impl_->watches;
  for (const SocketPtr& socket : open) impl_->close(socket);
  impl_->wake();
}

const std::vector<FakeCall>& FakeApi::calls() const {
  return impl_->calls;
}

std::vector<FakeCall> FakeApi::calls(const std::string& method, const std::string& path) const {
  std::vector<FakeCall> some;
  for (const FakeCall& call : impl_->calls)
    if (call.method == method && within(call.path, path)) some.push_back(call);
  return some;
}

}  // namespace divvy::test
