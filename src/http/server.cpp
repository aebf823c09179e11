#include "http/server.h"

#include <fcntl.h>

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "asio/rethrow.h"
#include "base/http_status.h"
#include "base/rate_limit.h"
#include "connections.h"

namespace divvy::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::seconds kHandshake{5};
// Limits of TLS handshakes for one address and for all, because the loop signs each with the
// server's key. An API server opens a hundred connections at once.
constexpr Rate kHandshakesOfAddress{20, 256};
constexpr Rate kHandshakes{200, 1024};
// From the first byte of a request to the end of its header. A client may connect before it has a
// request.
constexpr std::chrono::seconds kHeader{5};
constexpr std::chrono::seconds kBody{30};
constexpr std::chrono::seconds kReply{30};
constexpr std::size_t kReadAtOnce = 4096;

using Reply = wire::response<wire::string_body>;

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

std::string pathOf(const std::string& target) {
  return target.substr(0, target.find('?'));
}

Answer plain(unsigned status, std::string text) {
  return {status, std::move(text) + '\n', "text/plain"};
}

Answer tooLarge(const Route& route) {
  return plain(http_status::kContentTooLarge,
               "more than " + std::to_string(route.most_body) + " bytes");
}

// An exception of a handler must not end the server.
asio::awaitable<Answer> answered(const Route& route, Query query) {
  std::string fault;
  try {
    co_return co_await route.answer(std::move(query));
  } catch (const std::exception& thrown) {
    fault = thrown.what();
  }
  co_return plain(http_status::kInternalServerError, "internal error: " + fault);
}

// The largest body of any route still leaves space for another request.
Connections::Terms boundsOf(const std::vector<Route>& routes) {
  Connections::Terms terms;
  for (const Route& route : routes)
    terms.body_bytes = std::max(terms.body_bytes, 2 * route.most_body);
  return terms;
}

// Keeps a connection in the table while it lives.
class Booked {
 public:
  Booked(Connections* book, std::string address, std::function<void()> close)
      : book_(*book),
        place_(book->add(std::move(address), std::move(close), std::chrono::steady_clock::now())) {}
  ~Booked() { book_.remove(place_); }
  Booked(const Booked&) = delete;
  Booked& operator=(const Booked&) = delete;

  void idle() { book_.becomesIdle(place_, std::chrono::steady_clock::now()); }
  void busy() { book_.becomesBusy(place_); }
  void hears() { book_.hears(place_, std::chrono::steady_clock::now()); }
  bool holds(std::uint64_t bytes) { return book_.holdsBody(place_, bytes); }
  // Returns true if the connection was closed to make space for another one. Its request is not
  // answered.
  bool closing() const { return place_->state == Connections::Item::State::kClosing; }

 private:
  Connections& book_;
  const Connections::Place place_;
};

}  // namespace

struct Server::Inside : std::enable_shared_from_this<Server::Inside> {
  Inside(asio::any_io_executor where, Listen how, std::vector<Route> what)
      : executor(std::move(where)),
        listen(std::move(how)),
        routes(std::move(what)),
        acceptor(executor),
        book(boundsOf(routes)) {}

