// Which devices a queue's amounts of one model count.
#include <gtest/gtest.h>

#include "gate_world.h"
#include "quota/queue_tree.h"

namespace divvy::scheduler {
namespace {

TEST(QueueTree, ModelAmount_MatchesByFullWords) {
  EXPECT_TRUE(QueueTree::matches("H20", "NVIDIA H20"));
  EXPECT_TRUE(QueueTree::matches("rtx4090", "NVIDIA GeForce RTX 4090"));
  EXPECT_FALSE(QueueTree::matches("H20", "NVIDIA H200"));
  EXPECT_FALSE(QueueTree::matches("A10", "NVIDIA A100-SXM4-80GB"));
  for (const char* all : {"", "*"}) EXPECT_TRUE(QueueTree::matches(all, "NVIDIA H20"));
}

TEST(QueueTree, ModelWithoutLetter_QueueNotInForce) {
  QueueTree queues;
  kube::Queue queue = queueOf("lab", 1000, 1000);
  for (const char* good : {"H20", "显卡", "*", ""}) {
    queue.limit = {kube::QueueAmount{good, 1000, {}}};
    queues.set(queue);
    EXPECT_EQ(queues.fault("lab"), "") << good;
  }
  queue.limit = {kube::QueueAmount{" - ", 1000, {}}};
  queues.set(queue);
  EXPECT_EQ(queues.fault("lab"),
            "its model \" - \" has no letter or digit; accepted: whole words of a model's name: "
            "H20, RTX 4090, A100-SXM4-80GB, or * for all");
}

}  // namespace
}  // namespace divvy::scheduler
