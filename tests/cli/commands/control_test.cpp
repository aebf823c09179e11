// `divvy resize`, `wait`, `ls`, `gpus`, `completion`, `sim`, `version`.
#include <gtest/gtest.h>

#include <signal.h>

#include <boost/json.hpp>
#include <filesystem>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;

bj::array arrayOf(const Outcome& outcome) {
  EXPECT_EQ(outcome.code(), 0) << outcome.err;
  boost::system::error_code fault;
  bj::value value = bj::parse(outcome.out, fault);
  EXPECT_FALSE(fault) << outcome.out;
  return value.is_array() ? value.get_array() : bj::array();
}

Child namedHolder(Sandbox& sandbox, const std::string& name, const std::string& memory) {
  Child run = sandbox.start({"run", "--sim", "h100", "--memory", memory, "--name", name, "--",
                             tenantProgram(), "1048576"});
  EXPECT_TRUE(run.printed("held 1048576"));
  return run;
}

TEST(Set, LargerMemory_AppliesAtOnce) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  run.say("reserve 5368709120\n");
  ASSERT_TRUE(run.printed("refused 5368709120"));
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--memory", "6Gi"}).code(), 0);
  run.say("reserve 5368709120\n");
  EXPECT_TRUE(run.printed("held 5368709120"));
  EXPECT_EQ(sandbox.snapshot().devices.at(0).allocated, gib(6).count);
}

TEST(Set, MemoryBelowUse_NothingTakenAway) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "8Gi");
  run.say("reserve 6442450944\n");
  ASSERT_TRUE(run.printed("held 6442450944"));
  const Outcome shrunk = sandbox.divvy({"resize", "web", "--memory", "4Gi"});
  EXPECT_EQ(shrunk.code(), 0);
  EXPECT_NE(shrunk.err.find("6.0 GiB of it are in use and stay allocated"), std::string::npos)
      << shrunk.err;
  run.say("reserve 4096\n");
  ASSERT_TRUE(run.printed("refused 4096"));
  // What it still uses is not given to others.
  EXPECT_EQ(sandbox.snapshot().devices.at(0).allocated, 6442450944u + 1048576u);
  run.say("release 6442450944\n");
  ASSERT_TRUE(run.printed("released"));
  run.say("reserve 8192\n");
  EXPECT_TRUE(run.printed("held 8192"));
  EXPECT_EQ(sandbox.snapshot().devices.at(0).allocated, gib(4).count);
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--memory", "3Gi"}).err, "") << "so much is not in use";
}

// Regression: it was accepted, and then the tenant's programs could not start again.
TEST(Set, MemoryBelowContextCost_RefusedWithAccepted) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  const std::string context = std::to_string(sandbox.snapshot().devices.at(0).context >> 20) + "Mi";
  const Outcome refused = sandbox.divvy({"resize", "web", "--memory", "100Mi"});
  EXPECT_EQ(refused.code(), 2);
  EXPECT_NE(refused.err.find("100 MiB is less than one context needs there"), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("accepted: " + context + " and more\n"), std::string::npos)
      << refused.err;
  EXPECT_EQ(sandbox.snapshot().tenants.at(0).shares.at(0).limit, gib(4).count);
  const Outcome told = sandbox.divvy({"events", "web"});
  EXPECT_NE(told.out.find("less than one context needs"), std::string::npos) << told.out;
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--memory", context}).code(), 0);
}

TEST(Set, ContextsOutsideShare_MemoryBelowContextAllowed) {
  Sandbox sandbox;
  Child run = sandbox.start({"run", "--sim", "h100", "--memory", "4Gi", "--context-overhead",
                             "outside", "--name", "web", "--", tenantProgram(), "1048576"});
  ASSERT_TRUE(run.printed("held"));
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--memory", "100Mi"}).code(), 0);
}

TEST(Set, MoreThanCardHasOrNameTaken_Refused) {
  Sandbox sandbox;
  Child web = namedHolder(sandbox, "web", "40Gi");
  Child other = namedHolder(sandbox, "other", "30Gi");
  const Outcome full = sandbox.divvy({"resize", "web", "--memory", "60Gi"});
  EXPECT_EQ(full.code(), 1);
  EXPECT_NE(full.err.find("60 GiB asked"), std::string::npos) << full.err;
  const Outcome large = sandbox.divvy({"resize", "web", "--memory", "100Gi"});
  EXPECT_EQ(large.code(), 2);
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--name", "other"}).code(), 2);
  EXPECT_EQ(sandbox.divvy({"resize", "nobody", "--memory", "1Gi"}).code(), 1);
  EXPECT_EQ(sandbox.snapshot().devices.at(0).allocated, gib(70).count);
}

