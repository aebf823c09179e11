#include "options/container_command.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "share_options/share_options.h"

namespace divvy::cli {
namespace {

using agent::ContainerEdits;
using agent::ContainerMount;

constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH=";

// Flags of either runtime; tests/e2e/podman_test.py compares them with podman's help.
constexpr std::string_view kFlags[] = {"detach",
                                       "disable-content-trust",
                                       "env-host",
                                       "help",
                                       "http-proxy",
                                       "init",
                                       "interactive",
                                       "no-healthcheck",
                                       "no-hosts",
                                       "no-hostname",
                                       "oom-kill-disable",
                                       "passwd",
                                       "privileged",
                                       "publish-all",
                                       "quiet",
                                       "read-only",
                                       "read-only-tmpfs",
                                       "replace",
                                       "rm",
                                       "rmi",
                                       "rootfs",
                                       "sig-proxy",
                                       "tls-verify",
                                       "tty",
                                       "unsetenv-all",
                                       "use-api-socket"};
constexpr std::string_view kShortFlags = "ditqP";

// Our options that runtimes also have, with another meaning.
constexpr std::string_view kTheirsToo[] = {"memory", "name", "gpus"};

struct Option {
  std::string name;      // long ones without dashes; short ones are one letter
  std::string value;     // "": none
  bool negated = false;  // --flag=false
};

bool isFlagName(std::string_view name) {
  if (name.size() == 1) return kShortFlags.find(name) != std::string_view::npos;
  return std::find(std::begin(kFlags), std::end(kFlags), name) != std::end(kFlags);
}

Error refused(Runtime runtime, const std::string& what, const std::string& accepted) {
  return {ErrorCode::kUsage,
          std::string("--") + runtimeName(runtime) + ": " + what + "; accepted: " + accepted};
}

// Reads one or two words into options. Returns the number of words.
std::size_t readOption(const std::vector<std::string>& words, std::size_t at,
                       std::vector<Option>* found) {
  const std::string& word = words[at];
  const auto next = [&] { return at + 1 < words.size() ? words[at + 1] : std::string(); };
  if (word.starts_with("--")) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (equals != std::string::npos) {
      const std::string value = word.substr(equals + 1);
      found->push_back({name, value, isFlagName(name) && (value == "false" || value == "0")});
      return 1;
    }
    if (isFlagName(name)) return found->push_back({name, "", false}), 1;
    return found->push_back({name, next(), false}), 2;
  }
  // "-itv PATH": letters without a value, and one that takes the rest or the next word.
  for (std::size_t letter = 1; letter < word.size(); ++letter) {
    const std::string name(1, word[letter]);
    if (isFlagName(name)) {
      const bool said = letter + 1 < word.size() && word[letter + 1] == '=';
      const std::string value = said ? word.substr(letter + 2) : "";
      found->push_back({name, value, value == "false" || value == "0"});
      if (said) return 1;
      continue;
    }
    std::string value = word.substr(letter + 1);
    const bool here = !value.empty();
    if (here && value[0] == '=') value.erase(0, 1);
    found->push_back({name, here ? value : next(), false});
    return here ? 1 : 2;
  }
  return 1;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// A mount there would hide ours.
bool covers(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path == agent::kPreloadInside || path == agent::kOursInside ||
         path.starts_with(std::string(agent::kOursInside) + "/");
}

// The target of a --volume, --tmpfs or --mount.
std::string targetOf(const Option& option) {
  const std::string& value = option.value;
  if (option.name == "mount") {
    std::string target;
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t end = std::min(value.find(',', at), value.size());
      const std::string part = value.substr(at, end - at);
      for (const char* key : {"dst=", "target=", "destination="})
        if (part.starts_with(key)) target = part.substr(part.find('=') + 1);
      at = end + 1;
    }
    return target;
  }
  if (option.name == "tmpfs") return value.substr(0, value.find(':'));
  const std::size_t from = value.find(':');
  if (from == std::string::npos) return value;
  return value.substr(from + 1, value.find(':', from + 1) - from - 1);
}

// NVIDIA's character devices, in a rule like "c 195:* rwm".
bool allowsCards(const std::string& rule) {
  constexpr unsigned long kCards = 195;
  constexpr unsigned long kFirstDynamic =
      234;  // first major number that the kernel gives to drivers; nvidia-uvm has one of these
  if (!rule.starts_with("c ")) return rule.starts_with("a");
  if (rule.starts_with("c *")) return true;
  const unsigned long major = std::strtoul(rule.c_str() + 2, nullptr, 10);
  return major == kCards || major >= kFirstDynamic;
}

// Returns nothing if the option is permitted.
std::optional<Error> refusal(Runtime runtime, const Option& option) {
  const std::string& name = option.name;
  const std::string own = "its devices are those of its share, set by options before --" +
                          std::string(runtimeName(runtime));
  if (name == "gpus") return refused(runtime, "--gpus gives it whole devices", own);
  if (name == "privileged" && !option.negated)
    return refused(runtime, "--privileged gives it all devices of the machine",
                   "--cap-add and --device, one by one");
  const std::string value = lower(option.value);
  if (name == "device" && (value.find("nvidia") != std::string::npos ||
                           value.starts_with("divvy.dev/") || value == "/dev"))
    return refused(runtime, "--device " + option.value + " gives it a device outside its share",
                   own);
  if (name == "device-cgroup-rule" && allowsCards(value))
    return refused(runtime,
                   "--device-cgroup-rule \"" + option.value + "\" lets it open GPU devices",
                   "rules of other devices");
  if ((name == "env" || name == "e") && option.value.starts_with("NVIDIA_VISIBLE_DEVICES"))
    return refused(runtime, "NVIDIA_VISIBLE_DEVICES requests devices outside its share", own);
  const bool mounts = name == "volume" || name == "v" || name == "mount" || name == "tmpfs";
  if (mounts && covers(targetOf(option)))
    return refused(
        runtime,
        "--" + (name == "v" ? "volume" : name) + " " + option.value +
            " hides the mount of its share",
        std::string("any path but ") + agent::kOursInside + " and " + agent::kPreloadInside);
  const bool theirs =
      std::find(std::begin(kTheirsToo), std::end(kTheirsToo), name) != std::end(kTheirsToo);
  if (!theirs && name.size() > 1 && share_options::ofOption(name) != nullptr)
    return refused(runtime, "--" + name + " is an option of divvy run",
                   "divvy run --" + name + " ... --" + runtimeName(runtime));
  return std::nullopt;
}

void note(const Option& option, ContainerArguments* words) {
  const std::string& name = option.name;
  if (name == "detach" || name == "d") words->detached = !option.negated;
  if (name == "name") words->name = option.value;
  if ((name == "env" || name == "e") && option.value.starts_with(kLibraryPath))
    words->library_path = option.value.substr(kLibraryPath.size());
  if (name == "memory" || name == "m")
    words->remarks.push_back("--memory " + option.value + " after --" +
                             runtimeName(words->runtime) +
                             " limits host memory; put --memory before it to limit device memory");
}

std::string mountWord(const ContainerMount& mount) {
  // A CSV field: a path with a comma is quoted.
  const auto field = [](const std::string& text) {
    return text.find(',') == std::string::npos ? text : "\"" + text + "\"";
  };
  return "type=bind," + field("src=" + mount.host_path) + "," +
         field("dst=" + mount.container_path) + (mount.read_only ? ",readonly" : "");
}

}  // namespace

