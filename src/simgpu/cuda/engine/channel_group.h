// A context's channel group, made and freed by ioctl as NVIDIA's driver does it. Only if a library
// simulates the kernel module (rm_stub.h); otherwise nothing happens.
#pragma once

namespace divvy::simgpu {

struct ExecContext;

void announceChannelGroup(ExecContext& exec);
void withdrawChannelGroup(ExecContext& exec);

}  // namespace divvy::simgpu
