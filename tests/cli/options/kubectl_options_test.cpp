// Words as kubectl takes them.
#include "options/kubectl_options.h"

#include <gtest/gtest.h>

namespace divvy::cli {
namespace {

using Words = std::vector<std::string>;

TEST(KubectlOptions, OptionsBeforeCommand_MovedBehindIt) {
  const std::vector<std::pair<Words, Words>> cases{
      {{}, {}},
      {{"gpus"}, {"gpus"}},
      {{"-A", "ls"}, {"ls", "-A"}},
      {{"--context", "c", "ls", "-o", "json"}, {"ls", "--context", "c", "-o", "json"}},
      {{"--context=c", "--as-group", "ls", "ls"}, {"ls", "--context=c", "--as-group", "ls"}},
      {{"-nx", "-s", "u", "--insecure-skip-tls-verify", "explain", "pod", "a"},
       {"explain", "-nx", "-s", "u", "--insecure-skip-tls-verify", "pod", "a"}},
      // No option of how a cluster is reached; and nothing but these.
      {{"-o", "json", "ls"}, {"-o", "json", "ls"}},
      {{"--help"}, {"--help"}},
      {{"--context", "c"}, {}},
      {{"--context", "c", "--help"}, {"--context", "c", "--help"}},
      {{"--context"}, {}},
  };
  for (const auto& [given, wanted] : cases) EXPECT_EQ(asKubectl(given), wanted);
}

TEST(KubectlOptions, ShortOptionWithEqualsSign_Accepted) {
  EXPECT_EQ(asKubectl({"ls", "-n=a=b", "--namespace=c", "-=x"}),
            (Words{"ls", "-na=b", "--namespace=c", "-=x"}));
  EXPECT_EQ(asKubectl({"-n=a", "ls"}), (Words{"ls", "-na"}));
  EXPECT_EQ(asKubectl({"run", "--", "tar", "-f=x"}), (Words{"run", "--", "tar", "-f=x"}));
}

TEST(KubectlOptions, OptionsOnlyOfKubectl_Known) {
  EXPECT_TRUE(onlyKubectls("--cache-dir"));
  for (const ConnectionOption& one : reachOptions())
    EXPECT_FALSE(onlyKubectls(one.names)) << one.names;
  EXPECT_FALSE(onlyKubectls("--no-such"));
}

}  // namespace
}  // namespace divvy::cli
