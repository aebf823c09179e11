#include "help.h"

#include <array>
#include <utility>

namespace divvy::cli {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 11> kExamples{{
    {"",
     R"(Examples:
  divvy run --memory 4Gi --cores 30 -- python serve.py
  divvy run --sim --memory 4Gi -- ./program     on a simulated card, no GPU needed
  divvy top                                     watch who uses what
  divvy set web --memory 6Gi                    change a running share

Shares live as long as a process of theirs does. The agent that keeps the books is started when
needed and leaves by itself. DIVVY_RUNTIME_DIR names the directory of its socket and ledgers.)"},
    {"run",
     R"(Examples:
  divvy run --memory 4Gi --cores 30 -- python serve.py
  divvy run --memory 50% --gpus 2 --model a100 -- torchrun train.py
  divvy run --memory 2Gi --name web --wait 10m -- ./server
  divvy run --sim 4090x2 --memory 8Gi -- ./program

The command sees a device of that size. Its exit status and signals pass through; the share is freed
when the last process of its tree has ended. A request that does not fit is refused with the reason
per device; with --wait it queues. Exit status: the command's; 1 refused or failed, 2 wrong usage,
126/127 the command cannot be executed / was not found.)"},
    {"ls",
     R"(Examples:
  divvy ls
  divvy ls -o json | jq '.[].id'
  divvy ls --no-headers | awk '{print $1}')"},
    {"gpus",
     R"(Examples:
  divvy gpus
  divvy gpus --sim a100x8
  divvy gpus -o json)"},
    {"top",
     R"(Examples:
  divvy top
  divvy top --interval 250ms
  divvy top -n 1 -o json

Keys: q ends it. Not on a terminal, one plain picture is printed (-n COUNT for more).)"},
    {"set",
     R"(Examples:
  divvy set web --memory 6Gi
  divvy set k3f9x2 --cores 50 --name batch

Growing takes effect at once where the card has room. After shrinking, new allocations are refused
until the tenant is under its new limit; nothing is taken away.)"},
    {"wait",
     R"(Examples:
  divvy wait web
  divvy wait --all --timeout 10m)"},
    {"stop",
     R"(Examples:
  divvy stop                 refused while tenants run
  divvy stop --force         ends them first: SIGTERM, 5 s later SIGKILL)"},
    {"sim",
     R"(Examples:
  divvy sim
  divvy sim -o json)"},
    {"completion",
     R"(Examples:
  source <(divvy completion bash)
  divvy completion zsh > "${fpath[1]}/_divvy"
  divvy completion fish > ~/.config/fish/completions/divvy.fish)"},
    {"agent",
     R"(Examples:
  divvy agent                            the machine's own cards, until Ctrl-C
  divvy agent --node sim-h100 --idle-exit 5m)"},
}};

}  // namespace

std::string examplesOf(const std::string& subcommand) {
  for (const auto& [name, text] : kExamples) {
    if (subcommand == name) return text;
  }
  return "";
}

std::string versionLine() {
  return "divvy " DIVVY_VERSION;
}

}  // namespace divvy::cli
