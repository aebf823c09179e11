// Several kubeconfigs as one, and what is said beside them.
// Source: kubernetes.io, "Organizing Cluster Access Using kubeconfig Files", "Merging kubeconfig
// files" (the red-user is its example).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "kube/access.h"

namespace divvy::kube {
namespace {

// What of an access the cases below are about.
std::string told(const Result<Access>& access) {
  if (!access) return "no: " + access.error().message();
  std::string text = access->host + ' ' + (access->token.empty() ? "-" : access->token) + ' ' +
                     access->namespace_name;
  if (!access->certificate.empty()) text += " certificate " + access->certificate;
  if (!access->authority.empty()) text += " authority " + access->authority;
  if (!access->as.user.empty()) text += " as " + access->as.user;
  for (const std::string& group : access->as.groups) text += ' ' + group;
  return text + (access->insecure ? " insecure" : "");
}

std::string context(const std::string& name, const std::string& says) {
  return "contexts: [{name: " + name + ", context: {" + says + "}}]\n";
}
std::string cluster(const std::string& name, const std::string& says) {
  return "clusters: [{name: " + name + ", cluster: {" + says + "}}]\n";
}
std::string user(const std::string& name, const std::string& says) {
  return "users: [{name: " + name + ", user: {" + says + "}}]\n";
}
std::string current(const std::string& name) {
  return "current-context: " + name + "\n";
}

// All of one.
std::string whole(const std::string& name) {
  return current(name) + context(name, "cluster: " + name + ", user: " + name) +
         cluster(name, "server: 'https://" + name + "'") + user(name, "token: " + name + "-token");
}

struct Case {
  const char* what;
  std::vector<std::string> files;
  std::string told;
};

TEST(KubeconfigFiles, SameNameInSeveral_FirstFileWins) {
  const std::string red = context("red", "cluster: a, user: red-user, namespace: one");
  const std::vector<Case> cases{
      {"one", {whole("a")}, "a a-token default"},
      {"current-context of the first that has one", {whole("a"), whole("b")}, "a a-token default"},
      {"and not of one that has none",
       {cluster("x", "server: 'https://x'"), whole("b")},
       "b b-token default"},
      {"an empty current-context is none",
       {"current-context: ''\n" + red, whole("b")},
       "b b-token default"},
      {"parts of different files",
       {current("red"), user("red-user", "token: t"), red, cluster("a", "server: 'https://h'")},
       "h t one"},
      {"of the second red-user nothing is taken, not even what the first does not say",
       {current("red") + red, user("red-user", "as: jane"),
        user("red-user", "token: t") + cluster("a", "server: 'https://h'")},
       "h - one as jane"},
      {"nor where the first says nothing of it",
       {current("red") + red + "users: [{name: red-user}]\n",
        user("red-user", "token: t") + cluster("a", "server: 'https://h'")},
       "h - one"},
      {"the order counts",
       {user("red-user", "token: t") + cluster("a", "server: 'https://h'"),
        current("red") + red + user("red-user", "token: other")},
       "h t one"},
      {"empty files say nothing", {"", "# nothing\n", "{}", whole("a"), ""}, "a a-token default"},
      {"a kind and preferences are others' business",
       {"apiVersion: v1\nkind: Config\npreferences: {}\n" + whole("a")},
       "a a-token default"},
  };
  for (const Case& one : cases) {
    std::vector<KubeconfigText> files;
    for (const std::string& text : one.files)
      files.push_back({text, "f" + std::to_string(files.size()), ""});
    EXPECT_EQ(told(kubeconfigAccess(files)), one.told) << one.what;
  }
}

TEST(KubeconfigFiles, WrongContent_ErrorNamesFile) {
  const std::vector<Case> cases{
      {"malformed, and not needed", {whole("a"), "users: ["}, "f1:"},
      {"no map", {whole("a"), "just words"}, "f1:1:1: is not a kubeconfig: expected a map"},
      {"a list that is none", {"users: {}\n", whole("a")}, "f0:1:8: users is not a list"},
      {"a context that no file has",
       {current("c"), cluster("a", "server: 'https://h'")},
       "f0, f1: has no context \"c\""},
      {"a cluster that no file has",
       {current("c") + context("c", "cluster: k"), whole("a")},
       "f0, f1: has no cluster \"k\""},
      {"a user that no file has",
       {current("c") + context("c", "cluster: a, user: nobody"), whole("a")},
       "f0, f1: has no user \"nobody\""},
      {"no current-context",
       {context("c", "cluster: a"), cluster("a", "server: 'https://h'")},
       "f0, f1: has no current-context"},
      {"the first file's cluster is the one, though the second's would do",
       {current("a") + cluster("a", ""), whole("a")},
       "f0:"},
      {"extras of whom it is to be taken for",
       {whole("b"), current("c") + context("c", "cluster: a, user: u") +
                        user("u", "as: jane, as-user-extra: {reason: [r]}")},
       ""},
      {"groups of nobody",
       {current("c") + context("c", "cluster: a, user: u") + user("u", "as-groups: [g]"),
        whole("a")},
       "accepted: with it"},
  };
  for (const Case& one : cases) {
    std::vector<KubeconfigText> files;
    for (const std::string& text : one.files)
      files.push_back({text, "f" + std::to_string(files.size()), ""});
    if (one.told.empty()) {
      // Only whom it is about is refused for it.
      EXPECT_EQ(told(kubeconfigAccess(files)), "b b-token default") << one.what;
      AccessWords words;
      words.user = "u";
      EXPECT_NE(told(kubeconfigAccess(files, words)).find("as-user-extra is not supported"),
                std::string::npos);
      continue;
    }
    const std::string said = told(kubeconfigAccess(files));
    EXPECT_NE(said.find("no: "), std::string::npos) << one.what << ": " << said;
    EXPECT_NE(said.find(one.told), std::string::npos) << one.what << ": " << said;
  }
}

// A folder, and KUBECONFIG in it.
class KubeconfigList : public ::testing::Test {
 protected:
  KubeconfigList() {
    std::string form = std::filesystem::temp_directory_path() / "divvy-configs-XXXXXX";
    folder = mkdtemp(form.data());
  }
  ~KubeconfigList() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::filesystem::path folder;
};

TEST_F(KubeconfigList, MissingFiles_IgnoredUnlessNamedExplicitly) {
  const std::string a = write("a", whole("a")), b = write("b", whole("b"));
  const std::string missing = folder / "missing";
  EXPECT_EQ(told(kubeconfigListAccess(a + ':' + b)), "a a-token default");
  EXPECT_EQ(told(kubeconfigListAccess(missing + ':' + b + "::" + a)), "b b-token default");
  EXPECT_EQ(told(kubeconfigListAccess(':' + a + '/' + "below:" + b)), "b b-token default");
  const Result<Access> none = kubeconfigListAccess(missing + ":" + missing + "2");
  EXPECT_EQ(none.error().code(), ErrorCode::kIo);
  EXPECT_NE(none.error().message().find(missing + ":" + missing + "2"), std::string::npos);
  // One that was asked for by its name has to be there.
  EXPECT_EQ(told(kubeconfigFileAccess(a)), "a a-token default");
  EXPECT_EQ(told(kubeconfigFileAccess(missing)),
            "no: kubeconfig: reading " + missing + ": No such file or directory");
}

TEST_F(KubeconfigList, Contexts_EachOnceInTheirOrder) {
  const std::string a = write("a", whole("a")), b = write("b", whole("b"));
  const Result<std::vector<std::string>> found =
      kubeconfigContexts(b + ':' + a + ':' + b + ':' + (folder / "missing").string());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(kubeconfigContexts((folder / "missing").string()).error().code(), ErrorCode::kIo);
  EXPECT_EQ(kubeconfigContexts(write("bad", "contexts: 7")).error().code(), ErrorCode::kUsage);
}

TEST_F(KubeconfigList, UnreadableFile_ErrorNamesIt) {
  const std::string a = write("a", whole("a"));
  const std::string bad = write("bad", "users: [}");
  EXPECT_NE(told(kubeconfigListAccess(a + ':' + bad)).find("no: " + bad + ":1"), std::string::npos);
  EXPECT_EQ(told(kubeconfigListAccess(folder.string() + ':' + a)),
            "no: kubeconfig: reading " + folder.string() + ": Is a directory");
  const std::string closed = write("closed", whole("closed"));
  chmod(closed.c_str(), 0);
  // Whoever may read everything reads it.
  const std::string said = told(kubeconfigListAccess(a + ':' + closed));
  EXPECT_EQ(said, access(closed.c_str(), R_OK) == 0
                      ? "a a-token default"
                      : "no: kubeconfig: reading " + closed + ": Permission denied");
}

TEST_F(KubeconfigList, RelativePaths_ResolvedAgainstTheirFile) {
  write("one/ca", "ONE");
  write("two/ca", "TWO");
  write("two/token", "T");
  write("ca", "NEITHER");
  const std::string one =
      write("one/config", current("c") + context("c", "cluster: k, user: u") +
                              cluster("k", "server: 'https://h', certificate-authority: ca"));
  const std::string two =
      write("two/config", user("u",
                               "tokenFile: token, client-certificate: ca, client-key: ../ca, "
                               "exec: {apiVersion: v1, command: ./get, args: [a]}") +
                              cluster("k", "server: 'https://other', certificate-authority: ca"));
  const Result<Access> access = kubeconfigListAccess(one + ':' + two);
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->authority, "ONE");
  EXPECT_EQ(access->certificate, "TWO");
  EXPECT_EQ(access->key, "NEITHER");
  EXPECT_EQ(access->token_file, (folder / "two").string() + "/token");
  EXPECT_EQ(access->exec->command, (folder / "two").string() + "/./get");
}

constexpr const char* kTwo = R"(current-context: c
contexts:
- {name: c, context: {cluster: k, user: u, namespace: s}}
- {name: other, context: {cluster: l, user: v}}
clusters:
- {name: k, cluster: {server: 'https://k/base', certificate-authority: ca, tls-server-name: n}}
- {name: l, cluster: {server: 'https://l', insecure-skip-tls-verify: true}}
- {name: broken, cluster: {server: nonsense, certificate-authority: /nowhere/ca}}
users:
- name: u
  user: {client-certificate: mine, client-key: mine, token: t, as: jane, as-groups: [g]}
- {name: v, user: {token: v}}
- {name: w, user: {exec: {apiVersion: x, command: y}, tokenFile: ca}}
)";

