// register.sock: processes of tenants hand in their pidfd and slot.
#pragma once

#include "asio.h"
#include "base/result.h"
#include "tenants.h"

namespace divvy::agent {

class Registrar {
 public:
  Registrar(asio::io_context& loop, Tenants& tenants) : socket_(loop), tenants_(tenants) {}

  // Whose processes are heard: this user's, or those of containers too, who may be any user's.
  enum class Hears : std::uint8_t { kOwn, kAll };
  // Binds and listens on `path`; a leftover of an earlier agent is replaced. Who may come that far
  // is for the folder that it is in to say.
  Result<void> listen(const std::string& path, Hears hears);

 private:
  void accept();
  void rest();
  void serve(Fd connection);

  asio::posix::stream_descriptor socket_;
  Tenants& tenants_;
  Hears hears_ = Hears::kOwn;
};

}  // namespace divvy::agent
