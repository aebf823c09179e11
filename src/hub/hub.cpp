#include "hub/hub.h"

#include <csignal>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "asio/rethrow.h"
#include "dispatch/dispatcher.h"
#include "http/server.h"
#include "hub_endpoint.h"
#include "kube/client.h"
#include "log/log.h"
#include "workers/worker.h"

namespace divvy::hub {
namespace {

namespace asio = boost::asio;

// Two calls for each workload, a nomination and an Event.
constexpr kube::ClientOptions kManagerTerms{200, 400, std::chrono::seconds(10), 2};

std::vector<WorkerPort> portsOf(const std::vector<std::unique_ptr<Worker>>& workers) {
  std::vector<WorkerPort> ports;
  for (const auto& worker : workers) {
    Worker* one = worker.get();
    ports.push_back(
        {one->name(), one->price(), [one] { return one->state() == WorkerState::kFresh; },
         [one](std::string list, std::size_t count) { return one->ask(std::move(list), count); }});
  }
  return ports;
}

}  // namespace

Result<void> serve(const HubOptions& options) {
  asio::io_context loop(1);
  bool stopped = false;
  std::vector<std::unique_ptr<Worker>> workers;
  for (const WorkerOptions& one : options.workers) {
    Result<std::unique_ptr<Worker>> worker = Worker::make(loop.get_executor(), options, one);
    if (!worker) return worker.error();
    workers.push_back(std::move(*worker));
  }
  std::unique_ptr<kube::Client> manager;
  std::unique_ptr<Dispatcher> dispatcher;
  if (options.manager) {
    Result<std::unique_ptr<kube::Client>> client =
        kube::Client::make(loop.get_executor(), *options.manager, kManagerTerms);
    if (!client) return Error(client.error()).context("manager cluster");
    manager = std::move(*client);
    dispatcher = std::make_unique<Dispatcher>(
        loop.get_executor(), *manager, portsOf(workers),
        Dispatcher::Options{options.spill_after, options.clears_nominations, &stopped});
  }
  HubEndpoint endpoint(loop.get_executor(), workers, dispatcher.get());
  const http::Listen listen{options.host, options.port, {}, {}};
  Result<std::unique_ptr<http::Server>> server =
      http::Server::start(loop.get_executor(), listen, endpoint.routes());
  if (!server) return server.error();
  log::info("the hub serves", {{"address", options.host + ':' + std::to_string((*server)->port())},
                               {"clusters", std::to_string(workers.size())}});
  if (options.started)
    if (const Result<void> started = options.started((*server)->port()); !started) return started;
  for (const auto& worker : workers) asio::co_spawn(loop, worker->run(&stopped), rethrow);
  if (dispatcher) dispatcher->start();
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& fault, int) {
    if (fault) return;
    stopped = true;
    loop.stop();
  });
  loop.run();
  return {};
}

}  // namespace divvy::hub
