#include "loader/driver_locator.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "loader/real_dlopen.h"
#include "support/elf_note.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

constexpr unsigned kMaxProgramHeaders = 64;
constexpr size_t kMaxNoteBytes = 4096;

#if defined(__x86_64__)
constexpr const char* kUsualDirectories[] = {"/lib/x86_64-linux-gnu",
                                             "/usr/lib/x86_64-linux-gnu",
                                             "/lib64",
                                             "/usr/lib64",
                                             "/lib",
                                             "/usr/lib",
                                             "/usr/local/nvidia/lib64",
                                             "/usr/lib/wsl/lib",
                                             nullptr};
#elif defined(__aarch64__)
constexpr const char* kUsualDirectories[] = {"/lib/aarch64-linux-gnu",
                                             "/usr/lib/aarch64-linux-gnu",
                                             "/lib64",
                                             "/usr/lib64",
                                             "/lib",
                                             "/usr/lib",
                                             "/usr/local/nvidia/lib64",
                                             "/usr/lib/aarch64-linux-gnu/tegra",
                                             nullptr};
#endif

// Returns true if these bytes include a note with our name.
bool holdsOurNote(const char* bytes, size_t size) {
  size_t at = 0;
  while (size - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    ::memcpy(&note, bytes + at, sizeof note);
    at += sizeof note;
    const size_t name_room = (size_t{note.n_namesz} + 3) & ~size_t{3};
    const size_t body_room = (size_t{note.n_descsz} + 3) & ~size_t{3};
    if (name_room > size - at || body_room > size - at - name_room) return false;
    if (note.n_namesz == sizeof kNoteName && ::memcmp(bytes + at, kNoteName, sizeof kNoteName) == 0)
      return true;
    at += name_room + body_room;
  }
  return false;
}

// The start of a file, where linkers put program headers and notes; other parts are read on demand.
class FileStart {
 public:
  explicit FileStart(int fd) : fd_(fd) {
    const long got = sys::readSome(fd, start_, sizeof start_, 0);
    if (got > 0) size_ = static_cast<size_t>(got);
  }

  // Returns false if the file does not have these bytes.
  bool copy(void* to, size_t size, uint64_t offset) const {
    if (offset > size_ || size > size_ - offset) return sys::readAt(fd_, to, size, offset);
    ::memcpy(to, start_ + offset, size);
    return true;
  }

 private:
  int fd_;
  size_t size_ = 0;
  char start_[1024];
};

bool holdsOurNote(const FileStart& file) {
  Elf64_Ehdr elf;
  if (!file.copy(&elf, sizeof elf, 0) || ::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  alignas(8) char notes[kMaxNoteBytes];
  for (unsigned i = 0; i < elf.e_phnum && i < kMaxProgramHeaders; ++i) {
    Elf64_Phdr header;
    if (!file.copy(&header, sizeof header, elf.e_phoff + i * sizeof header)) return false;
    if (header.p_type != PT_NOTE) continue;
    const size_t size = header.p_filesz < sizeof notes ? header.p_filesz : sizeof notes;
    if (file.copy(notes, size, header.p_offset) && holdsOurNote(notes, size)) return true;
  }
  return false;
}

bool isFile(const char* path) {
  struct stat status;
  return sys::pathStatus(path, &status) && S_ISREG(status.st_mode);
}

}  // namespace

LibraryPlaces systemPlaces(const char* preferred) {
  LibraryPlaces places;
  places.preferred = preferred;
  places.search_path = ::getauxval(AT_SECURE) != 0 ? nullptr : ::getenv("LD_LIBRARY_PATH");
  places.cache = "/etc/ld.so.cache";
  places.directories = kUsualDirectories;
  return places;
}

bool isDivvyLibrary(const char* path) {
  const int fd = sys::openRead(path);
  if (fd < 0) return false;
  const bool ours = holdsOurNote(FileStart(fd));
  sys::close(fd);
  return ours;
}

LibraryCandidates::LibraryCandidates(const char* soname, const LibraryPlaces& places)
    : soname_(soname), places_(places) {}

const char* LibraryCandidates::next() {
  while (stage_ != Stage::kEnd) {
    path_.clear();
    if (!advance()) {
      stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
      index_ = 0;
      continue;
    }
    if (path_.valid() && !path_.empty() && isFile(path_.c_str()) && !isDivvyLibrary(path_.c_str()))
      return path_.c_str();
  }
  return nullptr;
}

// Puts the stage's next path into path_, which may be empty or unusable. Returns false when the
// stage is over.
bool LibraryCandidates::advance() {
  switch (stage_) {
    case Stage::kPreferred:
      if (index_++ != 0 || places_.preferred == nullptr) return false;
      // A relative path would depend on the working directory of the first caller.
      if (places_.preferred[0] == '/') path_.append(places_.preferred);
      return true;
    case Stage::kSearchPath:
      return advanceSearchPath();
    case Stage::kCache: {
      if (index_ == 0 && places_.cache != nullptr) cache_.read(places_.cache);
      const char* entry = cache_.entry(soname_, index_++);
      if (entry == nullptr) return false;
      path_.append(entry);
      return true;
    }
    case Stage::kDirectories: {
      if (places_.directories == nullptr || places_.directories[index_] == nullptr) return false;
      path_.append(places_.directories[index_++]).append("/").append(soname_);
      return true;
    }
    case Stage::kEnd:
      break;
  }
  return false;
}

// index_ is the offset of the next directory within the search path.
bool LibraryCandidates::advanceSearchPath() {
  const char* list = places_.search_path;
  if (list == nullptr || index_ > ::strlen(list) || list[0] == '\0') return false;
  const char* start = list + index_;
  const size_t length = ::strcspn(start, ":;");
  index_ += static_cast<unsigned>(length) + 1;
  if (length == 0) {
    path_.append("./");  // an empty entry means the working directory, as for the loader
  } else {
    path_.append(start, length).append("/");
  }
  path_.append(soname_);
  return true;
}

void* openRealLibrary(const char* soname, const LibraryPlaces& places, LibraryPath* path) {
  LibraryCandidates candidates(soname, places);
  while (const char* candidate = candidates.next()) {
    void* handle = realDlopen(candidate, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) continue;
    path->clear().append(candidate);
    ::dlerror();
    return handle;
  }
  ::dlerror();
  return nullptr;
}

}  // namespace divvy::interposer