  Result<void> open() {
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
        asio::steady_timer pause(self->executor, std::chrono::milliseconds(100));
        co_await pause.async_wait(kNoThrow);
        continue;
      }
      if (!self->book.makeRoom()) continue;
      asio::co_spawn(self->executor, talk(std::move(socket), self), rethrow);
    }
  }

  static asio::awaitable<void> talk(tcp::socket socket, std::shared_ptr<Inside> self) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const tcp::endpoint peer = socket.remote_endpoint(ignored);
    beast::tcp_stream stream(std::move(socket));
    beast::tcp_stream* lowest = &stream;
    Booked booked(&self->book, peer.address().to_string(), [&lowest] {
      error_code unclean;
      lowest->socket().close(unclean);
    });
    if (self->listen.certificate_comes && self->tls == nullptr) co_return;
    if (self->tls != nullptr && !self->mayShakeHands(peer)) co_return;
    if (self->tls != nullptr) {
      const auto context = self->tls;  // stays valid when the certificate is reloaded
      beast::ssl_stream<beast::tcp_stream> secure(std::move(stream), *context);
      lowest = &beast::get_lowest_layer(secure);
      beast::get_lowest_layer(secure).expires_after(kHandshake);
      auto [distrusted] = co_await secure.async_handshake(asio::ssl::stream_base::server, kNoThrow);
      if (!distrusted) {
        co_await serve(secure, self, &booked);
        beast::get_lowest_layer(secure).expires_after(kHandshake);
        auto [unclean] = co_await secure.async_shutdown(kNoThrow);
        (void)unclean;
      }
    } else {
      co_await serve(stream, self, &booked);
      stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }
  }

  // The common limit is checked last, so that a request above an address's limit does not use it.
  bool mayShakeHands(const tcp::endpoint& peer) {
    const auto now = std::chrono::steady_clock::now();
    return handshakes_of_address.take(peer.address().to_string(), now) && handshakes.take("", now);
  }

  using Parser = wire::request_parser<wire::string_body>;

  // Reads a header that begins within `patience`. Returns false if the connection must end.
  template <typename Stream>
  static asio::awaitable<bool> readHeader(Stream& stream, beast::flat_buffer& buffer,
                                          Parser& parser, Booked* booked,
                                          std::chrono::seconds patience, error_code* fault) {
    if (buffer.size() == 0) {
      beast::get_lowest_layer(stream).expires_after(patience);
      auto [silent, got] = co_await stream.async_read_some(buffer.prepare(kReadAtOnce), kNoThrow);
      if (silent) co_return false;
      buffer.commit(got);
    }
    booked->hears();
    beast::get_lowest_layer(stream).expires_after(kHeader);
    auto [cut, head] = co_await wire::async_read_header(stream, buffer, parser, kNoThrow);
    *fault = cut;
    co_return !cut || cut.category() == wire::make_error_code(wire::error::bad_method).category();
  }

  // Returns the route of a request, unless the length of its body is refused. Null: `answer` has
  // the reason.
  const Route* admit(const Parser& parser, Booked* booked, Answer* answer) const {
    const Route* route = find(parser.get(), answer);
    if (route == nullptr) return nullptr;
    const std::uint64_t length =
        parser.chunked() ? route->most_body : parser.content_length().value_or(0);
    // The parser checks the length only while it reads the header.
    if (length > route->most_body) return *answer = tooLarge(*route), nullptr;
    if (booked->holds(length)) return route;
    *answer = plain(http_status::kServiceUnavailable,
                    "the bodies of all requests together are too large now; try again");
    return nullptr;
  }

  template <typename Stream>
  static asio::awaitable<void> serve(Stream& stream, std::shared_ptr<Inside> self, Booked* booked) {
    beast::flat_buffer buffer;
    for (bool again = true; again;) {
      Parser parser;
      parser.body_limit(boost::none);
      error_code fault;
      if (!co_await readHeader(stream, buffer, parser, booked, self->listen.idle, &fault))
        co_return;
      Answer answer;
      again = false;
      const Route* route = nullptr;
      if (fault)
        answer = plain(http_status::kBadRequest, fault.message());
      else
        route = self->admit(parser, booked, &answer);
      if (route != nullptr) {
        parser.body_limit(route->most_body);
        beast::get_lowest_layer(stream).expires_after(kBody);
        auto [cut, body] = co_await wire::async_read(stream, buffer, parser, kNoThrow);
        if ((cut && cut != wire::error::body_limit) || booked->closing()) co_return;
        if (cut) answer = tooLarge(*route);
        again = !cut && parser.keep_alive();
        if (!cut) {
          Query query{std::string(parser.get().target()),
                      std::string(parser.get()[wire::field::content_type]),
                      std::move(parser.get().body())};
          beast::get_lowest_layer(stream).expires_never();
          booked->busy();
          answer = co_await answered(*route, std::move(query));
        }
      }
      booked->idle();
      Reply reply{static_cast<wire::status>(answer.status), 11};
      reply.set(wire::field::content_type, answer.type);
      reply.keep_alive(again);
      reply.body() = std::move(answer.body);
      reply.prepare_payload();
      beast::get_lowest_layer(stream).expires_after(kReply);
      auto [unsent, sent] = co_await wire::async_write(stream, reply, kNoThrow);
      if (unsent) co_return;
    }
  }

  // Null: `answer` has the reason.
  template <typename Head>
  const Route* find(const Head& head, Answer* answer) const {
    const std::string path = pathOf(std::string(head.target()));
    const std::string method(head.method_string());
    bool known = false;
    for (const Route& route : routes) {
      if (route.path != path) continue;
      if (route.method == method) return &route;
      known = true;
    }
    *answer = known ? plain(http_status::kMethodNotAllowed, method + " is not accepted here")
                    : plain(http_status::kNotFound, "nothing is here");
    return nullptr;
  }

  asio::any_io_executor executor;
  Listen listen;
  std::vector<Route> routes;
  tcp::acceptor acceptor;
  std::shared_ptr<asio::ssl::context> tls;
  RateLimit handshakes_of_address{kHandshakesOfAddress};
  RateLimit handshakes{kHandshakes};
  Connections book;
};

Result<std::unique_ptr<Server>> Server::start(asio::any_io_executor executor, const Listen& listen,
                                              std::vector<Route> routes) {
  auto inside = std::make_shared<Inside>(std::move(executor), listen, std::move(routes));
  const Result<void> opened = inside->open();
  if (!opened) return opened.error();
  asio::co_spawn(inside->executor, Inside::accept(inside), rethrow);
  return std::unique_ptr<Server>(new Server(std::move(inside)));
}

Server::Server(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}

Server::~Server() {
  error_code ignored;
  inside_->acceptor.close(ignored);
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
  if (inside_->listen.certificate_file.empty()) return {};
  Result<std::shared_ptr<asio::ssl::context>> made = tlsOf(inside_->listen);
  if (!made) return made.error();
  inside_->tls = std::move(*made);
  return {};
}

}  // namespace divvy::http
