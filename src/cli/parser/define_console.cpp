// The grammar of `divvy console`.
#include "parser/define.h"

namespace divvy::cli {

void Grammar::addConsole() {
  CLI::App* console =
      add("console", "Serve a web page with devices, shares, events and charts", makeConsole);
  ConsoleText& text = raw.console;
  console->add_flag("--local", text.local, "of this machine, from its agents");
  console
      ->add_option("--listen", text.listen,
                   "loopback address to serve; port 0: any free one [127.0.0.1:9400]")
      ->type_name("HOST:PORT");
  console->add_option("--base-path", text.base_path, "path of the page, for a proxy in front [/]")
      ->type_name("/PATH/");
  console
      ->add_option("--history", text.history,
                   "file of the charts, or memory [~/.local/state/divvy/history.sqlite]")
      ->type_name("FILE");
  console->add_option("--interval", raw.interval, "time between readings, 250ms or more [1s]")
      ->type_name("TIME");
  console->add_flag("--allow-changes", text.allow_changes,
                    "resize shares and change priorities from the page");
  addSim(console, "only this simulated node");
}

}  // namespace divvy::cli
