// What is written in annotations, and read again.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/base64.h"
#include "kube/assignment.h"
#include "kube/device_list.h"
#include "kube/nics.h"
#include "kube/registration.h"

namespace divvy::kube {
namespace {

std::string word() {
  return *rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::inRange('a', 'z'), rc::gen::just('-'))));
}

RC_GTEST_PROP(Assignment, AnyAssignment_ReadAsWritten, ()) {
  Assignment assignment(*rc::gen::inRange<std::size_t>(0, 5));
  for (std::vector<AssignedDevice>& container : assignment) {
    container.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (AssignedDevice& device : container)
      device = {word(), word(), *rc::gen::inRange<std::uint64_t>(0, 1u << 30),
                *rc::gen::inRange<std::uint32_t>(0, 100'000)};
  }
  const Result<Assignment> read = decodeAssignment(encode(assignment));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == assignment);
}

// Source: facts on the incumbent's control plane, 2.2, the worked example.
TEST(Assignment, EmptyContainers_KeepTheirPlace) {
  const Assignment assignment{{}, {{"GPU-aaaa", "NVIDIA", 3000, 30}}, {}};
  EXPECT_EQ(encode(assignment), ";GPU-aaaa,NVIDIA,3000,30:;;");
  EXPECT_EQ(*decodeAssignment(";;;"), Assignment(3));
}

TEST(Assignment, MalformedText_ErrorNamesPlace) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"GPU-a,NVIDIA,3000,30:", "';'"},
           {"GPU-a,NVIDIA,3000,30;", "container 0, device 0: no ':'"},
           {";GPU-a,NVIDIA,3000:;", "container 1, device 0: expected"},
           {"GPU-a,NVIDIA,-1,30:;", "memory"},
           {"GPU-a,NVIDIA,17592186036224,30:;", "2^30"},
           {"GPU-a,NVIDIA,1,429496730:;", "100000"},
           {",NVIDIA,1,1:;", "no UUID"}}) {
    const Result<Assignment> read = decodeAssignment(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_NE(read.error().message().find(words), std::string::npos) << read.error().message();
  }
}

RC_GTEST_PROP(Registration, AnyDevices_ReadAsWritten, ()) {
  std::vector<RegisteredDevice> devices(*rc::gen::inRange<std::size_t>(0, 5));
  for (RegisteredDevice& device : devices) {
    device.id = word();
    device.index = *rc::gen::inRange<std::uint32_t>(0, 64);
    device.count = *rc::gen::inRange<std::uint32_t>(0, 100);
    device.mebibytes = *rc::gen::inRange<std::uint64_t>(0, 200'000);
    device.cores = *rc::gen::inRange<std::uint32_t>(0, 1000);
    device.type = word();
    device.numa = *rc::gen::inRange<std::uint32_t>(0, 4);
    device.healthy = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) device.profiles = {{word(), 10'240, 15, 1, {{0, 1}, {3, 2}}}};
  }
  const Result<std::vector<RegisteredDevice>> read = decodeRegistration(encode(devices));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == devices);
}

TEST(Registration, TypeOfInstance_ProfileFound) {
  EXPECT_EQ(profileIn("NVIDIA H100 80GB HBM3 MIG 3g.40gb"), "3g.40gb");
  EXPECT_EQ(profileIn("NVIDIA-NVIDIA A30 MIG 1g.6gb+me"), "1g.6gb.me");
  for (const char* none : {"", "NVIDIA H100 80GB HBM3", "NVIDIA A30 MIG", "NVIDIA MIGHTY 1"})
    EXPECT_EQ(profileIn(none), "") << none;
}

TEST(DeviceList, SetOrHandWrittenText_Read) {
  using Set = std::set<std::string>;
  for (const Set& set : {Set(), Set{"GPU-a"}, Set{"GPU-a", "MIG-b"}})
    EXPECT_EQ(decodeDevices(encodeDevices(set)), set);
  EXPECT_EQ(encodeDevices({"GPU-b", "GPU-a"}), "GPU-a,GPU-b");
  EXPECT_EQ(decodeDevices(", GPU-a,,\tGPU-b ,"), (Set{"GPU-a", "GPU-b"}));
}

// As the incumbent's device plugin writes it: what is 0 or false is left out.
TEST(Registration, AbsentMembers_ZeroAndUnhealthy) {
  const auto read = decodeRegistration(
      R"([{"id":"GPU-a","count":10,"devmem":81559,"devcore":100,"type":"H100","later":[1]}])");
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(read->at(0).healthy);
  EXPECT_EQ(read->at(0).index, 0u);
}

TEST(Registration, OlderList_SevenOrNineFieldsRead) {
  const auto read = decodeRegistrationList("DCU-T,4,65520,100,DCU-K100_AI,0,true,3,hami-core:");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->at(0).index, 3u);
  EXPECT_EQ(decodeRegistrationList("a,4,65520,100,K100,0,true:")->at(0).mode, "");
  for (const char* wrong : {"a,4,65520,100,K100,0,true", "a,4,65520,100,K100,0:",
                            "a,4,65520,100,K100,0,true,-1,m:", ",4,1,1,t,0,true:"})
    EXPECT_FALSE(decodeRegistrationList(wrong).has_value()) << wrong;
}

TEST(Registration, ImpossibleNumbers_Refused) {
  for (const char* wrong :
       {R"([{"id":"a","devmem":17592186036224}])", R"([{"id":"a","devcore":429496730}])",
        R"([{"id":"a","count":-1}])", R"([{"devmem":1}])", R"({"id":"a"})", "[", "[1]"})
    EXPECT_FALSE(decodeRegistration(wrong).has_value()) << wrong;
}

RC_GTEST_PROP(Nics, AnyNics_ReadAsWritten, ()) {
  std::vector<Nic> nics(*rc::gen::inRange<std::size_t>(1, 4));
  for (std::size_t at = 0; at < nics.size(); ++at) {
    nics[at].name = word() + std::to_string(at);
    for (int left = *rc::gen::inRange(0, 4); left > 0; --left)
      nics[at].distances[word()] = *rc::gen::inRange<std::uint32_t>(0, 6);
  }
  const Result<std::vector<Nic>> read = decodeNics(encode(nics));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == nics);
}

TEST(Nics, MalformedText_Refused) {
  for (const char* wrong :
       {"", "{}", "[1]", R"([{"distances":{}}])", R"([{"name":"a"},{"name":"a"}])",
        R"([{"name":"a","distances":{"GPU-1":-1}}])",
        R"([{"name":"a","distances":{"GPU-1":"x"}}])"})
    EXPECT_FALSE(decodeNics(wrong).has_value()) << wrong;
  EXPECT_EQ(encode(std::vector<Nic>{}), "");
}

RC_GTEST_PROP(Base64, AnyBytes_DecodedAsEncoded, (const std::string& bytes)) {
  RC_ASSERT(fromBase64(toBase64(bytes)) == bytes);
}

}  // namespace
}  // namespace divvy::kube
