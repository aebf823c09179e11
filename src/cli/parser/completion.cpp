#include "parser/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "doctor/checks.h"
#include "simgpu/catalog.h"
#include "sizing/cards.h"
#include "sizing/catalog.h"

namespace divvy::cli {
namespace {

struct Flag {
  std::string name;  // "--memory"
  std::string text;
  std::string words;  // accepted values separated by blanks; empty: any
};
struct Command {
  std::string name;
  std::string text;
  std::vector<Flag> flags;
  std::vector<std::string> nested;  // names of its subcommands; `flags` apply to them too
};

// Models or devices of `divvy size`.
std::string sizingWords(const std::string& name) {
  std::string words;
  const auto add = [&words](const std::string& word) {
    words += (words.empty() ? "" : " ") + word;
  };
  if (name == "--gpu") {
    for (const sizing::Card& card : sizing::cards()) add(card.name);
  } else {
    for (const sizing::CatalogEntry& entry : sizing::catalog()) add(entry.model.name);
  }
  return words;
}

// "share|cap": a type name that lists the accepted words.
std::string wordsOf(const CLI::Option& option, const std::string& command,
                    const std::string& name) {
  std::string words = option.get_type_name();
  if (command == "doctor" && name == "--only") {
    words.clear();
    for (const doctor::Check& check : doctor::checks())
      words += (words.empty() ? "" : " ") + check.id;
    return words;
  }
  if (command == "size" && (name == "--model" || name == "--gpu")) return sizingWords(name);
  if (name == "--sim") {
    words.clear();
    for (const simgpu::ProfileEntry& entry : simgpu::profileCatalog())
      words += (words.empty() ? "" : " ") + std::string(entry.name);
    return words;
  }
  if (words.find('|') == std::string::npos || words.find("FRACTION") == 0) return "";
  std::replace(words.begin(), words.end(), '|', ' ');
  return words;
}

void addFlags(const CLI::App& app, Command& command) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      const std::string flag = "--" + name;
      const bool known = std::any_of(command.flags.begin(), command.flags.end(),
                                     [&](const Flag& one) { return one.name == flag; });
      if (known) continue;
      command.flags.push_back(
          {flag, option->get_description(), wordsOf(*option, command.name, flag)});
    }
  }
}

std::vector<Command> commandsOf(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    if (sub->get_group().empty()) continue;
    Command& command =
        commands.emplace_back(Command{sub->get_name(), sub->get_description(), {}, {}});
    addFlags(*sub, command);
    for (const CLI::App* nested : sub->get_subcommands(nullptr)) {
      command.nested.push_back(nested->get_name());
      addFlags(*nested, command);
    }
  }
  return commands;
}

// For single-quoted text of zsh and fish; zsh's _describe ends a name at the first bare colon.
std::string quoted(const std::string& text, const char* colon) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c == ':') {
      result += colon;
    } else {
      result += c;
    }
  }
  return result;
}

// "run --priority" and its words, for a shell's `case`: one branch for each list.
std::string valueCases(const std::vector<Command>& commands, const std::string& assign) {
  std::map<std::string, std::string> branches;
  for (const Command& command : commands) {
    for (const Flag& flag : command.flags) {
      if (flag.words.empty()) continue;
      std::string& patterns = branches[flag.words];
      patterns += (patterns.empty() ? "" : " | ") + ("'" + command.name + " " + flag.name + "'");
      if (flag.name == "--output") patterns += " | '" + command.name + " -o'";
    }
  }
  std::string cases;
  for (const auto& [words, patterns] : branches)
    cases += "    " + patterns + ") " + assign + "(" + words + ") ;;\n";
  return cases;
}

std::string bash(const std::vector<Command>& commands) {
  std::string names;
  std::string cases;
  for (const Command& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    std::string flags;
    for (const std::string& nested : command.nested) flags += (flags.empty() ? "" : " ") + nested;
    for (const Flag& flag : command.flags) flags += (flags.empty() ? "" : " ") + flag.name;
    cases += "    " + command.name + ") words='" + flags + "' ;;\n";
  }
  return R"~(# bash completion of divvy
_divvy() {
  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words i
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      COMPREPLY=($(compgen -c -f -- "$current"))
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ')~" +
         names + R"~(' -- "$current"))
    return
  fi
  if [[ $command == set ]]; then command=resize; fi  # its name in the release before
  case $command in
)~" + cases +
         R"~(    *) words= ;;
  esac
  if [[ $command == completion ]]; then words='bash zsh fish'; fi
  if [[ ($command == resize || $command == wait || $command == events) && $current != -* ]]; then
    words=$(divvy ls --no-headers 2>/dev/null | awk '{print $1}')
  fi
  local before=${COMP_WORDS[COMP_CWORD - 1]} values=()
  if [[ $current == = ]]; then current=; fi  # --option=
  if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  case "$command $before" in
)~" + valueCases(commands, "values=") +
         R"~(  esac
  if [[ $current != -* ]] && ((${#values[@]})); then words=${values[*]}; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _divvy divvy
)~";
}

std::string zsh(const std::vector<Command>& commands) {
  std::string names;
  std::string cases;
  for (const Command& command : commands) {
    names += "    '" + command.name + ":" + quoted(command.text, "\\:") + "'\n";
    cases += "    " + command.name + ") flags=(";
    for (const std::string& nested : command.nested) cases += " '" + nested + "'";
    for (const Flag& flag : command.flags)
      cases += " '" + flag.name + ":" + quoted(flag.text, "\\:") + "'";
    cases += ") ;;\n";
  }
  return R"~(#compdef divvy
_divvy() {
  local -a commands flags
  commands=(
)~" + names +
         R"~(  )
  if ((CURRENT == 2)); then
    _describe -t commands command commands
    return
  fi
  if ((${words[(I)--]} > 1 && ${words[(I)--]} < CURRENT)); then
    _normal
    return
  fi
  if [[ $words[2] == set ]]; then words[2]=resize; fi  # its name in the release before
  case $words[2] in
)~" + cases +
         R"~(  esac
  if [[ $words[2] == completion ]]; then
    _values shell bash zsh fish
    return
  fi
  if [[ ($words[2] == resize || $words[2] == wait || $words[2] == events) && $PREFIX != -* ]]; then
    flags=(${(f)"$(divvy ls --no-headers 2>/dev/null | awk '{print $1}')"})
  fi
  local -a values
  case "$words[2] $words[CURRENT-1]" in
)~" + valueCases(commands, "values=") +
         R"~(  esac
  if [[ $PREFIX != -* ]] && (($#values)); then
    _describe -t values value values
    return
  fi
  _describe -t flags option flags
}
if [[ $funcstack[1] == _divvy ]]; then _divvy "$@"; else compdef _divvy divvy; fi
)~";
}