TEST(Set, NameAndCores_Changed) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--cores", "25", "--name", "batch"}).code(), 0);
  const agent::Snapshot now = sandbox.snapshot();
  EXPECT_EQ(now.tenants.at(0).name, "batch");
  EXPECT_EQ(now.tenants.at(0).shares.at(0).cores, 25u);
  EXPECT_EQ(now.devices.at(0).cores, 25u);
}

TEST(Set, PolicyAndPriority_ChangedSingly) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--cores", "25", "--cores-policy", "cap"}).code(), 0);
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--priority", "low"}).code(), 0);
  agent::TenantView web = sandbox.snapshot().tenants.at(0);
  EXPECT_EQ(web.cores_policy, "cap");
  EXPECT_EQ(web.priority, "low");
  EXPECT_EQ(web.shares.at(0).cores, 25u);
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--cores-policy", "share"}).code(), 0);
  web = sandbox.snapshot().tenants.at(0);
  EXPECT_EQ(web.cores_policy, "share");
  EXPECT_EQ(web.priority, "low") << "what is not named stays";
  EXPECT_EQ(web.shares.at(0).cores, 25u);
}

// The agent knows how many GPUs a tenant has.
TEST(Set, CoresBeyondGpus_RefusedInOneLine) {
  Sandbox sandbox("sim-h100x2");
  Child run = sandbox.start({"run", "--sim", "h100x2", "--gpus", "2", "--cores", "100", "--memory",
                             "4Gi", "--name", "web", "--", tenantProgram(), "1048576"});
  ASSERT_TRUE(run.printed("held"));
  for (const char* cores : {"201", "1"}) {
    const Outcome outcome = sandbox.divvy({"resize", "web", "--cores", cores});
    EXPECT_EQ(outcome.code(), 2) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("2 to 200"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(sandbox.divvy({"resize", "web", "--cores", "200"}).code(), 0);
  const agent::Snapshot now = sandbox.snapshot();
  EXPECT_EQ(now.devices.at(0).cores, 100u);
  EXPECT_EQ(now.devices.at(1).cores, 100u);
}

TEST(Set, EndedTenant_SaidToHaveEnded) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  Child other = namedHolder(sandbox, "other", "4Gi");
  run.closeInput();
  run.wait();
  ASSERT_EQ(sandbox.divvy({"wait", "web"}).code(), 1) << "it is gone";
  const Outcome outcome = sandbox.divvy({"resize", "web", "--cores", "10"});
  EXPECT_EQ(outcome.code(), 1);
  EXPECT_EQ(outcome.err, "divvy: no tenant \"web\" is running; divvy ls lists running tenants\n");
}

// More than 100 is no error; what it means then is said once, by run and by set.
TEST(Cores, SumAboveHundred_SharesOfSumNoted) {
  Sandbox sandbox;
  const auto holder = [&](const std::string& name, const std::string& cores) {
    Child run = sandbox.start({"run", "--sim", "h100", "--memory", "4Gi", "--cores", cores,
                               "--name", name, "--", tenantProgram(), "1048576"});
    EXPECT_TRUE(run.printed("held 1048576"));
    return run;
  };
  Child one = holder("one", "60");
  Child two = holder("two", "90");
  EXPECT_EQ(sandbox.snapshot().devices.at(0).cores, 150u);
  const Outcome set = sandbox.divvy({"resize", "one", "--cores", "30"});
  EXPECT_EQ(set.code(), 0);
  EXPECT_EQ(set.out, "");
  EXPECT_EQ(set.err.find("divvy: cores on device 0 add up to 120%"), 0u) << set.err;
  EXPECT_EQ(std::count(set.err.begin(), set.err.end(), '\n'), 1) << set.err;
  EXPECT_EQ(sandbox.divvy({"resize", "one", "--cores", "10"}).err, "");
  one.closeInput();
  EXPECT_EQ(one.wait().err, "") << "it came first";
  two.closeInput();
  const std::string said = two.wait().err;
  EXPECT_EQ(said.find("divvy: cores on device 0 add up to 150%"), 0u) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(Wait, TenantEnds_ReturnsSuccess) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  Child one = sandbox.start({"wait", "web"});
  Child all = sandbox.start({"wait", "--all"});
  EXPECT_FALSE(
      eventually([&] { return one.ended() || all.ended(); }, std::chrono::milliseconds(300)));
  run.closeInput();
  EXPECT_EQ(one.wait().code(), 0);
  EXPECT_EQ(all.wait().code(), 0);
}

TEST(Wait, TimeoutOrUnknownTenant_ExitOne) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  EXPECT_EQ(sandbox.divvy({"wait", "web", "--timeout", "100ms"}).code(), 1);
  EXPECT_EQ(sandbox.divvy({"wait", "nobody"}).code(), 1);
  run.closeInput();
}

