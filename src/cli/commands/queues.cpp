// `divvy queues`: the devices that queues of a cluster hold, and the pods that wait.
#include <cstdio>
#include <memory>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "asio/rethrow.h"
#include "commands/commands.h"
#include "kube/client.h"
#include "kube/queue.h"
#include "kubernetes/kube_api.h"
#include "view/queues_view.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> readAll(kube::Client& client, std::vector<kube::Queue>* queues,
                              std::optional<Error>* fault) {
  const std::string path = kube::kQueuesPath;
  const std::string query;
  std::function<void()> begin = [queues] { queues->clear(); };
  std::function<void(const boost::json::value&)> each = [&](const boost::json::value& object) {
    Result<kube::Queue> queue = kube::queueOf(object);
    if (queue) {
      queues->push_back(std::move(*queue));
    } else {
      *fault = queue.error();
    }
  };
  const Result<std::string> listed = co_await client.list(path, query, begin, each);
  if (!listed) *fault = listed.error();
}

Result<std::vector<kube::Queue>> read(const QueuesOptions& options) {
  Result<kube::Access> access = accessFor(options.connection);
  if (!access) return access.error();
  asio::io_context loop(1);
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(loop.get_executor(), std::move(*access), options.connection.with({}));
  if (!client) return client.error();
  std::vector<kube::Queue> queues;
  std::optional<Error> fault;
  asio::co_spawn(loop, readAll(**client, &queues, &fault), rethrow);
  loop.run();
  if (!fault) return queues;
  if (fault->code() == ErrorCode::kNotFound)
    return Error{ErrorCode::kNotFound,
                 "this cluster has no queues: `divvy scheduler --print queues | kubectl apply -f -`"
                 " defines them"};
  return *fault;
}

}  // namespace

int queues(const QueuesOptions& options) {
  const Result<std::vector<kube::Queue>> found = read(options);
  if (!found) return fail(found.error());
  const std::size_t width = options.output.wide ? 0 : outputWidth();
  const std::string text =
      options.output.json ? queuesJson(*found) : queuesText(*found, options.output.headers, width);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace divvy::cli
