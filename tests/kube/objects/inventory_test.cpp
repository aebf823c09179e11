#include "kube/inventory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace divvy::kube {
namespace {

RegisteredDevice device(const std::string& id, const std::string& type, std::uint64_t mebibytes) {
  RegisteredDevice one;
  one.id = id;
  one.type = type;
  one.mebibytes = mebibytes;
  one.cores = 100;
  return one;
}

std::vector<RegisteredDevice> someDevices() {
  std::vector<RegisteredDevice> devices(*rc::gen::inRange<std::size_t>(0, 12));
  for (std::size_t at = 0; at < devices.size(); ++at)
    devices[at] = device("GPU-" + std::to_string(*rc::gen::inRange(0, 40)),
                         *rc::gen::element<std::string>("H100", "L4", "A100 MIG 1g.5gb"),
                         *rc::gen::inRange<std::uint64_t>(1, 100'000));
  return devices;
}

Inventory someInventory() {
  Inventory some = joined(inventoryOf("nvidia", someDevices()), inventoryOf("amd", someDevices()));
  if (*rc::gen::arbitrary<bool>()) some.learning_until = "2026-11-28T20:00:00Z";
  return some;
}

RC_GTEST_PROP(Inventory, AnyInventory_ReadAsWritten, ()) {
  const Inventory some = someInventory();
  const Result<Inventory> read = decodeInventory(encode(some));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == some);
}

RC_GTEST_PROP(Inventory, TwoJoined_CommutativeAndIdempotent, ()) {
  const Inventory a = someInventory(), b = someInventory();
  const Inventory both = joined(a, b);
  RC_ASSERT(both.learning_until == a.learning_until);
  RC_ASSERT(joined(both, b) == both);
  RC_ASSERT(joined(a, a) == a);
  Inventory other = joined(b, a);
  other.learning_until = a.learning_until;
  RC_ASSERT(other == both);
}

TEST(Inventory, DevicesOfNode_CountedByModelWithLargest) {
  const Inventory made =
      inventoryOf("nvidia", {device("GPU-b", "H100", 81'559), device("GPU-a", "H100", 81'920),
                             device("GPU-c", "L4", 23'034)});
  EXPECT_EQ(encode(made),
            R"({"models":[{"kind":"nvidia","model":"H100","devices":2,"memoryMB":81920,)"
            R"("cores":100,"uuids":["GPU-a","GPU-b"]},{"kind":"nvidia","model":"L4","devices":1,)"
            R"("memoryMB":23034,"cores":100,"uuids":["GPU-c"]}]})");
}

TEST(Inventory, AbsentBounds_Unlimited) {
  const Result<Inventory> read =
      decodeInventory(R"({"models":[{"kind":"nvidia","model":"H100","devices":8}],"x":1})");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->models[0].mebibytes, 0u);
  EXPECT_TRUE(read->learning_until.empty());
}

TEST(Inventory, MalformedText_ErrorNamesPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "not JSON"},
      {"[]", ""},
      {"{}", ".models is not a list"},
      {R"({"models":{}})", ".models"},
      {R"({"models":[{"kind":"nvidia","devices":1}]})", ".models[0].model"},
      {R"({"models":[{"model":"H100","devices":1}]})", ".models[0].kind"},
      {R"({"models":[{"kind":"nvidia","model":"H100"}]})", ".models[0].devices"},
      {R"({"models":[{"kind":"nvidia","model":"H100","devices":-1}]})", ".models[0].devices"},
      {R"({"models":[{"kind":"a","model":"b","devices":1},{"kind":"a","model":"b","devices":1}]})",
       "twice"},
      {R"({"models":[],"learningUntil":"tomorrow"})", ".learningUntil"}};
  for (const auto& [text, place] : wrong) {
    const Result<Inventory> read = decodeInventory(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message().find(place), std::string::npos) << read.error().message();
  }
}

}  // namespace
}  // namespace divvy::kube
