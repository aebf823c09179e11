// What the tests of mapped and shared memory have in common: bytes in and out, descriptors between
// processes.
#pragma once

#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "driver_process.h"

namespace divvy::simgpu {

inline constexpr std::uint64_t kUnit = 2 * kMiB;  // granularity of mapped memory

inline CUmemAllocationProp onDevice(int ordinal, unsigned handle_types = 0) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = ordinal;
  return prop;
}

inline CUmemAccessDesc accessOf(int ordinal, unsigned flags) {
  CUmemAccessDesc desc{};
  desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  desc.location.id = ordinal;
  desc.flags = static_cast<CUmemAccess_flags>(flags);
  return desc;
}

inline constexpr unsigned kPosixFd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
inline constexpr unsigned kRw = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

inline CUmemGenericAllocationHandle create(std::uint64_t bytes, unsigned handle_types = 0) {
  const CUmemAllocationProp prop = onDevice(0, handle_types);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cu<Cu::cuMemCreate>(&handle, size_t{bytes}, &prop, 0ULL), CUDA_SUCCESS);
  return handle;
}

inline CUdeviceptr reserve(std::uint64_t bytes, CUdeviceptr hint = 0) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cu<Cu::cuMemAddressReserve>(&address, size_t{bytes}, size_t{0}, hint, 0ULL),
            CUDA_SUCCESS);
  return address;
}

inline CUresult map(CUdeviceptr address, std::uint64_t bytes, CUmemGenericAllocationHandle handle) {
  return cu<Cu::cuMemMap>(address, size_t{bytes}, size_t{0}, handle, 0ULL);
}

inline CUresult allow(CUdeviceptr address, std::uint64_t bytes, unsigned flags, int ordinal = 0) {
  const CUmemAccessDesc desc = accessOf(ordinal, flags);
  return cu<Cu::cuMemSetAccess>(address, size_t{bytes}, &desc, size_t{1});
}

// Addresses with a handle's memory behind them, usable by device 0.
inline CUdeviceptr mapNew(std::uint64_t bytes, CUmemGenericAllocationHandle handle) {
  const CUdeviceptr address = reserve(bytes);
  EXPECT_EQ(map(address, bytes, handle), CUDA_SUCCESS);
  EXPECT_EQ(allow(address, bytes, kRw), CUDA_SUCCESS);
  return address;
}

inline CUresult fill(CUdeviceptr address, std::size_t bytes, int value) {
  const std::vector<unsigned char> data(bytes, static_cast<unsigned char>(value));
  return cu<Cu::cuMemcpyHtoD_v2>(address, static_cast<const void*>(data.data()), bytes);
}

// The value that all bytes of the range have; -1: they differ, -2: the copy is refused.
inline int valueOf(CUdeviceptr address, std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  if (cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(data.data()), address, bytes) != CUDA_SUCCESS) {
    return -2;
  }
  for (const unsigned char byte : data) {
    if (byte != data[0]) return -1;
  }
  return data[0];
}

// A pair of sockets that two processes of a test inherit, to pass descriptors and plain bytes.
class FdChannel {
 public:
  FdChannel() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_) != 0) std::abort();
  }
  ~FdChannel() {
    close(ends_[0]);
    close(ends_[1]);
  }
  FdChannel(const FdChannel&) = delete;
  FdChannel& operator=(const FdChannel&) = delete;

  // fd -1: only the bytes.
  void send(int fd, const void* bytes, std::size_t count) {
    iovec part{const_cast<void*>(bytes), count};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fd >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    EXPECT_EQ(sendmsg(ends_[0], &message, 0), static_cast<ssize_t>(count));
  }
  void send(int fd) { send(fd, "f", 1); }

  // The descriptor, or -1.
  int receive(void* bytes, std::size_t count) {
    iovec part{bytes, count};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    EXPECT_EQ(recvmsg(ends_[1], &message, MSG_CMSG_CLOEXEC), static_cast<ssize_t>(count));
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    int fd = -1;
    if (header != nullptr) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
  }
  int receive() {
    char byte;
    return receive(&byte, 1);
  }

 private:
  int ends_[2]{};
};

}  // namespace divvy::simgpu
