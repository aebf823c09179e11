// register.sock: processes of tenants hand in their pidfd and slot.
#pragma once

#include "asio.h"
#include "base/result.h"
#include "tenants.h"

namespace divvy::agent {

class Registrar {
 public:
  Registrar(asio::io_context& loop, Tenants& tenants) : socket_(loop), tenants_(tenants) {}

  // Binds and listens on `path`; a leftover of an earlier agent is replaced.
  Result<void> listen(const std::string& path);

 private:
  void accept();
  void serve(Fd connection);

  asio::posix::stream_descriptor socket_;
  Tenants& tenants_;
};

}  // namespace divvy::agent
