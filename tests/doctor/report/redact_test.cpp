// What must never be sent is not, wherever it stood.
#include "doctor/redact.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/rng.h"
#include "doctor/redacted_object.h"

namespace divvy::doctor {
namespace {

namespace json = boost::json;

TEST(Redact, SecretPatterns_RemovedFromText) {
  const std::string token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrOHMifQ.c2lnbmF0dXJl";
  const struct {
    std::string text, left;
  } cases[] = {
      {"Authorization: Bearer abc.def/ghi= end", "Authorization: Bearer (left out) end"},
      {"it said " + token + " twice", "it said (left out) twice"},
      {"a -----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY----- b", "a (left out) b"},
      {"cut -----BEGIN PRIVATE KEY-----\nMHcC", "cut (left out)"},
      {"PASSWORD=hunter2 token=xyz", "PASSWORD=(left out) token=(left out)"},
      {"GPU-5c2e of eyJ no token, bearer of news",
       "GPU-5c2e of eyJ no token, bearer (left out) news"},
      {"nothing here", "nothing here"},
      {"", ""}};
  for (const auto& one : cases) EXPECT_EQ(withoutSecrets(one.text), one.left);
}

// Only "password=" and "password: " were known, up to the first character that no token has.
TEST(Redact, QuotedOrSpacedSecrets_RemovedFromText) {
  const struct {
    std::string text, left;
  } cases[] = {{R"(password: "hunter2" user: bob)", R"x(password: "(left out)" user: bob)x"},
               {R"({"token":"x","n":1})", R"x({"token":"(left out)","n":1})x"},
               {R"({"Password" : "a b\"c, d","n":1})", R"x({"Password" : "(left out)","n":1})x"},
               {R"(in another: {\"token\":\"x \\\" y\",\"n\":1})",
                R"x(in another: {\"token\":\"(left out)\",\"n\":1})x"},
               {R"({"token":12345,"n":1})", R"x({"token":(left out),"n":1})x"},
               {"password: 'it''s me' end", "password: '(left out)' end"},
               {"password: \"cut off", "password: \"(left out)"},
               {"password:x", "password:(left out)"},
               {"password = x\nuser = bob", "password = (left out)\nuser = bob"},
               {"password := x", "password := (left out)"},
               {"password=ab!cd, end", "password=(left out) end"},
               {"api_key=1 apiKey: 2 X-Api-Key:3",
                "api_key=(left out) apiKey: (left out) X-Api-Key:(left out)"},
               {"AWS_SECRET_ACCESS_KEY=a/b+c client-secret=d",
                "AWS_SECRET_ACCESS_KEY=(left out) client-secret=(left out)"},
               {"Authorization: Basic dTpw== end", "Authorization: Basic (left out) end"},
               {"Bearer  \"a.b\" end", "Bearer  \"(left out)\" end"},
               {"authorization: Digest a=1, b=2\nnext", "authorization: (left out)\nnext"},
               {R"({"Authorization":"Basic a b"})", R"x({"Authorization":"(left out)"})x"},
               {"from https://u:p@h:1/x?y", "from https://(left out)@h:1/x?y"},
               {"git+ssh://t@h, https://h/a@b", "git+ssh://(left out)@h, https://h/a@b"},
               {"password: ", "password: "},
               {"the token of divvy-agent, a secret", "the token of divvy-agent, a secret"}};
  for (const auto& one : cases) {
    EXPECT_EQ(withoutSecrets(one.text), one.left);
    EXPECT_EQ(withoutSecrets(one.left), one.left) << "what is clean stays as it is";
  }
}

TEST(Redact, SecretMembers_ValuesRemoved) {
  const json::value before = json::parse(
      R"({"db-password": "a b", "API_KEY": ["c", "d"], "token": "", "tokens": 2, "n": "e"})");
  EXPECT_EQ(json::serialize(redacted(before, nullptr)),
            R"x({"db-password":"(left out)","API_KEY":["(left out)","(left out)"],"token":"",)x"
            R"("tokens":2,"n":"e"})");
}

// Wherever a secret stands in whatever surroundings: nothing of it is left.
TEST(Redact, RandomSecrets_NoneLeft) {
  Rng rng(20261125);
  const std::vector<std::string> words{"password", "TOKEN", "my_api_key", "Secret", "access-key"};
  for (int round = 0; round < 3000; ++round) {
    std::string secret = "Z";
    for (std::size_t i = 0; i < 1 + rng.below(12); ++i)
      secret += "ZQ!$%&/()[]{},;.:=~+|<>"[rng.below(23)];
    const std::string quote(1, "\"'"[rng.below(2)]);
    std::string value = secret;
    std::string word = words[rng.below(words.size())];
    const bool quoted = rng.below(2) == 0;
    if (quoted) value = quote + secret + " " + secret + quote;
    if (quoted && rng.below(2) == 0) word = quote + word + quote;
    const std::string blanks[] = {"", " ", "  ", "\t"};
    const std::string text = "some words " + word + blanks[rng.below(4)] + ":="[rng.below(2)] +
                             blanks[rng.below(4)] + value + " more";
    const std::string out = withoutSecrets(text);
    EXPECT_EQ(out.find_first_of("ZQ!$%&/[]{}"), std::string::npos) << text << "\n" << out;
    EXPECT_NE(out.find(" more"), std::string::npos) << text << "\n" << out;
  }
}

TEST(Redact, KnownNames_SameNumberEverywhere) {
  NameRedactor names;
  names.know("namespace", "team-a");
  names.know("pod", "web");
  names.know("pod", "web-1");
  names.know("pod", "web");
  names.know("namespace", "kube-system");
  names.know("pod", "");
  EXPECT_EQ(names.replaced("team-a/web-1 beside team-a/web; webhook, cobweb, web_uid, web."),
            "namespace-1/pod-2 beside namespace-1/pod-1; webhook, cobweb, pod-1_uid, pod-1.");
  EXPECT_EQ(names.replaced("kube-system"), "kube-system");
  EXPECT_EQ(names.replaced(""), "");
}

// No known name is left as a word of its own, whatever the names and the text.
TEST(Redact, RandomNames_NoneLeft) {
  Rng rng(20261124);
  for (int round = 0; round < 300; ++round) {
    NameRedactor names;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < 1 + rng.below(6); ++i) {
      std::string name = "x";
      for (std::size_t j = 0; j < 1 + rng.below(4); ++j) name += "xy-z"[rng.below(4)];
      name += 'q';
      all.push_back(name);
      names.know("pod", name);
    }
    std::string text;
    for (std::size_t i = 0; i < 20; ++i)
      text += all[rng.below(all.size())] + std::string(1, " /_.,:\"(\n"[rng.below(9)]);
    const std::string out = names.replaced(text);
    EXPECT_EQ(out.find('q'), std::string::npos) << text << "\n" << out;
  }
}

