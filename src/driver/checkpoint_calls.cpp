#include "driver/checkpoint_calls.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <sstream>

#include "cuda_device.h"

namespace divvy::driver {
namespace {

using abi::Cu;

constexpr std::size_t kMaxReplyLine = 256;

// Reads a line without its end. Returns nothing at the end of input, or if the line is too long.
std::optional<std::string> readLine(int fd) {
  std::string line;
  for (char c = 0; line.size() < kMaxReplyLine;) {
    const ssize_t got = read(fd, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

bool writeLine(int fd, const std::string& text) {
  const std::string line = text + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t put = write(fd, line.data() + at, line.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += static_cast<std::size_t>(put);
  }
  return true;
}

// Opens the driver at the first use.
class Caller {
 public:
  explicit Caller(const std::string& cuda) : cuda_(cuda) {}

  std::string execute(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    int pid = 0;
    unsigned timeout_ms = 0;
    words >> verb >> pid;
    if (verb == "lock") words >> timeout_ms;
    if (words.fail() || pid <= 0) return "refused \"" + line + "\" is not a call";
    if (const std::string fault = open(); !fault.empty()) return "refused " + fault;
    if (verb == "state") return state(pid);
    if (verb == "lock") {
      CUcheckpointLockArgs args{};
      args.timeoutMs = timeout_ms;
      return call<Cu::cuCheckpointProcessLock>(verb, "cuCheckpointProcessLock", pid, &args);
    }
    if (verb == "checkpoint")
      return call<Cu::cuCheckpointProcessCheckpoint>(verb, "cuCheckpointProcessCheckpoint", pid,
                                                     nullptr);
    if (verb == "restore")
      return call<Cu::cuCheckpointProcessRestore>(verb, "cuCheckpointProcessRestore", pid, nullptr);
    if (verb == "unlock")
      return call<Cu::cuCheckpointProcessUnlock>(verb, "cuCheckpointProcessUnlock", pid, nullptr);
    return "refused \"" + verb + "\" is not a call";
  }

 private:
  // Returns why the driver cannot be used; empty: it can.
  std::string open() {
    if (library_) return "";
    Result<Library> library = Library::open(cuda_);
    if (!library) return library.error().message();
    auto* init = library->find<Function<Cu::cuInit>>("cuInit");
    if (init == nullptr) return library->path() + " lacks cuInit";
    if (const CUresult status = init(0); status != CUDA_SUCCESS)
      return refused("cuInit", status).message();
    library_.emplace(std::move(*library));
    return "";
  }

  template <Cu id, typename Args>
  std::string call(const std::string& verb, const char* symbol, int pid, Args args) {
    auto* function = library_->find<Function<id>>(symbol);
    if (function == nullptr) return "refused " + library_->path() + " lacks " + symbol;
    return checkpointAnswer(verb, function(pid, args));
  }

  std::string state(int pid) {
    CUprocessState state = CU_PROCESS_STATE_RUNNING;
    const std::string answer =
        call<Cu::cuCheckpointProcessGetState>("state", "cuCheckpointProcessGetState", pid, &state);
    return answer == "done" ? answer + " " + std::string(processStateWord(state)) : answer;
  }

  std::string cuda_;
  std::optional<Library> library_;
};

}  // namespace

std::string checkpointAnswer(std::string_view verb, CUresult status) {
  const bool moves = verb == "checkpoint" || verb == "restore";
  switch (status) {
    case CUDA_SUCCESS:
      return "done";
    case CUDA_ERROR_NOT_READY:
      return "not-ready";
    case CUDA_ERROR_INVALID_VALUE:
      return "gone";
    case CUDA_ERROR_OUT_OF_MEMORY:
      if (verb == "restore") return "no-memory";
      break;
    case CUDA_ERROR_OPERATING_SYSTEM:
      if (moves) return "lost";
      break;
    default:
      break;
  }
  return "refused CUDA error " + std::to_string(status);
}

std::string_view processStateWord(int state) {
  switch (state) {
    case CU_PROCESS_STATE_RUNNING:
      return "running";
    case CU_PROCESS_STATE_LOCKED:
      return "locked";
    case CU_PROCESS_STATE_CHECKPOINTED:
      return "away";
    case CU_PROCESS_STATE_FAILED:
      return "failed";
    default:
      return "busy";
  }
}

int serveCheckpoints(const std::string& cuda, int in, int out) {
  for (const int number : {SIGTERM, SIGINT, SIGPIPE}) signal(number, SIG_IGN);
  Caller caller(cuda);
  while (const std::optional<std::string> line = readLine(in)) {
    const std::string answer = caller.execute(*line);
    if (writeLine(out, answer)) continue;
    const bool locked = line->starts_with("lock ") && answer == "done";
    if (locked) caller.execute("un" + line->substr(0, line->rfind(' ')));
    return 1;
  }
  return 0;
}

}  // namespace divvy::driver
