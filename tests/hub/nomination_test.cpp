// Which clusters are nominated, and why.
#include "dispatch/nomination.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"

namespace divvy::hub {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

Candidate candidate(const char* cluster, std::optional<bool> fits,
                    WorkerPrice price = WorkerPrice::kPrivate) {
  return {cluster, price, true, fits, ""};
}

TEST(Nomination, SeveralFit_PrivateThenReservedThenOnDemand) {
  std::vector<Candidate> all{candidate("d", true, WorkerPrice::kOnDemand),
                             candidate("a", true, WorkerPrice::kReserved), candidate("c", true),
                             candidate("b", true)};
  for (const char* expected : {"b", "c", "a", "d"}) {
    const Nomination found = nominate(all, {});
    EXPECT_EQ(found.clusters, Names{expected});
    std::erase_if(all, [&](const Candidate& one) { return one.cluster == expected; });
  }
}

TEST(Nomination, NoneFits_NoneAndReasonForEach) {
  std::vector<Candidate> all{candidate("a", false), candidate("b", std::nullopt),
                             candidate("c", true)};
  all[0].why = "8 pods do not fit together";
  all[2].answers = false;
  const Nomination found = nominate(all, {});
  EXPECT_EQ(found.clusters, Names{});
  EXPECT_EQ(found.reasons, (Names{"a: 8 pods do not fit together", "b: not known whether it fits",
                                  "c: does not answer"}));
}

TEST(Nomination, NoneFitsForLong_AllPrivateOnes) {
  const std::vector<Candidate> all{candidate("a", false), candidate("b", false),
                                   candidate("c", false, WorkerPrice::kReserved)};
  EXPECT_EQ(nominate(all, {.waited = seconds(19)}).clusters, Names{});
  EXPECT_EQ(nominate(all, {.waited = seconds(20)}).clusters, (Names{"a", "b"}));
  EXPECT_EQ(nominate({all[2]}, {.waited = seconds(20)}).clusters, Names{"c"});
  EXPECT_EQ(nominate({}, {.waited = seconds(20)}).clusters, Names{});
}

TEST(Nomination, CheaperOneIsNotKnownYet_WaitsForIt) {
  std::vector<Candidate> all{candidate("a", std::nullopt),
                             candidate("cloud", true, WorkerPrice::kOnDemand)};
  const Nomination early = nominate(all, {.waited = seconds(19)});
  EXPECT_EQ(early.clusters, Names{});
  EXPECT_TRUE(early.undecided);
  const Nomination late = nominate(all, {.waited = seconds(20)});
  EXPECT_EQ(late.clusters, Names{"cloud"});
  EXPECT_FALSE(late.undecided);
  all[0].failed = true;
  EXPECT_EQ(nominate(all, {}).clusters, Names{"cloud"}) << "it does not answer at all";
  const std::vector<Candidate> equal{candidate("a", std::nullopt), candidate("b", true)};
  EXPECT_EQ(nominate(equal, {}).clusters, Names{"b"});
}

TEST(Nomination, NeverFits_NotNominatedHoweverLongItWaits) {
  std::vector<Candidate> all{candidate("a", false), candidate("b", false)};
  all[0].never = true;
  EXPECT_EQ(nominate(all, {.waited = seconds(20)}).clusters, Names{"b"});
}

// Three private clusters are nominated although none of them has devices.
TEST(Nomination, NoneFitsAndPaidOneDoesLater_ItIsAdded) {
  std::vector<Candidate> all{candidate("a", false), candidate("b", false), candidate("c", false),
                             candidate("cloud", true, WorkerPrice::kOnDemand)};
  NominationTerms terms{.nominated = {"a", "b", "c"},
                        .waited = seconds(300),
                        .nominated_for = seconds(280),
                        .spill_after = seconds(600)};
  EXPECT_EQ(nominate(all, terms).clusters, terms.nominated);
  terms.waited = seconds(600);
  EXPECT_EQ(nominate(all, terms).clusters, (Names{"a", "b", "c", "cloud"}));
}

TEST(Nomination, OnDemand_NotBeforeSpillTime) {
  const std::vector<Candidate> all{candidate("a", false),
                                   candidate("cloud", true, WorkerPrice::kOnDemand)};
  NominationTerms terms;
  terms.spill_after = seconds(600);
  const Nomination early = nominate(all, terms);
  EXPECT_EQ(early.clusters, Names{});
  EXPECT_EQ(early.reasons.at(1), "cloud: on demand: not before the job has waited 600 s");
  terms.waited = seconds(600);
  EXPECT_EQ(nominate(all, terms).clusters, Names{"cloud"});
}

TEST(Nomination, JobNamesCluster_NoOther) {
  const std::vector<Candidate> all{candidate("a", true), candidate("b", false)};
  const Nomination found = nominate(all, {.named = "b", .waited = seconds(60)});
  EXPECT_EQ(found.clusters, Names{"b"}) << "it waits there";
  EXPECT_EQ(found.reasons.at(0), "a: the job names cluster b");
  EXPECT_EQ(nominate(all, {.named = "x", .waited = seconds(60)}).clusters, Names{});
}

TEST(Nomination, NotAdmittedForLong_FurtherOnesUpToThree) {
  const std::vector<Candidate> all{candidate("a", true), candidate("b", true), candidate("c", true),
                                   candidate("d", true)};
  NominationTerms terms{.nominated = {"b"}, .nominated_for = seconds(19)};
  EXPECT_EQ(nominate(all, terms).clusters, Names{"b"});
  terms.nominated_for = seconds(20);
  for (const Names& expected : {Names{"b", "a"}, Names{"b", "a", "c"}, Names{"b", "a", "c"}}) {
    terms.nominated = nominate(all, terms).clusters;
    EXPECT_EQ(terms.nominated, expected);
  }
  EXPECT_EQ(nominate({candidate("a", false)}, {.nominated = {"b"}, .nominated_for = seconds(20)})
                .clusters,
            Names{"b"});
}

// Whatever the clusters answer: bounds, no cluster twice, none that may not be chosen.
TEST(Nomination, RandomAnswers_KeepTheRules) {
  std::size_t nominations = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    std::vector<Candidate> all;
    for (std::uint64_t i = 0; i < rng.below(30); ++i) {
      Candidate& one = all.emplace_back();
      one.cluster = "c" + std::to_string(i);
      one.price = static_cast<WorkerPrice>(rng.below(3));
      one.answers = rng.below(4) > 0;
      if (rng.below(3) > 0) one.fits = rng.below(2) == 0;
      one.never = rng.below(10) == 0;
    }
    NominationTerms terms;
    terms.waited = seconds(rng.below(40));
    terms.nominated_for = seconds(rng.below(40));
    terms.spill_after = seconds(rng.below(40));
    for (const Candidate& one : all)
      if (rng.below(10) == 0) terms.nominated.push_back(one.cluster);
    const Nomination found = nominate(all, terms);
    EXPECT_EQ(found.reasons.size(), all.size());
    const std::set<std::string> distinct(found.clusters.begin(), found.clusters.end());
    EXPECT_EQ(distinct.size(), found.clusters.size());
    EXPECT_LE(found.clusters.size(), std::max(kMaxNominated, terms.nominated.size()));
    for (const std::string& name : terms.nominated) EXPECT_TRUE(distinct.contains(name));
    for (const Candidate& one : all) {
      const bool was = std::find(terms.nominated.begin(), terms.nominated.end(), one.cluster) !=
                       terms.nominated.end();
      if (was || !distinct.contains(one.cluster)) continue;
      ++nominations;
      EXPECT_TRUE(one.answers && !one.never);
      EXPECT_TRUE(one.price != WorkerPrice::kOnDemand || terms.waited >= terms.spill_after);
      EXPECT_TRUE(one.fits.value_or(false) || terms.waited >= kPatience);
    }
  }
  EXPECT_GT(nominations, 500u);
}

}  // namespace
}  // namespace divvy::hub
