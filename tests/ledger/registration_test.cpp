// S9: what a process tells the agent when it takes a slot, and that it never waits for it.
#include "ledger/registration.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

struct Received {
  RegisterPacket packet{};
  int pidfd = -1;
};

// The agent's end of the registration socket.
class Socket {
 public:
  explicit Socket(const std::filesystem::path& path, int backlog = 16) {
    fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, backlog), 0);
  }
  ~Socket() { close(fd_); }

  Received take() {
    Received got;
    const int client = accept(fd_, nullptr, nullptr);
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    iovec part{&got.packet, sizeof got.packet};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    EXPECT_EQ(recvmsg(client, &message, 0), static_cast<ssize_t>(sizeof got.packet));
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (head != nullptr) std::memcpy(&got.pidfd, CMSG_DATA(head), sizeof got.pidfd);
    close(client);
    return got;
  }

 private:
  int fd_ = -1;
};

class RegistrationTest : public testing::Test {
 protected:
  std::filesystem::path socketPath() const { return private_.path() / "register.sock"; }

  void begin() {
    TenantSpec spec = specWith(1000);
    spec.agent_socket = socketPath();
    ledger_.emplace(mustCreate(private_.path() / "t", spec));
    mustAttach(private_.path() / "t", account_);
  }

  PrivateDir private_;
  std::optional<TenantLedger> ledger_;
  Account account_;
};

TEST_F(RegistrationTest, Claim_S9SlotAndPidfdAreSent) {
  Socket agent(socketPath());
  begin();
  // Claimed before anybody accepts: the process does not wait for the agent.
  ASSERT_EQ(account_.claim(), Admission::kGranted);
  const Received got = agent.take();
  EXPECT_EQ(got.packet.magic, kRegisterMagic);
  EXPECT_EQ(got.packet.version, kRegisterVersion);
  EXPECT_STREQ(got.packet.tenant_id, "t1");
  EXPECT_EQ(got.packet.slot, account_.slot());
  EXPECT_EQ(got.packet.generation, 0u);
  EXPECT_EQ(got.packet.pid, static_cast<std::uint32_t>(getpid()));
  ASSERT_GE(got.pidfd, 0);
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(got.pidfd));
  std::string line;
  bool ours = false;
  while (std::getline(info, line)) ours = ours || line == "Pid:\t" + std::to_string(getpid());
  EXPECT_TRUE(ours);
  close(got.pidfd);
}

TEST_F(RegistrationTest, NoAgent_AdmissionGoesOn) {
  begin();  // nobody has bound the socket
  EXPECT_EQ(account_.reserve(0, 1000), Admission::kGranted);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kOverLimit);
}

TEST_F(RegistrationTest, AgentAcceptsNothing_ReserveDoesNotWait) {
  Socket agent(socketPath(), 0);
  begin();
  for (int i = 0; i < 8; ++i) {
    const pid_t child =
        spawn([&] { return account_.reserve(0, 1) == Admission::kGranted ? 0 : 1; });
    EXPECT_EQ(waitFor(child), 0);
  }
  EXPECT_EQ(ledger_->readReport()->slots.size(), 8u);
}

TEST_F(RegistrationTest, NoFreeSlot_S11MoreAreAskedFor) {
  Socket agent(socketPath());
  begin();
  ReportPage& page = account_.pages().report();
  for (unsigned i = 0; i < kSlotChunk; ++i) {
    page.slots[i].state = {packState(0, Phase::kLive), packOwner({i + 1, 1})};
  }
  Received wish;
  std::thread grower([&] {
    wish = agent.take();
    EXPECT_GE(*ledger_->ensureFreeSlots(1), kSlotChunk - 1)
        << "the process may have its one by now";
  });
  EXPECT_EQ(account_.reserve(0, 1), Admission::kGranted);
  grower.join();
  EXPECT_EQ(wish.packet.slot, kWantMoreSlots);
  EXPECT_EQ(account_.slot(), kSlotChunk);
  EXPECT_EQ(agent.take().packet.slot, kSlotChunk);
  close(wish.pidfd);
}

// A wait that looked only for new slots ended in a refusal where the agent freed some instead.
TEST_F(RegistrationTest, SlotFreedDuringWait_IsTaken) {
  Socket agent(socketPath());
  begin();
  ReportPage& page = account_.pages().report();
  for (unsigned i = 0; i < kSlotChunk; ++i) {
    page.slots[i].state = {packState(0, Phase::kLive), packOwner({i + 1, 1})};
  }
  Received wish;
  std::thread reaper([&] {
    wish = agent.take();
    EXPECT_EQ(ledger_->reap(5, 0)->outcome, ReapOutcome::kFreed);
  });
  EXPECT_EQ(account_.reserve(0, 1), Admission::kGranted);
  reaper.join();
  EXPECT_EQ(account_.slot(), 5u);
  close(wish.pidfd);
}

// The agent's death and return: processes come and go meanwhile, nothing is lost.
TEST_F(RegistrationTest, EventsWithoutAgent_FoundByNextAgent) {
  begin();
  ASSERT_EQ(account_.reserve(0, 100), Admission::kGranted);
  ledger_.reset();
  const pid_t child =
      spawn([&] { return account_.reserve(0, 900) == Admission::kGranted ? 0 : 1; });
  ASSERT_EQ(waitFor(child), 0);
  EXPECT_EQ(account_.reserve(0, 1), Admission::kOverLimit);  // conservative
  Result<TenantLedger> next = TenantLedger::adopt(private_.path() / "t");
  ASSERT_TRUE(next);
  unsigned reaped = 0;
  const Result<ReportSnapshot> seen = next->readReport();
  ASSERT_TRUE(seen);
  for (const SlotSnapshot& slot : seen->slots) {
    if (ownerAlive(slot.owner)) continue;
    EXPECT_EQ(next->reap(slot.slot, slot.generation)->refunded[0].count, 900u);
    ++reaped;
  }
  EXPECT_EQ(reaped, 1u);
  EXPECT_EQ(account_.reserve(0, 900), Admission::kGranted);
}

}  // namespace
}  // namespace divvy::ledger
