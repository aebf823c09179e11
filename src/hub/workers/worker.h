// A worker cluster: its free capacity, and questions to its scheduler. Private.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "base/result.h"
#include "hub/hub.h"
#include "kube/client.h"
#include "workers/fit_reply.h"

namespace divvy::hub {

// How old the last report is.
enum class WorkerState : std::uint8_t {
  kFresh,    // 15 s at most
  kStale,    // 60 s at most
  kUnknown,  // older, or none
};
const char* nameOf(WorkerState state);

// For the client's thread only.
class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  struct Counts {
    std::uint64_t reports = 0, failed_reports = 0, questions = 0, failed_questions = 0;
  };

  // `executor` and `hub` outlive it. Errors: as of kube::Client::make.
  static Result<std::unique_ptr<Worker>> make(boost::asio::any_io_executor executor,
                                              const HubOptions& hub, const WorkerOptions& options);

  // Reads the capacity every 5 s until *stopped is true.
  boost::asio::awaitable<void> run(const bool* stopped);
  // Asks which of `count` workloads fit, in a List in JSON.
  boost::asio::awaitable<Result<std::vector<WorkloadFit>>> ask(std::string list, std::size_t count);
  // Passes a question about one pod on. The answer is the scheduler's JSON.
  boost::asio::awaitable<Result<std::string>> askPod(std::string pod);

  const std::string& name() const { return name_; }
  WorkerPrice price() const { return price_; }
  WorkerState state() const;
  std::optional<Clock::duration> age() const;  // of the report; none: there is none
  const boost::json::object& report() const { return report_; }
  const std::string& problem() const { return problem_; }  // of the last reading; empty: none
  const Counts& counts() const { return counts_; }

 private:
  Worker(boost::asio::any_io_executor executor, const HubOptions& hub, const WorkerOptions& options,
         std::unique_ptr<kube::Client> client);
  boost::asio::awaitable<Result<kube::Reply>> send(kube::Verb verb, const char* what,
                                                   std::string body);
  static Result<std::string> bodyOf(Result<kube::Reply> reply);
  boost::asio::awaitable<void> read();

  boost::asio::any_io_executor executor_;
  std::string name_;
  WorkerPrice price_;
  std::string path_;  // of the scheduler, behind the API server
  std::unique_ptr<kube::Client> client_;
  boost::json::object report_;
  std::optional<Clock::time_point> read_at_;
  std::string problem_ = "not read yet";
  Counts counts_;
};

}  // namespace divvy::hub
