#include "client/connection.h"

#include <charconv>

namespace divvy::kube {
namespace {

constexpr std::size_t kChunk = 64u << 10;

http::verb verbOf(Verb verb) {
  switch (verb) {
    case Verb::kGet:
      return http::verb::get;
    case Verb::kPost:
      return http::verb::post;
    case Verb::kPut:
      return http::verb::put;
    case Verb::kPatch:
      return http::verb::patch;
    case Verb::kDelete:
      return http::verb::delete_;
  }
  return http::verb::get;
}

http::request<http::string_body> requestOf(const Access& access, const Call& call,
                                           const std::string& token) {
  http::request<http::string_body> request(verbOf(call.verb), access.base + call.path, 11);
  request.set(http::field::host, access.host);
  request.set(http::field::user_agent, "divvy");
  request.set(http::field::accept, call.accept);
  if (!token.empty()) request.set(http::field::authorization, "Bearer " + token);
  if (!access.as.user.empty()) request.set("Impersonate-User", access.as.user);
  if (!access.as.uid.empty()) request.set("Impersonate-Uid", access.as.uid);
  for (const std::string& group : access.as.groups) request.insert("Impersonate-Group", group);
  if (!call.body.empty()) {
    request.set(http::field::content_type, call.type);
    request.body() = call.body;
  }
  request.prepare_payload();
  return request;
}

template <typename Header>
Reply headOf(const Header& header) {
  Reply reply;
  reply.status = header.result_int();
  const auto found = header.find(http::field::retry_after);
  if (found != header.end()) {
    const auto text = found->value();
    unsigned seconds = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (fault == std::errc{} && end == text.data() + text.size())
      reply.retry_after = std::chrono::seconds(seconds);
  }
  return reply;
}

Error lost(const char* doing, const error_code& fault) {
  const std::string why = fault == beast::error::timeout ? "no answer in time" : fault.message();
  return {ErrorCode::kUnavailable, std::string(doing) + ": " + why};
}

// Passes on complete lines and keeps the rest. Returns false to stop.
bool handOn(std::string* pending, const std::function<bool(std::string_view)>& line) {
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = pending->find('\n', begin);
    if (end == std::string::npos) break;
    const std::string_view one(pending->data() + begin, end - begin);
    begin = end + 1;
    if (!one.empty() && !line(one)) return false;
  }
  pending->erase(0, begin);
  return true;
}

}  // namespace

Result<std::shared_ptr<asio::ssl::context>> tlsContext(const Access& access) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code fault;
  const auto failed = [&](const char* what) {
    return Error{ErrorCode::kUsage, std::string(what) + ": " + fault.message()};
  };
  context->set_verify_mode(access.insecure ? asio::ssl::verify_none : asio::ssl::verify_peer,
                           fault);
  if (access.authority.empty()) {
    context->set_default_verify_paths(fault);
  } else {
    context->add_certificate_authority(asio::buffer(access.authority), fault);
  }
  if (fault) return failed("certificate authority");
  if (!access.certificate.empty()) {
    context->use_certificate_chain(asio::buffer(access.certificate), fault);
    if (fault) return failed("client certificate");
    context->use_private_key(asio::buffer(access.key), asio::ssl::context::pem, fault);
    if (fault) return failed("client key");
  }
  return context;
}

Connection::Connection(asio::any_io_executor executor, std::shared_ptr<asio::ssl::context> tls)
    : tls_(std::move(tls)), stream_(std::in_place_index<0>, executor) {
  if (tls_ != nullptr) stream_.emplace<Tls>(executor, *tls_);
}

Connection::Plain& Connection::lowest() {
  if (Tls* tls = std::get_if<Tls>(&stream_)) return beast::get_lowest_layer(*tls);
  return std::get<Plain>(stream_);
}

