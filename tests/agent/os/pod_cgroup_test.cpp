#include "os/pod_cgroup.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace divvy::agent {
namespace {

const std::string kUid = "6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d11";

TEST(PodCgroup, KnownPathForms_PodIsFound) {
  for (const char* text :
       {"9:name=systemd:/kubepods/besteffort/pod6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d11/0a1b\n",
        "4:memory:/kubepods/pod6b5c1a52-0d5c-4b0e-9d0b-0a6f6f3c2d11/0a1b\n0::/\n",
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
        "pod6b5c1a52_0d5c_4b0e_9d0b_0a6f6f3c2d11.slice/cri-containerd-0a1b.scope\n",
        "0::/kubepods.slice/kubepods-pod6b5c1a52_0d5c_4b0e_9d0b_0a6f6f3c2d11.slice\n",
        // With a root of the kubelet's that is called like a pod.
        "0::/pods.slice/pods-kubepods.slice/pods-kubepods-pod6b5c1a52_0d5c_4b0e_9d0b_0a6f6f3c2d11"
        ".slice/cri-containerd-0a1b.scope\n",
        "0::/../../kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-"
        "pod6b5c1a52_0d5c_4b0e_9d0b_0a6f6f3c2d11.slice/cri-containerd-0a1b.scope\n"}) {
    EXPECT_TRUE(groupIsOfPod(text, kUid)) << text;
    EXPECT_EQ(podOfGroup(text), kUid) << text;
  }
}

TEST(PodCgroup, OtherPaths_PodIsNotFound) {
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

// A process that may make groups below its own calls one as another pod's is called.
TEST(PodCgroup, NestedCgroup_DoesNotChangePod) {
  const std::string other = "11111111-2222-3333-4444-555555555555";
  const std::string sliced = "11111111_2222_3333_4444_555555555555";
  const std::string own = "0::/kubepods/pod" + kUid + "/0a1b";
  for (const std::string& text :
       {own + "/pod" + other + "\n", own + "/kubepods.slice/kubepods-pod" + sliced + ".slice\n",
        // Version 1: of controllers that are the container's to write.
        "9:cpu,cpuacct:/kubepods/pod" + other + "\n4:memory:/kubepods/pod" + kUid + "/0a1b/pod" +
            other + "\n1:name=systemd:/kubepods/pod" + other + "\n0::/kubepods/pod" + other +
            "\n"}) {
    EXPECT_EQ(podOfGroup(text), kUid) << text;
    EXPECT_FALSE(groupIsOfPod(text, other)) << text;
  }
  // Outside of pods, and of a controller of another name.
  EXPECT_EQ(podOfGroup("3:xmemory:/kubepods/pod" + kUid + "\n0::/user.slice\n"), "");
  // One of another form is found only where it is asked for, and never below one of a pod.
  EXPECT_TRUE(groupIsOfPod("0::/kubepods/poduid-1/0a1b\n", "uid-1"));
  EXPECT_FALSE(groupIsOfPod(own + "/poduid-1\n", "uid-1"));
}

TEST(PodCgroup, MalformedLines_NoPod) {
  for (const char* text : {":", "::", "0::", "0:", "\n\n", "0::/pod", "0::/-pod.slice", "0::///"})
    EXPECT_EQ(podOfGroup(text), "") << text;
}

// Found by the 1,000-agent run at its 498th: reading of a process that ends meanwhile ended the
// agent.
TEST(PodCgroup, ProcessEndsDuringRead_NoPod) {
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
