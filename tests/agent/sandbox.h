// A private runtime directory, real `divvy` processes in it, and what is left of them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/protocol.h"
#include "base/fd.h"

namespace divvy::test {

using Words = std::vector<std::string>;

struct Outcome {
  int status = -1;  // as waitpid tells; -1 when it did not end in time
  std::string out;
  std::string err;

  int code() const;    // exit status, or -1
  int signal() const;  // that killed it, or 0
};

// Waits until the condition holds; false after `limit`. Never asserts on time.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(20));

// One child with pipes at its three ends. Killed and reaped when this goes out of scope.
class Child {
 public:
  Child(const Words& words, const std::map<std::string, std::string>& environment);
  Child(Child&&) noexcept;
  ~Child();

  int pid() const { return pid_; }
  void signal(int number) const;
  void closeInput() { input_.reset(); }
  void say(const std::string& text);
  // Waits until stdout (or stderr) holds the text.
  bool printed(const std::string& text);
  bool complained(const std::string& text);
  // True once a wait status of this kind was seen.
  bool stopped();
  bool ended();
  // Waits for the end.
  Outcome wait();
  const std::string& out() const { return outcome_.out; }

 private:
  void drain();
  void poll(int options);

  pid_t pid_ = -1;
  Fd input_;
  Fd output_;
  Fd errors_;
  bool stopped_ = false;
  Outcome outcome_;
};

class Sandbox {
 public:
  // `under`: where its folder is made.
  explicit Sandbox(const std::string& node = "sim-h100", const std::string& under = "/tmp");
  // Stops agents and tenants, and fails the test when something stays behind.
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  const std::string& root() const { return root_; }
  std::string dir() const { return root_ + "/" + node_; }
  std::string tenants() const { return dir() + "/tenants"; }
  // Variables for every process from now on; "" removes one.
  void set(const std::string& name, const std::string& value) { environment_[name] = value; }

  // `divvy WORDS`, to its end.
  Outcome divvy(const Words& words);
  // `divvy WORDS`, running.
  Child start(const Words& words);
  // `divvy run --sim PROFILE --memory MEMORY -- COMMAND`.
  Child run(const std::string& memory, const Words& command);
  Words runWords(const std::string& memory, const Words& command) const;

  // The node as its agent tells it; an empty one when no agent runs. Starts none.
  agent::Snapshot snapshot();
  // Waits until exactly `count` tenants live.
  bool tenantCount(std::size_t count);
  int agentPid() { return snapshot().agent_pid; }
  // Every path under the root, sorted.
  Words files() const;
  std::string agentLog() const;

 private:
  std::string root_;
  std::string node_;
  std::map<std::string, std::string> environment_;
};

// The `divvy` program under test, and the helper that acts as a tenant's process.
std::string divvyProgram();
std::string tenantProgram();
// A connection to a socket of the agent's, of this type (unix(7)). Invalid: it cannot be had.
Fd connectTo(const std::string& path, int type);
// The build's directory of products.
std::string buildDir();
// Processes (of any parent) whose whole command line is a program and this argument.
std::vector<int> processesWith(const std::string& argument);

}  // namespace divvy::test
