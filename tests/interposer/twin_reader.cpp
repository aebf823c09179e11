#include "twin_reader.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tenant_test.h"

namespace divvy::interposer {
namespace {

struct Found {
  CUresult result;  // of the first call that failed
  char what[60];    // that one
  std::uint64_t sum;
};

std::uint64_t sumOf(const std::vector<unsigned char>& bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes) sum = (sum ^ byte) * 0x100000001b3;
  return sum;
}

bool sendWith(int socket, const TwinReader::Shown& shown, int descriptor) {
  TwinReader::Shown copy = shown;
  iovec part = {&copy, sizeof copy};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof copy);
}

bool receiveWith(int socket, TwinReader::Shown* shown, int* descriptor) {
  iovec part = {shown, sizeof *shown};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  if (::recvmsg(socket, &message, 0) != static_cast<ssize_t>(sizeof *shown)) return false;
  *descriptor = -1;
  if (const cmsghdr* const head = CMSG_FIRSTHDR(&message); head != nullptr) {
    std::memcpy(descriptor, CMSG_DATA(head), sizeof *descriptor);
  }
  return true;
}

// One visit of somebody else's memory, in the reader.
class Visit {
 public:
  Visit(const TwinReader::Shown& shown, int descriptor) : shown_(shown), descriptor_(descriptor) {}

  Found make() {
    CUdeviceptr at = 0;
    std::vector<unsigned char> bytes(shown_.bytes);
    if (open(&at)) {
      good(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(bytes.data()), at, bytes.size()), "read");
      good(cu<Cu::cuMemsetD8_v2>(at + shown_.from, shown_.value, std::size_t{shown_.set}), "set");
      good(cu<Cu::cuCtxSynchronize>(), "cuCtxSynchronize");
      close(at);
    }
    found_.sum = sumOf(bytes);
    return found_;
  }

 private:
  bool good(CUresult result, const char* what) {
    if (found_.result == CUDA_SUCCESS && result != CUDA_SUCCESS) {
      found_.result = result;
      std::strncpy(found_.what, what, sizeof found_.what - 1);
    }
    return result == CUDA_SUCCESS;
  }

  bool open(CUdeviceptr* at) {
    if (!shown_.by_descriptor) {
      return good(cu<Cu::cuIpcOpenMemHandle_v2>(at, shown_.handle, 1u), "cuIpcOpenMemHandle");
    }
    void* const os_handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor_));
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUmemAccessDesc& asked = access;
    const std::size_t mapped = shown_.mapped;
    return good(cu<Cu::cuMemImportFromShareableHandle>(&handle_, os_handle,
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                "cuMemImportFromShareableHandle") &&
           good(cu<Cu::cuMemAddressReserve>(at, mapped, std::size_t{0}, CUdeviceptr{0}, 0ull),
                "cuMemAddressReserve") &&
           good(cu<Cu::cuMemMap>(*at, mapped, std::size_t{0}, handle_, 0ull), "cuMemMap") &&
           good(cu<Cu::cuMemSetAccess>(*at, mapped, &asked, std::size_t{1}), "cuMemSetAccess");
  }

  void close(CUdeviceptr at) {
    if (!shown_.by_descriptor) {
      good(cu<Cu::cuIpcCloseMemHandle>(at), "cuIpcCloseMemHandle");
      return;
    }
    const std::size_t mapped = shown_.mapped;
    good(cu<Cu::cuMemUnmap>(at, mapped), "cuMemUnmap");
    good(cu<Cu::cuMemRelease>(handle_), "cuMemRelease");
    good(cu<Cu::cuMemAddressFree>(at, mapped), "cuMemAddressFree");
  }

  const TwinReader::Shown& shown_;
  const int descriptor_;
  CUmemGenericAllocationHandle handle_ = 0;
  Found found_{};
};

}  // namespace

TwinReader::TwinReader() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    run(ends[1]);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

TwinReader::~TwinReader() {
  ::shutdown(socket_, SHUT_RDWR);
  ::close(socket_);
  int status = -1;
  ::waitpid(child_, &status, 0);
  EXPECT_EQ(status, 0);
}

void TwinReader::run(int socket) {
  CUcontext context = nullptr;
  bool fine = cu<Cu::cuInit>(0u) == CUDA_SUCCESS &&
              cu<Cu::cuDevicePrimaryCtxRetain>(&context, 0) == CUDA_SUCCESS &&
              cu<Cu::cuCtxSetCurrent>(context) == CUDA_SUCCESS;
  Shown shown{};
  int descriptor = -1;
  while (fine && receiveWith(socket, &shown, &descriptor)) {
    const Found found = Visit(shown, descriptor).make();
    if (descriptor >= 0) ::close(descriptor);
    fine = ::send(socket, &found, sizeof found, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof found);
  }
  ::_exit(fine ? 0 : 1);
}

std::string TwinReader::show(const Shown& shown, int descriptor,
                             const std::vector<unsigned char>& expected) {
  const std::lock_guard guard(one_);
  Found found{};
  if (!sendWith(socket_, shown, descriptor) ||
      ::recv(socket_, &found, sizeof found, 0) != static_cast<ssize_t>(sizeof found)) {
    return "the reader is gone";
  }
  if (found.result != CUDA_SUCCESS) {
    return std::string("the reader's ") + found.what + ": " + std::to_string(found.result);
  }
  ++visits_;
  return found.sum == sumOf(expected) ? "" : "another process has other bytes";
}

}  // namespace divvy::interposer