TEST(Wait, AgentKilled_WaitsUntilTenantEnds) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  Child one = sandbox.start({"wait", "web"});
  Child all = sandbox.start({"wait", "--all"});
  EXPECT_FALSE(
      eventually([&] { return one.ended() || all.ended(); }, std::chrono::milliseconds(200)));
  kill(sandbox.agentPid(), SIGKILL);
  EXPECT_FALSE(
      eventually([&] { return one.ended() || all.ended(); }, std::chrono::milliseconds(600)));
  run.closeInput();
  EXPECT_EQ(one.wait().code(), 0);
  EXPECT_EQ(all.wait().code(), 0);
}

TEST(Wait, NoTenants_ReturnsAtOnceWithoutFiles) {
  Sandbox sandbox;
  EXPECT_EQ(sandbox.divvy({"wait", "--all"}).code(), 0);
  EXPECT_EQ(sandbox.files(), Words());
}

TEST(ViewCommands, JsonOutput_HoldsTableFigures) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  const bj::array tenants = arrayOf(sandbox.divvy({"ls", "-o", "json"}));
  ASSERT_EQ(tenants.size(), 1u);
  const bj::object& tenant = tenants[0].as_object();
  EXPECT_EQ(tenant.at("name").as_string(), "web");
  EXPECT_EQ(tenant.at("shares").as_array().at(0).at("used").as_int64(), 1048576);
  EXPECT_EQ(tenant.at("shares").as_array().at(0).at("limit").as_int64(), 4294967296);
  const bj::array devices = arrayOf(sandbox.divvy({"gpus", "-o", "json"}));
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].at("allocated").as_int64(), 4294967296);
  EXPECT_EQ(devices[0].at("tenants").as_int64(), 1);
  EXPECT_EQ(arrayOf(sandbox.divvy({"top", "-o", "json"})).size(), 1u);
}

TEST(ViewCommands, UnnamedTenant_EmptyCellIsDash) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  Child unnamed = sandbox.run("1Gi", {tenantProgram(), "1048576"});
  ASSERT_TRUE(unnamed.printed("held"));
  const Outcome outcome = sandbox.divvy({"ls", "--no-headers"});
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
  EXPECT_NE(outcome.out.find("  -  "), std::string::npos)
      << "an empty cell is a dash: " << outcome.out;
}

TEST(ViewCommands, TopAsJson_HasEveryComputeField) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  const bj::array nodes = arrayOf(sandbox.divvy({"top", "-o", "json"}));
  ASSERT_EQ(nodes.size(), 1u);
  const bj::object& tenant = nodes[0].at("tenants").as_array().at(0).as_object();
  for (const char* name :
       {"mode", "backend", "priority", "cores_policy", "weight", "throttled_permille",
        "throttled_ms", "waits", "grants_per_s", "longest_us", "unpreemptible", "distrusted"})
    EXPECT_TRUE(tenant.contains(name)) << name;
  EXPECT_TRUE(tenant.at("shares").as_array().at(0).as_object().contains("got_permille"));
}

TEST(ViewCommands, NoAgent_EmptyListAndNoFiles) {
  Sandbox sandbox;
  EXPECT_EQ(sandbox.divvy({"ls", "-o", "json"}).out, "[]\n");
  EXPECT_EQ(sandbox.divvy({"ls"}).code(), 0);
  EXPECT_EQ(sandbox.divvy({"stop"}).code(), 0);
  EXPECT_EQ(sandbox.files(), Words());
}