struct Said {
  const char* what;
  AccessWords words;
  std::string told;
};

AccessWords with(const std::function<void(AccessWords&)>& set) {
  AccessWords words;
  set(words);
  return words;
}

TEST_F(KubeconfigList, OptionsBesideKubeconfig_TakePrecedence) {
  const std::string ca = write("ca", "CA"), mine = write("mine", "MINE");
  const std::string base = write("config", kTwo);
  using W = AccessWords;
  const std::vector<Said> cases{
      {"nothing", {}, "k t s certificate MINE authority CA as jane g"},
      {"context", with([](W& w) { w.context = "other"; }), "l v default insecure"},
      {"cluster", with([](W& w) { w.cluster = "l"; }), "l t s certificate MINE as jane g insecure"},
      {"user", with([](W& w) { w.user = "v"; }), "k v s authority CA"},
      {"server", with([](W& w) { w.server = "https://m"; }),
       "m t s certificate MINE authority CA as jane g"},
      {"a server in place of one that is none",
       with([&](W& w) { w.cluster = "broken", w.server = "https://m", w.authority_file = ca; }),
       "m t s certificate MINE authority CA as jane g"},
      {"an authority ends believing everybody",
       with([&](W& w) { w.context = "other", w.authority_file = ca; }), "l v default authority CA"},
      {"believing everybody ends the authority",
       with([](W& w) { w.user = "v", w.insecure = true; }), "k v s insecure"},
      {"a token: the server would look at the certificate first", with([](W& w) { w.token = "x"; }),
       "k x s authority CA as jane g"},
      {"a token in place of a program's", with([](W& w) { w.user = "w", w.token = "x"; }),
       "k x s authority CA"},
      {"a certificate",
       with([&](W& w) { w.user = "v", w.certificate_file = ca, w.key_file = mine; }),
       "k v s certificate CA authority CA"},
      {"both", with([&](W& w) { w.token = "x", w.certificate_file = ca, w.key_file = mine; }),
       "k x s certificate CA authority CA as jane g"},
      {"as", with([](W& w) { w.as.user = "joe"; }), "k t s certificate MINE authority CA as joe g"},
      {"as-group", with([](W& w) {
         w.user = "v", w.as = {"joe", "", {"a", "b"}};
       }),
       "k v s authority CA as joe a b"},
      {"no such context", with([](W& w) { w.context = "no"; }),
       "no: " + base + ": has no context \"no\""},
      {"no such cluster", with([](W& w) { w.cluster = "no"; }),
       "no: " + base + ": has no cluster \"no\""},
      {"no such user", with([](W& w) { w.user = "no"; }), "no: " + base + ": has no user \"no\""},
      {"a server that is none", with([](W& w) { w.server = "m:1"; }),
       "no: --server: \"m:1\" is not a server: expected https://HOST[:PORT][/PATH]"},
      {"half a certificate", with([&](W& w) { w.key_file = mine; }),
       "no: --client-certificate and --client-key belong together; accepted: both"},
      {"a file that is not there", with([](W& w) { w.authority_file = "/nowhere/ca"; }),
       "no: --certificate-authority: reading /nowhere/ca: No such file or directory"},
      {"a group of nobody", with([](W& w) { w.user = "v", w.as.groups = {"a"}; }),
       "no: --as-group and --as-uid require --as; accepted: with it"},
      {"another line of the request", with([](W& w) { w.as.user = "joe\r\nX: y"; }),
       "no: the user of --as has a byte that is not a letter"},
      {"and in a token", with([](W& w) { w.token = "x\ny"; }),
       "no: the token has a byte that is not a letter"},
  };
  for (const Said& one : cases)
    EXPECT_EQ(told(kubeconfigFileAccess(base, one.words)), one.told) << one.what;
  const auto both = with([&](W& w) { w.insecure = true, w.authority_file = ca; });
  EXPECT_NE(told(kubeconfigFileAccess(base, both)).find("accepted: one of them"),
            std::string::npos);
  // Of another server the name and the path are not the kubeconfig's.
  const auto moved = kubeconfigFileAccess(base, with([](W& w) { w.server = "https://m"; }));
  EXPECT_EQ(moved->base + moved->server_name, "");
  EXPECT_EQ(kubeconfigFileAccess(base)->base + kubeconfigFileAccess(base)->server_name, "/basen");
  const auto as_program = kubeconfigFileAccess(base, with([](W& w) { w.user = "w"; }));
  EXPECT_TRUE(as_program->exec.has_value() && !as_program->token_file.empty());
}

