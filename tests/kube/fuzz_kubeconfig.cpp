// Any texts as kubeconfigs, separated by lines "#####": refused with a file's name, or an access
// that can stand in a request.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz_input.h"
#include "kube/access.h"

using namespace divvy;
using namespace divvy::kube;

namespace {

std::vector<KubeconfigText> filesOf(std::string_view text) {
  constexpr std::string_view kBetween = "\n#####\n";
  std::vector<KubeconfigText> files;
  for (bool last = false; !last;) {
    const std::size_t end = text.find(kBetween);
    last = end == text.npos || files.size() == 3;
    // No file that is named in it is there.
    files.push_back({std::string(last ? text : text.substr(0, end)),
                     "file-" + std::to_string(files.size()), "/nonexistent"});
    if (!last) text.remove_prefix(end + kBetween.size());
  }
  return files;
}

bool isPlain(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
}

// They become lines of a request.
void checkAccess(const Access& access) {
  need(!access.host.empty() && isPlain(access.host), "a host");
  need(access.host.find_first_of("/[]@?#") == std::string::npos, "a host without other parts");
  need(!access.port.empty() && access.port.size() <= 5 &&
           access.port.find_first_not_of("0123456789") == std::string::npos,
       "a port");
  need(access.base.empty() || (access.base.front() == '/' && access.base.back() != '/'), "a path");
  need(isPlain(access.base) && access.token.find('\n') == std::string::npos, "one line");
  need(access.as.user.find('\n') == std::string::npos, "a user on one line");
  need(!access.exec || !access.exec->command.empty(), "a plugin without a command");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = textOf(data, size);
  // Devices are files that have no end.
  if (text.find("dev") != text.npos || text.find("proc") != text.npos) return 0;
  std::vector<KubeconfigText> files = filesOf(text);
  const Result<Access> access = kubeconfigAccess(files);
  AccessWords token;
  token.token = "said";
  const Result<Access> beside = kubeconfigAccess(files, token);
  if (!access) {
    const ErrorCode code = access.error().code();
    need(code == ErrorCode::kUsage || code == ErrorCode::kIo, "the kind of error");
    need(!access.error().message().empty(), "an error without a reason");
    return 0;
  }
  checkAccess(*access);
  need(beside && beside->token == "said" && beside->certificate.empty() && !beside->exec,
       "a token that is said beside it goes first");
  need(beside->host == access->host && beside->base == access->base, "the server stays");
  // Of several files the first that has something counts.
  files.push_back({"", "empty", ""});
  const Result<Access> more = kubeconfigAccess(files);
  need(more && *more == *access, "an empty file changes nothing");
  files.insert(files.end(), files.begin(), files.end() - 1);
  const Result<Access> twice = kubeconfigAccess(files);
  need(twice && *twice == *access, "the same files again change nothing");
  return 0;
}