TEST(Redact, DottedNames_LongestMatchReplaced) {
  NameRedactor names;
  for (const char* name : {"web", "web.example.com", "a..b", "1.2.3.4", "https://1.2.3.4"})
    names.know("n", name);
  EXPECT_EQ(names.replaced("web.example.com web.example web.example.comx web.example.com-1"),
            "n-2 n-1.example n-1.example.comx n-1.example.com-1");
  EXPECT_EQ(names.replaced("web.example.com. a..b a.b https://1.2.3.4:6443 11.2.3.4"),
            "n-2. n-3 a.b n-5:6443 11.2.3.4");
}

// Each byte of a text was compared to each name: with 50,000 pods a bundle was never done.
TEST(Redact, FiftyThousandNames_WorkDoesNotGrow) {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text +=
        "pod team-a/web." + std::to_string(i) + " waits on node-" + std::to_string(i) + ".eu.x; ";
  std::size_t work[2] = {0, 0};
  const int counts[] = {50, 50000};
  for (const int at : {0, 1}) {
    NameRedactor names;
    for (int i = 0; i < counts[at]; ++i) {
      names.know("pod", "web." + std::to_string(i));
      names.know("pod", "train-" + std::to_string(i));
      names.know("node", "node-" + std::to_string(i) + ".eu.x");
    }
    const std::string out = names.replaced(text, &work[at]);
    EXPECT_EQ(out.substr(0, 38), "pod team-a/pod-1 waits on node-1; pod ");
    EXPECT_EQ(out.find("web") == std::string::npos, at == 1);
  }
  EXPECT_LE(work[1], 2 * work[0]);
  EXPECT_LE(work[1], text.size());
}

