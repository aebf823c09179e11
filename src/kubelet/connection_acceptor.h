// Hands connections to a socket over to a gRPC server.
#pragma once

#include <thread>

#include <grpcpp/grpcpp.h>

#include "base/fd.h"

namespace divvy::kubelet {

// Accepts connections on a thread of its own, because a kubelet calls back during our call to it.
class ConnectionAcceptor {
 public:
  // `listening` is non-blocking; `server` outlives this object.
  ConnectionAcceptor(Fd listening, grpc::Server& server);
  ~ConnectionAcceptor();  // as stop()
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  // Stops accepting and closes the socket before it returns. Accepted connections stay open.
  void stop();

 private:
  void work();

  Fd listening_;
  grpc::Server& server_;
  Fd bell_;  // eventfd
  std::thread thread_;
};

}  // namespace divvy::kubelet
