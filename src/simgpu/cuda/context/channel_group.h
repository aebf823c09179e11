// A context's channel group, made and freed by ioctl as NVIDIA's driver does it. Only where a
// library stands for the kernel module (rm_stub.h); nothing at all happens elsewhere.
#pragma once

namespace divvy::simgpu {

struct ExecContext;

void announceChannelGroup(ExecContext& exec);
void withdrawChannelGroup(ExecContext& exec);

}  // namespace divvy::simgpu
