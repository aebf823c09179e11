// Any bytes as a body of /filter: refused with a reason, or answered with JSON; and names are read
// as a reader of all of JSON reads them.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "extender.h"
#include "kube/registration.h"
#include "scheduler/books.h"

using namespace divvy;
using namespace divvy::scheduler;
namespace json = boost::json;

namespace {

void need(bool so) {
  if (!so) std::abort();
}

kube::Node node(const std::string& name) {
  kube::Node made;
  made.meta.name = made.meta.uid = name;
  kube::RegisteredDevice device;
  device.id = "GPU-" + name;
  device.count = 2;
  device.mebibytes = 1000;
  device.cores = 100;
  device.healthy = true;
  made.meta.annotations["hami.io/node-nvidia-register"] = kube::encode({device, device});
  return made;
}

void checkNames(std::string_view body, const FilterAsk& ask) {
  boost::system::error_code fault;
  const json::value all = json::parse(json::string_view(body.data(), body.size()), fault);
  if (fault) return;  // what nobody reads may be wrong
  const json::value* names = all.get_object().if_contains("NodeNames");
  if (names == nullptr || !names->is_array()) return;
  need(names->get_array().size() == ask.names.size());
  for (std::size_t at = 0; at < ask.names.size(); ++at)
    need(std::string_view(names->get_array()[at].get_string()) == ask.names[at]);
}

void checkAnswer(const std::string& answer) {
  boost::system::error_code fault;
  const json::value said = json::parse(answer, fault);
  need(!fault && said.is_object() && said.get_object().contains("Error"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const Result<FilterAsk> ask = parseFilter(body);
  if (!ask) {
    need(!ask.error().message().empty());
    return 0;
  }
  checkNames(body, *ask);
  Books books(catalog, {});
  for (const char* name : {"a", "b"}) (void)books.setNode(node(name));
  const Result<Choice> supposed = books.wouldFit(ask->pod, ask->nodes);
  const Result<Choice> all = books.fitting(ask->pod, ask->names);
  const Result<Choice> one = books.choose(ask->pod, ask->names, {1});
  for (const Result<Choice>* choice : {&supposed, &all, &one})
    if (*choice) checkAnswer(filterAnswer(*ask, **choice));
  checkAnswer(filterNever(*ask, "never"));
  const Result<std::vector<unsigned>> scores = books.scores(ask->pod, ask->names);
  if (!scores) return 0;
  boost::system::error_code fault;
  const json::value said = json::parse(prioritizeAnswer(*ask, *scores), fault);
  need(!fault && said.is_array() && said.get_array().size() == ask->names.size());
  return 0;
}
