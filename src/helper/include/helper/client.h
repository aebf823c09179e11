// The agent's connection to its helper.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace divvy::helper {

enum class Op : std::uint32_t;
struct Reply;

// Sends one request at a time, from any thread. Connects again after a broken connection.
class Client {
 public:
  // `socket` is the helper's; the helper need not run yet. `patience` bounds the wait for each
  // reply.
  Client(std::string socket, std::chrono::milliseconds patience);
  ~Client();

  const std::string& socket() const { return socket_; }
  // Sends a request and returns its reply. `fd` is sent along; -1: none. Blocks. kUnavailable: the
  // helper does not run or does not reply. Other errors are the helper's.
  Result<Reply> call(Op op, int number = 0, std::string_view text = "", int fd = -1);

 private:
  Result<void> connect();
  Error away(const std::string& why) const;

  const std::string socket_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  Fd connection_;
};

}  // namespace divvy::helper
