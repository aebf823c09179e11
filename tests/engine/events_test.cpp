// Long random lives: no amount is ever given twice, and what is known is what the log says.
#include <gtest/gtest.h>

#include <cstdlib>

#include "brute.h"
#include "some.h"

namespace divvy::engine {
namespace {

constexpr unsigned kNodes = 40;
constexpr unsigned kShapes = 60;

unsigned eventCount() {
  const char* given = std::getenv("DIVVY_ENGINE_EVENTS");
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr unsigned kUsual = 1'000'000;
#else
  constexpr unsigned kUsual = 20'000;  // the same, slowly
#endif
  return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : kUsual;
}

class Life {
 public:
  Life() : wild_{rng_}, engine_(Config{Policy::kDivvy, 3}) {
    EXPECT_TRUE(engine_.setTarget(some::target()));
    for (unsigned i = 0; i < kNodes; ++i) {
      nodes_.push_back(wild_.node("n" + std::to_string(i)));
      join(i);
    }
    for (unsigned i = 0; i < kShapes; ++i) shapes_.push_back(wild_.request("").shape);
  }

  void step() {
    ++now_;
    const std::uint64_t what = rng_.below(1000);
    if (what < 450) {
      place();
    } else if (what < 600) {
      confirm();
    } else if (what < 940) {
      release();
    } else if (what < 990) {
      expire();
    } else {
      crashOrJoin();
    }
  }

  // One that knows only the nodes and what was given answers the same.
  void compareWithRebuilt() {
    Engine rebuilt(Config{Policy::kDivvy, 3});
    for (unsigned i = kNodes; i-- > 0;) {
      if (world_.machines().count(nodes_[i].name.text) > 0) {
        ASSERT_TRUE(rebuilt.setNode(nodes_[i]));
      }
    }
    ASSERT_TRUE(rebuilt.setTarget(some::target()));
    for (const auto& [id, allocation] : log_) ASSERT_TRUE(rebuilt.adopt(allocation));
    ASSERT_EQ(engine_.allocations(), rebuilt.allocations());
    ASSERT_EQ(engine_.allocations().size(), log_.size());
    EXPECT_EQ(engine_.usage().used, rebuilt.usage().used);
    EXPECT_EQ(engine_.usage().idle, rebuilt.usage().idle);
    EXPECT_EQ(engine_.usage().capacity, rebuilt.usage().capacity);
    EXPECT_DOUBLE_EQ(engine_.usage().fragmented, rebuilt.usage().fragmented);
    EXPECT_EQ(engine_.nodes(), rebuilt.nodes());
    for (const Shape& shape : shapes_) {
      const Request request{RequestId("asked"), shape};
      const Result<Decision> ours = engine_.explain(request);
      const Result<Decision> theirs = rebuilt.explain(request);
      ASSERT_TRUE(ours && theirs);
      ASSERT_EQ(ours->placement, theirs->placement);
      ASSERT_EQ(ours->refusals, theirs->refusals);
    }
  }
  std::string overCapacity() const { return world_.overCapacity(); }
  std::size_t most() const { return most_; }

 private:
  void join(unsigned i) {
    ASSERT_TRUE(engine_.setNode(nodes_[i]));
    world_.add(nodes_[i]);
  }
  void gone(const Allocation& allocation) {
    ASSERT_EQ(log_.at(allocation.id), allocation);
    log_.erase(allocation.id);
  }
  const RequestId* someone() {
    if (log_.empty()) return nullptr;
    return &std::next(log_.begin(),
                      static_cast<long>(rng_.below(std::min<std::size_t>(log_.size(), 64))))
                ->first;
  }
  void place() {
    const Request request{RequestId("r" + std::to_string(rng_.below(4000))),
                          shapes_[rng_.below(shapes_.size())]};
    const auto known = log_.find(request.id);
    const Result<Allocation> given = engine_.place(request, Instant{now_ + 300});
    if (known != log_.end()) {
      // The same again, or refused for being something else.
      ASSERT_TRUE(!given || *given == known->second);
    } else if (given) {
      ASSERT_EQ(world_.faultOf(given->placement, request.shape), "");
      world_.book(given->placement, 1);
      log_[request.id] = *given;
      most_ = std::max(most_, log_.size());
    } else {
      ASSERT_EQ(given.error().code(), ErrorCode::kNoRoom);
    }
  }
  void confirm() {
    const RequestId* id = someone();
    if (id == nullptr) return;
    ASSERT_TRUE(engine_.confirm(*id));
    log_.at(*id).expires.reset();
  }
  void release() {
    const RequestId* id = someone();
    if (id == nullptr) return;
    const Allocation was = log_.at(*id);
    ASSERT_TRUE(engine_.release(was.id));
    ASSERT_FALSE(engine_.release(was.id));
    world_.book(was.placement, -1);
    gone(was);
  }
  void expire() {
    for (const Allocation& one : engine_.expire(Instant{now_})) {
      ASSERT_LE(*one.expires, Instant{now_});
      world_.book(one.placement, -1);
      gone(one);
    }
    for (const auto& [id, one] : log_) ASSERT_TRUE(!one.expires || *one.expires > Instant{now_});
  }
  void crashOrJoin() {
    const auto i = static_cast<unsigned>(rng_.below(kNodes));
    const std::string& name = nodes_[i].name.text;
    if (world_.machines().count(name) == 0) return join(i);
    for (const Allocation& one : engine_.removeNode(nodes_[i].name)) {
      ASSERT_EQ(one.placement.node.text, name);
      gone(one);
    }
    world_.remove(name);
    for (const auto& [id, one] : log_) ASSERT_NE(one.placement.node.text, name);
  }

  Rng rng_{5};
  some::Wild wild_;
  Engine engine_;
  brute::World world_;
  std::vector<Node> nodes_;
  std::vector<Shape> shapes_;
  std::map<RequestId, Allocation> log_;
  std::int64_t now_ = 0;
  std::size_t most_ = 0;
};

TEST(EngineEvents, RandomLives_NeverOverCapacityAndMatchLog) {
  Life life;
  const unsigned events = eventCount();
  for (unsigned i = 1; i <= events; ++i) {
    ASSERT_NO_FATAL_FAILURE(life.step()) << "event " << i;
    ASSERT_EQ(life.overCapacity(), "") << "event " << i;
    if (i % (events / 10) == 0) {
      ASSERT_NO_FATAL_FAILURE(life.compareWithRebuilt()) << "event " << i;
    }
  }
  EXPECT_GT(life.most(), 20u);
}

}  // namespace
}  // namespace divvy::engine
