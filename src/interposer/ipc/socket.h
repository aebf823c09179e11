// Sockets between processes of this machine, for messages that carry a descriptor. Every call
// except accept() ends within kIpcPatience.
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

  // Listens at a random name, in the network namespace of this process and in no directory. Returns
  // false if that fails.
  bool listen(std::uint64_t* name);
  bool connect(std::uint64_t name);
  // Waits for a peer without a bound. Returns false if that fails.
  bool accept(IpcSocket* out) const;
  // Returns whether this socket listens at `name`. The application may have closed it and reused
  // its descriptor number.
  bool listensAt(std::uint64_t name) const;
  // Ends accept() in another thread.
  void shutDown() const;

  void close();
  // Releases the descriptor without closing it: it belongs to the application.
  void forget() { fd_ = -1; }

  // Send and receive whole messages. `fd` is a descriptor that accompanies the message; -1: none.
  bool send(const void* data, std::size_t bytes, int fd) const;
  bool receive(void* data, std::size_t bytes, int* fd) const;

 private:
  bool open();
  bool beImpatient() const;

  int fd_ = -1;
};

// Closed at the end of its scope.
class ScopedIpcSocket : public IpcSocket {
 public:
  ScopedIpcSocket() = default;
  ~ScopedIpcSocket() { close(); }
};

// Returns false if the system provides no random bytes.
bool drawRandom(std::uint64_t* out);

}  // namespace divvy::interposer
