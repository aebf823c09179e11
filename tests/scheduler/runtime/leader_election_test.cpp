// Who leads: rows by hand, and replicas that are paused and read late, by chance.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "runtime/leader_election.h"
#include "runtime/readiness.h"
#include "scheduler/fencing_policy.h"

namespace divvy::scheduler {
namespace {

using engine::Instant;

kube::Lease lease(const std::string& holder, const std::string& version, int transitions = 3) {
  kube::Lease made;
  made.meta.uid = "u";
  made.meta.version = version;
  made.holder = holder;
  made.seconds = 9;
  made.transitions = transitions;
  return made;
}

TEST(Leadership, LeaseAgeUnknown_DoesNotLead) {
  Leadership one("a");
  EXPECT_FALSE(one.verdict({0}).leads);
  EXPECT_TRUE(one.saw({1000}, lease("a_x", "1"))) << "a term of ours";
  EXPECT_FALSE(one.verdict({1001}).leads) << "it may have been written an hour ago";
  EXPECT_FALSE(one.saw({2000}, lease("a_x", "1")));
  EXPECT_FALSE(one.verdict({2001}).leads);
  EXPECT_FALSE(one.saw({3000}, lease("a_x", "2"))) << "renewed, the same term";
  EXPECT_TRUE(one.verdict({3001}).leads);
  EXPECT_EQ(one.verdict({3001}).fence, "u/3");
}

TEST(Leadership, LeaseAge_CountsFromLastOlderRead) {
  Leadership one("a");
  (void)one.saw({1000}, lease("a_x", "1"));
  (void)one.saw({3000}, lease("a_x", "2"));  // written after 1000
  EXPECT_TRUE(one.verdict({1000 + 6002}).leads);
  EXPECT_FALSE(one.verdict({1000 + 6003}).leads) << "two thirds of 9 s";
  (void)one.saw({5000}, lease("a_x", "2"));
  EXPECT_FALSE(one.verdict({1000 + 6003}).leads) << "read again is not renewed";
  (void)one.saw({7200}, lease("a_x", "3"));  // written after 5000
  EXPECT_TRUE(one.verdict({7201}).leads);
}

TEST(Leadership, Holder_IsIdentityAndUnderscore) {
  for (const char* holder : {"b_x", "a", "ab_x", "", "x_a_"}) {
    Leadership one("a");
    (void)one.saw({0}, std::nullopt);
    EXPECT_FALSE(one.saw({1}, lease(holder, "1"))) << holder;
    EXPECT_FALSE(one.verdict({2}).leads) << holder;
  }
}

TEST(Leadership, LeaseAppears_AgeFromReadWithoutIt) {
  Leadership one("a");
  (void)one.saw({1000}, std::nullopt);
  EXPECT_TRUE(one.saw({1500}, lease("a_x", "1")));
  EXPECT_TRUE(one.verdict({1501}).leads);
  EXPECT_FALSE(one.verdict({1000 + 6003}).leads);
  EXPECT_FALSE(one.saw({2000}, std::nullopt)) << "somebody took it away";
  EXPECT_FALSE(one.verdict({2001}).leads);
}

TEST(Leadership, NewHolderOrTransition_IsNewTerm) {
  Leadership one("a");
  (void)one.saw({0}, std::nullopt);
  EXPECT_TRUE(one.saw({100}, lease("a_x", "1", 0)));
  EXPECT_FALSE(one.saw({200}, lease("b_y", "2", 1)));
  EXPECT_TRUE(one.saw({300}, lease("a_x", "3", 2))) << "another led in between";
  EXPECT_TRUE(one.saw({400}, lease("a_z", "4", 3)));
  kube::Lease again = lease("a_z", "5", 3);
  again.meta.uid = "v";
  EXPECT_TRUE(one.saw({500}, again)) << "made anew: its count has begun anew, too";
}

// Time in tenths of a second.
constexpr int kDuration = 80, kDeadline = 50, kRetry = 10, kLook = 5;

struct Written {
  kube::Lease lease;
  int version = 0;
};

// The API server's one object, written only by who knows its last version.
struct Store {
  std::optional<Written> now;
  void write(std::optional<int> known, const std::string& holder) {
    const bool same = now ? known && *known == now->version : !known;
    if (!same) return;
    Written next;
    next.version = now ? now->version + 1 : 1;
    next.lease = lease(holder, std::to_string(next.version), 0);
    next.lease.seconds = kDuration / 10;
    if (now)
      next.lease.transitions = now->lease.transitions + (now->lease.holder != holder ? 1 : 0);
    now = next;
  }
};

class Chance {
 public:
  explicit Chance(unsigned seed) : random_(seed) {}
  int upTo(int most) { return static_cast<int>(random_() % (static_cast<unsigned>(most) + 1)); }
  bool oneIn(int count) { return upTo(count - 1) == 0; }
  int delay() { return oneIn(12) ? upTo(100) : upTo(2); }

 private:
  std::mt19937 random_;
};

// Stands still now and then.
struct Paused {
  int until = 0;
  bool at(int now, Chance& chance) {
    if (now >= until && chance.oneIn(250)) until = now + chance.upTo(200);
    return now < until;
  }
};

// As client-go elects: whoever saw no change for the lease's duration takes it.
class Elector {
 public:
  explicit Elector(std::string host) : host_(std::move(host)) {}

