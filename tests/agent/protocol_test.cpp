// Rubbish, hostility and impatience on the agent's two sockets.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "ledger/registration.h"
#include "sandbox.h"

namespace divvy::test {
namespace {

void say(const Fd& fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = send(fd.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (put <= 0) return;
    at += static_cast<std::size_t>(put);
  }
}

// Everything until the agent hangs up, or `lines` lines.
std::string hear(const Fd& fd, unsigned lines) {
  std::string text;
  std::array<char, 4096> chunk;
  while (std::count(text.begin(), text.end(), '\n') < static_cast<std::ptrdiff_t>(lines)) {
    pollfd waiting{fd.get(), POLLIN, 0};
    if (poll(&waiting, 1, 20000) <= 0) return text + "<silence>";
    const ssize_t got = recv(fd.get(), chunk.data(), chunk.size(), 0);
    if (got <= 0) return text + "<gone>";
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

class AgentSocketsTest : public ::testing::Test {
 protected:
  AgentSocketsTest() {
    EXPECT_TRUE(run_.printed("held 1048576"));
    agent_ = sandbox_.agentPid();
  }
  // The agent is the same, and so is the tenant.
  ~AgentSocketsTest() override {
    const agent::Snapshot now = sandbox_.snapshot();
    EXPECT_EQ(now.agent_pid, agent_);
    EXPECT_EQ(now.tenants.size(), 1u);
    EXPECT_EQ(now.tenants.at(0).shares.at(0).used, 1048576u);
  }
  Fd control() { return connectTo(sandbox_.dir() + "/agent.sock", SOCK_STREAM); }
  Fd registrar() { return connectTo(sandbox_.dir() + "/register.sock", SOCK_SEQPACKET); }
  ledger::RegisterPacket packet() {
    ledger::RegisterPacket packet{};
    packet.magic = ledger::kRegisterMagic;
    packet.version = ledger::kRegisterVersion;
    sandbox_.snapshot().tenants.at(0).id.copy(packet.tenant_id, sizeof packet.tenant_id - 1);
    packet.pid = static_cast<std::uint32_t>(getpid());
    return packet;
  }
  // The status the agent answers; nothing when it hung up.
  std::optional<ledger::RegisterStatus> answerTo(const ledger::RegisterPacket& packet) {
    const Fd fd = registrar();
    EXPECT_EQ(send(fd.get(), &packet, sizeof packet, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof packet));
    ledger::RegisterReply reply{};
    pollfd waiting{fd.get(), POLLIN, 0};
    if (poll(&waiting, 1, 20000) <= 0) return std::nullopt;
    if (recv(fd.get(), &reply, sizeof reply, 0) != static_cast<ssize_t>(sizeof reply))
      return std::nullopt;
    return reply.status;
  }

  Sandbox sandbox_;
  Child run_ = sandbox_.run("4Gi", {tenantProgram(), "1048576"});
  int agent_ = 0;
};

TEST_F(AgentSocketsTest, InvalidRequest_AnsweredOnceAndClosed) {
  for (const char* line :
       {"\n", "rubbish\n", "{}\n", "{\"verb\":7}\n", "{\"verb\":\"run\",\"memory\":-1}\n"}) {
    const Fd fd = control();
    say(fd, line);
    const std::string answer = hear(fd, 2);
    EXPECT_NE(answer.find("\"reply\":\"failed\""), std::string::npos) << line;
    EXPECT_NE(answer.find("<gone>"), std::string::npos) << answer;
  }
}

TEST_F(AgentSocketsTest, EndlessLine_IsClosed) {
  const Fd fd = control();
  say(fd, std::string(3u << 20, 'x'));
  EXPECT_EQ(hear(fd, 1), "<gone>");
}

TEST_F(AgentSocketsTest, RequestsInOnePacket_AllAnswered) {
  const Fd fd = control();
  say(fd, "{\"verb\":\"ping\"}\n{\"verb\":\"ping\"}\n{\"ve");
  say(fd, "rb\":\"ping\"}\n");
  const std::string answer = hear(fd, 3);
  EXPECT_EQ(std::count(answer.begin(), answer.end(), '\n'), 3) << answer;
}

TEST_F(AgentSocketsTest, SilentConnections_RunIsServed) {
  std::vector<Fd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(control());
  EXPECT_EQ(sandbox_.divvy(sandbox_.runWords("1Gi", {"true"})).code(), 0);
}

TEST_F(AgentSocketsTest, EndByOther_IsRefused) {
  const std::string id = sandbox_.snapshot().tenants.at(0).id;
  const Fd fd = control();
  say(fd, agent::encode(agent::Request(agent::EndRequest{id})));
  say(fd, agent::encode(agent::Request(agent::StartedRequest{id, 1})));
  const std::string answer = hear(fd, 2);
  EXPECT_NE(answer.find("not-found"), std::string::npos) << answer;
  EXPECT_NE(sandbox_.snapshot().tenants.at(0).pid, 1);
}

TEST_F(AgentSocketsTest, PingWhileQueued_LosesPlace) {
  const Fd fd = control();
  agent::RunRequest run;
  run.ask.memory = {gib(78), 0};
  run.wait = true;
  say(fd, agent::encode(agent::Request(run)));
  EXPECT_NE(hear(fd, 1).find("queued"), std::string::npos);
  say(fd, "{\"verb\":\"ping\"}\n");
  EXPECT_NE(hear(fd, 1).find("failed"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return sandbox_.snapshot().queue.empty(); }));
}

TEST_F(AgentSocketsTest, OtherUser_IsNotServed) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: becoming another user needs root";
  const std::string path = sandbox_.dir() + "/agent.sock";
  chmod(path.c_str(), 0666);
  const Fd dir(open(sandbox_.dir().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const pid_t child = fork();
  if (child == 0) {
    // The open directory gets past the closed ones above it.
    if (fchdir(dir.get()) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(2);
    const Fd fd = connectTo("agent.sock", SOCK_STREAM);
    if (!fd.valid()) _exit(0);
    say(fd, "{\"verb\":\"ping\"}\n");
    _exit(hear(fd, 1) == "<gone>" ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(AgentSocketsTest, ForeignRegistration_IsRefused) {
  ledger::RegisterPacket unknown = packet();
  std::memset(unknown.tenant_id, 'x', sizeof unknown.tenant_id);
  EXPECT_EQ(answerTo(unknown), ledger::RegisterStatus::kUnknownTenant);
  // Slot 0 belongs to the tenant's process: when we end, it must not be taken for dead.
  EXPECT_EQ(answerTo(packet()), ledger::RegisterStatus::kBadSlot);
  ledger::RegisterPacket nobodys = packet();
  nobodys.slot = 4000;
  EXPECT_EQ(answerTo(nobodys), ledger::RegisterStatus::kBadSlot);
  ledger::RegisterPacket more = packet();
  more.slot = ledger::kWantMoreSlots;
  EXPECT_EQ(answerTo(more), ledger::RegisterStatus::kBusy);
}

TEST_F(AgentSocketsTest, MalformedRegistration_IsClosed) {
  ledger::RegisterPacket wrong = packet();
  wrong.magic = 0;
  EXPECT_EQ(answerTo(wrong), std::nullopt);
  wrong = packet();
  wrong.version = 99;
  EXPECT_EQ(answerTo(wrong), std::nullopt);
  const Fd fd = registrar();
  ASSERT_EQ(send(fd.get(), "x", 1, MSG_NOSIGNAL), 1);
  char byte = 0;
  EXPECT_EQ(recv(fd.get(), &byte, 1, 0), 0);
}

TEST_F(AgentSocketsTest, SilentRegistrations_OthersRegister) {
  std::vector<Fd> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(registrar());
  Child other = sandbox_.run("1Gi", {tenantProgram(), "4096"});
  ASSERT_TRUE(other.printed("held 4096"));
  EXPECT_TRUE(eventually([&] {
    const agent::Snapshot now = sandbox_.snapshot();
    return now.tenants.size() == 2 && now.tenants[1].processes == 1;
  }));
  other.closeInput();
  other.wait();
  EXPECT_TRUE(sandbox_.tenantCount(1));
}

}  // namespace
}  // namespace divvy::test