// Host and path stand in lines of a request.
TEST_F(KubeconfigList, ServerUrl_OnlyHostPortAndPathAccepted) {
  const auto access = [](const std::string& server) {
    return kubeconfigListAccess("", with([&](AccessWords& words) { words.server = server; }));
  };
  for (const char* server :
       {"https://", "https://:1", "https://a:", "https://a:b", "https://a:123456", "https://a:1:2",
        "https://u@a", "https://[::1", "https://[::1]x", "https://[]:1", "https://a?b",
        "https://a b", "https://a\nX: y", "https://a/b\r\nX: y", "https://a/b\tc", "ftp://a"})
    EXPECT_EQ(told(access(server)).find("no: "), 0u) << server;
  const Result<Access> bracketed = access("https://[fd00::1]:6443/base/");
  ASSERT_TRUE(bracketed) << bracketed.error().message();
  EXPECT_EQ(bracketed->host + ' ' + bracketed->port + ' ' + bracketed->base, "fd00::1 6443 /base");
  EXPECT_EQ(access("http://[::1]")->port, "80");
}

// A kubeconfig is not needed by who says where the server is.
TEST_F(KubeconfigList, ServerOptionAlone_NoKubeconfigNeeded) {
  AccessWords words;
  words.server = "http://127.0.0.1:8080";
  EXPECT_EQ(told(kubeconfigListAccess(folder / "missing", words)), "127.0.0.1 - default");
  words.cluster = "k";
  EXPECT_NE(told(kubeconfigListAccess(folder / "missing", words)).find("has no cluster \"k\""),
            std::string::npos);
}

}  // namespace
}  // namespace divvy::kube
