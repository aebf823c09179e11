// The folder in which a kubelet and its plugins have their sockets.
#pragma once

#include <cstdint>
#include <string>

namespace divvy::kubelet {

// Which file a name is now: another one of the same name differs. All 0: there is none.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;

  bool exists() const { return inode != 0; }
  friend bool operator==(const FileId&, const FileId&) = default;
};
FileId fileId(const std::string& path);

// Whether somebody listens there: what a program left behind that has ended is only a file.
bool isListenedTo(const std::string& path);

// Tells when something comes into the folder or leaves it. wait() is one thread's, wake() anyone's.
class SocketFolder {
 public:
  explicit SocketFolder(std::string path);
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

  // Until something happens there, somebody calls wake(), or so long. May return for nothing; a
  // folder that is not there yet is looked for again at each call.
  void wait(int ms);
  void wake();

 private:
  std::string path_;
  int events_ = -1;  // inotify
  int bell_ = -1;    // eventfd
};

}  // namespace divvy::kubelet