json::value podWithCanaries() {
  return json::parse(R"({
    "metadata": {"name": "web", "namespace": "team-a",
      "annotations": {"hami.io/vgpu-devices-allocated": "GPU-1,NVIDIA,100,10:",
                      "corp.example/owner": "CANARY-annotation"},
      "labels": {"secret-project": "CANARY-label"},
      "managedFields": [{"manager": "CANARY-manager"}]},
    "spec": {"nodeName": "gpu-1", "schedulerName": "divvy-scheduler",
      "imagePullSecrets": [{"name": "CANARY-pull"}],
      "volumes": [{"name": "v", "secret": {"secretName": "CANARY-volume"}}],
      "initContainers": [{"name": "init", "image": "CANARY-image",
        "env": [{"name": "A", "value": "CANARY-env"}]}],
      "containers": [{"name": "c", "image": "CANARY-image", "command": ["CANARY-command"],
        "args": ["--password", "CANARY-arg"], "env": [{"name": "KEY", "value": "CANARY-env"}],
        "resources": {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "4096"},
                      "requests": {"cpu": {"odd": "CANARY-odd"}}}}]},
    "status": {"phase": "Running", "podIP": "CANARY-ip",
      "conditions": [{"type": "Ready", "status": "False", "message": "CANARY-message"}]}})");
}

TEST(RedactedObject, Pod_OnlyListedMembersKept) {
  const json::object out = podExcerpt(podWithCanaries());
  const std::string text = json::serialize(out);
  EXPECT_EQ(text.find("CANARY"), std::string::npos) << text;
  EXPECT_EQ(out.at("annotations").at("hami.io/vgpu-devices-allocated").as_string(),
            "GPU-1,NVIDIA,100,10:");
  EXPECT_EQ(out.at("containers").at(0).at("limits").at("nvidia.com/gpumem").as_string(), "4096");
  EXPECT_EQ(out.at("other_labels_and_annotations").to_number<int>(), 2);
}

TEST(RedactedObject, NodeConfigMapAndEvent_OnlyListedMembersKept) {
  const json::value node = json::parse(R"({"metadata": {"name": "gpu-1",
      "annotations": {"hami.io/node-nvidia-register": "[]", "corp/x": "CANARY"}},
    "spec": {"providerID": "CANARY", "podCIDR": "CANARY"},
    "status": {"addresses": [{"type": "InternalIP", "address": "CANARY"}],
      "images": [{"names": ["CANARY"]}], "allocatable": {"nvidia.com/gpu": "10"},
      "nodeInfo": {"machineID": "CANARY", "kubeletVersion": "v1.34.4"}}})");
  const std::string text = json::serialize(nodeExcerpt(node));
  EXPECT_EQ(text.find("CANARY"), std::string::npos) << text;
  EXPECT_NE(text.find("v1.34.4"), std::string::npos);
  const json::value foreign =
      json::parse(R"({"metadata": {"name": "app", "labels": {}}, "data": {"password": "CANARY"}})");
  EXPECT_EQ(json::serialize(configMapExcerpt(foreign)).find("CANARY"), std::string::npos);
  const json::value kubelets = json::parse(
      R"({"reason": "Failed", "message": "exec: CANARY", "source": {"component": "kubelet"}})");
  EXPECT_FALSE(isTold(kubelets));
  const json::value ours =
      json::parse(R"({"reason": "FailedScheduling", "reportingComponent": "divvy-scheduler"})");
  EXPECT_TRUE(isTold(ours));
}

// Objects that are none: nothing is taken, and nothing breaks.
TEST(RedactedObject, NoObject_EmptyResult) {
  for (const char* text : {"null", "[]", "7", "\"x\"", "{}", R"({"metadata": 7, "spec": []})",
                           R"({"metadata": {"annotations": [1]}, "status": {"conditions": {}}})"}) {
    const json::value value = json::parse(text);
    for (json::object (*excerpt)(const json::value&) :
         {nodeExcerpt, podExcerpt, leaseExcerpt, configMapExcerpt, eventExcerpt})
      EXPECT_FALSE(excerpt(value).contains("name")) << text;
    EXPECT_FALSE(isTold(value));
  }
}

TEST(Redact, Document_ShapeKept) {
  const json::value before =
      json::parse(R"({"web": ["web", 1, null, true, {"deep": "Bearer abc"}], "n": 1.5})");
  NameRedactor names;
  names.know("pod", "web");
  const std::string after =
      "{\"web\":[\"pod-1\",1,null,true,{\"deep\":\"Bearer (left out)\"}],\"n\":1.5E0}";
  EXPECT_EQ(json::serialize(redacted(before, &names)), after);
  EXPECT_EQ(redacted(before, nullptr).at("web").at(0).as_string(), "web");
}

}  // namespace
}  // namespace divvy::doctor