asio::awaitable<Result<void>> Connection::connect(const Access& access,
                                                  std::chrono::milliseconds bound) {
  asio::ip::tcp::resolver resolver(co_await asio::this_coro::executor);
  auto [unknown, found] = co_await resolver.async_resolve(access.host, access.port, kNoThrow);
  if (unknown) co_return lost(("finding " + access.host).c_str(), unknown);
  lowest().expires_after(bound);
  auto [refused, where] = co_await lowest().async_connect(found, kNoThrow);
  if (refused) co_return lost(("reaching " + access.host + ':' + access.port).c_str(), refused);
  error_code ignored;
  lowest().socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  if (Tls* tls = std::get_if<Tls>(&stream_)) {
    const std::string& name = access.server_name.empty() ? access.host : access.server_name;
    error_code fault;
    asio::ip::make_address(name, fault);
    // Only host names are sent (RFC 6066, section 3).
    if (fault) SSL_set_tlsext_host_name(tls->native_handle(), name.c_str());
    if (!access.insecure) tls->set_verify_callback(asio::ssl::host_name_verification(name));
    auto [distrusted] = co_await tls->async_handshake(asio::ssl::stream_base::client, kNoThrow);
    if (distrusted)
      co_return lost(("TLS with " + access.host + ':' + access.port).c_str(), distrusted);
  }
  co_return Result<void>{};
}

void Connection::cut() {
  lowest().close();
}

template <typename Stream>
asio::awaitable<Result<Reply>> Connection::exchangeOn(Stream& stream,
                                                      http::request<http::string_body> request,
                                                      std::uint64_t most,
                                                      std::chrono::milliseconds bound) {
  reusable_ = false;
  unanswered_ = true;
  lowest().expires_after(bound);
  auto [unsent, sent] = co_await http::async_write(stream, request, kNoThrow);
  if (unsent) co_return lost("asking", unsent);
  http::response_parser<http::string_body> parser;
  parser.body_limit(most);
  auto [headless, head] = co_await http::async_read_header(stream, buffer_, parser, kNoThrow);
  if (headless) co_return lost("reading the answer", headless);
  unanswered_ = false;
  auto [unread, read] = co_await http::async_read(stream, buffer_, parser, kNoThrow);
  if (unread) co_return lost("reading the answer", unread);
  Reply reply = headOf(parser.get());
  reusable_ = parser.keep_alive();
  reply.body = std::move(parser.get().body());
  lowest().expires_never();
  co_return reply;
}

template <typename Stream>
asio::awaitable<Result<Reply>> Connection::followOn(Stream& stream,
                                                    http::request<http::string_body> request,
                                                    std::chrono::seconds quiet, LineHandler taker) {
  reusable_ = false;
  lowest().expires_after(quiet);
  auto [unsent, sent] = co_await http::async_write(stream, request, kNoThrow);
  if (unsent) co_return lost("asking", unsent);
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  auto [headless, head] = co_await http::async_read_header(stream, buffer_, parser, kNoThrow);
  if (headless) co_return lost("reading the answer", headless);
  Reply reply = headOf(parser.get());
  if (reply.good() && taker.opened) taker.opened();
  std::string chunk(kChunk, '\0');
  std::string pending;
  while (!parser.is_done()) {
    parser.get().body().data = chunk.data();
    parser.get().body().size = chunk.size();
    lowest().expires_after(quiet);
    // async_read would wait until the chunk is full.
    auto [broken, read] = co_await http::async_read_some(stream, buffer_, parser, kNoThrow);
    pending.append(chunk.data(), chunk.size() - parser.get().body().size);
    if (reply.good() && !handOn(&pending, taker.line)) break;
    if (broken && broken != http::error::need_buffer) {
      if (broken == http::error::partial_message || broken == http::error::end_of_stream ||
          broken == asio::ssl::error::stream_truncated)
        break;  // the server closed the connection
      co_return lost("following", broken);
    }
  }
  if (!reply.good()) reply.body = std::move(pending);
  co_return reply;
}

asio::awaitable<Result<Reply>> Connection::exchange(const Access& access, const Call& call,
                                                    const std::string& token,
                                                    std::chrono::milliseconds bound) {
  http::request<http::string_body> request = requestOf(access, call, token);
  if (Tls* tls = std::get_if<Tls>(&stream_))
    co_return co_await exchangeOn(*tls, std::move(request), call.max_reply, bound);
  co_return co_await exchangeOn(std::get<Plain>(stream_), std::move(request), call.max_reply,
                                bound);
}

asio::awaitable<Result<Reply>> Connection::follow(const Access& access, const Call& call,
                                                  const std::string& token,
                                                  std::chrono::seconds quiet, LineHandler taker) {
  http::request<http::string_body> request = requestOf(access, call, token);
  if (Tls* tls = std::get_if<Tls>(&stream_))
    co_return co_await followOn(*tls, std::move(request), quiet, std::move(taker));
  co_return co_await followOn(std::get<Plain>(stream_), std::move(request), quiet,
                              std::move(taker));
}

}  // namespace divvy::kube
