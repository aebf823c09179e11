// Pools and their pointers across processes.
#include <sys/socket.h>

#include <cstring>

#include "driver_process.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kUnit = 32 * kMiB;

class PoolSharing : public DriverTest {
 protected:
  static void sendDescriptor(int socket, int fd, const CUmemPoolPtrExportData& data) {
    char control[CMSG_SPACE(sizeof fd)] = {};
    iovec part{const_cast<CUmemPoolPtrExportData*>(&data), sizeof data};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    EXPECT_EQ(sendmsg(socket, &message, 0), static_cast<ssize_t>(sizeof data));
  }
  static int receiveDescriptor(int socket, CUmemPoolPtrExportData* data) {
    char control[CMSG_SPACE(sizeof(int))] = {};
    iovec part{data, sizeof *data};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket, &message, 0) != static_cast<ssize_t>(sizeof *data)) return -1;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
  }
};

TEST_F(PoolSharing, ImportedPointer_ChargedOnceUntilFreed) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
  DriverProcess exporter(environment(), [&] {
    makeReady();
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(cu<Cu::cuMemPoolCreate>(&pool, static_cast<const CUmemPoolProps*>(&props)),
              CUDA_SUCCESS);
    CUdeviceptr p = 0;
    ASSERT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&p, size_t{5000}, pool, CUstream{nullptr}),
              CUDA_SUCCESS);
    CUmemPoolPtrExportData data{};
    EXPECT_EQ(cu<Cu::cuMemPoolExportPointer>(&data, p), CUDA_ERROR_INVALID_VALUE)
        << "the pool goes first";
    int fd = -1;
    ASSERT_EQ(cu<Cu::cuMemPoolExportToShareableHandle>(
                  static_cast<void*>(&fd), pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ULL),
              CUDA_SUCCESS);
    ASSERT_EQ(cu<Cu::cuMemPoolExportPointer>(&data, p), CUDA_SUCCESS);
    sendDescriptor(pair[0], fd, data);
    close(fd);
    DriverProcess::meet();
  });
  DriverProcess importer(environment(), [&] {
    makeReady();
    CUmemPoolPtrExportData data{};
    const int fd = receiveDescriptor(pair[1], &data);
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(cu<Cu::cuMemPoolImportFromShareableHandle>(
                  &pool, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ULL),
              CUDA_SUCCESS);
    CUdeviceptr q = 0;
    EXPECT_EQ(cu<Cu::cuMemAllocFromPoolAsync>(&q, size_t{1}, pool, CUstream{nullptr}),
              CUDA_ERROR_INVALID_VALUE)
        << "nothing is allocated from an imported pool";
    ASSERT_EQ(cu<Cu::cuMemPoolImportPointer>(&q, pool, &data), CUDA_SUCCESS);
    size_t bytes = 0;
    EXPECT_EQ(cu<Cu::cuMemGetAddressRange_v2>(static_cast<CUdeviceptr*>(nullptr), &bytes, q),
              CUDA_SUCCESS);
    EXPECT_EQ(bytes, 5000U);
    EXPECT_EQ(booked(Charge::kPool), 0U) << "the exporter is charged";
    DriverProcess::meet();
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(q), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemPoolDestroy>(pool), CUDA_SUCCESS);
  });
  exporter.hear();
  importer.hear();
  constexpr std::uint64_t kContext = 264 * kMiB;
  EXPECT_EQ(readCard(dir(), 0)->used, 2 * kContext + kUnit) << "counted once";
  exporter.killNow();
  EXPECT_EQ(readCard(dir(), 0)->used, kContext + kUnit) << "the importer still holds it";
  importer.resume();
  importer.expectSuccess();
  EXPECT_EQ(readCard(dir(), 0)->used, 0U);
  close(pair[0]);
  close(pair[1]);
}

}  // namespace
}  // namespace divvy::simgpu
