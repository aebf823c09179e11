// A body without an end: the application pushes chunks, for example server-sent events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace divvy::http {

inline constexpr std::size_t kMaxOutstanding = std::size_t{64} << 10;  // bytes

// The application's end of one client's stream. It is made by a handler, put into Answer::stream,
// and kept by the application for as long as it pushes. A push never waits: bytes are copied into a
// buffer of bounded size, which the server sends with chunked transfer encoding (to HTTP/1.0
// clients: until the connection ends). The server closes the stream when
// - the client closes its connection, or sends further bytes;
// - the client does not accept the queued bytes within Listen::transfer (the application sends
//   heartbeats, so that a client which is gone is noticed);
// - the server refuses the stream (Listen::max_streams), or is destroyed.
// Used on the server's executor thread only.
class Stream {
 public:
  enum class Push : std::uint8_t {
    kQueued,  // the client gets it, unless its connection ends before
    kFull,    // nothing of it was queued: the client is too slow. Push later, or close.
    kClosed,  // nothing of it was queued: the stream has ended
  };

  // At most `max_outstanding` bytes are queued and not yet accepted by the connection.
  static std::shared_ptr<Stream> make(std::size_t max_outstanding = kMaxOutstanding);
  ~Stream();  // as close()
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Queues all of it or nothing. May be called before the answer is returned. A chunk of more than
  // `max_outstanding` bytes is always kFull. Boundaries of chunks are not kept on the wire.
  Push push(std::string_view chunk);
  // Ends the body after the queued bytes. A second call does nothing.
  void close();
  bool open() const;
  // Returns the queued bytes that the connection has not accepted. 0: the client is up to date.
  std::size_t outstanding() const;
  // `closed` is called once, when the server closes the stream (list above), not for close(). It
  // may be called by the server's destructor. An empty function takes it back.
  void onClosed(std::function<void()> closed);

  struct State;  // private to the server
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  explicit Stream(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace divvy::http
