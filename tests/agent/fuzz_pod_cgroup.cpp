// Any text as a /proc/PID/cgroup: it is of one pod at most, and groups that a process makes below
// its own do not change of which.
#include <set>
#include <string>
#include <vector>

#include "fuzz_input.h"
#include "os/pod_cgroup.h"

using namespace divvy;
using namespace divvy::agent;

namespace {

constexpr const char* kOther = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";

bool isUid(std::string_view text) {
  if (text.size() == 32) return text.find_first_not_of("0123456789abcdef") == text.npos;
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = std::string_view("0123456789abcdef").find(text[i]) != std::string_view::npos;
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

// All that looks like a pod's UID, wherever it is.
std::set<std::string> uidsIn(std::string_view text) {
  std::set<std::string> found{kOther};
  for (std::size_t at = text.find("pod"); at != text.npos; at = text.find("pod", at + 1)) {
    for (const std::size_t length : {32u, 36u}) {
      std::string uid(text.substr(at + 3, length));
      for (char& c : uid) c = c == '_' ? '-' : c;
      if (isUid(uid)) found.insert(uid);
    }
  }
  return found;
}

struct Line {
  std::string text, path;
};

std::vector<Line> linesOf(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::string line(takeLine(&text));
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    lines.push_back({line, second == line.npos ? "" : line.substr(second + 1)});
  }
  return lines;
}

std::string withBelow(const std::vector<Line>& lines, std::size_t at, const std::string& below) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += lines[i].text + (i == at ? below : "") + '\n';
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = textOf(data, size);
  const std::string pod = podOfGroup(text);
  need(pod.empty() || isUid(pod), "a UID");
  need(!groupIsOfPod(text, ""), "a pod without a UID");
  std::size_t pods = 0;
  for (const std::string& uid : uidsIn(text)) {
    const bool is = groupIsOfPod(text, uid);
    need(is == (uid == pod), "the two questions are answered alike");
    pods += is ? 1 : 0;
  }
  need(pods == (pod.empty() ? 0 : 1), "of one pod only");
  if (pod.empty()) return 0;
  std::string sliced = kOther;
  for (char& c : sliced) c = c == '-' ? '_' : c;
  const std::vector<Line> lines = linesOf(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (podOfGroup("0::" + lines[i].path).empty()) continue;
    for (const std::string& below :
         {std::string("/pod") + kOther, "/kubepods-pod" + sliced + ".slice", std::string("/..")})
      need(podOfGroup(withBelow(lines, i, below)) == pod, "what is below a pod's group");
  }
  return 0;
}
