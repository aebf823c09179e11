// Certificates are good for what they are for and for nothing else, and at each step of their
// life what is served is trusted.
#include <gtest/gtest.h>

#include <algorithm>

#include "webhook/certificate_lifecycle.h"

namespace divvy::scheduler {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Clock kNow{seconds(1'800'000'000)};
constexpr hours kLife{24 * 90};
const std::vector<std::string> kNames{"divvy", "divvy.space.svc", "127.0.0.1", "::1"};

StoredCertificate made(Clock now = kNow, seconds life = kLife) {
  return *issue(kNames, now, life);
}

Result<StoredCertificate> looked(const StoredCertificate& kept, Clock now,
                                 const std::vector<std::string>& names = kNames) {
  return inspect(kept.pair, kept.authorities.front(), names, now);
}

TEST(Certificate, NamesAndTime_AreValid) {
  const StoredCertificate kept = made();
  const Result<StoredCertificate> seen = looked(kept, kNow);
  ASSERT_TRUE(seen.has_value()) << seen.error().message();
  EXPECT_EQ(seen->pair, kept.pair);
  EXPECT_EQ(seen->authorities, kept.authorities);
  EXPECT_EQ(seen->validity.until, kNow + kLife);
  // Clocks differ by minutes.
  EXPECT_TRUE(looked(kept, kNow - minutes(10)).has_value());
  EXPECT_TRUE(looked(kept, kNow + kLife - seconds(1)).has_value());
  EXPECT_FALSE(looked(kept, kNow + kLife + seconds(1)).has_value());
  EXPECT_FALSE(looked(kept, kNow - hours(2)).has_value());
}

TEST(Certificate, OtherNames_AreRefused) {
  const StoredCertificate kept = made();
  for (const char* name : {"other", "divvy.space", "x.divvy", "127.0.0.2", "::2"}) {
    const Result<StoredCertificate> seen = looked(kept, kNow, {"divvy", name});
    ASSERT_FALSE(seen.has_value()) << name;
    EXPECT_EQ(seen.error().message(), std::string("the certificate is not for ") + name);
  }
}

TEST(Certificate, Trust_OwnAuthorityOnly) {
  const StoredCertificate one = made();
  const StoredCertificate other = made();
  EXPECT_EQ(inspect(one.pair, other.authorities.front(), kNames, kNow).error().code(),
            ErrorCode::kUsage);
  EXPECT_FALSE(inspect(one.pair, "", kNames, kNow).has_value());
  // Among others it is found, and comes first.
  const Result<StoredCertificate> seen =
      inspect(one.pair, other.authorities.front() + one.authorities.front(), kNames, kNow);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->authorities,
            (std::vector<std::string>{one.authorities.front(), other.authorities.front()}));
}

TEST(Certificate, BrokenPair_ErrorOmitsKey) {
  const StoredCertificate one = made();
  const StoredCertificate other = made();
  const std::string half = one.pair.key.substr(0, one.pair.key.size() / 2);
  const std::string line = one.pair.key.substr(40, 20);
  for (const CertificateKeyPair& pair :
       {CertificateKeyPair{one.pair.certificate, other.pair.key},
        CertificateKeyPair{one.pair.certificate, ""},
        CertificateKeyPair{one.pair.certificate, half}, CertificateKeyPair{"", one.pair.key},
        CertificateKeyPair{one.pair.key, one.pair.certificate},
        CertificateKeyPair{one.pair.certificate.substr(100), one.pair.key}}) {
    const Result<StoredCertificate> seen = inspect(pair, one.authorities.front(), kNames, kNow);
    ASSERT_FALSE(seen.has_value());
    EXPECT_EQ(seen.error().code(), ErrorCode::kCorrupt);
    EXPECT_EQ(seen.error().message().find(line), std::string::npos);
  }
}

TEST(Certificate, InvalidNames_AreRefused) {
  for (const char* name : {"", "a b", "a,DNS:b", "a\nb", "-a", ".a", "email:copy", "a/b"}) {
    const Result<StoredCertificate> kept = issue({"good", name}, kNow, kLife);
    ASSERT_FALSE(kept.has_value()) << name;
    EXPECT_EQ(kept.error().code(), ErrorCode::kUsage);
  }
  EXPECT_FALSE(issue({}, kNow, kLife).has_value());
}

TEST(AuthoritiesIn, MixedBundle_ValidAuthoritiesOnce) {
  const std::string one = made().authorities.front();
  const std::string other = made().authorities.front();
  const std::string ended = made(kNow - kLife * 2).authorities.front();
  const std::vector<std::string> both{one, other};
  EXPECT_EQ(authoritiesIn("# words\n" + one + "junk" + ended + other + one, kNow), both);
  EXPECT_EQ(authoritiesIn(one + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" +
                              other + "-----BEGIN CERTIFICATE-----\nAAAA",
                          kNow),
            both);
  EXPECT_TRUE(authoritiesIn("", kNow).empty());
}

TEST(CertificateLifecycle, EachLifetime_TimesAreOrdered) {
  for (const seconds life : {seconds(10), seconds(60), seconds(hours(1)), seconds(kLife)}) {
    const StoredCertificate kept = made(kNow, life);
    const Clock settled = kNow + settlingOf(kept.validity);
    EXPECT_LT(kNow, settled);
    EXPECT_LT(settled, retirementOf(kept.validity));
    EXPECT_LT(retirementOf(kept.validity), rotationOf(kept.validity));
    EXPECT_LT(rotationOf(kept.validity), kept.validity.until);
    EXPECT_GE(kept.validity.until - rotationOf(kept.validity), life / 3);
  }
}

// Two replicas, one Secret, one registration: all of them move at random, and at each moment
// whoever serves something serves what the registration trusts.
class Cluster {
 public:
  struct Replica {
    CertificateView view;
    std::size_t version = 0;
  };

