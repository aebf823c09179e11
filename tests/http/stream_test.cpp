#include "http/stream.h"

#include <gtest/gtest.h>

#include "stream_slots.h"
#include "stream_state.h"

namespace divvy::http {
namespace {

TEST(Stream, MoreThanBound_FullUntilSent) {
  const auto stream = Stream::make(10);
  EXPECT_EQ(stream->push("12345678901"), Stream::Push::kFull) << "never all at once";
  EXPECT_EQ(stream->push("123456"), Stream::Push::kQueued);
  EXPECT_EQ(stream->push("12345"), Stream::Push::kFull);
  EXPECT_EQ(stream->push("1234"), Stream::Push::kQueued);
  EXPECT_EQ(stream->push("1"), Stream::Push::kFull);
  EXPECT_EQ(stream->push(""), Stream::Push::kQueued);
  EXPECT_EQ(stream->state()->take(), "1234561234");
  EXPECT_EQ(stream->outstanding(), 10u) << "not sent yet";
  EXPECT_EQ(stream->push("1"), Stream::Push::kFull);
  stream->state()->sent();
  EXPECT_EQ(stream->outstanding(), 0u);
  EXPECT_EQ(stream->push("1"), Stream::Push::kQueued);
}

TEST(Stream, ClosedByServer_ReportedOnce) {
  const auto stream = Stream::make();
  int told = 0;
  stream->onClosed([&] { ++told; });
  stream->push("a");
  stream->state()->fail();
  stream->state()->fail();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(stream->open());
  EXPECT_EQ(stream->push("a"), Stream::Push::kClosed);
  EXPECT_EQ(stream->outstanding(), 0u);
}

TEST(Stream, ClosedByApplication_QueuedBytesKept) {
  auto stream = Stream::make();
  const auto state = stream->state();
  int told = 0;
  stream->onClosed([&] { ++told; });
  stream->push("a");
  stream.reset();
  EXPECT_EQ(state->phase, Stream::State::Phase::kEnding);
  EXPECT_EQ(state->queued, "a");
  state->fail();
  EXPECT_EQ(told, 0) << "the application knows";
}

TEST(Stream, CallbackEndsStream_NoFault) {
  auto stream = Stream::make();
  const auto state = stream->state();
  stream->onClosed([&] { stream.reset(); });
  state->fail();
  EXPECT_EQ(stream, nullptr);
}

TEST(StreamSlots, TooMany_RefusedUntilOneEnds) {
  StreamSlots slots(2, 3);
  StreamSlots::Slot a1, a3, b1, b2;
  EXPECT_EQ(slots.take("a", &a1), StreamSlots::Refusal::kNone);
  {
    StreamSlots::Slot a2;
    EXPECT_EQ(slots.take("a", &a2), StreamSlots::Refusal::kNone);
    EXPECT_EQ(slots.take("a", &a3), StreamSlots::Refusal::kAddress);
    EXPECT_EQ(slots.take("b", &b1), StreamSlots::Refusal::kNone);
    EXPECT_EQ(slots.take("b", &b2), StreamSlots::Refusal::kAll);
  }
  EXPECT_EQ(slots.taken(), 2u);
  EXPECT_EQ(slots.take("a", &a3), StreamSlots::Refusal::kNone);
}

}  // namespace
}  // namespace divvy::http
