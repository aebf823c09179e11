#include "wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

namespace divvy::helper {
namespace {

struct Pair {
  Pair() {
    std::array<int, 2> both{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both.data()), 0);
    near = Fd(both[0]);
    far = Fd(both[1]);
  }
  Fd near, far;
};

bool sameFile(const Fd& one, int other) {
  struct stat a {};
  struct stat b {};
  return fstat(one.get(), &a) == 0 && fstat(other, &b) == 0 && a.st_ino == b.st_ino &&
         a.st_dev == b.st_dev;
}

TEST(HelperProtocol, Request_ReceivedAsSentWithDescriptor) {
  const Pair pair;
  ASSERT_TRUE(sendRequest(pair.near.get(), Op::kListen, 7, "divvy-x.sock", pair.near.get()));
  const Result<ReceivedRequest> question = receiveRequest(pair.far.get());
  ASSERT_TRUE(question) << question.error().message();
  EXPECT_EQ(question->packet.op, Op::kListen);
  EXPECT_EQ(question->packet.number, 7);
  EXPECT_EQ(textOf(question->packet), "divvy-x.sock");
  EXPECT_TRUE(sameFile(question->fd, pair.near.get()));
}

TEST(HelperProtocol, Answer_ReceivedAsSentWithRows) {
  const Pair pair;
  Reply answer;
  answer.values = {1, -2, 3, 4};
  for (int at = 0; at < 4096; ++at)
    answer.rows.push_back({at, 50u, static_cast<std::uint64_t>(at) << 30});
  answer.fd = Fd(dup(pair.near.get()));
  ASSERT_TRUE(sendReply(pair.far.get(), std::move(answer)));
  bool came = false;
  const Result<Reply> got = receiveReply(pair.near.get(), &came);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_TRUE(came);
  EXPECT_EQ(got->values, (std::array<std::int64_t, 4>{1, -2, 3, 4}));
  ASSERT_EQ(got->rows.size(), 4096u);
  EXPECT_EQ(got->rows[4095].pid, 4095);
  EXPECT_EQ(got->rows[4095].large, std::uint64_t{4095} << 30);
  EXPECT_TRUE(sameFile(got->fd, pair.near.get()));
}

TEST(HelperProtocol, Refusal_KeepsCodeAndMessage) {
  const Pair pair;
  ASSERT_TRUE(sendReply(pair.far.get(), Error{ErrorCode::kNotFound, "no process 7"}));
  bool came = false;
  const Result<Reply> got = receiveReply(pair.near.get(), &came);
  ASSERT_FALSE(got);
  EXPECT_TRUE(came);
  EXPECT_EQ(got.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(got.error().message(), "no process 7");
}

// Whoever it is: another version, half a packet, or too much of one.
TEST(HelperProtocol, OtherVersionOrTruncated_Refused) {
  RequestPacket other;
  other.version = kVersion + 1;
  RequestPacket foreign;
  foreign.magic = 1;
  for (const RequestPacket& packet : {other, foreign}) {
    const Pair pair;
    ASSERT_EQ(send(pair.near.get(), &packet, sizeof packet, 0),
              static_cast<ssize_t>(sizeof packet));
    const Result<ReceivedRequest> question = receiveRequest(pair.far.get());
    ASSERT_FALSE(question);
    EXPECT_EQ(question.error().code(), ErrorCode::kCorrupt);
  }
  const RequestPacket good;
  for (const std::size_t size : {std::size_t{1}, sizeof good - 1}) {
    const Pair pair;
    ASSERT_EQ(send(pair.near.get(), &good, size, 0), static_cast<ssize_t>(size));
    EXPECT_FALSE(receiveRequest(pair.far.get()));
  }
}

TEST(HelperProtocol, PeerClosed_NotFound) {
  Pair pair;
  pair.near.reset();
  const Result<ReceivedRequest> question = receiveRequest(pair.far.get());
  ASSERT_FALSE(question);
  EXPECT_EQ(question.error().code(), ErrorCode::kNotFound);
}

TEST(HelperProtocol, PromisedRowsMissing_AnswerRefused) {
  const Pair pair;
  ReplyHead head;
  head.rows = 3;
  ASSERT_EQ(send(pair.far.get(), &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
  bool came = true;
  ASSERT_FALSE(receiveReply(pair.near.get(), &came));
  EXPECT_FALSE(came);
}

TEST(HelperProtocol, TextTooLong_UsageErrorNotCut) {
  const Pair pair;
  const Result<void> sent = sendRequest(pair.near.get(), Op::kFileId, 0, std::string(112, 'x'), -1);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace divvy::helper
