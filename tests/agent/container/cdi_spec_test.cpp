#include "container/cdi_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace divvy::agent {
namespace {

namespace bj = boost::json;
using ::testing::HasSubstr;

ContainerEdits editsOf(const std::string& control) {
  ContainerEdits edits;
  edits.environment = {{"A", "b=c"}};
  edits.mounts = {{control, "/run/divvy/tenant/control", true},
                  {"/r", "/run/divvy/tenant/report", false}};
  edits.devices = {"/dev/nvidia0"};
  return edits;
}

// What version 0.5.0 knows of; readers refuse whatever else there is.
TEST(CdiSpec, ContainerEdits_WrittenAsVersion050) {
  const bj::value said = bj::parse(cdiSpec(kCdiKind, "web", editsOf("/c")));
  const bj::value expected = bj::parse(R"({"cdiVersion":"0.5.0","kind":"divvy.dev/share","devices":
    [{"name":"web","containerEdits":{"env":["A=b=c"],
      "deviceNodes":[{"path":"/dev/nvidia0"}],"mounts":[
      {"hostPath":"/c","containerPath":"/run/divvy/tenant/control",
       "options":["bind","ro","nosuid","nodev"]},
      {"hostPath":"/r","containerPath":"/run/divvy/tenant/report",
       "options":["bind","rw","nosuid","nodev"]}
    ]}}]})");
  EXPECT_EQ(said, expected);
}

TEST(CdiSpec, EmptyFields_AreOmitted) {
  const std::string text =
      cdiSpec(kCdiKind, "web", {{}, {{"/c", "/run/divvy/tenant/control", true}}, {}});
  EXPECT_THAT(text, Not(HasSubstr("env")));
  EXPECT_THAT(text, Not(HasSubstr("deviceNodes")));
}

TEST(CdiSpec, SpecText_ControlPageFoundInOwnKindsOnly) {
  for (const char* kind : {kCdiKind, kPodCdiKind})
    EXPECT_EQ(controlIn(cdiSpec(kind, "web", editsOf("/rt/abc/control"))), "/rt/abc/control");
  for (const char* text :
       {"", "{", "[]", "7", R"({"kind":"divvy.dev/share"})",
        R"({"kind":"divvy.dev/share","devices":7})",
        R"({"kind":"nvidia.com/gpu","devices":[{"containerEdits":{"mounts":[{"hostPath":"/c",)"
        R"("containerPath":"/run/divvy/tenant/control"}]}}]})"})
    EXPECT_EQ(controlIn(text), "") << text;
}

TEST(CdiSpec, DeviceName_CheckedAgainstCdiRules) {
  for (const char* name : {"web", "0", "a.b_c-d", "A"}) EXPECT_TRUE(checkCdiName(name)) << name;
  for (const char* name : {"", "-web", "web.", "_"}) EXPECT_FALSE(checkCdiName(name)) << name;
}

class CdiFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "cdi-XXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    control_ = root_ + "/control";
    std::ofstream(control_) << "x";
    file_ = cdiFileOf(root_ + "/cdi", "web");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string text() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& what) const {
    std::filesystem::create_directories(root_ + "/cdi");
    std::ofstream(file_) << what;
  }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(root_ + "/cdi");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  std::string root_, control_, file_;
};

TEST_F(CdiFileTest, Write_FileIsCompleteAndReadable) {
  const mode_t before = umask(077);
  ASSERT_TRUE(writeCdi(file_, "web", editsOf(control_)));
  umask(before);
  EXPECT_EQ(text(), cdiSpec(kCdiKind, "web", editsOf(control_)));
  struct stat info {};
  ASSERT_EQ(stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  ASSERT_EQ(stat((root_ + "/cdi").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755u);
  EXPECT_EQ(files(), 1u);
  removeCdi(file_, control_);
  EXPECT_EQ(files(), 0u);
}

TEST_F(CdiFileTest, ForeignFile_NeitherReplacedNorRemoved) {
  put("{\"kind\": \"vendor.com/class\"}");
  const Result<void> written = writeCdi(file_, "web", editsOf(control_));
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("was not written by Divvy"));
  removeCdi(file_, control_);
  EXPECT_EQ(text(), "{\"kind\": \"vendor.com/class\"}");
  EXPECT_EQ(files(), 1u);
}

TEST_F(CdiFileTest, OtherLiveShare_FileKeptUntilControlIsGone) {
  put(cdiSpec(kCdiKind, "web", editsOf(control_)));
  EXPECT_FALSE(writeCdi(file_, "web", editsOf("/rt/other/control")));
  removeCdi(file_, "/rt/other/control");
  EXPECT_EQ(controlIn(text()), control_);
  std::filesystem::remove(control_);
  EXPECT_TRUE(writeCdi(file_, "web", editsOf("/rt/other/control")));
  EXPECT_EQ(controlIn(text()), "/rt/other/control");
}

TEST_F(CdiFileTest, MissingFolder_WriteFails) {
  EXPECT_FALSE(writeCdi(root_ + "/none/of/these.json", "web", editsOf(control_)));
}

}  // namespace
}  // namespace divvy::agent
