#include "connection.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl.hpp>

#include "base/http_status.h"
#include "reply.h"
#include "stream_writer.h"

namespace divvy::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using boost::system::error_code;

// From the first byte of a request to the end of its header. A client may connect before it has a
// request.
constexpr std::chrono::seconds kHeader{5};
constexpr std::size_t kReadAtOnce = 4096;
constexpr std::uint32_t kMaxHeader = 16 << 10;

const boost::system::error_category& kHttpFaults =
    wire::make_error_code(wire::error::bad_method).category();

using Parser = wire::request_parser<wire::string_body>;

Answer tooLarge(const Route& route) {
  return plainText(http_status::kContentTooLarge,
                   "more than " + std::to_string(route.most_body) + " bytes");
}

Answer malformed(const error_code& fault) {
  if (fault == wire::error::header_limit)
    return plainText(http_status::kRequestHeaderFieldsTooLarge,
                     "the header has more than " + std::to_string(kMaxHeader) + " bytes");
  return plainText(http_status::kBadRequest, fault.message());
}

Answer tooManyStreams(StreamSlots::Refusal refusal) {
  if (refusal == StreamSlots::Refusal::kAddress)
    return plainText(http_status::kTooManyRequests,
                     "this address has too many streams; close one and try again");
  return plainText(http_status::kServiceUnavailable,
                   "the server has too many streams now; try again later");
}

// An exception of a handler must not end the server.
asio::awaitable<Answer> answered(const Route& route, Query query) {
  std::string fault;
  try {
    co_return co_await route.answer(std::move(query));
  } catch (const std::exception& thrown) {
    fault = thrown.what();
  }
  co_return plainText(http_status::kInternalServerError, "internal error: " + fault);
}

// The query string, without the question mark.
std::string_view queryStringOf(std::string_view target) {
  const std::size_t mark = target.find('?');
  return mark == target.npos ? std::string_view{} : target.substr(mark + 1);
}

// What is known of a request before its body.
struct Admitted {
  const Route* route = nullptr;  // null: `answer` has the reason
  Parameters captures, parameters;
  Answer answer;
};

template <typename Wire>
class Connection {
 public:
  Connection(Wire* to, std::shared_ptr<ServerState> state, Booked* booked, const std::string* peer)
      : wire_(*to), server_(std::move(state)), booked_(*booked), peer_(*peer) {}

  asio::awaitable<void> run() {
    for (bool again = true; again && !server_->stopped;) again = co_await serveOne();
  }

