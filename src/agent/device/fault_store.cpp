#include "device/fault_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/plain_file.h"
#include "base/rfc3339.h"

namespace divvy::agent {
namespace {

constexpr std::size_t kMaxFaults = 1u << 16;
constexpr std::uint64_t kForgottenMs = 30'000;
constexpr std::size_t kBootLength = 36;

// Instants of another boot are not valid.
std::string thisBoot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

bool isBoot(const std::string& line) {
  return line.size() == kBootLength &&
         line.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

std::string wordOf(const std::optional<std::uint64_t>& told) {
  return told ? std::to_string(*told) : "-";
}

template <typename Number>
bool readWord(std::istream& words, std::optional<Number>* told) {
  std::string word;
  if (!(words >> word)) return false;
  if (word == "-") return true;
  if (word.empty() || word.size() > 19 || word.find_first_not_of("0123456789") != std::string::npos)
    return false;
  const std::uint64_t number = std::stoull(word);
  *told = static_cast<Number>(number);
  return static_cast<std::uint64_t>(**told) == number;
}

// Format: the boot, then one line for each entry. Agents before 2026-11 wrote faults only ("UUID
// XID SINCE"). A file with other lines ends with "end" and their number.
class Lines {
 public:
  explicit Lines(PersistedDeviceState* known) : known_(*known) {}

  bool take(const std::string& line) {
    ++count_;
    std::istringstream words(line);
    std::string what, rest;
    words >> what;
    const bool understood = what == "driver"   ? takeDriver(words)
                            : what == "errors" ? takeErrors(words)
                            : what == "away"   ? takeSpan(words)
                            : what == "end"    ? takeEnd(words)
                                               : takeFault(what, words);
    return understood && !(words >> rest);
  }
  // Returns true if no line is missing.
  bool whole() const { return ended_ || (old_ && count_ != 0); }

 private:
  bool takeDriver(std::istream& words) {
    old_ = false;
    std::getline(words >> std::ws, known_.driver);
    words.clear();
    return true;
  }
  bool takeErrors(std::istream& words) {
    old_ = false;
    std::string uuid;
    driver::MemoryErrors errors;
    if (!(words >> uuid) || !readWord(words, &errors.uncorrected) ||
        !readWord(words, &errors.pending) || !readWord(words, &errors.failed))
      return false;
    known_.errors[uuid] = errors;
    return true;
  }
  bool takeSpan(std::istream& words) {
    old_ = false;
    std::string uuid;
    std::int64_t from = 0, until = 0;
    if (!(words >> uuid >> from >> until) || !known_.faults.contains(uuid)) return false;
    known_.faults[uuid].from_s = from;
    known_.faults[uuid].until_s = until;
    return true;
  }
  bool takeFault(const std::string& uuid, std::istream& words) {
    KnownFault fault;
    if (!(words >> fault.xid >> fault.since_ms) || fault.xid == 0) return false;
    words >> std::ws;
    if (words.eof()) known_.faults[uuid] = fault;
    return true;
  }
  bool takeEnd(std::istream& words) {
    old_ = false;
    std::size_t count = 0;
    ended_ = words >> count && count + 1 == count_;
    return ended_;
  }

  PersistedDeviceState& known_;
  std::size_t count_ = 0;
  bool old_ = true;
  bool ended_ = false;
};

std::int64_t changedAt(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_mtime : 0;
}

}  // namespace

bool PersistedDeviceState::any() const {
  return !faults.empty() || std::any_of(errors.begin(), errors.end(), [](const auto& one) {
    const driver::MemoryErrors& of = one.second;
    return of.uncorrected.value_or(0) != 0 || of.pending.value_or(false) ||
           of.failed.value_or(false);
  });
}

PersistedDeviceState loadKnown(const std::string& path) {
  PersistedDeviceState known;
  const Result<std::string> text = readPlainFile(path, kMaxFaults);
  if (!text) {
    if (text.error().code() != ErrorCode::kNotFound) known.damage = text.error().message();
    return known;
  }
  std::istringstream file(*text);
  std::string line;
  std::getline(file, line);
  known.this_boot = line == thisBoot();
  if (file.eof() || (!known.this_boot && !isBoot(line))) {
    known.damage = "its first line names no boot of the machine";
    known.this_boot = true;
    return known;
  }
  Lines lines(&known);
  std::size_t number = 1;
  // A line without its end was cut, and its number is not complete.
  while (std::getline(file, line) && !file.eof()) {
    ++number;
    if (!lines.take(line) && known.damage.empty())
      known.damage = "line " + std::to_string(number) + " is not understood";
  }
  if (known.damage.empty() && (!line.empty() || !lines.whole())) known.damage = "it was cut short";
  if (!known.this_boot) known.faults.clear();
  return known;
}

void saveKnown(const std::string& path, const PersistedDeviceState& known) {
  if (known.faults.empty() && known.errors.empty()) {
    unlink(path.c_str());
    return;
  }
  const std::string temporary = path + ".new";
  std::ofstream file(temporary);
  file << thisBoot() << "\ndriver " << known.driver << '\n';
  std::size_t lines = 1;
  for (const auto& [uuid, fault] : known.faults) {
    file << uuid << ' ' << fault.xid << ' ' << fault.since_ms << '\n';
    ++lines;
    if (fault.until_s == 0) continue;
    file << "away " << uuid << ' ' << fault.from_s << ' ' << fault.until_s << '\n';
    ++lines;
  }
  for (const auto& [uuid, errors] : known.errors) {
    file << "errors " << uuid << ' ' << wordOf(errors.uncorrected) << ' ' << wordOf(errors.pending)
         << ' ' << wordOf(errors.failed) << '\n';
    ++lines;
  }
  file << "end " << lines << '\n';
  file.close();  // writes buffered bytes
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

bool differ(const PersistedDeviceState& saved, const PersistedDeviceState& now) {
  // A file that is damaged or of an earlier format is written again.
  if (!saved.damage.empty() || saved.this_boot != now.this_boot || saved.errors != now.errors ||
      (saved.driver != now.driver && !now.errors.empty()))
    return true;
  return !std::equal(saved.faults.begin(), saved.faults.end(), now.faults.begin(), now.faults.end(),
                     [](const auto& before, const auto& after) {
                       KnownFault same = after.second;
                       same.since_ms = before.second.since_ms;
                       return before.first == after.first && before.second == same &&
                              after.second.since_ms - before.second.since_ms < kForgottenMs;
                     });
}

std::int64_t lastLook(const std::string& faults, const std::string& watch_mark) {
  const std::int64_t last = std::max(changedAt(faults), changedAt(watch_mark));
  return last <= std::time(nullptr) ? last : 0;
}

std::string spanWords(std::int64_t from_s, std::int64_t until_s) {
  if (from_s == 0) return "before " + formatRfc3339(until_s);
  return "between " + formatRfc3339(from_s) + " and " + formatRfc3339(until_s);
}

}  // namespace divvy::agent
