#include "capacity/shape_history.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "capacity/capacity_report.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

engine::Request requestOf(std::uint32_t memory_gib) {
  engine::Request request;
  engine::Container one;
  one.devices.count = 1;
  one.devices.memory = gib(memory_gib);
  request.shape.containers.push_back(one);
  return request;
}

void see(ShapeHistory& shapes, const std::string& uid, std::uint32_t memory_gib,
         std::int64_t now_s = 0, const std::string& space = "lab") {
  shapes.see(uid, space, requestOf(memory_gib), {}, 0, now_s);
}

TEST(ShapeHistory, PodUpdatedOften_CountsOnce) {
  ShapeHistory shapes;
  for (int i = 0; i < 5; ++i) see(shapes, "a", 4);
  see(shapes, "b", 4);
  see(shapes, "c", 8);
  ASSERT_EQ(shapes.all().size(), 2u);
  EXPECT_EQ(shapes.all()[0]->pods, 2u) << "the one of the most pods first";
}

TEST(ShapeHistory, OtherCpu_IsAnotherShape) {
  ShapeHistory shapes;
  shapes.see("a", "lab", requestOf(4), {{1000}, {}}, 0, 0);
  shapes.see("b", "lab", requestOf(4), {{2000}, {}}, 0, 0);
  EXPECT_EQ(shapes.all().size(), 2u);
}

TEST(ShapeHistory, DayWithoutPod_IsDropped) {
  ShapeHistory shapes;
  see(shapes, "a", 4, 100);
  see(shapes, "b", 8, 200);
  shapes.expire(100 + ShapeHistory::kKeepS);
  EXPECT_EQ(shapes.all().size(), 2u);
  shapes.expire(150 + ShapeHistory::kKeepS);
  ASSERT_EQ(shapes.all().size(), 1u);
  EXPECT_EQ(shapes.all()[0]->last_s, 200);
}

// One namespace with many different pods leaves the shapes of others.
TEST(ShapeHistory, HostileNamespace_KeepsToItsPart) {
  ShapeHistory shapes;
  for (std::uint32_t i = 0; i < 40; ++i)
    see(shapes, "a" + std::to_string(i), 1 + i, 0, "team-" + std::to_string(i % 8));
  for (std::uint32_t i = 0; i < 1000; ++i)
    see(shapes, "h" + std::to_string(i), 100 + i, 1, "hostile");
  EXPECT_LE(shapes.all().size(), ShapeHistory::kMax);
  std::size_t hostile = 0;
  for (const RecentShape* shape : shapes.all())
    hostile += shape->namespace_name == "hostile" ? 1 : 0;
  EXPECT_EQ(hostile, ShapeHistory::kMaxOfNamespace);
  EXPECT_EQ(shapes.all().size() - hostile, 40u);
}

TEST(ReportText, ManyShapesAndLongNames_StayWithinBound) {
  CapacityReport sketch{std::string(1000, 's'), "me", 1, {}, {}};
  for (int i = 0; i < 100; ++i) {
    DeviceUsage device;
    device.model = "model " + std::to_string(i) + std::string(500, 'm');
    sketch.models.add(device);
  }
  for (std::uint32_t i = 0; i < 64; ++i) {
    ShapeCapacity one{{requestOf(i), {{1000}, gib(4)}, "lab", 5, 64 - i, 0}, 3, {}};
    one.shape.request.shape.selector.models.assign(
        20, engine::ModelName("\"H100" + std::string(300, 'x')));
    sketch.shapes.push_back(one);
  }
  const std::string text = reportText(sketch);
  EXPECT_LE(text.size(), kMaxReportBytes);
  const json::value said = json::parse(text);
  EXPECT_EQ(said.at("models").as_array().size() + said.at("models_left_out").to_number<unsigned>(),
            100u);
  EXPECT_EQ(said.at("shapes").as_array().size() + said.at("shapes_left_out").to_number<unsigned>(),
            64u);
  EXPECT_GE(said.at("shapes").as_array().size(), 3u);
  EXPECT_EQ(said.at("shapes").as_array()[0].at("pods"), 64) << "the one of the most pods";
  EXPECT_TRUE(said.at("shapes").as_array()[0].at("fit_after_eviction").is_null());
}

TEST(ReportText, UsualShapes_AllHavePlace) {
  CapacityReport sketch{"divvy", "divvy-scheduler-0", 1, {}, {}};
  for (std::uint32_t i = 0; i < 64; ++i)
    sketch.shapes.push_back({{requestOf(i), {{1000}, gib(4)}, "lab", 0, 64 - i, 0}, 300, 400});
  const json::value said = json::parse(reportText(sketch));
  EXPECT_GE(said.at("shapes").as_array().size(), 40u);
}

}  // namespace
}  // namespace divvy::scheduler