TEST(ViewCommands, TopWithoutTerminal_PlainTextOnce) {
  Sandbox sandbox;
  Child run = namedHolder(sandbox, "web", "4Gi");
  const Outcome outcome = sandbox.divvy({"top"});
  EXPECT_EQ(outcome.code(), 0);
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_NE(outcome.out.find("allocated 4GiB"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("web"), std::string::npos);
  const Outcome twice = sandbox.divvy({"top", "-n", "2", "--interval", "100ms"});
  EXPECT_NE(twice.out.find("divvy top"), twice.out.rfind("divvy top"));
}

TEST(Help, EverySubcommand_HasExamples) {
  Sandbox sandbox;
  for (const char* name : {"run", "ls", "top", "gpus", "resize", "wait", "sim", "agent", "stop",
                           "completion", "events", "size", "simulate", "doctor"}) {
    const Outcome outcome = sandbox.divvy({name, "--help"});
    EXPECT_EQ(outcome.code(), 0) << name;
    EXPECT_NE(outcome.out.find("Examples:"), std::string::npos) << name;
  }
  EXPECT_NE(sandbox.divvy({"--help"}).out.find("divvy run --memory 4Gi"), std::string::npos);
  EXPECT_EQ(sandbox.divvy({"--help"}).out.find("probe-context"), std::string::npos);
}

// What the text form has to be, by the JSON form; tests/cli/commit_test.py knows the commit itself.
std::string versionTextOf(const bj::object& version) {
  std::string text = "divvy " + std::string(version.at("version").as_string());
  if (const bj::value* commit = version.if_contains("commit")) {
    text += " (commit " + std::string(commit->as_string()).substr(0, 12) +
            (version.at("modified").as_bool() ? ", modified)" : ")");
  }
  return text + "\n";
}

TEST(Help, VersionAndSim_TextAndJsonAgree) {
  Sandbox sandbox;
  EXPECT_EQ(sandbox.divvy({"version"}).out, sandbox.divvy({"--version"}).out);
  const bj::value version = bj::parse(sandbox.divvy({"version", "-o", "json"}).out);
  EXPECT_EQ(sandbox.divvy({"version"}).out, versionTextOf(version.as_object()));
  const bj::value sim = bj::parse(sandbox.divvy({"sim", "-o", "json"}).out);
  EXPECT_GE(sim.at("profiles").as_array().size(), 8u);
  EXPECT_GE(sim.at("faults").as_array().size(), 4u);
  EXPECT_NE(sandbox.divvy({"sim"}).out.find("h100"), std::string::npos);
}

// Each shell reads its script without complaint, where it is installed.
TEST(Completion, ScriptOfEachShell_ValidAndComplete) {
  Sandbox sandbox;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = sandbox.divvy({"completion", shell});
    ASSERT_EQ(script.code(), 0);
    for (const char* option : {"context-overhead", "guaranteed", "pressure-wait", "overcommit",
                               "device-budget", "host-reserve", "swap-quantum", "kv-dtype"})
      EXPECT_NE(script.out.find(option), std::string::npos) << shell << " " << option;
    Child check({shell, "-n"}, {});
    check.say(script.out);
    const Outcome outcome = check.wait();
    if (outcome.code() == 127) {
      std::printf("SKIPPED: %s is not installed\n", shell);
      continue;
    }
    EXPECT_EQ(outcome.code(), 0) << outcome.err;
  }
}

