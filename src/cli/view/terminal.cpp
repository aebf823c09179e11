#include "view/terminal.h"

#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace divvy::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(STDOUT_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // the terminal has closed; the next poll reports it
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

sigset_t watchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT})
    sigaddset(&set, signal);
  return set;
}

}  // namespace

ScreenSize screenSize() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

bool onTerminal() {
  return isatty(STDOUT_FILENO) == 1;
}

std::size_t outputWidth() {
  return onTerminal() ? screenSize().columns : 0;
}

bool wantsColor() {
  const char* off = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  return onTerminal() && !dumb && (off == nullptr || *off == '\0');
}

bool speaksUtf8() {
  std::setlocale(LC_CTYPE, "");
  return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

LiveScreen::LiveScreen() {
  const sigset_t set = watchedSignals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  enter();
}

LiveScreen::~LiveScreen() {
  restoreTerminal();
  if (signals_ >= 0) close(signals_);
  const sigset_t set = watchedSignals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void LiveScreen::enter() {
  if (entered_) return;
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  put(kEnter);
  entered_ = true;
}

void LiveScreen::restoreTerminal() {
  if (!entered_) return;
  put(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  entered_ = false;
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  std::string picture(kHome);
  bool first = true;
  for (const std::string& line : lines) {
    picture += (first ? "" : "\r\n") + line + std::string(kClearLine);
    first = false;
  }
  put(picture + std::string(kClearBelow));
}

LiveScreen::Event LiveScreen::onSignal() {
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return Event::kTick;
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGWINCH) return Event::kResize;
  if (signal == SIGCONT) return Event::kTick;
  if (signal == SIGTSTP) {
    restoreTerminal();
    kill(getpid(), SIGSTOP);
    enter();
    return Event::kResize;
  }
  last_signal_ = signal;
  return Event::kHangUp;
}

LiveScreen::Event LiveScreen::onKey() {
  std::array<char, 64> keys{};
  const ssize_t got = read(STDIN_FILENO, keys.data(), keys.size());
  if (got <= 0) return Event::kQuit;
  const std::string_view typed(keys.data(), static_cast<std::size_t>(got));
  return typed.find_first_of("qQ") != std::string_view::npos ? Event::kQuit : Event::kTick;
}

LiveScreen::Event LiveScreen::wait(int timeout_ms) {
  std::array<pollfd, 2> waiting{{{signals_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  const int ready = poll(waiting.data(), waiting.size(), timeout_ms);
  if (ready <= 0) return Event::kTick;
  if (waiting[0].revents != 0) return onSignal();
  return onKey();
}

}  // namespace divvy::cli
