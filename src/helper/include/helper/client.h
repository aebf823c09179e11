// An agent's connection to its helper.
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
struct Answer;

// One question at a time, from any thread. Made again when it breaks.
class Client {
 public:
  // `socket`: where the helper listens. Nobody need be there yet. Whoever asks waits `patience` at
  // most for each answer.
  Client(std::string socket, std::chrono::milliseconds patience);
  ~Client();

  const std::string& socket() const { return socket_; }
  // `fd`: goes along; -1: none. kUnavailable: the helper is not there, or silent.
  Result<Answer> ask(Op op, int number = 0, std::string_view text = "", int fd = -1);

 private:
  Result<void> connect();
  Error away(const std::string& why) const;

  const std::string socket_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  Fd connection_;
};

}  // namespace divvy::helper
