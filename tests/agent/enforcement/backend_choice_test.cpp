#include "agent/enforcement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace divvy::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

EnforcementOffer everything() {
  return {"", "", "/run/mps", {"/lib/a.so", "/lib/b.so"}};
}

EnforcementOffer nothing() {
  return {"no MPS daemon runs at /run/mps", "the slices did not hold", "/run/mps", {}};
}

struct Case {
  EnforcementRequest ask;
  bool offered;
  const char* backend;  // the name chosen; nullptr: refused
  const char* words;    // in the reason or the refusal
  ErrorCode code = ErrorCode::kInternal;
};

class ChooseEnforcementTest : public ::testing::TestWithParam<Case> {};

TEST_P(ChooseEnforcementTest, EachCase_MatchesTable) {
  const Case& c = GetParam();
  const Result<Enforcement> chosen = chooseEnforcement(c.ask, c.offered ? everything() : nothing());
  if (c.backend == nullptr) {
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code(), c.code);
    EXPECT_THAT(chosen.error().message(), HasSubstr(c.words));
    EXPECT_THAT(chosen.error().message(), HasSubstr(std::string("--enforce ")));
    return;
  }
  ASSERT_TRUE(chosen) << chosen.error().message();
  EXPECT_STREQ(backendName(chosen->backend), c.backend);
  EXPECT_THAT(chosen->reason, HasSubstr(c.words));
  EXPECT_EQ(chosen->reason.empty(), chosen->backend == Backend::kInterposer);
}

constexpr auto kShare = CoresPolicy::kShare;
constexpr auto kCap = CoresPolicy::kCap;
constexpr auto kLow = Priority::kLow;
constexpr auto kNormal = Priority::kNormal;
constexpr auto kHigh = Priority::kHigh;

INSTANTIATE_TEST_SUITE_P(
    Auto, ChooseEnforcementTest,
    ::testing::Values(Case{{Enforce::kAuto, 30, kShare, kNormal}, true, "mps", "30% of the multi"},
                      Case{{Enforce::kAuto, 30, kCap, kNormal}, true, "mps", "fixed at start"},
                      Case{{Enforce::kAuto, 0, kShare, kNormal}, true, "interposer", ""},
                      Case{{Enforce::kAuto, 30, kShare, kHigh}, true, "interposer", ""},
                      Case{{Enforce::kAuto, 30, kShare, kLow}, true, "interposer", ""},
                      Case{{Enforce::kAuto, 30, kShare, kNormal}, false, "interposer", ""}));

INSTANTIATE_TEST_SUITE_P(
    Named, ChooseEnforcementTest,
    ::testing::Values(
        Case{{Enforce::kInterposer, 30, kCap, kHigh}, true, "interposer", ""},
        Case{{Enforce::kInterposer, 0, kShare, kLow}, false, "interposer", ""},
        Case{{Enforce::kMps, 30, kCap, kNormal}, true, "mps", "30%"},
        Case{{Enforce::kMps, 30, kShare, kLow}, true, "mps", "30%"},
        Case{{Enforce::kTimeslice, 30, kShare, kNormal}, true, "timeslice", "experimental"}));

INSTANTIATE_TEST_SUITE_P(
    Refused, ChooseEnforcementTest,
    ::testing::Values(
        Case{{Enforce::kMps, 30, kShare, kNormal},
             false,
             nullptr,
             "no MPS daemon runs at /run/mps; use --enforce interposer",
             ErrorCode::kUnavailable},
        Case{{Enforce::kMps, 0, kShare, kNormal}, true, nullptr, "--cores", ErrorCode::kUsage},
        Case{{Enforce::kMps, 30, kShare, kHigh}, true, nullptr, "accepted", ErrorCode::kUsage},
        Case{{Enforce::kTimeslice, 30, kShare, kNormal},
             false,
             nullptr,
             "the slices did not hold; use --enforce interposer",
             ErrorCode::kUnavailable},
        Case{
            {Enforce::kTimeslice, 0, kShare, kNormal}, true, nullptr, "--cores", ErrorCode::kUsage},
        Case{{Enforce::kTimeslice, 30, kCap, kNormal}, true, nullptr, "share", ErrorCode::kUsage},
        Case{{Enforce::kTimeslice, 30, kShare, kLow}, true, nullptr, "normal", ErrorCode::kUsage}));

TEST(Enforcement, MpsOrTimeSlice_ComputeCannotChange) {
  EXPECT_TRUE(arbiterGates(Backend::kInterposer));
  EXPECT_TRUE(canChangeCompute(Backend::kInterposer));
  for (const Backend backend : {Backend::kMps, Backend::kTimeslice}) {
    EXPECT_FALSE(arbiterGates(backend));
    const Result<void> can = canChangeCompute(backend);
    ASSERT_FALSE(can);
    EXPECT_THAT(can.error().message(), HasSubstr("fixed at start"));
  }
}

TEST(Enforcement, EachBackend_CommandEnvironmentMatches) {
  const EnforcementRequest ask{Enforce::kAuto, 30, kShare, kNormal};
  const CommandEnvironment plain = environmentFor(Backend::kInterposer, ask, everything());
  EXPECT_TRUE(plain.variables.empty());
  EXPECT_TRUE(plain.preload.empty());
  const CommandEnvironment mps = environmentFor(Backend::kMps, ask, everything());
  EXPECT_THAT(mps.variables, ElementsAre("CUDA_MPS_PIPE_DIRECTORY=/run/mps",
                                         "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30"));
  EXPECT_TRUE(mps.preload.empty());
  const CommandEnvironment slices = environmentFor(Backend::kTimeslice, ask, everything());
  EXPECT_THAT(slices.variables, ElementsAre("DIVVY_TIMESLICE_US=3000"));
  EXPECT_THAT(slices.preload, ElementsAre("/lib/a.so", "/lib/b.so"));
}

TEST(Enforcement, LowPriority_SetsMpsClientPriority) {
  const EnforcementRequest ask{Enforce::kMps, 30, kShare, kLow};
  EXPECT_THAT(environmentFor(Backend::kMps, ask, everything()).variables,
              ::testing::Contains("CUDA_MPS_CLIENT_PRIORITY=1"));
}

TEST(Enforcement, Names_RoundTripAndOthersRefused) {
  for (const char* word : {"auto", "interposer", "mps", "timeslice"})
    EXPECT_STREQ(enforceName(*parseEnforce(word)), word);
  for (const char* word : {"interposer", "mps", "timeslice"})
    EXPECT_STREQ(backendName(*parseBackend(word)), word);
  EXPECT_EQ(parseEnforce("MPS").error().code(), ErrorCode::kUsage);
  EXPECT_THAT(parseEnforce("MPS").error().message(), HasSubstr("accepted"));
  EXPECT_FALSE(parseBackend("auto"));
}

}  // namespace
}  // namespace divvy::agent
