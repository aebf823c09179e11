// How small a share may become.
#include "tenant/resize_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

using testing::HasSubstr;

Card card(Bytes context) {
  Card one;
  one.index = 3;
  one.model = "H100";
  one.context = context;
  return one;
}

ShareRecord share(Bytes limit) {
  return {"GPU-a", limit, limit, 0, limit};
}

TEST(ResizeCheck, BelowContext_RefusedWhenInside) {
  const Card one = card(mib(520));
  EXPECT_TRUE(checkContext(one, share(gib(4)), share(mib(520)), true));
  EXPECT_TRUE(checkContext(one, share(gib(4)), share(mib(1)), false)) << "outside";
  EXPECT_TRUE(checkContext(card({}), share(gib(4)), share(mib(1)), true)) << "nobody knows";
  EXPECT_TRUE(checkContext(one, share(mib(100)), share(mib(100)), true)) << "as it was";
  for (const Bytes old : {mib(100), gib(4)}) {
    const Result<void> no = checkContext(one, share(old), share(mib(519)), true);
    ASSERT_FALSE(no);
    EXPECT_EQ(no.error().code(), ErrorCode::kUsage);
    EXPECT_THAT(no.error().message(), HasSubstr("device 3 (H100): 519 MiB is less than one"));
    EXPECT_THAT(no.error().message(), HasSubstr("accepted: 520Mi and more"));
  }
}

TEST(ResizeCheck, RoundedMinimum_IsAccepted) {
  const Card one = card(mib(520) + Bytes{1});
  const Result<void> no = checkContext(one, share(gib(4)), share(mib(520)), true);
  ASSERT_FALSE(no);
  EXPECT_THAT(no.error().message(), HasSubstr("accepted: 521Mi and more"));
  EXPECT_TRUE(checkContext(one, share(gib(4)), share(mib(521)), true));
}

// Regression: of one whose memory may be swapped, what cannot be was not looked at.
TEST(ResizeCheck, UnswappableUse_RefusesSmallerShare) {
  EXPECT_TRUE(checkUse(share(gib(4)), gib(4), {}));
  const Result<void> whole = checkUse(share(gib(4)), gib(5), {});
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code(), ErrorCode::kNoRoom);
  EXPECT_THAT(whole.error().message(), HasSubstr("it uses 5 GiB of GPU-a, which is more"));
  ShareRecord swapped = share(gib(4));
  swapped.guarantee = gib(1);
  EXPECT_TRUE(checkUse(swapped, gib(5), gib(4)));
  const Result<void> pinned = checkUse(swapped, gib(6), gib(5));
  ASSERT_FALSE(pinned);
  EXPECT_THAT(pinned.error().message(), HasSubstr("it uses 5 GiB of GPU-a that cannot be swapped"));
}

TEST(ResizeCheck, UseAboveLimit_NoteIsGiven) {
  EXPECT_EQ(overuseNote(card({}), share(gib(4)), gib(4)), "");
  EXPECT_THAT(overuseNote(card({}), share(gib(4)), gib(5)),
              HasSubstr("device 3 (H100): 5 GiB of it are in use"));
}

}  // namespace
}  // namespace divvy::agent
