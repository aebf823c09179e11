// Lets callers of a socket in to a gRPC server.
#pragma once

#include <thread>

#include <grpcpp/grpcpp.h>

#include "base/fd.h"

namespace divvy::kubelet {

// From its beginning on a thread of its own: a kubelet calls back while we are calling it.
class ConnectionAcceptor {
 public:
  // `listening` does not block; the server outlives this.
  ConnectionAcceptor(Fd listening, grpc::Server& server);
  ~ConnectionAcceptor();  // as stop()
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  // Nobody new comes. Once it returns the socket is closed; those who are in stay.
  void stop();

 private:
  void work();

  Fd listening_;
  grpc::Server& server_;
  Fd bell_;  // eventfd
  std::thread thread_;
};

}  // namespace divvy::kubelet
