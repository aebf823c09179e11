#include "request_handler.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace divvy::helper {
namespace {

namespace fs = std::filesystem;

class RequestHandlerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "helper-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ + "/device-plugins");
    fs::create_directories(root_ + "/cdi");
    terms_.sockets = std::make_shared<kubelet::LocalKubeletDirs>(root_);
    terms_.cdi_dir = root_ + "/cdi";
    terms_.open_driver = []() -> Result<driver::Nvml> {
      return Error{ErrorCode::kUnavailable, "no driver here"};
    };
  }
  void TearDown() override { fs::remove_all(root_); }

  Result<Reply> ask(Op op, const std::string& text = "", int number = 0, Fd fd = Fd()) {
    ReceivedRequest question;
    question.packet.op = op;
    question.packet.number = number;
    std::memcpy(question.packet.text.data(), text.data(), text.size());
    question.fd = std::move(fd);
    return RequestHandler(terms_).reply(question, 1234);
  }

  static Fd fileWith(const std::string& text) {
    Fd file(memfd_create("spec", MFD_CLOEXEC));
    EXPECT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return file;
  }

  std::string root_;
  ServerOptions terms_;
};

TEST(HelperNames, SocketAndSpecNames_OnlyOwnAccepted) {
  EXPECT_TRUE(isSocketName("divvy-nvidia.com_gpu.sock"));
  for (const char* name : {"", "kubelet.sock", "divvy-.sock.d", "divvy-a/../kubelet.sock",
                           "../divvy-a.sock", "divvy-a.socket", "divvy-.sock"})
    EXPECT_FALSE(isSocketName(name)) << name;
  EXPECT_TRUE(isSpecName("divvy.dev-pod-0f.json"));
  for (const char* name : {"", "nvidia.json", "divvy.dev-pod-a/../../x.json", "divvy.dev-pod-.json",
                           "divvy.dev-pod-a.json.x"})
    EXPECT_FALSE(isSpecName(name)) << name;
}

TEST_F(RequestHandlerTest, ForeignFiles_RefusedAndKept) {
  std::ofstream(root_ + "/device-plugins/kubelet.sock") << "x";
  std::ofstream(root_ + "/cdi/nvidia.json") << "x";
  for (const Op op : {Op::kListen, Op::kRemove}) {
    const Result<Reply> answer = ask(op, "kubelet.sock");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), ErrorCode::kUsage);
  }
  EXPECT_FALSE(ask(Op::kRemoveSpec, "nvidia.json"));
  EXPECT_FALSE(ask(Op::kWriteSpec, "nvidia.json", 0, fileWith("{}")));
  EXPECT_FALSE(ask(Op::kFileId, "../cdi/nvidia.json"));
  EXPECT_FALSE(ask(Op::kIsListened, ".."));
  EXPECT_TRUE(fs::exists(root_ + "/device-plugins/kubelet.sock"));
  EXPECT_TRUE(fs::exists(root_ + "/cdi/nvidia.json"));
}

TEST_F(RequestHandlerTest, CdiSpec_WrittenEntirelyAndReadableByAll) {
  ASSERT_TRUE(ask(Op::kWriteSpec, "divvy.dev-pod-a.json", 0, fileWith("{\"a\": 1}")));
  const std::string file = root_ + "/cdi/divvy.dev-pod-a.json";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), "{\"a\": 1}");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0644));
  ASSERT_TRUE(ask(Op::kRemoveSpec, "divvy.dev-pod-a.json"));
  EXPECT_FALSE(fs::exists(file));
  EXPECT_TRUE(ask(Op::kRemoveSpec, "divvy.dev-pod-a.json"));
}

TEST_F(RequestHandlerTest, SpecNotPlainFileOrTooLarge_Refused) {
  int both[2];
  ASSERT_EQ(pipe(both), 0);
  const Fd end(both[1]);
  EXPECT_FALSE(ask(Op::kWriteSpec, "divvy.dev-pod-a.json", 0, Fd(both[0])));
  EXPECT_FALSE(ask(Op::kWriteSpec, "divvy.dev-pod-a.json"));
  EXPECT_FALSE(ask(Op::kWriteSpec, "divvy.dev-pod-a.json", 0, fileWith(std::string(2 << 20, 'x'))));
  EXPECT_TRUE(fs::is_empty(root_ + "/cdi"));
}

TEST_F(RequestHandlerTest, NoCdiDirectory_Unsupported) {
  terms_.cdi_dir.clear();
  const Result<Reply> answer = ask(Op::kWriteSpec, "divvy.dev-pod-a.json", 0, fileWith("{}"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnsupported);
}

TEST_F(RequestHandlerTest, ProcessCheckpointOrDriverMissing_Error) {
  const Result<Reply> process = ask(Op::kProcess, "", 1 << 30);
  ASSERT_FALSE(process);
  EXPECT_NE(process.error().code(), ErrorCode::kUnavailable);
  const Result<Reply> note = ask(Op::kCheckpoint);
  ASSERT_FALSE(note);
  EXPECT_EQ(note.error().code(), ErrorCode::kNotFound);
  const Result<Reply> uses = ask(Op::kUses, "GPU-1");
  ASSERT_FALSE(uses);
  EXPECT_EQ(uses.error().message(), "no driver here");
  EXPECT_FALSE(ask(static_cast<Op>(99)));
}

}  // namespace
}  // namespace divvy::helper
