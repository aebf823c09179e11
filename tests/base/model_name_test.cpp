#include "base/model_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace divvy {
namespace {

struct Row {
  const char* model;  // as its vendor's library, or HAMi's device plugin, calls it
  std::vector<const char*> named;
  std::vector<const char*> not_named;
};

const Row kProducts[] = {
    // NVIDIA, data centre.
    {"NVIDIA H20", {"H20", "h20", "nvidia h20", "NVIDIA-H20"}, {"H2", "H200", "20", "H"}},
    {"NVIDIA H20-3e", {"H20", "H20-3e"}, {"H200"}},
    {"NVIDIA-NVIDIA H20", {"H20", "NVIDIA H20"}, {"H200"}},
    {"NVIDIA H200", {"H200"}, {"H20", "H2", "200", "00"}},
    {"NVIDIA H200 NVL", {"H200", "H200 NVL", "NVL"}, {"H20"}},
    {"NVIDIA H100 80GB HBM3",
     {"H100", "H100 80GB", "80gb", "HBM3"},
     {"H10", "100", "H1000", "0GB"}},
    {"NVIDIA H100 PCIe", {"H100", "pcie"}, {"H800", "PCI"}},
    {"NVIDIA H800", {"H800"}, {"H80", "800"}},
    {"NVIDIA GH200 480GB", {"GH200", "GH200 480GB"}, {"H200", "H20"}},
    {"NVIDIA B200", {"B200"}, {"B20", "GB200"}},
    {"NVIDIA GB200", {"GB200"}, {"B200"}},
    {"NVIDIA A100-SXM4-80GB",
     {"A100", "SXM4", "80GB", "A100-SXM4", "A100-SXM4-80GB", "a100 sxm4 80gb", "SXM4-80GB"},
     {"A10", "A1", "A100-80GB", "0GB", "100-SXM4", "A100-SXM4-8"}},
    {"NVIDIA A100 80GB PCIe", {"A100", "A100 80GB", "A100-80GB"}, {"A10", "A100 PCIe"}},
    {"NVIDIA A800-SXM4-80GB", {"A800"}, {"A80", "A100"}},
    {"NVIDIA A10", {"A10"}, {"A100", "A1"}},
    {"NVIDIA A10G", {"A10G"}, {"A10"}},
    {"NVIDIA A2", {"A2"}, {"A", "A20"}},
    {"NVIDIA A30", {"A30"}, {"A3", "A300"}},
    {"NVIDIA A40", {"A40"}, {"A4"}},
    {"NVIDIA RTX A4000", {"A4000", "RTX A4000"}, {"A40", "A400", "4000"}},
    {"NVIDIA L4", {"L4"}, {"L40", "L"}},
    {"NVIDIA L20", {"L20"}, {"L2"}},
    {"NVIDIA L40", {"L40"}, {"L4", "L40S"}},
    {"NVIDIA L40S", {"L40S", "l40s"}, {"L40", "L4"}},
    {"Tesla T4", {"T4", "tesla t4", "TeslaT4"}, {"T", "T40"}},
    {"Tesla P4", {"P4"}, {"P40"}},
    {"Tesla P40", {"P40"}, {"P4"}},
    {"Tesla V100-SXM2-32GB", {"V100", "V100-SXM2", "32gb"}, {"V10", "V100S", "2GB"}},
    {"Tesla V100S-PCIE-32GB", {"V100S"}, {"V100"}},
    {"NVIDIA A100-SXM4-80GB MIG 3g.40gb", {"3g.40gb", "MIG 3g.40gb", "MIG"}, {"g.40gb", "1g.5gb"}},
    // NVIDIA, GeForce and RTX.
    {"NVIDIA GeForce RTX 4090",
     {"4090", "RTX 4090", "rtx4090", "RTX-4090", "GeForce", "GeForce RTX 4090"},
     {"409", "90", "4090 D", "RTX 409", "TX 4090"}},
    {"NVIDIA GeForce RTX 4090 D", {"4090", "4090 D", "4090D", "rtx4090d"}, {"4090 Ti"}},
    {"NVIDIA RTX4090", {"4090", "RTX 4090", "RTX"}, {"409"}},
    {"NVIDIA RTX 4090D", {"4090D", "RTX 4090D"}, {"4090"}},
    {"NVIDIA GeForce RTX 4070 Ti SUPER", {"4070", "4070 Ti", "4070 Ti SUPER"}, {"4070 SUPER"}},
    {"NVIDIA GeForce RTX 3090", {"3090"}, {"309", "3090 Ti"}},
    {"NVIDIA GeForce RTX 5090", {"5090"}, {"509"}},
    {"NVIDIA GeForce GTX 1080 Ti", {"1080", "GTX 1080 Ti", "gtx1080ti"}, {"108", "RTX 1080"}},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition",
     {"RTX PRO 6000", "Blackwell", "6000"},
     {"RTX 6000", "600"}},
    // Ascend.
    {"Ascend910A", {"910A", "Ascend910A", "Ascend 910A"}, {"910", "910B", "10A"}},
    {"Ascend910B4",
     {"910B4", "910B", "Ascend910B", "Ascend910B4"},
     {"910A", "910", "910B2", "10B4"}},
    {"Ascend910B", {"910B"}, {"910B4", "910"}},
    {"Ascend310P", {"310P", "Ascend310P"}, {"310", "910P", "310P3"}},
    {"Ascend310P3", {"310P3", "310P"}, {"310"}},
    // Cambricon MLU, Hygon DCU, Kunlun, MetaX, Iluvatar, Enflame, Moore Threads, AMD.
    {"MLU370-X8", {"MLU370", "370", "MLU370-X8", "X8"}, {"MLU37", "MLU3", "X"}},
    {"MLU590", {"MLU590", "mlu 590"}, {"MLU59"}},
    {"DCU-Z100L", {"Z100L", "DCU"}, {"Z100"}},
    {"K100_AI", {"K100", "K100_AI", "k100 ai"}, {"K10"}},
    {"Kunlun P800", {"P800", "Kunlun"}, {"P80", "800"}},
    {"MXC500", {"MXC500"}, {"MXC50", "C50"}},
    {"Iluvatar BI-V150", {"BI-V150", "V150", "BI"}, {"V15", "V100"}},
    {"Iluvatar MR-V100", {"MR-V100"}, {"BI-V100", "V10"}},
    {"Enflame S60", {"S60", "Enflame S60"}, {"S6", "S600"}},
    {"MTT S4000", {"S4000", "MTT S4000"}, {"S400", "S40"}},
    {"AMD Instinct MI300X", {"MI300X", "Instinct", "mi300x"}, {"MI300", "MI30", "MI300A"}},
    {"AMD Instinct MI210", {"MI210"}, {"MI21", "MI2100"}},
    // Names beyond ASCII.
    {"昇腾910B4", {"昇腾", "910B", "昇腾910B4"}, {"昇", "显卡", "910A"}},
    {"显卡 H20", {"显卡", "H20", "Ｈ２０", "显卡H20"}, {"显", "H200"}},
};

