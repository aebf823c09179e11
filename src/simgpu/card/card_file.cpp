// Creates, finds and maps card files.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "card/card.h"
#include "card/card_clock.h"

namespace divvy::simgpu {
namespace {

// The layout's size is part of the name, so builds with different layouts do not share a file.
std::string cardPath(const std::string& dir, int index, const char* suffix) {
  return dir + "/card" + std::to_string(index) + ".v" + std::to_string(kCardVersion) + "." +
         std::to_string(sizeof(CardFile)) + suffix;
}

CardFile* mapShared(int fd) {
  void* at = mmap(nullptr, sizeof(CardFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<CardFile*>(at);
}

void initMutex(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void initFile(CardFile* file, const Profile& profile, int index) {
  file->version = kCardVersion;
  file->index = static_cast<std::uint32_t>(index);
  file->file_bytes = sizeof(CardFile);
  file->capacity = profile.usableBytes();
  profile.name.copy(file->profile, sizeof file->profile - 1);
  initMutex(&file->mutex);
  file->next_generation = 1;
  file->next_block = kFirstBlockId;
  file->time_scale = configuredTimeScale();
  file->magic = kCardMagic;
}

// Writes a complete file beside the final name and links it there; losing that race is no error.
bool createFile(const std::string& path, const Profile& profile, int index) {
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return false;
  matchDirectoryAccess(fd, path.substr(0, path.rfind('/')));
  bool made = posix_fallocate(fd, 0, sizeof(CardFile)) == 0;
  if (made) {
    CardFile* file = mapShared(fd);
    made = file != nullptr;
    if (made) {
      initFile(file, profile, index);
      munmap(file, sizeof(CardFile));
      made = link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST;
    }
  }
  unlink(temporary.c_str());
  close(fd);
  return made;
}

CardFile* openFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return nullptr;
  struct stat info {};
  CardFile* file = nullptr;
  if (fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(sizeof(CardFile))) {
    file = mapShared(fd);
  }
  close(fd);
  if (file != nullptr && (file->magic != kCardMagic || file->version != kCardVersion)) {
    munmap(file, sizeof(CardFile));
    file = nullptr;
  }
  return file;
}

bool makeDirectories(const std::string& dir) {
  for (std::size_t at = dir.find('/', 1);; at = dir.find('/', at + 1)) {
    const std::string part = dir.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EACCES && errno != EROFS) {
      return false;
    }
    if (at == std::string::npos) return true;
  }
}

// The owner gave access to all users, as drivers do with device nodes.
bool isForAll(mode_t mode) {
  return (mode & S_IWOTH) != 0;
}

}  // namespace

bool prepareCardDirectory(const std::string& dir) {
  if (dir.empty() || !makeDirectories(dir)) return false;
  struct stat info {};
  return stat(dir.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         (info.st_uid == geteuid() || isForAll(info.st_mode)) &&
         access(dir.c_str(), W_OK | X_OK) == 0;
}

int openCardFile(const std::string& dir, const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) matchDirectoryAccess(fd, dir);
  return fd;
}

void matchDirectoryAccess(int file, const std::string& dir) {
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0 || !isForAll(info.st_mode)) return;
  // A file of another user has that mode already.
  (void)fchmod(file, 0666);
}

Card::~Card() {
  if (file_ == nullptr) return;
  releaseRecord();
  munmap(file_, sizeof(CardFile));
}

bool Card::open(const std::string& dir, const Profile& profile, int index) {
  const std::string path = cardPath(dir, index, "");
  file_ = openFile(path);
  if (file_ == nullptr) {
    if (!createFile(path, profile, index)) return false;
    file_ = openFile(path);
  }
  if (file_ == nullptr) return false;
  if (profile.name != file_->profile || !attach(dir, index)) {
    munmap(file_, sizeof(CardFile));
    file_ = nullptr;
  }
  return file_ != nullptr;
}

bool Card::openExisting(const std::string& dir, int index) {
  file_ = openFile(cardPath(dir, index, ""));
  if (file_ == nullptr || attach(dir, index)) return file_ != nullptr;
  munmap(file_, sizeof(CardFile));
  file_ = nullptr;
  return false;
}

// The process of record i holds a write lock on byte i of the live file while it lives. The kernel
// releases the lock when the process ends, also in another PID namespace. A child made by fork does
// not inherit it. It is also released when the process closes *any* descriptor of this file. So the
// file is a separate one, and its descriptors are never closed.
bool Card::attach(const std::string& dir, int index) {
  live_fd_ = openCardFile(dir, cardPath(dir, index, ".live"));
  setTimeScale(file_->time_scale);
  return live_fd_ >= 0;
}

}  // namespace divvy::simgpu