  void step(int now, Store& store, Chance& chance) {
    if (paused_.at(now, chance) || now < next_) return;
    if (!reading_) {
      reading_ = true;
      next_ = now + chance.delay();
      return;
    }
    if (!writing_) {
      seen_ = store.now;
      const std::optional<int> version = seen_ ? std::optional(seen_->version) : std::nullopt;
      if (version != known_ || !ever_) observed_ = now;
      ever_ = true;
      known_ = version;
      writing_ = true;
      next_ = now + chance.delay();
      decided_ = !seen_ || seen_->lease.holder == name() || observed_ + kDuration < now;
      return;
    }
    if (decided_) {
      const int before = store.now ? store.now->version : 0;
      store.write(known_, name());
      if (store.now->version != before) renewed_ = now;
    }
    if (store.now->lease.holder == name() && now - renewed_ > kDeadline) ++life_;  // it exits
    reading_ = writing_ = false;
    next_ = now + kRetry;
  }

 private:
  std::string name() const { return host_ + '_' + std::to_string(life_); }

  std::string host_;
  Paused paused_;
  int next_ = 0, observed_ = 0, renewed_ = 0, life_ = 0;
  bool reading_ = false, writing_ = false, decided_ = false, ever_ = false;
  std::optional<Written> seen_;
  std::optional<int> known_;
};

// Reads the lease with any delay before and after the server has looked.
class Replica {
 public:
  // `naive`: what it reads is believed to be as fresh as the answer.
  Replica(const std::string& host, bool naive) : naive_(naive), leadership_(host) {}

  bool acts(int now, const Store& store, Chance& chance) {
    if (server_at_ && now >= *server_at_) {
      shown_ = store.now ? std::optional(store.now->lease) : std::nullopt;
      server_at_.reset();
      answer_at_ = now + chance.delay();
    }
    if (paused_.at(now, chance)) return false;
    if (answer_at_ && now >= *answer_at_) {
      (void)leadership_.saw({(naive_ ? now : began_) * 100}, shown_);
      answer_at_.reset();
      next_ = now + kLook;
    }
    if (!server_at_ && !answer_at_ && now >= next_) {
      began_ = now;
      server_at_ = now + chance.delay();
    }
    return leadership_.verdict({now * 100}).leads;
  }

 private:
  bool naive_;
  Leadership leadership_;
  Paused paused_;
  std::optional<int> server_at_, answer_at_;
  std::optional<kube::Lease> shown_;
  int began_ = 0, next_ = 0;
};

struct Tally {
  int acting = 0;   // instants at which one did
  int both = 0;     // and both
  int foreign = 0;  // and the lease was another's
  int terms = 0;
};

Tally play(unsigned seed, bool naive) {
  Chance chance(seed);
  Store store;
  std::array electors{Elector("a"), Elector("b")};
  std::array replicas{Replica("a", naive), Replica("b", naive)};
  Tally tally;
  for (int now = 0; now < 6000; ++now) {
    for (Elector& one : electors) one.step(now, store, chance);
    int acting = 0;
    for (std::size_t at = 0; at < replicas.size(); ++at) {
      if (!replicas[at].acts(now, store, chance)) continue;
      ++acting;
      if (store.now->lease.holder[0] != "ab"[at]) ++tally.foreign;
    }
    tally.acting += acting > 0 ? 1 : 0;
    tally.both += acting > 1 ? 1 : 0;
  }
  tally.terms = static_cast<int>(store.now ? store.now->lease.transitions : 0);
  return tally;
}

TEST(Leadership, RandomPausesAndDelays_OneLeader) {
  Tally all, naive;
  const auto add = [](Tally* to, const Tally& one) {
    to->acting += one.acting;
    to->both += one.both;
    to->foreign += one.foreign;
    to->terms += one.terms;
  };
  for (unsigned seed = 1; seed <= 80; ++seed) {
    const Tally one = play(seed, false);
    EXPECT_EQ(one.both, 0) << "seed " << seed;
    EXPECT_EQ(one.foreign, 0) << "seed " << seed;
    add(&all, one);
    add(&naive, play(seed, true));
  }
  EXPECT_GT(all.acting, 40'000) << "of 480,000 instants: it has to lead for this to say anything";
  EXPECT_GT(all.terms, 200);
  EXPECT_GT(naive.foreign, 0) << "the control: answers believed to be as fresh as they come";
}

TEST(Readiness, SilentSource_NamedWithDuration) {
  const LeaderStatus verdict{true, "u/3", "leads, term u/3"};
  std::array sources{HealthSource{"nodes"}, HealthSource{"pods", false}, HealthSource{"the lease"}};
  EXPECT_TRUE(webhookReadiness(sources, verdict).ready) << "it needs no books";
  EXPECT_FALSE(extenderReadiness(sources, verdict).ready);
  EXPECT_EQ(extenderReadiness(sources, verdict).text, "pods are being listed; leads, term u/3");
  sources[1].told = true;
  EXPECT_EQ(extenderReadiness(sources, verdict).text, "leads, term u/3");
  sources[0].failing_ms = 30'000;
  EXPECT_TRUE(extenderReadiness(sources, verdict).ready) << "that happens";
  sources[0] = {"nodes", true, 30'001, "refused"};
  EXPECT_FALSE(webhookReadiness(sources, verdict).ready);
  EXPECT_EQ(extenderReadiness(sources, verdict).text, "nodes: no events for 30 s: refused");
}

}  // namespace
}  // namespace divvy::scheduler