  void see(Replica* one, Clock now) {
    one->view.secret_known = one->view.registration_known = true;
    one->version = version;
    one->view.kept.reset();
    if (secret) {
      const Result<StoredCertificate> kept =
          inspect(secret->pair, joined(secret->authorities), kNames, now);
      if (kept) one->view.kept = *kept;
    }
    one->view.trusted = {{authoritiesIn(bundle, now)}};
    if (!isTrusted(one->view)) {
      one->view.trusted_since.reset();
    } else if (!one->view.trusted_since) {
      one->view.trusted_since = now;
    }
  }

  // What was decided, on what was seen then: a version that is not the last is refused.
  CertificateStep act(Replica* one, Clock now) {
    const CertificateStep step = nextStep(one->view, now);
    if (step == CertificateStep::kServe) one->view.served = one->view.kept;
    if (step == CertificateStep::kWait || step == CertificateStep::kServe) return step;
    if (one->version != version) return CertificateStep::kWait;
    ++version;
    if (step == CertificateStep::kIssue) {
      StoredCertificate fresh = made(now, life);
      for (const std::optional<StoredCertificate>* old : {&one->view.served, &one->view.kept})
        if (*old)
          fresh.authorities.insert(fresh.authorities.end(), (*old)->authorities.begin(),
                                   (*old)->authorities.end());
      secret = fresh;
      ++issued;
    }
    if (step == CertificateStep::kTrust)
      bundle = joined(trustOf(one->view, authoritiesIn(bundle, now)));
    if (step == CertificateStep::kForgetOld) secret->authorities.resize(1);
    if (step == CertificateStep::kDistrustOld) bundle = joined(one->view.kept->authorities);
    return step;
  }

  // As an API server would see it.
  bool trusted(const Replica& one, Clock now) const {
    return !one.view.served || inspect(one.view.served->pair, bundle, kNames, now).has_value();
  }

  static std::string joined(const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& one : list) text += one;
    return text;
  }

