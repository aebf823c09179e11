// Mapped memory in several processes: charged once, alive as long as anybody can reach it.
#include <fcntl.h>

#include "vmm_driver.h"

namespace divvy::simgpu {
namespace {

class VmmShare : public DriverTest {
 protected:
  // Bytes of mapped memory on the card, whoever is shown with them.
  std::uint64_t mappedOnCard() const {
    const auto view = readCard(dir(), 0);
    if (!view) return ~std::uint64_t{0};
    std::uint64_t sum = 0;
    std::uint64_t total = 0;
    for (const ProcessView& process : view->processes) {
      sum += process.by_kind[static_cast<int>(Charge::kVmm)];
      total += process.bytes;
    }
    EXPECT_EQ(view->used, total);
    return sum;
  }
  FdChannel channel_;
};

int exportFd(CUmemGenericAllocationHandle handle) {
  int fd = -1;
  EXPECT_EQ(cu<Cu::cuMemExportToShareableHandle>(static_cast<void*>(&fd), handle,
                                                 CUmemAllocationHandleType{kPosixFd}, 0ULL),
            CUDA_SUCCESS);
  return fd;
}

CUresult importFd(int fd, CUmemGenericAllocationHandle* handle) {
  return cu<Cu::cuMemImportFromShareableHandle>(
      handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
      CUmemAllocationHandleType{kPosixFd});
}

TEST_F(VmmShare, NotShareable_ExportIsRefused) {
  runReady([] {
    int fd = -1;
    const auto handle = create(kUnit);
    EXPECT_EQ(cu<Cu::cuMemExportToShareableHandle>(static_cast<void*>(&fd), handle,
                                                   CUmemAllocationHandleType{kPosixFd}, 0ULL),
              CUDA_ERROR_INVALID_VALUE);
    CUmemGenericAllocationHandle imported = 0;
    EXPECT_EQ(importFd(-1, &imported), CUDA_ERROR_INVALID_VALUE);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    EXPECT_EQ(importFd(null, &imported), CUDA_ERROR_INVALID_VALUE);
    close(null);
  });
}

TEST_F(VmmShare, SameProcessImport_AddsReference) {
  runReady([] {
    const auto handle = create(kUnit, kPosixFd);
    const int fd = exportFd(handle);
    CUmemGenericAllocationHandle again = 0;
    EXPECT_EQ(importFd(fd, &again), CUDA_SUCCESS);
    EXPECT_EQ(again, handle);
    close(fd);
    EXPECT_EQ(booked(Charge::kVmm), kUnit);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), kUnit);
    EXPECT_EQ(cu<Cu::cuMemRelease>(again), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
  });
}

TEST_F(VmmShare, OpenFd_KeepsMemory) {
  runReady([] {
    const auto handle = create(kUnit, kPosixFd);
    const int fd = exportFd(handle);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), kUnit);
    CUmemGenericAllocationHandle back = 0;
    ASSERT_EQ(importFd(fd, &back), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemRelease>(back), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), kUnit);
    close(fd);
    EXPECT_EQ(cu<Cu::cuMemRelease>(create(kUnit)), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U) << "seen closed by the next call";
  });
}

