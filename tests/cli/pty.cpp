#include "pty.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace divvy::test {

Pty::Pty(const Words& words, const std::map<std::string, std::string>& environment,
         unsigned short columns, unsigned short rows) {
  terminal_ = Fd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  grantpt(terminal_.get());
  unlockpt(terminal_.get());
  const std::string name = ptsname(terminal_.get());
  keep_open_ = Fd(open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  resize(columns, rows);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    setsid();
    const int tty = open(name.c_str(), O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(tty, fd);
    for (const auto& [variable, value] : environment) setenv(variable.c_str(), value.c_str(), 1);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  fcntl(terminal_.get(), F_SETFL, O_NONBLOCK);
}

Pty::~Pty() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Pty::type(const std::string& keys) const {
  EXPECT_EQ(write(terminal_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

void Pty::resize(unsigned short columns, unsigned short rows) const {
  const winsize size{rows, columns, 0, 0};
  EXPECT_EQ(ioctl(terminal_.get(), TIOCSWINSZ, &size), 0);
}

void Pty::drain() {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t got = read(terminal_.get(), chunk.data(), chunk.size());
    if (got <= 0) return;
    screen_.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

bool Pty::shows(const std::string& text) {
  std::size_t at = std::string::npos;
  eventually([&] {
    drain();
    return (at = screen_.find(text)) != std::string::npos;
  });
  if (at == std::string::npos) return false;
  screen_.erase(0, at + text.size());
  return true;
}

int Pty::wait() {
  int status = -1;
  eventually([&] {
    drain();
    return waitpid(pid_, &status, WNOHANG) == pid_;
  });
  if (status != -1) pid_ = -1;
  drain();
  return status;
}

bool Pty::echoes() const {
  termios settings{};
  tcgetattr(keep_open_.get(), &settings);
  return (settings.c_lflag & ECHO) != 0 && (settings.c_lflag & ICANON) != 0;
}

}  // namespace divvy::test
