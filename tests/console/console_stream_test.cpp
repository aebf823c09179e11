// Live updates of the console over real HTTP.
#include <gmock/gmock.h>

#include "served_console.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

class ConsoleStream : public ServedConsole {
 protected:
  // Opens a stream and reads its header and first message.
  std::unique_ptr<RawClient> streamOf(const Session& session, const std::string& query,
                                      const std::string& fields = "") {
    auto client = std::make_unique<RawClient>(port_);
    client->send(requestText("GET", "/api/v1/stream?" + query,
                             "Cookie: " + session.cookie + "\r\n" + fields, ""));
    header_ = client->until("\r\n\r\n");
    EXPECT_THAT(header_, testing::StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(client->until("\n\n"), HasSubstr("retry:"));
    return client;
  }
  // Reads to the end of the next message of this kind, and returns its data.
  static std::string dataOf(RawClient& client, const std::string& event) {
    EXPECT_THAT(client.until("event: " + event + "\n"), HasSubstr("event: " + event));
    const std::string text = client.until("\n\n");
    const std::size_t at = text.find("data: ");
    return at == std::string::npos ? std::string() : text.substr(at + 6, text.size() - at - 8);
  }
  std::size_t streams(const Session& session) const {
    return get(session, "about").json().at("health").at("streams").to_number<std::size_t>();
  }

  std::string header_;
};

TEST_F(ConsoleStream, ShareChanges_Delta) {
  start();
  const Session session = opened();
  const auto stream = streamOf(session, "topics=shares");
  EXPECT_THAT(header_, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(header_, HasSubstr("X-Accel-Buffering: no"));
  EXPECT_THAT(header_, HasSubstr("no-store"));
  agent::Snapshot node = sampleNode();
  node.tenants.pop_back();
  node.tenants[0].name = "other";
  agents_->set(node);
  const bj::object delta = bj::parse(dataOf(*stream, "delta")).as_object();
  EXPECT_EQ(delta.at("topic"), "shares");
  ASSERT_EQ(delta.at("put").as_array().size(), 1u);
  EXPECT_EQ(delta.at("put").at(0).at("name"), "other");
  EXPECT_EQ(delta.at("drop"), bj::array({"studio/t-2"}));
}

TEST_F(ConsoleStream, ForeignEpoch_Resync) {
  start();
  const Session session = opened();
  for (const char* id : {"1-5", "x", "99999999999999-1"}) {
    const auto stream =
        streamOf(session, "topics=shares,devices", std::string("Last-Event-ID: ") + id + "\r\n");
    EXPECT_EQ(dataOf(*stream, "resync"), "{\"topic\":\"shares\"}") << id;
    EXPECT_EQ(dataOf(*stream, "resync"), "{\"topic\":\"devices\"}") << id;
  }
  const auto stream = streamOf(session, "topics=shares&since=1-5");
  EXPECT_EQ(dataOf(*stream, "resync"), "{\"topic\":\"shares\"}");
}

// A browser that loses its stream before the first change must not miss one meanwhile.
TEST_F(ConsoleStream, ReconnectBeforeFirstChange_MissesNothing) {
  start();
  const Session session = opened();
  auto client = std::make_unique<RawClient>(port_);
  client->send(
      requestText("GET", "/api/v1/stream?topics=shares", "Cookie: " + session.cookie + "\r\n", ""));
  client->until("\r\n\r\n");
  const std::string first = client->until("\n\n");
  const std::size_t at = first.find("id: ");
  ASSERT_NE(at, std::string::npos) << first;
  const std::string id = first.substr(at + 4, first.find('\n', at) - at - 4);
  client.reset();
  agent::Snapshot node = sampleNode();
  node.tenants[0].name = "meanwhile";
  agents_->set(node);
  ASSERT_TRUE(
      eventually([&] { return get(session, "shares?filter=meanwhile").json().at("total") == 1; }));
  const auto again = streamOf(session, "topics=shares", "Last-Event-ID: " + id + "\r\n");
  EXPECT_THAT(dataOf(*again, "delta"), HasSubstr("meanwhile"));
}

TEST_F(ConsoleStream, SessionDeleted_EndAndClosed) {
  start();
  const Session session = opened(), other = opened();
  const auto stream = streamOf(session, "topics=shares");
  const auto kept = streamOf(other, "topics=shares");
  const Reply reply = ask("DELETE", "/api/v1/session", fieldsOf(session));
  EXPECT_EQ(reply.status, 204u);
  EXPECT_THAT(reply.field("Set-Cookie"), HasSubstr("Max-Age=0"));
  EXPECT_THAT(dataOf(*stream, "end"), HasSubstr("reason"));
  stream->rest();
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(get(session, "session").status, 401u);
  EXPECT_EQ(get(other, "session").status, 200u);
  EXPECT_EQ(streams(other), 1u);
}

TEST_F(ConsoleStream, ClientGone_StreamForgotten) {
  start();
  const Session session = opened();
  {
    const auto one = streamOf(session, "topics=shares"), two = streamOf(session, "topics=overview");
    EXPECT_EQ(streams(session), 2u);
  }
  EXPECT_TRUE(eventually([&] { return streams(session) == 0; }));
}

TEST_F(ConsoleStream, HeadOfStream_NoStreamLeft) {
  start();
  const Session session = opened();
  const Reply reply = ask("HEAD", "/api/v1/stream?topics=shares", fieldsOf(session));
  EXPECT_EQ(reply.status, 200u);
  EXPECT_TRUE(eventually([&] { return streams(session) == 0; }));
}

TEST_F(ConsoleStream, ConsoleEnds_StreamsClosed) {
  start();
  const Session session = opened();
  const auto stream = streamOf(session, "topics=shares");
  inLoop([this] { console_.reset(); });
  stream->rest();
  EXPECT_TRUE(stream->ended());
}

// A viewer that reads nothing costs a bounded amount, and is told to read its lists again.
TEST_F(ConsoleStream, SlowViewer_ResyncAfterwards) {
  start();
  const Session session = opened();
  const auto slow = streamOf(session, "topics=shares");
  agent::Snapshot node = sampleNode();
  // More than all buffers between the console and the viewer.
  const std::string filler(80'000, 'x');
  for (int i = 0; i < 250; ++i) {
    node.tenants[0].note = std::to_string(i) + filler;
    agents_->set(node);
    const std::string seen = "shares?fields=name&filter=note:" + std::to_string(i) + "xxx";
    ASSERT_TRUE(eventually([&] { return get(session, seen).json().at("total") == 1; })) << i;
  }
  EXPECT_EQ(dataOf(*slow, "resync"), "{\"topic\":\"shares\"}");
  EXPECT_EQ(get(session, "shares").status, 200u);
}

}  // namespace
}  // namespace divvy::console
