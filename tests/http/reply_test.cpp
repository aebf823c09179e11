#include "reply.h"

#include <gtest/gtest.h>

namespace divvy::http {
namespace {

std::string sent(Answer answer, ReplyFrame frame = {}, const Fields& common = {}) {
  Reply reply;
  makeReply(std::move(answer), common, frame, &reply);
  return reply.head + std::string(reply.body);
}

ReplyFrame kept() {
  ReplyFrame frame;
  frame.keeps = frame.conditional = true;
  return frame;
}

ReplyFrame head() {
  ReplyFrame frame = kept();
  frame.head = true;
  return frame;
}

Answer tagged(std::string tag) {
  Answer answer{200, "{}"};
  answer.fields.add("ETag", std::move(tag));
  return answer;
}

ReplyFrame asking(std::vector<std::string> if_none_match) {
  ReplyFrame frame = kept();
  frame.if_none_match = std::move(if_none_match);
  return frame;
}

TEST(Reply, Answer_StatusTypeLengthBody) {
  EXPECT_EQ(sent({200, "ok\n", "text/plain"}, kept()),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n");
  EXPECT_EQ(sent({404, ""}),
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 0\r\n"
            "Connection: close\r\n\r\n");
}

TEST(Reply, Fields_OfAnswerBeforeCommonOnes) {
  Answer answer{200, ""};
  answer.fields = {{"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}, {"cache-control", "no-store"}};
  EXPECT_EQ(sent(answer, kept(), {{"Cache-Control", "no-cache"}, {"X-Frame-Options", "DENY"}}),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n"
            "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\ncache-control: no-store\r\n"
            "X-Frame-Options: DENY\r\n\r\n");
}

TEST(Reply, FieldCannotBeSent_InternalError) {
  const Field fields[] = {{"A", "b\r\nC: d"},
                          {"A", "b\n"},
                          {"A", std::string(1, '\0')},
                          {"A B", "c"},
                          {"", "c"},
                          {"A:", "c"},
                          {"content-length", "1"},
                          {"Transfer-Encoding", "chunked"},
                          {"Connection", "close"},
                          {"Content-Type", "text/html"}};
  for (const Field& field : fields) {
    Answer answer{200, "secret"};
    answer.fields.add(field.name, field.value);
    const std::string text = sent(answer);
    EXPECT_TRUE(text.starts_with("HTTP/1.1 500 ")) << text;
    EXPECT_EQ(text.find("secret"), std::string::npos);
    EXPECT_EQ(text.find("C: d"), std::string::npos);
  }
  EXPECT_TRUE(sent({200, "", "text/html\r\nA: b"}).starts_with("HTTP/1.1 500 "));
  EXPECT_TRUE(sent({0, ""}).starts_with("HTTP/1.1 500 "));
  EXPECT_TRUE(sent({100, ""}).starts_with("HTTP/1.1 500 "));
}

TEST(Reply, Head_LengthWithoutBody) {
  EXPECT_EQ(sent({200, "ok\n", "text/plain"}, head()),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n");
}

TEST(Reply, NoContent_NeitherLengthNorBody) {
  EXPECT_EQ(sent({204, "x"}, kept()), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(Reply, FixedBody_SentInstead) {
  static const std::string bytes(100'000, 'b');
  Answer answer{200, "other"};
  answer.fixed = bytes;
  Reply reply;
  EXPECT_TRUE(makeReply(std::move(answer), {}, kept(), &reply));
  EXPECT_EQ(reply.body.data(), bytes.data()) << "without a copy";
  EXPECT_EQ(reply.body.size(), bytes.size());
}

TEST(Reply, TagKnown_NotModified) {
  EXPECT_EQ(sent(tagged("\"v1\""), asking({"\"v1\""})),
            "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n");
  EXPECT_TRUE(sent(tagged("\"v1\""), asking({"\"v0\"", "\"v1\""})).starts_with("HTTP/1.1 304 "));
  EXPECT_TRUE(sent(tagged("\"v2\""), asking({"\"v1\""})).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(sent({200, ""}, asking({"*"})).starts_with("HTTP/1.1 200 ")) << "it has no tag";
  ReplyFrame post = asking({"\"v1\""});
  post.conditional = false;
  EXPECT_TRUE(sent(tagged("\"v1\""), post).starts_with("HTTP/1.1 200 "));
  Answer failed = tagged("\"v1\"");
  failed.status = 503;
  EXPECT_TRUE(sent(failed, asking({"\"v1\""})).starts_with("HTTP/1.1 503 "));
}

TEST(Reply, Stream_ChunkedWithoutLength) {
  Answer answer{200, "", "text/event-stream"};
  answer.stream = Stream::make();
  ReplyFrame frame;
  frame.chunked = true;
  EXPECT_EQ(sent(answer, frame),
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  answer.fields.add("A", "\n");
  Reply reply;
  EXPECT_FALSE(makeReply(answer, {}, frame, &reply)) << "no stream follows";
}

TEST(Answer, IfNoneMatch_TagsComparedWeakly) {
  EXPECT_TRUE(matchesTag("\"a\"", "\"a\""));
  EXPECT_TRUE(matchesTag("W/\"a\"", "\"a\""));
  EXPECT_TRUE(matchesTag("\"a\"", "W/\"a\""));
  EXPECT_TRUE(matchesTag("\"x\", W/\"y,z\" ,\"a\"", "\"a\""));
  EXPECT_TRUE(matchesTag("\"x\",\"y,z\"", "\"y,z\""));
  EXPECT_TRUE(matchesTag(" * ", "\"a\""));
  for (const char* field : {"", "\"b\"", "a", "\"a", "\"", "\"*\"", "\"x\", a", "\"A\""})
    EXPECT_FALSE(matchesTag(field, "\"a\"")) << field;
}

}  // namespace
}  // namespace divvy::http