  std::optional<StoredCertificate> secret;
  std::string bundle;
  std::size_t version = 1;
  std::size_t issued = 0;
  seconds life{24};
};

TEST(CertificateLifecycle, RandomReplicas_ServedIsTrusted) {
  Cluster cluster;
  Cluster::Replica replicas[2];
  Clock now = kNow;
  std::size_t served = 0;
  std::string last;
  // Each acts on what it saw the last time: others may have been there since.
  std::uint64_t chance = 7;
  const auto draw = [&](std::uint64_t below) {
    chance = chance * 6364136223846793005ull + 1442695040888963407ull;
    return (chance >> 33) % below;
  };
  for (int step = 0; step < 400; ++step) {
    now += milliseconds(400);
    Cluster::Replica& one = replicas[draw(2)];
    cluster.act(&one, now);
    cluster.see(&one, now);
    for (const Cluster::Replica& each : replicas)
      ASSERT_TRUE(cluster.trusted(each, now)) << "step " << step;
    if (replicas[0].view.served && replicas[0].view.served->pair.certificate != last) {
      last = replicas[0].view.served->pair.certificate;
      ++served;
    }
  }
  // 160 s of certificates of 24 s, made anew after 16: ten of them, and each was served.
  EXPECT_GE(cluster.issued, 9u);
  EXPECT_LE(cluster.issued, 11u);
  EXPECT_GE(served, 9u);
  EXPECT_LE(authoritiesIn(cluster.bundle, now).size(), 2u);
}

TEST(CertificateLifecycle, SecretOrBundleDamaged_IsRepaired) {
  Cluster cluster;
  Cluster::Replica one;
  Clock now = kNow;
  const auto restoreReservations = [&] {
    std::vector<CertificateStep> steps;
    for (int i = 0; i < 20; ++i) {
      now += seconds(1);
      cluster.see(&one, now);
      const CertificateStep step = cluster.act(&one, now);
      if (step != CertificateStep::kWait) steps.push_back(step);
      EXPECT_TRUE(cluster.trusted(one, now));
    }
    return steps;
  };
  using Eviction = CertificateStep;
  cluster.life = seconds(kLife);
  EXPECT_EQ(restoreReservations(),
            (std::vector<Eviction>{Eviction::kIssue, Eviction::kTrust, Eviction::kServe}));
  cluster.bundle.clear();
  cluster.see(&one, now);
  EXPECT_EQ(cluster.act(&one, now), Eviction::kTrust);
  EXPECT_TRUE(restoreReservations().empty());
  // Deleted: another is made, trusted at once, and served when all API servers know of it.
  const CertificateKeyPair before = cluster.secret->pair;
  cluster.secret.reset();
  std::vector<Eviction> steps = restoreReservations();
  EXPECT_EQ(steps, (std::vector<Eviction>{Eviction::kIssue, Eviction::kTrust}));
  now += seconds(30);
  steps = restoreReservations();
  EXPECT_EQ(steps, (std::vector<Eviction>{Eviction::kServe}));
  EXPECT_NE(one.view.served->pair, before);
  now += hours(1);
  EXPECT_EQ(restoreReservations(),
            (std::vector<Eviction>{Eviction::kForgetOld, Eviction::kDistrustOld}));
  // Another's key: not to be used.
  cluster.secret->pair.key = made().pair.key;
  steps = restoreReservations();
  EXPECT_EQ(steps.front(), Eviction::kIssue);
}

TEST(CertificateLifecycle, IncompleteView_Waits) {
  CertificateView view;
  EXPECT_EQ(nextStep(view, kNow), CertificateStep::kWait);
  view.secret_known = true;
  EXPECT_EQ(nextStep(view, kNow), CertificateStep::kWait);
  view.registration_known = true;
  EXPECT_EQ(nextStep(view, kNow), CertificateStep::kIssue);
  // Not registered yet: nobody has to trust it.
  view.kept = made();
  EXPECT_EQ(nextStep(view, kNow), CertificateStep::kServe);
}

}  // namespace
}  // namespace divvy::scheduler