// A model can also be a file.
std::string valuesOf(const std::string& command, const Flag& flag) {
  if (flag.words.empty()) return "";
  return (command == "size" && flag.name == "--model" ? " -r -F -a '" : " -x -a '") + flag.words +
         "'";
}

std::string fish(const std::vector<Command>& commands) {
  std::string script = "# fish completion of divvy\ncomplete -c divvy -f\n";
  for (const Command& command : commands) {
    script += "complete -c divvy -n __fish_use_subcommand -a " + command.name + " -d '" +
              quoted(command.text, ":") + "'\n";
    for (const std::string& nested : command.nested) {
      script += "complete -c divvy -n '__fish_seen_subcommand_from " + command.name + "' -a " +
                nested + "\n";
    }
    for (const Flag& flag : command.flags) {
      script += "complete -c divvy -n '__fish_seen_subcommand_from " + command.name + "' -l " +
                flag.name.substr(2) +
                (flag.name == "--output"   ? " -s o"
                 : flag.name == "--follow" ? " -s f"
                                           : "") +
                valuesOf(command.name, flag) + " -d '" + quoted(flag.text, ":") + "'\n";
    }
  }
  return script +
         R"~(complete -c divvy -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c divvy -n '__fish_seen_subcommand_from resize set wait events' \
  -a "(divvy ls --no-headers 2>/dev/null | awk '{print \$1}')"
complete -c divvy -n '__fish_seen_subcommand_from run' -F
)~";
}

// The option that the preceding word gives a value to, or is.
struct OptionValue {
  const CLI::Option* option = nullptr;  // null: it takes none
  std::string name;
};

OptionValue optionBefore(const CLI::App& command, const std::string& before) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_expected_min() > 0 && before.starts_with('-') && option->check_name(before))
      return {option, before};
  return {};
}

bool isFile(const CLI::Option& option) {
  return option.get_type_name().find("FILE") != std::string::npos;
}

}  // namespace

Result<Options> completionFor(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string typed = words.empty() ? "" : words.back();
  std::string text;
  const auto offer = [&](const std::string& word, const std::string& means) {
    if (!word.starts_with(typed)) return;
    text += word + (means.empty() ? "" : '\t' + means) + '\n';
  };
  const std::vector<Command> commands = commandsOf(app);
  const std::string name = words.size() < 2 ? "" : words[0];
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& one) { return one.name == name; });
  if (words.size() < 2)
    for (const Command& one : commands) offer(one.name, one.text);
  if (command == commands.end()) return Options{PrintOptions{text + ":4\n"}};
  const OptionValue asked = optionBefore(*app.get_subcommand(name), words[words.size() - 2]);
  if (asked.option != nullptr) {
    std::istringstream values(wordsOf(*asked.option, name, asked.name));
    for (std::string value; values >> value;) offer(value, "");
    return Options{PrintOptions{text + (isFile(*asked.option) ? ":0\n" : ":4\n")}};
  }
  for (const std::string& nested : command->nested) offer(nested, "");
  for (const Flag& flag : command->flags) offer(flag.name, flag.text);
  return Options{PrintOptions{text + ":4\n"}};
}

Result<Options> completionScript(const CLI::App& app, const std::string& shell) {
  const std::vector<Command> commands = commandsOf(app);
  if (shell == "bash") return Options{PrintOptions{bash(commands)}};
  if (shell == "zsh") return Options{PrintOptions{zsh(commands)}};
  if (shell == "fish") return Options{PrintOptions{fish(commands)}};
  return Error{ErrorCode::kUsage,
               "shell \"" + shell + "\" is not known; accepted: bash, zsh, fish"};
}

}  // namespace divvy::cli
