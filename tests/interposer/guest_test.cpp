// A guest leaves no trace: S8, S9, B5, B6, and what happens when the ledger cannot be used.
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "tenant_test.h"

namespace divvy::interposer {
namespace {

namespace fs = std::filesystem;

class GuestTest : public TenantTest {
 protected:
  // Every kind of call that makes us do something for the first time.
  static void useEverything() {
    makeReady();
    CUdeviceptr block = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{kMiB}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&bytes, &bytes), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(CUdeviceptr{0x1234567}), CUDA_ERROR_INVALID_VALUE);
  }

  static std::vector<std::string> environment() {
    std::vector<std::string> entries;
    for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
    return entries;
  }

  // Runs the body in a forked child; its exit status.
  template <typename Body>
  static int inChild(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
      body();
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }
};

TEST_F(GuestTest, SubsetOfDevices_S8ProcessStateUnchanged) {
  if (outside({.machine = "h100x2", .devices = {1}}))
    return;  // a subset: the variable is exchanged
  ::umask(0027);
  struct sigaction before[65] = {}, after{};
  const auto handler = [](int) {};
  struct sigaction mine {};
  mine.sa_handler = handler;
  for (const int number : {SIGUSR1, SIGUSR2}) ::sigaction(number, &mine, nullptr);
  for (int number = 1; number <= 64; ++number) ::sigaction(number, nullptr, &before[number]);
  sigset_t mask_before, mask_after;
  std::memset(&mask_before, 0, sizeof mask_before);  // the kernel fills in less than the type has
  std::memset(&mask_after, 0, sizeof mask_after);
  ::sigprocmask(SIG_SETMASK, nullptr, &mask_before);
  const auto environment_before = environment();
  char** const environ_before = environ;
  const std::string directory = fs::current_path();

  useEverything();

  for (int number = 1; number <= 64; ++number) {
    ::sigaction(number, nullptr, &after);
    EXPECT_EQ(before[number].sa_handler, after.sa_handler) << number;
  }
  ::sigprocmask(SIG_SETMASK, nullptr, &mask_after);
  EXPECT_EQ(std::memcmp(&mask_before, &mask_after, sizeof mask_before), 0);
  EXPECT_EQ(::umask(0), 0027u);
  EXPECT_EQ(environment(), environment_before);
  EXPECT_EQ(environ, environ_before);
  EXPECT_EQ(fs::current_path(), directory);
}

TEST_F(GuestTest, AllKindsOfCalls_S8NothingPrinted) {
  if (outside()) return;
  const std::string path = tenantDir() + "/../output";
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  const int out = ::dup(1), err = ::dup(2);
  std::fflush(stdout);
  ::dup2(file, 1);
  ::dup2(file, 2);
  useEverything();
  std::fflush(stdout);
  ::dup2(out, 1);
  ::dup2(err, 2);
  EXPECT_EQ(fs::file_size(path), 0u);
}

TEST_F(GuestTest, RefusedAllocation_S8ErrnoUnchanged) {
  if (outside()) return;
  errno = 4711;
  ASSERT_EQ(cu<Cu::cuInit>(0u), CUDA_SUCCESS);
  // The simulated driver is free to change it; ours is the first call, and the refusal.
  useEverything();
  CUdeviceptr block = 0;
  errno = 4711;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{100 * kGiB}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(errno, 4711);
}

TEST_F(GuestTest, Descriptors_B5CloseOnExecAndPagesClosed) {
  if (outside()) return;
  std::set<std::string> inherited;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) inherited.insert(entry.path());
  useEverything();
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (gone) continue;  // the iterator's own
    if (inherited.count(entry.path()) == 0) {
      EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << target;
    }
    EXPECT_EQ(target.find(tenantDir()), std::string::npos) << "the pages stay open: " << target;
  }
}

TEST_F(GuestTest, ForkBeforeDriverUse_B5ChildHasOwnSlot) {
  if (outside()) return;
  // Forked before the driver is used: both may use it after.
  int hold[2], told[2];
  ASSERT_EQ(::pipe(hold) | ::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    useEverything();
    const char done = testing::Test::HasFailure() ? 'f' : 'd';
    char go = 0;
    if (::write(told[1], &done, 1) != 1 || ::read(hold[0], &go, 1) != 1) ::_exit(3);
    ::_exit(0);
  }
  char done = 0;
  ASSERT_EQ(::read(told[0], &done, 1), 1);
  EXPECT_EQ(done, 'd');
  const std::uint64_t by_child = charged();
  EXPECT_EQ(by_child, bookedByAll());
  EXPECT_EQ(booked(), 0u) << "the parent has used nothing yet";
  useEverything();
  EXPECT_EQ(charged(), 2 * by_child);
  EXPECT_EQ(charged(), bookedByAll());
  ASSERT_EQ(::write(hold[1], "g", 1), 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// CUDA does not work in the child of a process that used it, but programs fork all the same.
TEST_F(GuestTest, ForkAfterDriverUse_B5ChildOwnsNothing) {
  if (outside()) return;
  useEverything();
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{64 * kMiB}), CUDA_SUCCESS);
  const std::uint64_t before = charged();
  EXPECT_EQ(inChild([block] {
              CUdeviceptr other = 0;
              EXPECT_NE(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
              EXPECT_NE(cu<Cu::cuMemAlloc_v2>(&other, std::size_t{kMiB}), CUDA_SUCCESS);
              EXPECT_EQ(control().launches, 0u);
            }),
            0);
  EXPECT_EQ(charged(), before) << "a child gave back what was its parent's";
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EXACT();
}

TEST_F(GuestTest, ForkWhileThreadsAllocate_B5ChildEnds) {
  if (outside({.machine = "null"})) return;
  makeReady();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  // Else a child that is forked while a thread is at it would wait for the test itself.
  lookedUp<Cu::cuMemAlloc_v2>();
  lookedUp<Cu::cuMemFree_v2>();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      CUdeviceptr block = 0;
      EXPECT_EQ(cu<Cu::cuCtxSetCurrent>(context), CUDA_SUCCESS);
      while (!stop) {
        EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}), CUDA_SUCCESS);
        EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    // A lock that some thread holds at this moment would hang the child; ctest's limit catches it.
    ASSERT_EQ(inChild([] {
                CUdeviceptr block = 0;
                for (int j = 0; j < 10; ++j) {
                  if (cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}) == CUDA_SUCCESS) {
                    cu<Cu::cuMemFree_v2>(block);
                  }
                }
              }),
              0);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
}

