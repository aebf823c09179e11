// Lists all pods of a cluster as JSON and in protobuf, and prints which of them, of the same
// version, say the same in both: {"same": ["NAMESPACE/NAME"], "different": [..], "as_json": 0}.
// `as_json`: pods that were to come in protobuf and did not.
//
//   pod_forms KUBECONFIG
#include <cstdio>
#include <map>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include "kube/access.h"
#include "kube/client.h"
#include "kube/pod.h"

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace divvy;

struct Forms {
  std::map<std::string, kube::Pod> texts;
  json::array same, different;
  std::size_t as_json = 0;
  std::string fault;

  void compare(const kube::Pod& pod) {
    const std::string name = pod.meta.namespace_name + '/' + pod.meta.name;
    const auto other = texts.find(name);
    // It is another by now.
    if (other == texts.end() || other->second.meta.version != pod.meta.version) return;
    (other->second == pod ? same : different).push_back(json::string(name));
  }
};

asio::awaitable<void> readBoth(kube::Client& client, Forms* forms) {
  const std::string path = "/api/v1/pods";
  const auto keep = [forms](const json::value& item) {
    Result<kube::Pod> pod = kube::podOf(item);
    if (!pod) forms->fault = pod.error().message();
    if (pod) forms->texts[pod->meta.namespace_name + '/' + pod->meta.name] = *pod;
  };
  const Result<std::string> first = co_await client.list(
      path, "", [] {}, keep);
  if (!first) forms->fault = first.error().message();
  const Result<std::string> second = co_await client.listPods(
      path, "", [] {}, [forms](const json::value&) { ++forms->as_json; },
      [forms](const kube::Pod& pod) { forms->compare(pod); },
      [forms](const Error& error) { forms->fault = error.message(); });
  if (!second) forms->fault = second.error().message();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: pod_forms KUBECONFIG\n", stderr);
    return 2;
  }
  Result<kube::Access> access = kube::kubeconfigFileAccess(argv[1]);
  asio::io_context loop;
  auto client = access ? kube::Client::make(loop.get_executor(), *access)
                       : Result<std::unique_ptr<kube::Client>>(access.error());
  if (!client) {
    std::fprintf(stderr, "pod_forms: %s\n", client.error().message().c_str());
    return 1;
  }
  Forms forms;
  asio::co_spawn(loop, readBoth(**client, &forms), asio::detached);
  loop.run();
  if (!forms.fault.empty()) {
    std::fprintf(stderr, "pod_forms: %s\n", forms.fault.c_str());
    return 1;
  }
  const json::object said{{"same", std::move(forms.same)},
                          {"different", std::move(forms.different)},
                          {"as_json", forms.as_json}};
  std::puts(json::serialize(said).c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