TEST(ModelName, Products_NamedByFullWordsOnly) {
  static_assert(std::size(kProducts) >= 40);
  for (const Row& row : kProducts) {
    EXPECT_TRUE(namesModel(row.model, row.model)) << row.model;
    for (const char* pattern : row.named)
      EXPECT_TRUE(namesModel(pattern, row.model)) << pattern << " names " << row.model;
    for (const char* pattern : row.not_named)
      EXPECT_FALSE(namesModel(pattern, row.model)) << pattern << " does not name " << row.model;
  }
}

TEST(ModelName, PatternWithoutLetter_NamesNoModel) {
  for (const char* pattern :
       {"", " ", " - ", "...", "*", "\t\n", "　", "（）", "®™", "\xEF\xBB\xBF"}) {
    EXPECT_FALSE(isModelPattern(pattern)) << '"' << pattern << '"';
    for (const Row& row : kProducts) EXPECT_FALSE(namesModel(pattern, row.model)) << row.model;
  }
  for (const char* pattern : {"显卡", "H20", "-4090-", "é", "４"})
    EXPECT_TRUE(isModelPattern(pattern)) << pattern;
}

TEST(ModelName, OtherScript_NamesNoAsciiModel) {
  for (const Row& row : kProducts) {
    const bool has = std::string(row.model).find("显卡") != std::string::npos;
    EXPECT_EQ(namesModel("显卡", row.model), has) << row.model;
  }
}

TEST(ModelName, InvalidUtf8_ComparedAsBytes) {
  EXPECT_TRUE(namesModel("\xFF", "card \xFF 1"));
  EXPECT_FALSE(namesModel("\xFF", "card \xFE 1"));
  EXPECT_FALSE(namesModel("\xE6\x98", "显卡"));
  EXPECT_TRUE(namesModel("H20", "H20 \xE6"));
}

}  // namespace
}  // namespace divvy