// Found by B5ForkWhileThreadsAllocate, once in some hundred runs of it: another thread was reading
// the loader's list for us.
TEST_F(GuestTest, LoaderLockHeldAtFork_B5ChildDoesNotHang) {
  if (outside()) return;
  makeReady();
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}), CUDA_SUCCESS);
  lookedUp<Cu::cuMemFree_v2>();
  struct Reading {
    std::atomic<bool> begun{false}, over{false};
  } reading;
  std::thread reader([&] {
    ::dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void* argument) {
          auto& now = *static_cast<Reading*>(argument);
          now.begun = true;
          while (!now.over) std::this_thread::yield();
          return 1;
        },
        &reading);
  });
  while (!reading.begun) std::this_thread::yield();
  EXPECT_EQ(inChild([] {
              ::alarm(20);  // it would wait for ever
              CUdeviceptr other = 0;
              EXPECT_NE(cu<Cu::cuMemAlloc_v2>(&other, std::size_t{512}), CUDA_SUCCESS);
            }),
            0);
  reading.over = true;
  reader.join();
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
}

TEST_F(GuestTest, VforkAndSpawn_B5ChargeUnchanged) {
  if (outside()) return;
  useEverything();
  const std::uint64_t before = charged();
  for (int i = 0; i < 20; ++i) {
    pid_t child = 0;
    char program[] = "/bin/true";
    char* arguments[] = {program, nullptr};
    ASSERT_EQ(::posix_spawn(&child, program, nullptr, nullptr, arguments, environ), 0);
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    child = ::vfork();
    if (child == 0) ::_exit(7);
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
  EXPECT_EQ(charged(), before);
  EXPECT_EXACT();
}

// B6: a handler that runs in the middle of our code and allocates itself. The `null` driver allows
// that; a real one would not, so this is about us alone.
std::atomic<int> handled{0};
std::atomic<int> failed{0};

void allocateInHandler(int) {
  CUdeviceptr block = 0;
  if (cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}) != CUDA_SUCCESS ||
      cu<Cu::cuMemFree_v2>(block) != CUDA_SUCCESS) {
    ++failed;
  }
  ++handled;
}

TEST_F(GuestTest, SignalHandlerAllocates_B6EveryCallSucceeds) {
  if (outside({.machine = "null"})) return;
  makeReady();
  const std::uint64_t before = charged();
  struct sigaction action {};
  action.sa_handler = allocateInHandler;
  ::sigaction(SIGALRM, &action, nullptr);
  CUdeviceptr block = 0;
  ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}), CUDA_SUCCESS);
  ASSERT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  const itimerval fast = {{0, 50}, {0, 50}};
  ::setitimer(ITIMER_REAL, &fast, nullptr);
  for (int i = 0; handled < 2000 && i < 50'000'000; ++i) {
    ASSERT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{4096}), CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  }
  const itimerval off = {};
  ::setitimer(ITIMER_REAL, &off, nullptr);
  EXPECT_GE(handled, 2000);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(charged(), before);
}

TEST_F(GuestTest, TenantDirectoryMissing_OnlyMemoryRefused) {
  if (outside({.tenant = false, .environment = {{"DIVVY_TENANT_DIR", "/nonexistent/tenant"}}})) {
    return;
  }
  makeReady();
  CUdeviceptr block = 0;
  std::size_t free_bytes = 1, total = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, 0u);
  EXPECT_EQ(control().tenant_state, 4);
  EXPECT_NE(control().open_status, 0) << "the reason has a name";
  EXPECT_GE(faults(16), 1u);
}

TEST_F(GuestTest, ControlPageTorn_MemoryRefused) {
  if (outside({.environment = {{"DIVVY_TEST_TEAR", "1"}}})) return;
  { std::ofstream(tenantDir() + "/control", std::ios::binary | std::ios::in) << "not a page"; }
  makeReady();
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{512}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(control().tenant_state, 4);
}

TEST_F(GuestTest, NoTenant_NothingCountedOrRefused) {
  if (outside({.tenant = false})) return;
  makeReady();
  CUdeviceptr block = 0;
  std::size_t free_bytes = 0, total = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{8 * kGiB}), CUDA_SUCCESS);
  EXPECT_EQ(cu<Cu::cuMemGetInfo_v2>(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_GT(total, 8 * kGiB);
  EXPECT_EQ(cu<Cu::cuMemFree_v2>(block), CUDA_SUCCESS);
  EXPECT_EQ(control().tenant_state, 2);
  EXPECT_EQ(control().refusals, 0u);
}

}  // namespace
}  // namespace divvy::interposer
