#include "deviceplugin/mount_conflicts.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace divvy::agent {
namespace {

namespace json = boost::json;

json::value podWith(const char* list, const char* kind, const char* member, const char* path) {
  const json::object mount{{"name", "v"}, {member, path}};
  const json::object container{{"name", "main"}, {kind, json::array{mount}}};
  const json::object other{{"name", "other"}};
  return json::object{{"spec", {{list, json::array{other, container}}}}};
}

// Regression: an empty file over /etc/ld.so.preload gave a container the card as it is.
TEST(OurMountsStay, VolumeOverOurFiles_IsRefused) {
  for (const char* path :
       {"/etc/ld.so.preload", "/etc//./ld.so.preload", "/etc/x/../ld.so.preload", "/run/divvy",
        "/run/divvy/", "/run/divvy/tenant/control", "/var/run/divvy/tenant", "run/divvy/lib"}) {
    for (const char* list : {"containers", "initContainers"}) {
      EXPECT_FALSE(ourMountsStay(podWith(list, "volumeMounts", "mountPath", path), "main")) << path;
      EXPECT_FALSE(ourMountsStay(podWith(list, "volumeDevices", "devicePath", path), "main"))
          << path;
    }
    EXPECT_TRUE(ourMountsStay(podWith("containers", "volumeMounts", "mountPath", path), "other"));
  }
}

TEST(OurMountsStay, VolumeElsewhere_IsAllowed) {
  for (const char* path : {"/data", "/etc", "/run", "/var/run", "/run/divvy-data", "/var/divvy",
                           "/etc/ld.so.preload.d", "/srv/run/divvy"})
    EXPECT_TRUE(ourMountsStay(podWith("containers", "volumeMounts", "mountPath", path), "main"))
        << path;
}

TEST(OurMountsStay, MalformedPod_IsAllowed) {
  for (const char* text : {"null", "{}", R"({"spec":1})", R"({"spec":{"containers":{}}})",
                           R"({"spec":{"containers":[1,{"name":"main","volumeMounts":[1,{}]}]}})"})
    EXPECT_TRUE(ourMountsStay(json::parse(text), "main")) << text;
}

}  // namespace
}  // namespace divvy::agent
