// The terminal: its size, its looks, and the live screen that always gives it back.
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

// Of stdout; 80x24 where it is unknown.
ScreenSize screenSize();
// Columns to cut tables at: the terminal's, or 0 (never) when stdout is none.
std::size_t outputWidth();
bool onTerminal();
// Colours are wanted: a terminal, no NO_COLOR, TERM not dumb.
bool wantsColor();
// The locale says UTF-8.
bool speaksUtf8();

// The alternate screen with unbuffered, unechoed keys. The terminal is as before once this is
// destroyed, left or suspended. One at a time.
class LiveScreen {
 public:
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Replaces the whole picture.
  void draw(const std::vector<std::string>& lines);

  enum class Event { kTick, kQuit, kResize, kHangUp };
  // What happened first within `timeout_ms`. Ctrl-Z suspends and comes back as kResize. After
  // kHangUp lastSignal() says which one came; the caller ends by it.
  Event wait(int timeout_ms);
  int lastSignal() const { return last_signal_; }

 private:
  void enter();
  void leave();
  Event onSignal();
  Event onKey();

  termios before_{};
  bool entered_ = false;
  int signals_ = -1;
  int last_signal_ = 0;
};

}  // namespace divvy::cli
