// The terminal: size, capabilities, and a live screen that restores it.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace divvy::cli {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// Returns the size of stdout's terminal; 80x24 if unknown.
ScreenSize screenSize();
// Returns the width to cut tables at; 0 (never) if stdout is no terminal.
std::size_t outputWidth();
bool onTerminal();
// Returns whether to use colours: a terminal, no NO_COLOR, TERM not dumb.
bool wantsColor();
// Returns whether the locale uses UTF-8.
bool speaksUtf8();

// The alternate screen with unbuffered keys without echo. The terminal is restored when this is
// destroyed, left or suspended. One at a time.
class LiveScreen {
 public:
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Replaces the picture.
  void draw(const std::vector<std::string>& lines);

  enum class Event { kTick, kQuit, kResize, kHangUp };
  // Returns the first event within `timeout_ms`. Ctrl-Z suspends, and resuming yields kResize.
  // After kHangUp lastSignal() is the signal that the caller must end by.
  Event wait(int timeout_ms);
  int lastSignal() const { return last_signal_; }

 private:
  void enter();
  void restoreTerminal();
  Event onSignal();
  Event onKey();

  termios before_{};
  bool entered_ = false;
  int signals_ = -1;
  int last_signal_ = 0;
};

}  // namespace divvy::cli
