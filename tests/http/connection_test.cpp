#include "connection.h"

#include <gtest/gtest.h>

#include "http/cookie.h"
#include "http/static_file.h"
#include "loopback.h"

namespace divvy::http {
namespace {

using boost::asio::awaitable;

const StaticFile kFile{"text/css", "h1", "plain bytes", "zipped", "brotlied", true};

std::string joined(const Parameters& parameters) {
  std::string text;
  for (const Parameter& one : parameters.all()) text += one.name + '=' + one.value + ';';
  return text;
}

std::vector<Route> routes() {
  const auto told = [](Query query) -> awaitable<Answer> {
    co_return plainText(200, query.method + ' ' + query.path + ' ' + joined(query.captures) + ' ' +
                                 joined(query.parameters) + ' ' +
                                 std::string(query.header("x-one")) + ' ' +
                                 query.cookie("session").value_or("none") + ' ' + query.peer +
                                 (query.tls ? " tls" : ""));
  };
  const auto tagged = [](Query) -> awaitable<Answer> {
    Answer answer{200, "{}"};
    answer.fields = {{"ETag", "\"v1\""}, {"Cache-Control", "no-cache"}};
    answer.fields.add("Set-Cookie", setCookie({"id", "1"}).value());
    co_return answer;
  };
  const auto broken = [](Query query) -> awaitable<Answer> {
    Answer answer{200, "secret"};
    answer.fields.add("X-Back", std::string(query.capture("value")));
    co_return answer;
  };
  const auto file = [](Query query) -> awaitable<Answer> { co_return kFile.answer(query); };
  return {{"GET", "/told", 0, told},           {"GET", "/shares/{id}", 0, told},
          {"GET", "/shares/all", 0, told},     {"DELETE", "/shares/{id}", 0, told},
          {"POST", "/post", 8, told},          {"GET", "/tagged", 0, tagged},
          {"GET", "/back/{value}", 0, broken}, {"GET", "/files/{name...}", 0, file}};
}

Listen console() {
  Listen listen;
  listen.parse_parameters = true;
  listen.fields = {{"Content-Security-Policy", "default-src 'self'"}};
  return listen;
}

std::string request(const std::string& line, const std::string& fields = {}) {
  return line + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

// The body of a reply.
std::string bodyOf(const std::string& reply) {
  return reply.substr(reply.find("\r\n\r\n") + 4);
}

class ConnectionTest : public testing::Test {
 protected:
  std::string ask(const std::string& line, const std::string& fields = {}) {
    return RawClient(server_, 3).ask(request(line, fields));
  }

  Loopback server_{console(), routes()};
};

TEST_F(ConnectionTest, Request_HandlerGetsAllOfIt) {
  EXPECT_EQ(bodyOf(ask("GET /told?a=1%202&b", "X-ONE: one\r\nCookie: x=y; session=s1\r\n")),
            "GET /told  a=1 2;b=; one s1 127.0.0.3\n");
  EXPECT_EQ(bodyOf(ask("GET /shares/a%2Fb?x=%41")),
            "GET /shares/a%2Fb id=a/b; x=A;  none 127.0.0.3\n");
  EXPECT_EQ(bodyOf(ask("GET /shares/all")), "GET /shares/all    none 127.0.0.3\n");
  EXPECT_EQ(bodyOf(ask("DELETE /shares/all")), "DELETE /shares/all id=all;   none 127.0.0.3\n");
}

TEST_F(ConnectionTest, NotFoundOrOtherMethod_FieldsSent) {
  const std::string absent = ask("GET /absent");
  EXPECT_TRUE(absent.starts_with("HTTP/1.1 404 ")) << absent;
  EXPECT_TRUE(has(absent, "\r\nContent-Security-Policy: default-src 'self'\r\n")) << absent;
  const std::string other = ask("PUT /shares/all");
  EXPECT_TRUE(other.starts_with("HTTP/1.1 405 ")) << other;
  EXPECT_TRUE(has(other, "\r\nAllow: DELETE, GET, HEAD\r\n")) << other;
}

TEST_F(ConnectionTest, MalformedEscape_BadRequest) {
  for (const char* target : {"/told?a=%zz", "/told?%", "/shares/%4", "/shares/%00"})
    EXPECT_TRUE(ask(std::string("GET ") + target).starts_with("HTTP/1.1 400 ")) << target;
}

TEST_F(ConnectionTest, Head_ConnectionKeptForNextReply) {
  RawClient client(server_);
  const std::string head = client.ask(request("HEAD /told"));
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
  EXPECT_TRUE(has(head, "\r\nContent-Length: 29\r\n")) << head;
  EXPECT_TRUE(client.ask(request("HEAD /files/a")).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(has(client.ask(request("GET /told")), "\r\n\r\nGET /told"));
  EXPECT_TRUE(client.ask(request("HEAD /absent")).starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(client.all(), "") << "an error has no body, either";
}

TEST_F(ConnectionTest, TagKnown_NotModifiedAndKept) {
  RawClient client(server_);
  const std::string whole = client.ask(request("GET /tagged", "If-None-Match: \"v0\"\r\n"));
  EXPECT_TRUE(whole.ends_with("\r\n\r\n{}")) << whole;
  EXPECT_TRUE(has(whole, "\r\nSet-Cookie: id=1; Path=/; Secure; HttpOnly; SameSite=Strict\r\n"));
  const std::string known = client.ask(request("GET /tagged", "If-None-Match: W/\"v1\"\r\n"));
  EXPECT_TRUE(known.starts_with("HTTP/1.1 304 ")) << known;
  EXPECT_TRUE(has(known, "\r\nETag: \"v1\"\r\n"));
  EXPECT_FALSE(has(known, "Content-Length"));
  EXPECT_TRUE(client.ask(request("GET /tagged")).ends_with("\r\n\r\n{}"));
}

TEST_F(ConnectionTest, CapturedValueInField_NoFurtherField) {
  const std::string reply = ask("GET /back/a%0d%0aSet-Cookie:%20b=c");
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 500 ")) << reply;
  EXPECT_FALSE(has(reply, "Set-Cookie")) << reply;
  EXPECT_FALSE(has(reply, "secret")) << reply;
  EXPECT_TRUE(has(ask("GET /back/fine"), "\r\nX-Back: fine\r\n"));
}

TEST_F(ConnectionTest, StaticFile_VariantByEncoding) {
  RawClient client(server_);
  EXPECT_EQ(bodyOf(client.ask(request("GET /files/a.css"))), "plain bytes");
  EXPECT_EQ(bodyOf(client.ask(request("GET /files/a.css", "Accept-Encoding: gzip\r\n"))), "zipped");
  const std::string brotli =
      client.ask(request("GET /files/a.css", "Accept-Encoding: gzip, br\r\n"));
  EXPECT_EQ(bodyOf(brotli), "brotlied");
  EXPECT_TRUE(has(brotli, "\r\nContent-Encoding: br\r\n"));
  const std::string known = client.ask(
      request("GET /files/a.css", "Accept-Encoding: br\r\nIf-None-Match: \"h1-br\"\r\n"));
  EXPECT_TRUE(known.starts_with("HTTP/1.1 304 ")) << known;
  EXPECT_TRUE(client.ask(request("GET /files/a.css", "If-None-Match: \"h1-br\"\r\n"))
                  .starts_with("HTTP/1.1 200 "));
}

TEST_F(ConnectionTest, HeaderTooLarge_Refused) {
  EXPECT_TRUE(
      ask("GET /told", "X-One: " + std::string(12'000, 'a') + "\r\n").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(
      ask("GET /told", "X-One: " + std::string(17'000, 'a') + "\r\n").starts_with("HTTP/1.1 431 "));
  // Regression: fields that were parsed already did not count.
  std::string many;
  for (int i = 0; i < 5'000; ++i) many += "a:\r\n";
  const std::string refused = ask("GET /told", many);
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 431 ")) << refused;
  EXPECT_TRUE(ask("GET /" + std::string(20'000, 'a')).starts_with("HTTP/1.1 431 "));
}

TEST_F(ConnectionTest, BodyTooLargeOrMalformed_Refused) {
  EXPECT_TRUE(ask("POST /post", "Content-Length: 9\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(RawClient(server_)
                  .ask(request("POST /post", "Transfer-Encoding: chunked\r\n") +
                       "9\r\n123456789\r\n0\r\n\r\n")
                  .starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(ask("GET  /told").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("GET /told", "No colon\r\n").starts_with("HTTP/1.1 400 "));
}

TEST_F(ConnectionTest, ServerDestroyed_IdleConnectionClosed) {
  RawClient client(server_);
  EXPECT_TRUE(client.ask(request("GET /told")).starts_with("HTTP/1.1 200 "));
  server_.stopServer();
  EXPECT_EQ(client.all(), "");
  EXPECT_TRUE(client.ended());
}

class ConnectionTimes : public testing::Test {
 protected:
  static std::vector<Route> routesWithLargeOne() {
    std::vector<Route> all = routes();
    all.push_back({"GET", "/large", 0, [](Query) -> awaitable<Answer> {
                     static const std::string bytes(kLarge, 'x');
                     Answer answer{200};
                     answer.fixed = bytes;
                     co_return answer;
                   }});
    return all;
  }
  static Listen quick() {
    Listen listen;
    listen.transfer = std::chrono::seconds(1);
    return listen;
  }

  static constexpr std::size_t kLarge = 64u << 20;
  Loopback server_{quick(), routesWithLargeOne()};
};

TEST_F(ConnectionTimes, BodyNeverEnds_Closed) {
  RawClient client(server_);
  client.send(request("POST /post", "Content-Length: 8\r\n") + "{");
  EXPECT_EQ(client.all(), "");
  EXPECT_TRUE(client.ended());
}

TEST_F(ConnectionTimes, ReplyNotRead_Closed) {
  RawClient client(server_, 1, 4'096);
  client.send(request("GET /large"));
  // The client reads nothing for three times the bound: that is the input of the test.
  std::this_thread::sleep_for(std::chrono::seconds(3));  // slow on purpose
  EXPECT_LT(client.all().size(), kLarge);
  EXPECT_TRUE(client.ended());
}

TEST(Listen, Default_QueryStringNotParsed) {
  Loopback server({}, routes());
  EXPECT_EQ(bodyOf(RawClient(server).ask(request("GET /told?a=%zz"))),
            "GET /told    none 127.0.0.1\n");
}

TEST(Server, PatternOrFieldMalformed_NotStarted) {
  boost::asio::io_context loop;
  EXPECT_FALSE(Server::start(loop.get_executor(), {}, {{"GET", "/{", 0, nullptr}}));
  Listen listen;
  listen.fields = {{"A", "b\r\n"}};
  EXPECT_FALSE(Server::start(loop.get_executor(), listen, {}));
}

}  // namespace
}  // namespace divvy::http