 private:
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(wire_); }

  // Returns true if the connection may have a further request.
  asio::awaitable<bool> serveOne() {
    Parser parser;
    parser.body_limit(boost::none);
    parser.header_limit(kMaxHeader);
    error_code fault;
    if (!co_await readHeader(parser, &fault)) co_return false;
    ReplyFrame frame = frameOf(parser.get());
    Admitted admitted;
    if (fault)
      admitted.answer = malformed(fault);
    else
      admitted = admit(parser);
    if (admitted.route != nullptr) {
      const Route& route = *admitted.route;
      parser.body_limit(route.most_body);
      lowest().expires_after(server_->listen.transfer);
      auto [cut, body] = co_await wire::async_read(wire_, buffer_, parser, kNoThrow);
      if ((cut && cut != wire::error::body_limit) || booked_.closing()) co_return false;
      if (cut) {
        admitted.answer = tooLarge(route);
      } else {
        frame.keeps = parser.keep_alive();
        lowest().expires_never();
        booked_.busy();
        admitted.answer = co_await answered(route, queryOf(parser.get(), std::move(admitted)));
      }
    }
    if (admitted.answer.stream != nullptr) {
      booked_.dropsBody();
      co_await stream(std::move(admitted.answer), std::move(frame));
      co_return false;
    }
    booked_.idle();
    co_return co_await reply(std::move(admitted.answer), frame) && frame.keeps;
  }

  // Reads a header that begins in time. Returns false if the connection must end.
  asio::awaitable<bool> readHeader(Parser& parser, error_code* fault) {
    if (buffer_.size() == 0) {
      lowest().expires_after(server_->listen.idle);
      auto [silent, got] = co_await wire_.async_read_some(buffer_.prepare(kReadAtOnce), kNoThrow);
      if (silent) co_return false;
      buffer_.commit(got);
    }
    booked_.hears();
    lowest().expires_after(kHeader);
    // The parser's own limit does not count what it has parsed already.
    std::size_t size = 0;
    while (!parser.is_header_done() && !*fault) {
      auto [cut, parsed] = co_await wire::async_read_some(wire_, buffer_, parser, kNoThrow);
      size += parsed;
      *fault = cut;
      if (!cut && size > kMaxHeader) *fault = wire::error::header_limit;
    }
    co_return !*fault || fault->category() == kHttpFaults;
  }

  // Chooses the route of a request, unless the length of its body is refused.
  Admitted admit(const Parser& parser) {
    Admitted admitted = find(parser.get());
    if (admitted.route == nullptr) return admitted;
    const Route& route = *admitted.route;
    const std::uint64_t length =
        parser.chunked() ? route.most_body : parser.content_length().value_or(0);
    // The parser checks the length only while it reads the header.
    if (length > route.most_body) return {nullptr, {}, {}, tooLarge(route)};
    if (booked_.holds(length)) return admitted;
    return {nullptr,
            {},
            {},
            plainText(http_status::kServiceUnavailable,
                      "the bodies of all requests together are too large now; try again")};
  }

  template <typename Head>
  Admitted find(const Head& head) const {
    const std::string_view target(head.target().data(), head.target().size());
    const std::string method(head.method_string());
    RouteTable::Match match = server_->table.find(method, target.substr(0, target.find('?')));
    Admitted admitted;
    switch (match.outcome) {
      case RouteTable::Match::Outcome::kNoPath:
        admitted.answer = plainText(http_status::kNotFound, "nothing is here");
        return admitted;
      case RouteTable::Match::Outcome::kNoMethod:
        admitted.answer =
            plainText(http_status::kMethodNotAllowed, method + " is not accepted here");
        admitted.answer.fields.add("Allow", std::move(match.allow));
        return admitted;
      case RouteTable::Match::Outcome::kMalformed:
        admitted.answer = plainText(http_status::kBadRequest, "the path has a malformed escape");
        return admitted;
      case RouteTable::Match::Outcome::kFound:
        break;
    }
    if (server_->listen.parse_parameters) {
      Result<Parameters> parameters = parseParameters(queryStringOf(target));
      if (!parameters) {
        admitted.answer = plainText(http_status::kBadRequest, parameters.error().message());
        return admitted;
      }
      admitted.parameters = std::move(*parameters);
    }
    admitted.route = &server_->routes[match.route];
    admitted.captures = std::move(match.captures);
    return admitted;
  }

  template <typename Message>
  Query queryOf(Message& message, Admitted admitted) {
    Query query;
    query.target = std::string(message.target());
    query.content_type = std::string(message[wire::field::content_type]);
    query.body = std::move(message.body());
    query.method = std::string(message.method_string());
    query.path = query.target.substr(0, query.target.find('?'));
    query.captures = std::move(admitted.captures);
    query.parameters = std::move(admitted.parameters);
    for (const auto& field : message)
      query.fields.add(std::string(field.name_string()), std::string(field.value()));
    query.peer = peer_;
    query.client = client_ = clientOf(query.fields);
    query.tls = !std::is_same_v<Wire, PlainWire>;
    return query;
  }

  std::string clientOf(const Fields& fields) const {
    if (server_->listen.proxies.empty()) return peer_;
    std::vector<std::string_view> forwarded;
    for (const Field& field : fields.all())
      if (equalNames(field.name, "X-Forwarded-For")) forwarded.emplace_back(field.value);
    return server_->listen.proxies.clientOf(peer_, forwarded);
  }

  // The connection ends after the reply, unless the caller knows better.
  template <typename Head>
  static ReplyFrame frameOf(const Head& head) {
    ReplyFrame frame;
    frame.head = head.method() == wire::verb::head;
    frame.conditional = frame.head || head.method() == wire::verb::get;
    frame.chunked = head.version() >= 11;
    const auto [begin, end] = head.equal_range(wire::field::if_none_match);
    for (auto field = begin; frame.conditional && field != end; ++field)
      frame.if_none_match.emplace_back(field->value());
    return frame;
  }

  asio::awaitable<bool> reply(Answer answer, const ReplyFrame& frame) {
    Reply reply;
    makeReply(std::move(answer), server_->listen.fields, frame, &reply);
    co_return co_await write(reply);
  }

  asio::awaitable<bool> write(const Reply& reply) {
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(reply.head),
                                                    asio::buffer(reply.body)};
    lowest().expires_after(server_->listen.transfer);
    auto [unsent, sent] = co_await asio::async_write(wire_, buffers, kNoThrow);
    (void)sent;
    co_return !unsent;
  }

  // The connection stays busy while it has the stream, so that no other one takes its place.
  asio::awaitable<void> stream(Answer answer, ReplyFrame frame) {
    frame.keeps = false;
    const std::shared_ptr<Stream::State> state = answer.stream->state();
    StreamSlots::Slot slot;
    const StreamSlots::Refusal refusal =
        server_->stopped ? StreamSlots::Refusal::kAll : server_->slots.take(client_, &slot);
    const bool refused = refusal != StreamSlots::Refusal::kNone;
    if (refused) answer = tooManyStreams(refusal);
    // What is sent without waiting for it must still end the application's stream.
    StreamWriter<Wire> writer(&wire_, server_.get(), state, frame.chunked);
    Reply reply;
    const bool follows = makeReply(std::move(answer), server_->listen.fields, frame, &reply);
    const bool sent = co_await write(reply);
    if (!sent || refused || !follows || frame.head || buffer_.size() > 0) co_return;
    co_await writer.run();
  }

  Wire& wire_;
  const std::shared_ptr<ServerState> server_;
  Booked& booked_;
  const std::string& peer_;
  std::string client_;  // of the last request
  beast::flat_buffer buffer_;
};

}  // namespace

asio::awaitable<void> serve(PlainWire& to, std::shared_ptr<ServerState> state, Booked* booked,
                            const std::string& peer) {
  Connection<PlainWire> connection(&to, std::move(state), booked, &peer);
  co_await connection.run();
}

asio::awaitable<void> serve(SecureWire& to, std::shared_ptr<ServerState> state, Booked* booked,
                            const std::string& peer) {
  Connection<SecureWire> connection(&to, std::move(state), booked, &peer);
  co_await connection.run();
}

}  // namespace divvy::http
