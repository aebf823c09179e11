// `divvy top` and job control on a real terminal.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "pty.h"

namespace divvy::test {
namespace {

const std::string kEnter = "\x1b[?1049h";
const std::string kLeave = "\x1b[?1049l";
const std::string kShowCursor = "\x1b[?25h";

class Top : public ::testing::Test {
 protected:
  Top() { EXPECT_TRUE(run_.printed("held 1048576")); }

  std::map<std::string, std::string> environment() {
    return {{"DIVVY_RUNTIME_DIR", sandbox_.root()},
            {"TERM", "xterm"},
            {"LC_ALL", "C"},
            {"NO_COLOR", ""}};
  }
  Words top(const Words& more = {}) const {
    Words words{divvyProgram(), "top", "--interval", "100ms"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expectTerminalGivenBack(Pty& pty) {
    EXPECT_NE(pty.rest().find(kShowCursor), std::string::npos) << "the cursor is visible again";
    EXPECT_NE(pty.rest().find(kLeave), std::string::npos) << "the alternate screen was left";
    EXPECT_TRUE(pty.echoes()) << "the terminal echoes lines again";
  }

  Sandbox sandbox_;
  Child run_ = sandbox_.start({"run", "--sim", "h100", "--memory", "4Gi", "--name", "web", "--",
                               tenantProgram(), "1048576"});
};

TEST_F(Top, KeyQ_EndsAndTerminalRestored) {
  Pty pty(top(), environment(), 80, 24);
  ASSERT_TRUE(pty.shows(kEnter));
  ASSERT_TRUE(pty.shows("allocated 4GiB"));
  ASSERT_TRUE(pty.shows("web"));
  ASSERT_TRUE(pty.shows("divvy top")) << "a second picture";
  EXPECT_FALSE(pty.echoes());
  pty.type("q");
  const int status = pty.wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expectTerminalGivenBack(pty);
}

TEST_F(Top, EachSignal_EndsAndTerminalRestored) {
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) {
    Pty pty(top(), environment(), 80, 24);
    ASSERT_TRUE(pty.shows("allocated 4GiB"));
    kill(pty.pid(), number);
    const int status = pty.wait();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    expectTerminalGivenBack(pty);
  }
}

TEST_F(Top, ControlC_EndsAndTerminalRestored) {
  Pty pty(top(), environment(), 80, 24);
  ASSERT_TRUE(pty.shows("allocated 4GiB"));
  pty.type("\x03");
  EXPECT_TRUE(WIFSIGNALED(pty.wait()));
  expectTerminalGivenBack(pty);
}

TEST_F(Top, TerminalResized_OutputFollows) {
  Pty pty(top(), environment(), 80, 24);
  ASSERT_TRUE(pty.shows("q quits"));
  pty.resize(30, 4);
  ASSERT_TRUE(pty.shows("lines more"));
  pty.resize(120, 40);
  ASSERT_TRUE(pty.shows("q quits"));
  pty.type("q");
  pty.wait();
}

TEST_F(Top, FrameCountGiven_EndsAfterThem) {
  Pty pty(top({"-n", "2"}), environment(), 80, 24);
  EXPECT_EQ(pty.wait(), 0);
  expectTerminalGivenBack(pty);
}

TEST_F(Top, AgentKilled_ContinuesWithNextAgent) {
  Pty pty(top(), environment(), 80, 24);
  ASSERT_TRUE(pty.shows("web"));
  kill(sandbox_.agentPid(), SIGKILL);
  // The run starts another agent; top finds it.
  ASSERT_TRUE(eventually([&] { return sandbox_.agentPid() != 0; }));
  ASSERT_TRUE(pty.shows("web"));
  pty.type("q");
  EXPECT_EQ(pty.wait(), 0);
}

TEST_F(Top, NoColorOption_NoColourSequences) {
  Pty pty(top({"-n", "1", "--no-color"}), environment(), 80, 24);
  EXPECT_EQ(pty.wait(), 0);
  EXPECT_EQ(pty.rest().find("\x1b[3"), std::string::npos);
  Pty coloured(top({"-n", "1"}), environment(), 80, 24);
  EXPECT_EQ(coloured.wait(), 0);
  EXPECT_NE(coloured.rest().find("\x1b[3"), std::string::npos);
}

// A shell with job control: Ctrl-Z stops the command and `divvy run`, fg continues both.
TEST(JobControl, ControlZAndFg_StopAndContinueCommand) {
  Sandbox sandbox;
  std::map<std::string, std::string> environment{
      {"DIVVY_RUNTIME_DIR", sandbox.root()}, {"PS1", "$ "}, {"TERM", "dumb"}};
  Pty shell({"bash", "--norc", "-i"}, environment, 200, 24);
  ASSERT_TRUE(shell.shows("$ "));
  shell.type(divvyProgram() + " run --sim h100 --memory 1Gi -- sh -c 'echo started; exec cat'\n");
  ASSERT_TRUE(shell.shows("\nstarted"));
  shell.type("\x1a");
  ASSERT_TRUE(shell.shows("Stopped"));
  ASSERT_TRUE(shell.shows("$ "));
  shell.type("fg\n");
  ASSERT_TRUE(shell.shows("exec cat"));
  shell.type("hello\n");
  ASSERT_TRUE(shell.shows("hello\r\nhello")) << shell.rest();
  shell.type("\x04");
  ASSERT_TRUE(shell.shows("$ "));
  shell.type("echo status $?\n");
  EXPECT_TRUE(shell.shows("status 0"));
  shell.type("exit\n");
  shell.wait();
}

TEST(JobControl, ControlC_ReachesCommandOnce) {
  Sandbox sandbox;
  std::map<std::string, std::string> environment{
      {"DIVVY_RUNTIME_DIR", sandbox.root()}, {"PS1", "$ "}, {"TERM", "dumb"}};
  Pty shell({"bash", "--norc", "-i"}, environment, 200, 24);
  ASSERT_TRUE(shell.shows("$ "));
  const std::string script =
      "import signal, sys\n"
      "count = 0\n"
      "def seen(number, frame):\n"
      "  global count\n"
      "  count += 1\n"
      "signal.signal(signal.SIGINT, seen)\n"
      "print(\"started\", flush=True)\n"
      "sys.stdin.readline()\n"
      "print(\"seen\", count, flush=True)\n";
  shell.type(divvyProgram() + " run --sim h100 --memory 1Gi -- python3 -c '" + script + "'\n");
  ASSERT_TRUE(shell.shows("\nstarted"));
  shell.type("\x03");
  ASSERT_TRUE(shell.shows("^C"));
  shell.type("\n");
  EXPECT_TRUE(shell.shows("\nseen 1")) << shell.rest();
  shell.type("exit\n");
  shell.wait();
}

}  // namespace
}  // namespace divvy::test
