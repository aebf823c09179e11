// The trace's files: what is read, and what is refused where.
#include "simulator/openb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "openb_csv_check.h"
#include "trace_files.h"

namespace divvy::simulator {
namespace {

using testing::HasSubstr;

const std::string kNodes = "sn,cpu_milli,memory_mib,gpu,model\n";
const std::string kPods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
const std::string kMore =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n";

TEST(Openb, NodeRows_AreRead) {
  const auto nodes = parseOpenbNodes(kNodes + "a,64000,262144,2,P100\nb,96000,1024,0,", "f");
  ASSERT_TRUE(nodes) << nodes.error().message();
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].name, "a");
  EXPECT_EQ((*nodes)[0].cpu_milli, 64000);
  EXPECT_EQ((*nodes)[0].memory_mib, 262144);
  EXPECT_EQ((*nodes)[0].gpus, 2u);
  EXPECT_EQ((*nodes)[0].model, "P100");
  EXPECT_EQ((*nodes)[1].gpus, 0u);
}

TEST(Openb, PodRows_ReadInBothForms) {
  const auto pods = parseOpenbPods(kPods + "a,6000,12288,1,460\n", "f");
  ASSERT_TRUE(pods) << pods.error().message();
  EXPECT_EQ((*pods)[0].gpu_milli, 460);
  EXPECT_EQ((*pods)[0].models, "");
  const auto more = parseOpenbPods(kMore + "a,6000,12288,8,1000,G2|T4,LS,Pending,5,6,\n", "f");
  ASSERT_TRUE(more) << more.error().message();
  EXPECT_EQ((*more)[0].gpus, 8u);
  EXPECT_EQ((*more)[0].models, "G2|T4");
}

struct Case {
  std::string text;
  std::string says;
};

void expectRefused(const std::vector<Case>& cases, bool nodes) {
  for (const Case& one : cases) {
    std::string message = "accepted";
    if (nodes) {
      const auto read = parseOpenbNodes(one.text, "f.csv");
      if (!read) message = read.error().message();
    } else {
      const auto read = parseOpenbPods(one.text, "f.csv");
      if (!read) message = read.error().message();
    }
    EXPECT_THAT(message, HasSubstr(one.says)) << one.text;
  }
}

TEST(Openb, InvalidNodes_ErrorSaysPlaceAndAccepted) {
  expectRefused(
      {{"", "f.csv:1:1: file \"\"; accepted: a header and rows"},
       {"sn,cpu,memory_mib,gpu,model\n", "f.csv:1:4: header \"cpu\"; accepted: \"cpu_milli\""},
       {"sn,cpu_milli\n", "f.csv:1:13: header \"\"; accepted: \"memory_mib\""},
       {"sn,cpu_milli,memory_mib,gpu,model,more\n", "f.csv:1:35: header \"more\"; accepted: no"},
       {kNodes + "a,1,1,1\n", "f.csv:2:1: 4 fields in \"a,1,1,1\"; accepted: as many"},
       {kNodes + "a,1,1,1,T4\n\n", "f.csv:3:1: 1 fields in \"\""},
       {kNodes + "a,1,1,1,T4\na,1,1,1,T4\n", "f.csv:3:1: sn \"a\"; accepted: a name that no"},
       {kNodes + "a,-1,1,1,T4\n", "f.csv:2:3: cpu_milli \"-1\"; accepted: a whole number from 1"},
       {kNodes + "a,+1,1,1,T4\n", "f.csv:2:3: cpu_milli \"+1\""},
       {kNodes + "a,1.5,1,1,T4\n", "f.csv:2:3: cpu_milli \"1.5\""},
       {kNodes + "a,1,,1,T4\n", "f.csv:2:5: memory_mib \"\""},
       {kNodes + "a,1,1,65,T4\n", "f.csv:2:7: gpu \"65\"; accepted: a whole number from 0 to 64"},
       {kNodes + "a,1,1,99999999999999999999,T4\n", "f.csv:2:7: gpu"},
       {kNodes + "a,1,1,1,\n", "f.csv:2:9: model \"\"; accepted: the model"},
       {kNodes + ",1,1,1,T4\n", "f.csv:2:1: sn \"\"; accepted: a name"},
       {kNodes + "a b,1,1,1,T4\n", "f.csv:2:2: text \"a b\"; accepted: printable"},
       {kNodes + "a,1,1,1,\"T4\"\n", "f.csv:2:9: text"},
       {kNodes + std::string("a\0,1,1,1,T4\n", 12), "f.csv:2:2: text \"a?\""}},
      true);
}

TEST(Openb, InvalidPods_ErrorSaysPlaceAndAccepted) {
  expectRefused(
      {{kNodes, "f.csv:1:1: header \"sn\"; accepted: \"name\""},
       {"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n",
        "f.csv:1:53: header \"\"; accepted: \"qos\""},
       {kPods + "a,1,1,1,1001\n", "f.csv:2:9: gpu_milli \"1001\"; accepted: a whole number from 0"},
       {kPods + "a,1,1,0,500\n", "f.csv:2:9: gpu_milli \"500\"; accepted: 0 without GPUs"},
       {kPods + "a,1,1,1,0\n", "f.csv:2:9: gpu_milli \"0\"; accepted: 1 to 1000"},
       {kPods + "a,1,1,2,500\n", "f.csv:2:9: gpu_milli \"500\"; accepted: 1000 of each"},
       {kMore + "a,1,1,1,500,T4||G2,LS,Running,1,2,3\n", "f.csv:2:13: gpu_spec \"T4||G2\""},
       {kMore + "a,1,1,1,500,|T4,LS,Running,1,2,3\n", "f.csv:2:13: gpu_spec"},
       {kMore + "a,1,1,1,500,T4,ls,Running,1,2,3\n",
        "f.csv:2:16: qos \"ls\"; accepted: LS, BE, Burstable, Guaranteed"},
       {kMore + "a,1,1,1,500,T4,LS,Run,1,2,3\n",
        "f.csv:2:19: pod_phase \"Run\"; accepted: Running"},
       {kMore + "a,1,1,1,500,T4,LS,Running,soon,2,3\n", "f.csv:2:27: creation_time \"soon\""}},
      false);
}

// What the fuzzer began with, and what it ever found.
TEST(Openb, FuzzCorpus_ReadOrRefused) {
  std::size_t files = 0;
  std::size_t rows = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(besideTests("corpus/fuzz_openb_csv"))) {
    std::size_t read = 0;
    EXPECT_EQ(faultOfReading(contentsOf(entry.path().string()), &read), "") << entry.path();
    ++files;
    rows += read;
  }
  EXPECT_GE(files, 7u);
  EXPECT_GE(rows, 20u);
}

}  // namespace
}  // namespace divvy::simulator
