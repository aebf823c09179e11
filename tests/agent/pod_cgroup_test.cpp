#include "pod_cgroup.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace divvy::agent {
namespace {

const std::string kUid = "6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d11";

TEST(PodCgroup, IsFoundHoweverItIsCalled) {
  for (const char* text :
       {"9:name=systemd:/kubepods/besteffort/pod6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d11/0a1b\n",
        "4:memory:/kubepods/pod6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d11/0a1b\n0::/\n",
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
        "pod6b5c1a52_0d5c_4b0e_9d0b_0a6f6f3c2d11.slice/cri-containerd-0a1b.scope\n",
        "0::/kubepods.slice/kubepods-pod6b5c1a52_0d5c_4b0e_9d0b_0a6f6f3c2d11.slice\n"}) {
    EXPECT_TRUE(groupIsOfPod(text, kUid)) << text;
    EXPECT_EQ(podOfGroup(text), kUid) << text;
  }
}

TEST(PodCgroup, AnothersIsNot) {
  for (const char* text :
       {"", "0::/\n", "0::/kubepods/pod6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d1/0a1b\n",
        "0::/kubepods/pod6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d111/0a1b\n",
        "0::/kubepods/podx-6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d11/0a1b\n",
        "0::/kubepods-pod6b5c1a52_0d5c_4b0e_9d0b_0a6f6f3c2d11\n"}) {
    EXPECT_FALSE(groupIsOfPod(text, kUid)) << text;
    EXPECT_EQ(podOfGroup(text), "") << text;
  }
  EXPECT_FALSE(groupIsOfPod("0::/kubepods/pod/0a1b\n", ""));
  EXPECT_FALSE(processIsOfPod(getpid(), kUid));
}

// Found by the 1,000-agent run at its 498th: reading of a process that ends meanwhile ended the
// agent.
TEST(PodCgroup, ProcessesThatEndWhileTheyAreReadAreNobodys) {
  constexpr int kProcesses = 2000;
  for (int i = 0; i < kProcesses; ++i) {
    const int child = fork();
    if (child == 0) _exit(0);
    std::thread reaper([child] { waitpid(child, nullptr, 0); });
    for (int look = 0; look < 20; ++look) EXPECT_FALSE(processIsOfPod(child, kUid));
    reaper.join();
  }
}

}  // namespace
}  // namespace divvy::agent
