// What an agent asks its helper, and what that answers: one packet each, of fixed form, with at
// most one descriptor beside it. Both are of this machine and, most of the time, of one version.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace divvy::helper {

inline constexpr std::uint32_t kMagic = 0x70687664;  // "dvhp"
// Goes up when a question means something else; a helper answers no other's.
inline constexpr std::uint32_t kVersion = 1;

enum class Op : std::uint32_t {
  kHello = 1,   // folders are lent; values[0]: the asker's own number; descriptor: the node's /proc
  kPeer,        // descriptor: a connection; values: the pid and uid at its other end
  kProcess,     // number: a pid; descriptor: its pidfd
  kLook,        // of kubelet::KubeletDirs, text: a name; values: a FileId
  kIsListened,  // likewise; values[0]
  kListen,      // text: a name of ours; descriptor: the socket
  kRemove,      // likewise
  kDial,        // number: a kubelet::Api; descriptor: the connection
  kWatch,       // descriptor: an inotify's
  kCheckpoint,  // descriptor: the file
  kUses,        // text: a device's UUID; rows: pid, 1 if it only draws, bytes
  kTimes,       // likewise; rows: pid, percent, time in us
  kWriteSpec,   // text: a name of ours; descriptor: a file with the text
  kRemoveSpec,  // likewise
  kLend,        // the agent's folders
};

// Both structs are sent as they are in memory.
struct Ask {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  Op op = Op::kHello;
  std::int32_t number = 0;
  std::array<char, 112> text{};  // with its end
};

struct Row {
  std::int32_t pid = 0;
  std::uint32_t small = 0;
  std::uint64_t large = 0;
};
inline constexpr std::size_t kMaxRows = 4096;

struct AnswerHead {
  std::uint32_t magic = kMagic;
  std::int32_t code = kGood;  // or an ErrorCode, and why is the text
  std::uint32_t rows = 0;     // that follow
  std::uint32_t spare = 0;
  std::array<std::int64_t, 4> values{};
  std::array<char, 256> text{};

  static constexpr std::int32_t kGood = -1;
};

struct Answer {
  std::array<std::int64_t, 4> values{};
  std::vector<Row> rows;
  Fd fd;
};

// ---- packets, of a connected SOCK_SEQPACKET socket; both wait as long as its time limits say ----

struct Question {
  Ask ask;
  Fd fd;
};
Result<void> sendAsk(int connection, Op op, int number, std::string_view text, int fd);
// kNotFound: the other one has left. kCorrupt: no question of this version.
Result<Question> receiveAsk(int connection);
std::string textOf(const Ask& ask);

Result<void> sendAnswer(int connection, const Result<Answer>& answer);
// What the other one refused is an error as it said it. `came`: there was an answer; else the error
// says why not.
Result<Answer> receiveAnswer(int connection, bool* came);

}  // namespace divvy::helper