const char* runtimeName(Runtime runtime) {
  return runtime == Runtime::kPodman ? "podman" : "docker";
}

bool isFlag(std::string_view option) {
  if (option.starts_with("--")) return isFlagName(option.substr(2));
  return option.size() == 2 && option[0] == '-' && isFlagName(option.substr(1));
}

Result<ContainerArguments> parseContainerWords(Runtime runtime,
                                               const std::vector<std::string>& words) {
  ContainerArguments parsed;
  parsed.runtime = runtime;
  bool restarts = false;
  std::size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && words[at] != "--") {
    std::vector<Option> options;
    const std::size_t count = readOption(words, at, &options);
    for (const Option& option : options) {
      if (std::optional<Error> why = refusal(runtime, option)) return *std::move(why);
      note(option, &parsed);
      restarts = restarts || (option.name == "restart" && option.value != "no");
    }
    for (std::size_t end = std::min(at + count, words.size()); at < end; ++at)
      parsed.options.push_back(words[at]);
  }
  if (at < words.size() && words[at] == "--") ++at;
  parsed.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (parsed.rest.empty())
    return refused(runtime, "no image",
                   std::string("divvy run [OPTIONS] --") + runtimeName(runtime) + " [" +
                       runtimeName(runtime) + "'s OPTIONS] IMAGE [COMMAND]");
  // Between two runs of a container no process would hold the share.
  if (restarts && parsed.detached)
    return refused(runtime,
                   "--restart with --detach: its share ends when the container first stops",
                   "one of the two");
  return parsed;
}

std::vector<std::string> containerCommand(const ContainerArguments& words,
                                          const ContainerEdits& edits) {
  std::vector<std::string> command{runtimeName(words.runtime), "run"};
  command.insert(command.end(), words.options.begin(), words.options.end());
  for (const ContainerMount& mount : edits.mounts) {
    command.emplace_back("--mount");
    command.push_back(mountWord(mount));
  }
  for (const std::string& device : edits.devices) {
    command.emplace_back("--device");
    command.push_back(device);
  }
  for (const auto& [name, value] : edits.environment) {
    const bool joined = name + "=" == kLibraryPath && !words.library_path.empty();
    command.emplace_back("--env");
    command.push_back(name + "=" + value + (joined ? ":" + words.library_path : ""));
  }
  command.insert(command.end(), words.rest.begin(), words.rest.end());
  return command;
}

}  // namespace divvy::cli
