// Protocol of agent and helper: one packet of fixed form for each request and reply, with at most
// one descriptor. Both run on one machine, and mostly in one version.
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
// Increased when a request changes its meaning. A helper refuses other versions.
inline constexpr std::uint32_t kVersion = 1;

enum class Op : std::uint32_t {
  // Shares the folders; values[0]: the agent's PID; descriptor: the node's /proc.
  kHello = 1,
  // Descriptor: a connection; values: pid and uid of its peer.
  kPeer,
  // Number: a pid; descriptor: its pidfd.
  kProcess,
  // As kubelet::KubeletDirs::fileIdOf(); text: a name; values: a FileId.
  kFileId,
  // As kubelet::KubeletDirs::isListenedTo(); text: a name; values[0]: 0 or 1.
  kIsListened,
  // Text: a name of ours; descriptor: the socket.
  kListen,
  // Text: a name of ours.
  kRemove,
  // Number: a kubelet::Api; descriptor: the connection.
  kDial,
  // Descriptor: of inotify.
  kWatch,
  // Descriptor: the file.
  kCheckpoint,
  // Text: a device's UUID; rows: pid, 1 if it uses graphics only, bytes.
  kUses,
  // Text: a device's UUID; rows: pid, percent, time in us.
  kTimes,
  // Text: a name of ours; descriptor: a file with the spec.
  kWriteSpec,
  // Text: a name of ours.
  kRemoveSpec,
  // Shares the agent's folders.
  kLend,
};

// Ask and ReplyHead are sent as they are in memory.
struct RequestPacket {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  Op op = Op::kHello;
  std::int32_t number = 0;
  std::array<char, 112> text{};  // with its terminating 0
};

struct ReplyRow {
  std::int32_t pid = 0;
  std::uint32_t small = 0;
  std::uint64_t large = 0;
};
inline constexpr std::size_t kMaxRows = 4096;

struct ReplyHead {
  std::uint32_t magic = kMagic;
  std::int32_t code = kGood;  // or an ErrorCode, with the message in `text`
  std::uint32_t rows = 0;     // number of rows that follow
  std::uint32_t spare = 0;
  std::array<std::int64_t, 4> values{};
  std::array<char, 256> text{};

  static constexpr std::int32_t kGood = -1;
};

struct Reply {
  std::array<std::int64_t, 4> values{};
  std::vector<ReplyRow> rows;
  Fd fd;
};

// ---- packets on a connected SOCK_SEQPACKET socket; calls wait up to the socket's time limits ----

struct ReceivedRequest {
  RequestPacket packet;
  Fd fd;
};
Result<void> sendRequest(int connection, Op op, int number, std::string_view text, int fd);
// kNotFound: the peer has closed the connection. kCorrupt: not a request of this version.
Result<ReceivedRequest> receiveRequest(int connection);
std::string textOf(const RequestPacket& packet);

Result<void> sendReply(int connection, const Result<Reply>& reply);
// Returns the reply; an error of the peer becomes the result. `came` is set to whether a reply
// arrived; if not, the error has the cause.
Result<Reply> receiveReply(int connection, bool* came);

}  // namespace divvy::helper