TEST_F(VmmShare, TwoProcesses_SameBytesChargedOnce) {
  DriverProcess maker(environment(), [&] {
    makeReady();
    const auto handle = create(2 * kUnit, kPosixFd);
    const CUdeviceptr p = mapNew(2 * kUnit, handle);
    EXPECT_EQ(fill(p, kUnit, 0x21), CUDA_SUCCESS);
    const int fd = exportFd(handle);
    channel_.send(fd);
    close(fd);
    DriverProcess::meet();
    EXPECT_EQ(valueOf(p + kUnit, kUnit), 0x42) << "written by the other";
  });
  DriverProcess user(environment(), [&] {
    makeReady();
    const int fd = channel_.receive();
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(importFd(fd, &handle), CUDA_SUCCESS);
    close(fd);
    CUmemAllocationProp prop{};
    EXPECT_EQ(cu<Cu::cuMemGetAllocationPropertiesFromHandle>(&prop, handle), CUDA_SUCCESS);
    EXPECT_EQ(static_cast<unsigned>(prop.requestedHandleTypes), kPosixFd);
    const CUdeviceptr p = mapNew(2 * kUnit, handle);
    EXPECT_EQ(valueOf(p, kUnit), 0x21);
    EXPECT_EQ(valueOf(p + kUnit, 1000), 0xd5) << "fresh memory is poisoned for both";
    EXPECT_EQ(fill(p + kUnit, kUnit, 0x42), CUDA_SUCCESS);
    DriverProcess::meet();
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{2 * kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
  });
  maker.hear();
  user.hear();
  EXPECT_EQ(mappedOnCard(), 2 * kUnit);
  user.resume();
  user.expectSuccess();
  EXPECT_EQ(mappedOnCard(), 2 * kUnit);
  maker.resume();
  maker.expectSuccess();
  EXPECT_EQ(mappedOnCard(), 0U);
}

TEST_F(VmmShare, MakerReleases_UserKeepsMemory) {
  DriverProcess maker(environment(), [&] {
    makeReady();
    const auto handle = create(kUnit, kPosixFd);
    const CUdeviceptr p = mapNew(kUnit, handle);
    EXPECT_EQ(fill(p, kUnit, 0x21), CUDA_SUCCESS);
    const int fd = exportFd(handle);
    channel_.send(fd);
    close(fd);
    DriverProcess::meet();
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    // New memory must not be the bytes that the other still uses.
    const CUdeviceptr q = mapNew(kUnit, create(kUnit));
    EXPECT_EQ(fill(q, kUnit, 0x77), CUDA_SUCCESS);
    DriverProcess::meet();
  });
  DriverProcess user(environment(), [&] {
    makeReady();
    const int fd = channel_.receive();
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(importFd(fd, &handle), CUDA_SUCCESS);
    close(fd);
    const CUdeviceptr p = mapNew(kUnit, handle);
    DriverProcess::meet();
    EXPECT_EQ(valueOf(p, kUnit - 1), 0x21);
  });
  maker.hear();
  user.hear();
  maker.resume();
  maker.hear();
  EXPECT_EQ(mappedOnCard(), 2 * kUnit) << "the shared one, and a new one";
  user.resume();
  user.expectSuccess();
  EXPECT_EQ(mappedOnCard(), kUnit) << "the last user is gone";
  maker.resume();
  maker.expectSuccess();
}

TEST_F(VmmShare, MakerOrUserKilled_SurvivorHolds) {
  const auto maker_body = [&] {
    makeReady();
    const auto handle = create(kUnit, kPosixFd);
    const CUdeviceptr p = mapNew(kUnit, handle);
    EXPECT_EQ(fill(p, kUnit, 0x33), CUDA_SUCCESS);
    channel_.send(exportFd(handle));
    DriverProcess::meet();
  };
  const auto user_body = [&] {
    makeReady();
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(importFd(channel_.receive(), &handle), CUDA_SUCCESS);
    const CUdeviceptr p = mapNew(kUnit, handle);
    DriverProcess::meet();
    EXPECT_EQ(valueOf(p, kUnit - 1), 0x33) << "the bytes outlive their maker";
  };
  for (const bool kill_maker : {true, false}) {
    DriverProcess maker(environment(), maker_body);
    DriverProcess user(environment(), user_body);
    maker.hear();
    user.hear();
    EXPECT_EQ(mappedOnCard(), kUnit);
    DriverProcess& victim = kill_maker ? maker : user;
    DriverProcess& survivor = kill_maker ? user : maker;
    victim.killNow();
    EXPECT_EQ(mappedOnCard(), kUnit) << "held by the survivor";
    survivor.resume();
    survivor.expectSuccess();
    EXPECT_EQ(mappedOnCard(), 0U);
  }
}

TEST_F(VmmShare, FdInFlight_ImportableAfterMakersDeath) {
  DriverProcess maker(environment(), [&] {
    makeReady();
    channel_.send(exportFd(create(kUnit, kPosixFd)));
    DriverProcess::meet();
  });
  maker.hear();
  maker.killNow();
  EXPECT_EQ(mappedOnCard(), 0U) << "no process holds it";
  DriverProcess user(environment(), [&] {
    makeReady();
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(importFd(channel_.receive(), &handle), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), kUnit) << "back on the books";
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    EXPECT_EQ(booked(Charge::kVmm), 0U);
  });
  user.expectSuccess();
}

TEST_F(VmmShare, ExternalMemory_MapsAndKeepsMemory) {
  DriverProcess maker(environment(), [&] {
    makeReady();
    const auto handle = create(2 * kUnit, kPosixFd);
    const CUdeviceptr p = mapNew(2 * kUnit, handle);
    EXPECT_EQ(fill(p + kUnit, kUnit, 0x55), CUDA_SUCCESS);
    const int fd = exportFd(handle);
    channel_.send(fd);
    close(fd);
    DriverProcess::meet();
    EXPECT_EQ(cu<Cu::cuMemUnmap>(p, size_t{2 * kUnit}), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemRelease>(handle), CUDA_SUCCESS);
    DriverProcess::meet();
  });
  DriverProcess user(environment(), [&] {
    makeReady();
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = channel_.receive();
    CUexternalMemory memory = nullptr;
    EXPECT_EQ(cu<Cu::cuImportExternalMemory>(&memory, &desc), CUDA_ERROR_INVALID_VALUE) << "size";
    desc.size = 2 * kUnit;
    ASSERT_EQ(cu<Cu::cuImportExternalMemory>(&memory, &desc), CUDA_SUCCESS);
    EXPECT_EQ(fcntl(desc.handle.fd, F_GETFD), -1) << "the descriptor is the driver's now";
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
    buffer.offset = kUnit;
    buffer.size = kUnit + 1;
    CUdeviceptr p = 0;
    EXPECT_EQ(cu<Cu::cuExternalMemoryGetMappedBuffer>(&p, memory, &buffer),
              CUDA_ERROR_INVALID_VALUE);
    buffer.offset = kUnit + 4096;
    buffer.size = kUnit - 4096;
    ASSERT_EQ(cu<Cu::cuExternalMemoryGetMappedBuffer>(&p, memory, &buffer), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuDestroyExternalMemory>(memory), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuDestroyExternalMemory>(memory), CUDA_ERROR_INVALID_HANDLE);
    DriverProcess::meet();
    EXPECT_EQ(valueOf(p + 4096, kUnit - 8192), 0x55);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_SUCCESS);
    EXPECT_EQ(cu<Cu::cuMemFree_v2>(p), CUDA_ERROR_INVALID_VALUE);
    DriverProcess::meet();
  });
  maker.hear();
  user.hear();
  maker.resume();
  maker.hear();
  EXPECT_EQ(mappedOnCard(), 2 * kUnit) << "the buffer keeps the memory";
  user.resume();
  user.hear();
  EXPECT_EQ(mappedOnCard(), 0U);
  user.resume();
  user.expectSuccess();
  maker.resume();
  maker.expectSuccess();
}

}  // namespace
}  // namespace divvy::simgpu
