// Sockets between processes of this machine, for messages that carry a descriptor. Every call but
// the listener's wait ends within kIpcPatience.
#pragma once

#include <cstddef>
#include <cstdint>

namespace divvy::interposer {

inline constexpr unsigned kIpcPatience = 10;  // seconds that a peer may be silent

class IpcSocket {
 public:
  constexpr IpcSocket() = default;
  IpcSocket(const IpcSocket&) = delete;
  IpcSocket& operator=(const IpcSocket&) = delete;

  // A name that nobody else has, and listens there, in the network namespace of this process and
  // in no directory. False: not to be had.
  bool listen(std::uint64_t* name);
  bool connect(std::uint64_t name);
  // Waits for somebody, as long as it takes. False: nobody can come any more.
  bool accept(IpcSocket* out) const;
  // It is the socket that listens there: the application may have closed it, and use its number.
  bool listensAt(std::uint64_t name) const;
  // Ends accept() in another thread.
  void shutDown() const;

  void close();
  // Without closing: it is somebody else's.
  void forget() { fd_ = -1; }

  // Whole messages. `fd`: to be sent beside it, or -1; that which came beside it, or -1.
  bool send(const void* data, std::size_t bytes, int fd) const;
  bool receive(void* data, std::size_t bytes, int* fd) const;

 private:
  bool open();
  bool beImpatient() const;

  int fd_ = -1;
};

// Closed at the end of a scope.
class ScopedIpcSocket : public IpcSocket {
 public:
  ScopedIpcSocket() = default;
  ~ScopedIpcSocket() { close(); }
};

// False: the system has none to give.
bool drawRandom(std::uint64_t* out);

}  // namespace divvy::interposer
