#include "api/size_reply.h"

#include <gtest/gtest.h>

#include <string>

#include <boost/json.hpp>

#include "sizing/catalog.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

http::Answer asked(const std::string& words) {
  http::Query query;
  query.parameters = *http::parseParameters(words);
  return sizeAnswer(query);
}

bj::value bodyOf(const http::Answer& answer) {
  return bj::parse(answer.body);
}

TEST(SizeAnswer, EachNamedModel_HasRequestAndManifest) {
  const bj::value names = bodyOf(sizeNames());
  ASSERT_EQ(names.at("models").as_array().size(), sizing::catalog().size());
  for (const bj::value& model : names.at("models").as_array()) {
    const std::string name(model.at("name").get_string());
    const http::Answer answer = asked("model=" + name);
    ASSERT_EQ(answer.status, 200u) << name << answer.body;
    const bj::value body = bodyOf(answer);
    const auto bytes = body.at("size").at("memory_bytes").to_number<std::uint64_t>();
    EXPECT_EQ(body.at("memory").get_string(), std::to_string(bytes >> 20) + "Mi") << name;
    std::uint64_t sum = 0;
    for (const bj::value& term : body.at("size").at("terms").as_array())
      sum += term.at("bytes").to_number<std::uint64_t>();
    EXPECT_EQ(sum, bytes) << name;
    EXPECT_NE(body.at("manifest").get_string().find("kind: Deployment"), std::string::npos);
  }
}

TEST(SizeAnswer, DeviceTooSmall_NoManifestAndShortfall) {
  const bj::value body =
      bodyOf(asked("model=llama-3-8b&concurrency=16&context=8k&gpu=4090&gpus=1"));
  EXPECT_FALSE(body.at("fits").get_bool());
  EXPECT_TRUE(body.at("manifest").is_null());
  EXPECT_NE(body.at("summary").get_string().find("does not fit on rtx4090"), std::string::npos);
}

TEST(SizeAnswer, UnknownWords_RefusedWithAccepted) {
  const struct {
    std::string words, message;
  } cases[] = {{"", "model \"\" is not known"},
               {"model=gpt-99", "accepted: a name of GET /size/names"},
               {"model=/etc/passwd", "accepted: a name of GET /size/names"},
               {"model=llama-3-8b&context=0", "context \"0\" is not accepted"},
               {"model=llama-3-8b&dtype=fp3", "dtype \"fp3\" is not known"},
               {"model=llama-3-8b&gpus=99", "gpus \"99\" is not accepted"},
               {"model=llama-3-8b&gpu=zx81", "gpu \"zx81\" is not known"},
               {"model=llama-3-8b&size=1", "concurrency"}};
  for (const auto& one : cases) {
    const http::Answer answer = asked(one.words);
    EXPECT_EQ(answer.status, 400u) << one.words;
    const bj::value body = bodyOf(answer);
    const std::string message(body.at("error").at("message").get_string());
    EXPECT_NE(message.find(one.message), std::string::npos) << message;
    EXPECT_EQ(message.find("--"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace divvy::console
