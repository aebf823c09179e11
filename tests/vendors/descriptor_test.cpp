// Descriptors: those that are built in, and what is wrong with others.
#include "vendors/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "built_in_text.h"
#include "vendors/ask.h"
#include "vendors/catalog.h"

namespace divvy::vendors {
namespace {

using testing::HasSubstr;

TEST(Descriptor, BuiltIn_AllCanBeRead) {
  std::size_t kinds = 0;
  for (const BuiltInText& text : builtInTexts()) {
    const auto read = parseDescriptor(text.yaml, text.source);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_THAT(text.source, HasSubstr("/" + read->vendor + "/"));
    kinds += read->kinds.size();
  }
  EXPECT_EQ(builtIn().size(), builtInTexts().size());
  const auto catalog = Catalog::of(builtIn());
  ASSERT_TRUE(catalog) << catalog.error().message();
  EXPECT_EQ(catalog->kinds().size(), kinds);
}

TEST(Descriptor, Resource_OwnerIsFound) {
  const auto catalog = Catalog::of(builtIn());
  ASSERT_TRUE(catalog);
  ASSERT_NE(catalog->owner("nvidia.com/gpucores"), nullptr);
  EXPECT_EQ(catalog->owner("nvidia.com/gpucores")->name, "NVIDIA");
  EXPECT_EQ(catalog->owner("nvidia.com/priority")->name, "NVIDIA");
  // A name that is the beginning of another one's.
  EXPECT_EQ(catalog->owner("huawei.com/Ascend910B4-memory")->name, "Ascend910B4");
  EXPECT_EQ(catalog->owner("huawei.com/Ascend910B4-1-memory")->name, "Ascend910B4-1");
  EXPECT_EQ(catalog->owner("huawei.com/Ascend910B4-1")->name, "Ascend910B4-1");
  ASSERT_NE(catalog->owner("nvidia.com/mig-1g.5gb"), nullptr);
  EXPECT_EQ(catalog->owner("nvidia.com/mig-1g.5gb")->name, "NVIDIA");
  EXPECT_EQ(catalog->owner("nvidia.com/mig"), nullptr);
  EXPECT_EQ(catalog->kind("nvidia"), nullptr);
}

// What is placed names where devices are registered and written, each key once: two kinds that
// share one would take each other's devices.
TEST(Descriptor, DialectKeys_BelongToOneKind) {
  std::set<std::string> allocated, registered;
  for (const Descriptor& descriptor : builtIn()) {
    for (const Kind& kind : descriptor.kinds) {
      if (kind.name == "Enflame-VGCU") {
        EXPECT_FALSE(kind.wire.placed());
        continue;
      }
      EXPECT_TRUE(kind.wire.placed()) << kind.name;
      EXPECT_TRUE(allocated.insert(kind.wire.pod.allocated).second) << kind.wire.pod.allocated;
      const NodeDialect& node = kind.wire.node;
      EXPECT_TRUE(registered.insert(node.annotation + node.resource).second) << kind.name;
    }
  }
}

TEST(Descriptor, Templates_AreFilled) {
  const auto upper = [](std::string_view name) { return '<' + std::string(name) + '>'; };
  EXPECT_EQ(fill("{node}-x-{index}", upper), "<node>-x-<index>");
  EXPECT_EQ(fill("", upper), "");
  EXPECT_EQ(fill("a{b", upper), "a{b");
  EXPECT_EQ(fill("}{}", upper), "}<>");
}

TEST(Descriptor, NamedVendors_OnlyThoseKept) {
  const auto some = only(builtIn(), {"hygon", "ascend"});
  ASSERT_TRUE(some);
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ(some->front().vendor, "ascend");
  EXPECT_EQ(only(builtIn(), {})->size(), builtIn().size());
  const auto none = only(builtIn(), {"intel"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("vendor \"intel\" is unknown; accepted: amd, "));
}

TEST(Descriptor, DuplicateKind_IsRefused) {
  std::vector<Descriptor> twice = builtIn();
  twice.push_back(twice.front());
  const auto catalog = Catalog::of(twice);
  ASSERT_FALSE(catalog);
  EXPECT_THAT(catalog.error().message(), HasSubstr(twice.front().kinds.front().name));
}

TEST(ModelResources, ValidList_AddedToKind) {
  std::vector<Descriptor> all = *only(builtIn(), {"nvidia"});
  const std::size_t before = all[0].kinds[0].of_models.size();
  ASSERT_TRUE(
      addModelResources("model_resources:\n"
                        "- {kind: NVIDIA, resource: sf.com/vgpu-number-l20, models: [L20]}\n"
                        "- {kind: NVIDIA, resource: divvy.dev/gpu-a100, models: [A100, A800]}\n"
                        "- {kind: AWSNeuron, resource: a.b/inf2, models: [inf2]}\n",
                        "f.yaml", &all));
  EXPECT_EQ(all[0].kinds[0].of_models.size(), before + 1);
  const auto catalog = Catalog::of(all);
  ASSERT_TRUE(catalog);
  EXPECT_EQ(catalog->owner("sf.com/vgpu-number-l20")->name, "NVIDIA");
  EXPECT_EQ(catalog->owner("a.b/inf2"), nullptr);  // of a vendor that is not placed here
  const auto asks = readRequests(*catalog, {{"divvy.dev/gpu-a100", "1"}}, {});
  ASSERT_TRUE(asks);
  EXPECT_EQ(asks->at(0).of_model->models, (std::vector<std::string>{"A100", "A800"}));
}

TEST(ModelResources, InvalidList_NamedAndNothingChanged) {
  const std::string head = "model_resources:\n- ";
  for (const auto& [yaml, says] : std::vector<std::pair<std::string, std::string>>{
           {"models: []\n", "unknown key"},
           {head + "{kind: GPU, resource: a/b, models: [c]}\n", "\"GPU\" is not known"},
           {head + "{kind: NVIDIA, resource: a/b}\n", "lacks models"},
           {head + "{resource: a/b, models: [c]}\n", "lacks kind"},
           {head + "{kind: NVIDIA, resource: a/b, models: ['-']}\n", "accepted: whole words"},
           {head + "{kind: NVIDIA, resource: b, models: [c]}\n", "with a domain"}}) {
    std::vector<Descriptor> all = builtIn();
    const auto read = addModelResources(yaml, "f.yaml", &all);
    ASSERT_FALSE(read) << yaml;
    EXPECT_THAT(read.error().message(), HasSubstr("f.yaml:"));
    EXPECT_THAT(read.error().message(), HasSubstr(says));
    EXPECT_EQ(all.size(), builtIn().size());
  }
}

constexpr const char* kHead = "vendor: v\nkinds:\n  - name: K\n";

TEST(Descriptor, InvalidText_ErrorNamesPlace) {
  const std::string head = kHead;
  const std::string count = head + "    count: {resource: r}\n";
  const std::string parts = count + "    partitions: {annotation: a, value: v, ";
  const std::string layout = parts + "layouts: [{name: l, slices: 4, compute: 4, instances: ";
  const std::string wire = count + "    wire: ";
  const std::string node = wire + "{node: {form: json, annotation: n}, ";
  const std::string further = node + "pod: {type: t, allocated: a, further: ";
  const std::string one = "[{size: 1, compute: 1, starts: [0]}]}], ";
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"", "", "accepted: a map"},
      {"vendor: v\n", ":1:1", "lacks kinds"},
      {"vendor: v\nkinds: []\n", ":2:8", "accepted: a list that is not empty"},
      {"vendor: v\nkinds: 3\n", ":2:8", "accepted: a list"},
      {"vendor: v\nkind: 3\n", ":2:1", "unknown key \"kind\"; accepted: vendor, kinds"},
      {head, ":3:5", "lacks count or slice"},
      {head + "    count: {}\n", ":4:12", "lacks resource"},
      {head + "    count: {resource: r, absent: -1}\n", ":4:34", "from 0 to 1024"},
      {head + "    count: {resource: r, pairs: yes}\n", ":4:33", "accepted: true or false"},
      {count + "    count: {resource: s}\n", ":5:5", "twice"},
      {count + "    memory: {unit: 1Mi}\n", ":5:13", "lacks resource or percent"},
      {count + "    memory: {resource: m, unit: much}\n", ":5:33", "accepted: a positive number"},
      {count + "    memory: {resource: m, unit: 5Gi}\n", ":5:33", "at most 4 GiB"},
      {count + "    memory: {resource: m, steps: [2Gi, 1Gi]}\n", ":5:34", "do not ascend"},
      {count + "    cores: {resource: c, above: ignore}\n", ":5:33", "accepted: clamp"},
      {count + "    cores: {follow: memory}\n", ":3:5", "lacks"},
      {count + "    cores: {resource: c, per_card: 0}\n", ":5:36", "from 1"},
      {count + "    cores: {resource: c, absent: 101}\n", ":5:34", "from 0 to 100"},
      {parts + "layouts: [{name: l, slices: 17, compute: 1, instances: []}]}\n", ":5:71",
       "from 1 to 16"},
      {layout + "[{size: 2, compute: 1, starts: [0, 3]}]}]}\n", ":5:132", "from 0 to 2"},
      {layout + "[{size: 1, compute: 1, starts: [1, 0]}]}]}\n", "", "do not ascend"},
      {layout + "[{size: 2, compute: 1, starts: [0]}, {size: 1, compute: 1, starts: [0]}]}]}\n", "",
       "ascend by size"},
      {layout + one + "geometries: [{models: [a], layout: k, slice: 1Gi, instances: [x]}]}\n", "",
       "layout \"k\" is not there"},
      {layout + one + "geometries: [{models: [a], layout: l, slice: 1Gi, instances: [x, y]}]}\n",
       "", "2 instances; accepted: as many as the layout has"},
      {layout + one + "geometries: [{models: [{}], layout: l, slice: 1Gi, instances: [x]}]}\n", "",
       "words of a model's name"},
      {count + "    many: parts\n", ":5:11", "accepted: whole cards, no parts"},
      {count + "    card: {memory: 1Gi, usable: 2Gi}\n", ":5:33", "more than memory"},
      {count +
           "    card: {memory: 1Gi, cores: 2}\n    templates: [{name: t, memory: 2Gi, cores: 1}]\n",
       ":6:17", "more than the device"},
      {count + "    soft_split: {annotation: a}\n", ":5:17", "lacks value"},
      {count + "    select: {uuid: {use: a}}\n", ":5:14", "unknown key \"uuid\""},
      {wire + "{}\n", ":5:11", "lacks node"},
      {wire + "{node: {form: json}, pod: {}}\n", ":5:18", "lacks annotation"},
      {wire + "{node: {form: xml, annotation: a}, pod: {}}\n", ":5:25", "accepted: json, list"},
      {wire + "{node: {form: capacity, resource: r}, pod: {}}\n", ":5:18", "lacks id"},
      {node + "pod: {type: t}}\n", "", "lacks allocated"},
      {node + "pod: {type: t, allocated: a, cores: all}}\n", "", "accepted: percent, units"},
      {further + "[{key: k}]}}\n", "", "accepted: one of value, first, each, form"},
      {further + "[{key: k, value: a, form: metax}]}}\n", "", "accepted: one of value"},
      {further + "[{key: k, value: '{index}'}]}}\n", "", "\"index\" in braces; accepted: node"},
      {further + "[{key: k, form: xml}]}}\n", "", "accepted: ascend, metax"},
      {node + "pod: {type: t, allocated: a}, door: {env: [{name: E}]}}\n", "", "lacks value"},
      {"vendor: [\n", ":", ""},
      {"a: &x [*x]\n---\n", "", ""},
      {"--- 1\n--- 2\n", ":2:1", "another document"},
      {",vendor: e", ":", ""},
  };
  for (const auto& [yaml, at, says] : cases) {
    const auto read = parseDescriptor(yaml, "file.yaml");
    ASSERT_FALSE(read) << yaml;
    EXPECT_EQ(read.error().code(), ErrorCode::kUsage);
    EXPECT_THAT(read.error().message(), HasSubstr("file.yaml" + at)) << yaml;
    EXPECT_THAT(read.error().message(), HasSubstr(says)) << yaml;
  }
}

}  // namespace
}  // namespace divvy::vendors
