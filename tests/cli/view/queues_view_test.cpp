// Queues of a cluster as they are printed.
#include "view/queues_view.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace divvy::cli {
namespace {

kube::Queue queue(const std::string& name, const std::string& parent = "") {
  kube::Queue made;
  made.meta.name = name;
  made.parent = parent;
  return made;
}

std::vector<kube::Queue> three() {
  std::vector<kube::Queue> all{queue("train", "lab"), queue("lab"), queue("alone", "nowhere")};
  all[0].guarantee = {{"*", 1000, {}}};
  all[0].limit = {{"*", 2500, 40960}, {"H100", 1000, {}}};
  all[0].status.used = {{"*", 1500, 2048}};
  all[0].status.running = 3;
  all[0].status.pending = 2;
  all[0].status.waiting = {{"no room", 1, "a/p"}, {"too few", 1, "a/q"}};
  all[2].status.fault = "its parent is not there";
  return all;
}

TEST(QueuesView, TreeText_UseLimitsAndReasons) {
  EXPECT_EQ(queuesText(three(), false, 0),
            "alone    -               -      -                            0  0  not in force: its "
            "parent is not there\n"
            "lab      -               -      -                            0  0  -\n"
            "  train  1.5 GPUs, 2GiB  1 GPU  2.5 GPUs, 40GiB; H100 1 GPU  3  2  no room (a/p) and "
            "one more reason\n");
}

TEST(QueuesView, JsonOutput_HasEveryField) {
  const boost::json::value all = boost::json::parse(queuesJson(three()));
  const boost::json::array& list = all.at("queues").as_array();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[2].at("name"), "train");
  EXPECT_EQ(list[2].at("limit").as_array()[1].at("gpuMilli"), 1000);
  EXPECT_EQ(list[2].at("waiting").as_array()[0].at("example"), "a/p");
  EXPECT_EQ(list[0].at("fault"), "its parent is not there");
}

// One that is below itself is told all the same.
TEST(QueuesView, CyclicParents_NoQueueLost) {
  EXPECT_EQ(boost::json::parse(queuesJson({queue("a", "b"), queue("b", "a")}))
                .at("queues")
                .as_array()
                .size(),
            2u);
}

}  // namespace
}  // namespace divvy::cli
