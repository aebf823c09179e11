#include "http/server.h"

#include <fcntl.h>

#include <optional>
#include <set>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>

#include "asio/rethrow.h"
#include "base/rate_limit.h"
#include "connection.h"
#include "reply.h"
#include "server_state.h"
#include "stream_state.h"

namespace divvy::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kHandshake{5};
// Limits of TLS handshakes for one address and for all, because the loop signs each with the
// server's key. An API server opens a hundred connections at once.
constexpr Rate kHandshakesOfAddress{20, 256};
constexpr Rate kHandshakes{200, 1024};

std::shared_ptr<asio::ssl::context> emptyTls() {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code ignored;
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                           asio::ssl::context::no_tlsv1_1,
                       ignored);
  return context;
}

Result<std::shared_ptr<asio::ssl::context>> tlsOf(const Listen& listen) {
  auto context = emptyTls();
  error_code fault;
  context->use_certificate_chain_file(listen.certificate_file, fault);
  if (fault)
    return Error{ErrorCode::kUsage,
                 "certificate " + listen.certificate_file + ": " + fault.message()};
  context->use_private_key_file(listen.key_file, asio::ssl::context::pem, fault);
  if (fault) return Error{ErrorCode::kUsage, "key " + listen.key_file + ": " + fault.message()};
  return context;
}

// Returns the address as text; of IPv4 in IPv6, that of IPv4.
std::string textOf(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

}  // namespace

struct Server::Inside : std::enable_shared_from_this<Server::Inside> {
  Inside(asio::any_io_executor where, Listen how, std::vector<Route> what)
      : state(std::move(where), std::move(how), std::move(what)), acceptor(state.executor) {}

  Result<void> open() {
    const Listen& listen = state.listen;
    if (const std::optional<std::string> fault = faultOf(listen.fields))
      return Error{ErrorCode::kUsage, *fault};
    for (const Route& route : state.routes)
      if (Result<void> added = state.table.add(route.method, route.path); !added) return added;
    if (!listen.certificate_file.empty()) {
      Result<std::shared_ptr<asio::ssl::context>> made = tlsOf(listen);
      if (!made) return made.error();
      tls = std::move(*made);
    }
    const std::string where = listen.host + ':' + std::to_string(listen.port);
    error_code fault;
    const asio::ip::address address = asio::ip::make_address(listen.host, fault);
    if (fault) return Error{ErrorCode::kUsage, where + " is not a listen address"};
    const tcp::endpoint endpoint(address, listen.port);
    acceptor.open(endpoint.protocol(), fault);
    // A child process that outlives this one must not keep the port in use.
    if (!fault) fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
    if (!fault) acceptor.set_option(asio::socket_base::reuse_address(true), fault);
    if (!fault) acceptor.bind(endpoint, fault);
    if (!fault) acceptor.listen(asio::socket_base::max_listen_connections, fault);
    if (fault) return Error{ErrorCode::kIo, "listening on " + where + ": " + fault.message()};
    return {};
  }

  // Keeps the state alive while it accepts, even after its owner is destroyed.
  static asio::awaitable<void> accept(std::shared_ptr<Inside> self) {
    for (;;) {
      auto [fault, socket] = co_await self->acceptor.async_accept(kNoThrow);
      if (fault == asio::error::operation_aborted || !self->acceptor.is_open()) co_return;
      if (fault) {
        // Out of descriptors: connections that end free some.
        asio::steady_timer pause(self->state.executor, std::chrono::milliseconds(100));
        co_await pause.async_wait(kNoThrow);
        continue;
      }
      if (!self->state.book.makeRoom()) continue;
      asio::co_spawn(self->state.executor, talk(std::move(socket), self), rethrow);
    }
  }

  static asio::awaitable<void> talk(tcp::socket socket, std::shared_ptr<Inside> self) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const std::string peer = textOf(socket.remote_endpoint(ignored).address());
    const std::shared_ptr<ServerState> state(self, &self->state);
    beast::tcp_stream stream(std::move(socket));
    beast::tcp_stream* lowest = &stream;
    Booked booked(&state->book, peer, [&lowest] {
      error_code unclean;
      lowest->socket().close(unclean);
    });
    if (state->listen.certificate_comes && self->tls == nullptr) co_return;
    if (self->tls != nullptr && !self->mayShakeHands(peer)) co_return;
    if (self->tls != nullptr) {
      const auto context = self->tls;  // stays valid when the certificate is reloaded
      beast::ssl_stream<beast::tcp_stream> secure(std::move(stream), *context);
      lowest = &beast::get_lowest_layer(secure);
      beast::get_lowest_layer(secure).expires_after(kHandshake);
      auto [distrusted] = co_await secure.async_handshake(asio::ssl::stream_base::server, kNoThrow);
      if (!distrusted) {
        co_await serve(secure, state, &booked, peer);
        beast::get_lowest_layer(secure).expires_after(kHandshake);
        auto [unclean] = co_await secure.async_shutdown(kNoThrow);
        (void)unclean;
      }
    } else {
      co_await serve(stream, state, &booked, peer);
      stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }
  }

  // The common limit is checked last, so that a request above an address's limit does not use it.
  bool mayShakeHands(const std::string& peer) {
    const auto now = std::chrono::steady_clock::now();
    return handshakes_of_address.take(peer, now) && handshakes.take("", now);
  }

  ServerState state;
  tcp::acceptor acceptor;
  std::shared_ptr<asio::ssl::context> tls;
  RateLimit handshakes_of_address{kHandshakesOfAddress};
  RateLimit handshakes{kHandshakes};
};

Result<std::unique_ptr<Server>> Server::start(asio::any_io_executor executor, const Listen& listen,
                                              std::vector<Route> routes) {
  auto inside = std::make_shared<Inside>(std::move(executor), listen, std::move(routes));
  const Result<void> opened = inside->open();
  if (!opened) return opened.error();
  asio::co_spawn(inside->state.executor, Inside::accept(inside), rethrow);
  return std::unique_ptr<Server>(new Server(std::move(inside)));
}

Server::Server(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}

Server::~Server() {
  error_code ignored;
  inside_->acceptor.close(ignored);
  inside_->state.stopped = true;
  inside_->state.book.closeIdle();
  // The application may change the set in there.
  const std::set<std::shared_ptr<Stream::State>> streams = inside_->state.streams;
  for (const std::shared_ptr<Stream::State>& stream : streams) stream->fail();
}

std::uint16_t Server::port() const {
  error_code fault;
  return inside_->acceptor.local_endpoint(fault).port();
}

Result<void> Server::use(const std::string& certificate, const std::string& key) {
  auto context = emptyTls();
  error_code fault;
  context->use_certificate_chain(asio::buffer(certificate), fault);
  if (fault) return Error{ErrorCode::kUsage, "the certificate: " + fault.message()};
  context->use_private_key(asio::buffer(key), asio::ssl::context::pem, fault);
  if (fault) return Error{ErrorCode::kUsage, "the key: " + fault.message()};
  inside_->tls = std::move(context);
  return {};
}

Result<void> Server::reload() {
  if (inside_->state.listen.certificate_file.empty()) return {};
  Result<std::shared_ptr<asio::ssl::context>> made = tlsOf(inside_->state.listen);
  if (!made) return made.error();
  inside_->tls = std::move(*made);
  return {};
}

}  // namespace divvy::http
