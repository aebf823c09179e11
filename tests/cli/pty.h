// A program on a terminal of its own.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <map>
#include <string>

#include "sandbox.h"

namespace divvy::test {

// The program leads a session with the terminal as its controlling one. Killed and reaped when this
// goes out of scope.
class Pty {
 public:
  Pty(const Words& words, const std::map<std::string, std::string>& environment,
      unsigned short columns, unsigned short rows);
  ~Pty();
  Pty(const Pty&) = delete;
  Pty& operator=(const Pty&) = delete;

  int pid() const { return pid_; }
  void type(const std::string& keys) const;
  void resize(unsigned short columns, unsigned short rows) const;
  // Waits until the screen was sent this text, after what was consumed before; consumes up to it.
  bool shows(const std::string& text);
  // All that was sent since the last shows().
  const std::string& rest() const { return screen_; }
  // Wait status, or -1 when it does not end.
  int wait();
  bool echoes() const;

 private:
  void drain();

  pid_t pid_ = -1;
  Fd terminal_;
  Fd keep_open_;  // the other side, so that its settings outlive the program
  std::string screen_;
};

}  // namespace divvy::test
