// Any bytes as what a client sends, given to the real server over loopback, at once and in pieces.
// The first byte says how large the pieces are. Handlers get the same queries either way, each
// within the bounds of its route, every answer is one of HTTP/1.1, and the server goes on.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/fd.h"
#include "fuzz_input.h"
#include "http/server.h"

using namespace divvy;
using namespace divvy::http;
namespace asio = boost::asio;

namespace {

constexpr std::size_t kMaxBody = 64;
constexpr std::size_t kMaxHeader = 16'384;  // of the server; at the bound itself the pieces decide
constexpr std::size_t kMaxInput = 20'480;
constexpr unsigned kMaxTurns = 1'000'000;

class World {
 public:
  static World& instance() {
    static World world;
    return world;
  }

  std::vector<Query> asked;

  // What the server answers to these bytes, sent in pieces of that size.
  std::string talk(std::string_view bytes, std::size_t piece) {
    asked.clear();
    const Fd client = connected();
    std::string answers;
    std::size_t sent = 0;
    bool shut = false;
    for (unsigned turn = 0; turn < kMaxTurns; ++turn) {
      loop_.poll();
      if (sent < bytes.size()) {
        const std::string_view part = bytes.substr(sent, piece);
        const ssize_t put = send(client.get(), part.data(), part.size(), MSG_NOSIGNAL);
        // A server that has enough closes: what is left is not sent.
        if (put < 0 && errno != EAGAIN) sent = bytes.size();
        if (put > 0) sent += static_cast<std::size_t>(put);
      } else if (!shut) {
        shut = true;
        shutdown(client.get(), SHUT_WR);
      }
      char part[4096];
      const ssize_t got = recv(client.get(), part, sizeof part, 0);
      if (got > 0) answers.append(part, static_cast<std::size_t>(got));
      if (got == 0 || (got < 0 && errno != EAGAIN)) return answers;
    }
    need(false, "the connection ends");
    return answers;
  }

 private:
  World() {
    const auto note = [this](Query query) -> asio::awaitable<Answer> {
      asked.push_back(query);
      co_return Answer{200, std::move(query.body), "text/plain"};
    };
    Listen listen;
    listen.parse_parameters = true;
    Result<std::unique_ptr<Server>> started = Server::start(loop_.get_executor(), listen,
                                                            {{"GET", "/healthz", 0, note},
                                                             {"POST", "/filter", kMaxBody, note},
                                                             {"GET", "/shares/{id}", 0, note},
                                                             {"GET", "/files/{name...}", 0, note}});
    need(started.has_value(), "a server");
    server_ = std::move(*started);
  }

  // From one address after another: each has ports of its own, and those of closed connections are
  // not free for a minute.
  Fd connected() {
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ++number_;
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(0x7f000002u + number_ % 0xffff00u);
    sockaddr_in to = from;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(server_->port());
    need(bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0, "an address");
    fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    const int connecting = connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    need(connecting == 0 || errno == EINPROGRESS, "a connection begins");
    need(writable(fd.get()), "a connection");
    return fd;
  }

  // The fuzzer's timer signal interrupts what waits.
  static bool writable(int fd) {
    constexpr int kMaxMs = 10'000;
    pollfd one{fd, POLLOUT, 0};
    int ready = 0;
    do ready = poll(&one, 1, kMaxMs);
    while (ready < 0 && errno == EINTR);
    return ready == 1 && (one.revents & POLLOUT) != 0;
  }

  asio::io_context loop_{1};
  std::unique_ptr<Server> server_;
  std::uint32_t number_ = 0;
};

// The answers that are whole. The last one may have been cut by the server's end.
std::vector<unsigned> statusesIn(std::string_view answers) {
  std::vector<unsigned> statuses;
  while (!answers.empty()) {
    const std::size_t end = answers.find("\r\n\r\n");
    if (end == answers.npos) break;
    const std::string_view head = answers.substr(0, end + 2);
    need(head.starts_with("HTTP/1.1 "), "a status line");
    unsigned status = 0;
    std::from_chars(head.data() + 9, head.data() + 12, status);
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t at = head.find(kLength);
    need(at != head.npos, "a length");
    std::size_t length = 0;
    std::from_chars(head.data() + at + kLength.size(), head.data() + head.size(), length);
    answers.remove_prefix(std::min(end + 4 + length, answers.size()));
    statuses.push_back(status);
  }
  return statuses;
}

void checkTalk(const std::vector<Query>& asked, std::string_view answers, std::size_t size) {
  // The shortest request is of 18 bytes.
  need(asked.size() <= size / 18, "no more queries than requests");
  for (const Query& query : asked) {
    const std::string& path = query.path;
    need(query.target.starts_with(path), "a path of its target");
    const bool one = path.starts_with("/shares/"), rest = path.starts_with("/files/");
    need(path == "/healthz" || path == "/filter" || one || rest, "a path");
    need(one == !query.capture("id").empty(), "a captured segment");
    need(query.captures.all().size() == (one || rest ? 1 : 0), "what the route captures");
    for (const Parameters* some : {&query.captures, &query.parameters})
      for (const Parameter& each : some->all())
        need((each.name + each.value).find('\0') == std::string::npos, "no NUL");
    need(query.parameters.all().size() <= kMaxParameters, "the number of parameters");
    need(query.body.size() <= (path == "/filter" ? kMaxBody : 0), "the size of a body");
    const std::string session = query.cookie("session").value_or("");
    need(session.find_first_of(";\r\n") == std::string::npos, "the value of a cookie");
  }
  const std::vector<unsigned> statuses = statusesIn(answers);
  for (const unsigned status : statuses)
    need(status == 200 || status == 400 || status == 404 || status == 405 || status == 413 ||
             status == 431,
         "a status");
  const auto answered = std::count(statuses.begin(), statuses.end(), 200u);
  need(static_cast<std::size_t>(answered) <= asked.size(), "no answer without a query");
}

std::string flat(const Query& query) {
  std::string text = query.method + '\n' + query.target + '\n' + query.content_type + '\n';
  for (const Field& field : query.fields.all()) text += field.name + ':' + field.value + '\n';
  for (const Parameters* some : {&query.captures, &query.parameters})
    for (const Parameter& each : some->all()) text += each.name + '=' + each.value + '\n';
  return text + query.body;
}

bool sameQueries(const std::vector<Query>& a, const std::vector<Query>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Query& x, const Query& y) { return flat(x) == flat(y); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxInput) return 0;
  World& world = World::instance();
  const std::string_view bytes = textOf(data + 1, size - 1);
  const std::string answers = world.talk(bytes, bytes.size() + 1);
  const std::vector<Query> asked = world.asked;
  checkTalk(asked, answers, bytes.size());
  const std::size_t piece = std::max<std::size_t>(1 + data[0], bytes.size() / 64);
  const std::string in_pieces = world.talk(bytes, piece);
  checkTalk(world.asked, in_pieces, bytes.size());
  if (bytes.size() < kMaxHeader)
    need(sameQueries(world.asked, asked), "the same queries however they come");
  static unsigned runs = 0;
  if (++runs % 64 == 0)
    need(world.talk("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 256).starts_with("HTTP/1.1 200"),
         "the server goes on");
  return 0;
}