TEST(Completion, Bash_OffersSubcommandsAndOptions) {
  Sandbox sandbox;
  const std::string script = sandbox.divvy({"completion", "bash"}).out;
  const auto complete = [&](const std::string& words, int at) {
    Child bash({"bash", "-s"}, {});
    bash.say(script + "COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(at) +
             "; _divvy; echo \"${COMPREPLY[@]}\"\n");
    return bash.wait().out;
  };
  EXPECT_EQ(complete("divvy ru", 1), "run\n");
  EXPECT_EQ(complete("divvy run --mem", 2), "--memory\n");
  EXPECT_EQ(complete("divvy completion f", 2), "fish\n");
  EXPECT_EQ(complete("divvy run --priority ''", 3), "high normal low\n");
  EXPECT_EQ(complete("divvy resize web --cores-policy c", 4), "cap\n");
  EXPECT_EQ(complete("divvy set web --cores-policy c", 4), "cap\n") << "the name of before";
  EXPECT_EQ(complete("divvy run --cores-policy = s", 4), "share\n");
  EXPECT_EQ(complete("divvy ls -o w", 3), "wide\n");
  EXPECT_EQ(complete("divvy gpus --sim h2", 3), "h20 h200\n");
  EXPECT_EQ(complete("divvy run --sim --pri", 3), "--priority\n");
  EXPECT_EQ(complete("divvy resize web --on-pressure ''", 4), "oom wait\n");
  EXPECT_EQ(complete("divvy size --gpu rtx5", 3), "rtx5080 rtx5090\n");
  EXPECT_EQ(complete("divvy size --model llama-3.2", 3), "llama-3.2-1b llama-3.2-3b\n");
  EXPECT_EQ(complete("divvy size --engine ''", 3), "vllm sglang\n");
  EXPECT_EQ(complete("divvy run --guar", 2), "--guaranteed\n");
  EXPECT_EQ(complete("divvy agent --s", 2), "--swap-chunk --swap-quantum\n");
  EXPECT_EQ(complete("divvy simulate o", 2), "openb\n");
  EXPECT_EQ(complete("divvy simulate p", 2), "plan\n");
  EXPECT_EQ(complete("divvy simulate plan --over", 3), "--overcommit\n");
  EXPECT_EQ(complete("divvy simulate openb --po", 3), "--pods --policy\n");
}

// The zsh script was cut in two by a formatter once, and no shell at hand had looked at it.
TEST(Completion, Zsh_OffersSubcommandsAndOptions) {
  Sandbox sandbox;
  const std::string script = sandbox.divvy({"completion", "zsh"}).out;
  const auto complete = [&](const std::string& words, int at) {
    Child zsh({"zsh", "-f", "-s"}, {});
    // _describe and compdef belong to zsh's completion system; this one prints what it is told.
    zsh.say("_describe() { print -rl -- ${(P)4}; }\ncompdef() { :; }\n" + script + "words=(" +
            words + "); CURRENT=" + std::to_string(at) + "; _divvy\n");
    return zsh.wait();
  };
  const Outcome commands = complete("divvy ''", 2);
  if (commands.code() == 127) GTEST_SKIP() << "SKIPPED: zsh is not installed";
  EXPECT_EQ(commands.err, "");
  EXPECT_NE(commands.out.find("ls:List tenants and their shares\n"), std::string::npos)
      << commands.out;
  const Outcome flags = complete("divvy run --mem", 3);
  EXPECT_EQ(flags.err, "");
  EXPECT_NE(flags.out.find("--memory:"), std::string::npos) << flags.out;
  const Outcome words = complete("divvy run --priority ''", 4);
  EXPECT_EQ(words.err, "");
  EXPECT_EQ(words.out, "high\nnormal\nlow\n");
}

TEST(Completion, Fish_OffersSubcommandsAndOptions) {
  Sandbox sandbox;
  const std::string script = sandbox.divvy({"completion", "fish"}).out;
  const std::string home = sandbox.root() + "-home";
  std::filesystem::create_directory(home);
  const auto complete = [&](const std::string& line) {
    Child fish({"fish", "--no-config"}, {{"HOME", home}});
    fish.say(script + "complete -C '" + line + "'\n");
    return fish.wait();
  };
  const Outcome commands = complete("divvy ru");
  if (commands.code() == 127) GTEST_SKIP() << "SKIPPED: fish is not installed";
  EXPECT_EQ(commands.out.find("run"), 0u) << commands.out << commands.err;
  EXPECT_NE(complete("divvy run --mem").out.find("--memory"), std::string::npos);
  const std::string words = complete("divvy resize web --cores-policy ").out;
  EXPECT_NE(words.find("share"), std::string::npos) << words;
  EXPECT_NE(words.find("cap"), std::string::npos) << words;
  EXPECT_NE(complete("divvy size --model llama-3.2").out.find("llama-3.2-3b"), std::string::npos);
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace divvy::test
