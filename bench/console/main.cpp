// What a console of a large cluster costs: how fast its lists answer while viewers follow it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/fd.h"
#include "bench_cluster.h"
#include "console/console.h"
#include "report.h"
#include "samples.h"

namespace {

using namespace divvy;
using namespace divvy::bench;

constexpr double kAnswerBarMs = 20;
constexpr double kMemoryBarMib = 250;
constexpr double kCoresBar = 0.3;
constexpr double kReadyBarS = 3;
constexpr int kPatienceMs = 20'000;
constexpr double kRequestsPerS = 100;
constexpr std::size_t kViewers = 20;

const std::vector<std::string>& targets() {
  static const std::vector<std::string> all{
      "overview",
      "nodes?limit=100",
      "nodes?limit=100&sort=-shares",
      "devices?limit=100",
      "devices?limit=100&sort=-memory_limits_bytes",
      "shares?limit=100",
      "shares?limit=100&sort=-used_bytes",
      "shares?limit=100&filter=space-7",
      "waiting?limit=100&sort=position",
      "workloads?limit=100&sort=-devices",
      "queues?limit=100",
      "pools",
      "teams?limit=100",
      "events?limit=100",
  };
  return all;
}

// A connection that asks one thing after the other.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    if (connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("the console cannot be reached");
    const int yes = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }

  int fd() const { return fd_.get(); }

  void ask(const std::string& target, const std::string& token) {
    const std::string text = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" +
                             (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") +
                             "\r\n";
    if (send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size()))
      throw std::runtime_error("a request could not be sent");
  }
  // Returns the status of the answer, and reads it to its end.
  int answer() {
    std::string text;
    std::size_t whole = std::string::npos;
    while (text.size() < whole) {
      if (!receive(&text)) throw std::runtime_error("an answer was cut short");
      const std::size_t end = text.find("\r\n\r\n");
      if (whole != std::string::npos || end == std::string::npos) continue;
      const std::size_t at = text.find("Content-Length: ");
      whole = end + 4 + (at < end ? std::stoul(text.substr(at + 16)) : 0);
    }
    return std::stoi(text.substr(text.find(' ') + 1, 3));
  }
  bool receive(std::string* out) {
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (poll(&waiting, 1, kPatienceMs) <= 0) return false;
    char bytes[65'536];
    const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got > 0) out->append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

 private:
  Fd fd_;
};

double cpuMs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

// A line of /proc/self/status, in MiB.
double memoryMib(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  return 0;
}

// A console on a thread of its own.
class Served {
 public:
  Served(const ClusterSize& size, ReadingTimes& times) {
    console::ConsoleOptions options;
    options.port = 0;
    options.place = "bench";
    Result<std::unique_ptr<console::Console>> console = console::Console::start(
        loop_.get_executor(), options, std::make_unique<BenchCluster>(size, times),
        std::make_unique<BenchReviews>());
    if (!console) throw std::runtime_error(console.error().message());
    console_ = std::move(*console);
    const std::string address = console_->address();
    port_ = static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Served() {
    boost::asio::post(loop_, [this] {
      console_.reset();
      loop_.stop();
    });
    thread_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::uint16_t port() const { return port_; }
  void waitUntilReady() const {
    Client client(port_);
    for (const double until = nowMs() + kPatienceMs; nowMs() < until;) {
      client.ask("/readyz", "");
      if (client.answer() == 200) return;
      poll(nullptr, 0, 10);
    }
    throw std::runtime_error("the console does not become ready");
  }

 private:
  boost::asio::io_context loop_;
  std::unique_ptr<console::Console> console_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// Viewers with an open page: one of all namespaces, the others of one each.
class Viewers {
 public:
  explicit Viewers(std::uint16_t port) {
    for (std::size_t i = 0; i < kViewers; ++i) {
      auto client = std::make_unique<Client>(port);
      client->ask("/api/v1/stream?topics=overview,shares,waiting,devices",
                  i == 0 ? "whole" : spaceName(i));
      clients_.push_back(std::move(client));
    }
    for (const auto& client : clients_) {
      std::string first;
      client->receive(&first);
      if (!first.starts_with("HTTP/1.1 200")) throw std::runtime_error("no stream: " + first);
    }
    thread_ = std::thread([this] { read(); });
  }
  ~Viewers() {
    ended_ = true;
    thread_.join();
  }
  Viewers(const Viewers&) = delete;
  Viewers& operator=(const Viewers&) = delete;

  double cpu() const { return cpu_ms_; }
  double ended() const { return static_cast<double>(ended_streams_); }
  double bytes() const { return static_cast<double>(bytes_); }

 private:
  void read() {
    std::vector<pollfd> waiting;
    for (const auto& client : clients_) waiting.push_back({client->fd(), POLLIN, 0});
    while (!ended_) {
      poll(waiting.data(), waiting.size(), 100);
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i].revents == 0) continue;
        std::string text;
        if (!clients_[i]->receive(&text)) {
          waiting[i].fd = -1;
          ++ended_streams_;
        }
        bytes_ += text.size();
      }
      cpu_ms_ = cpuMs(CLOCK_THREAD_CPUTIME_ID);
    }
  }

  std::vector<std::unique_ptr<Client>> clients_;
  std::atomic<bool> ended_ = false;
  std::atomic<double> cpu_ms_ = 0;
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<std::size_t> ended_streams_ = 0;
  std::thread thread_;
};

// Requests at their instants; the time of an answer counts from there. Returns the times of each
// target.
std::vector<Samples> load(std::uint16_t port, double seconds) {
  Client client(port);
  std::vector<Samples> times(targets().size());
  const double begin = nowMs();
  const auto count = static_cast<std::size_t>(seconds * kRequestsPerS);
  for (std::size_t i = 0; i < count; ++i) {
    const double due = begin + 1e3 * static_cast<double>(i) / kRequestsPerS;
    while (nowMs() < due) poll(nullptr, 0, 1);
    const std::size_t target = i % targets().size();
    client.ask("/api/v1/" + targets()[target], "whole");
    if (client.answer() != 200) throw std::runtime_error("refused: " + targets()[target]);
    times[target].push_back(nowMs() - due);
  }
  return times;
}

void add(Report& report, const std::string& group, const std::string& key, double value,
         std::optional<double> bar = {}) {
  report.figures.push_back({group, key, value, {}, {}, bar, false});
}

// Processors that the console took while something ran: those of this thread, of the viewers and
// of the made-up cluster are not its own.
class CoresUsed {
 public:
  CoresUsed(const Viewers& viewers, const ReadingTimes& times)
      : viewers_(viewers), times_(times), begin_ms_(nowMs()), cpu_ms_(busyMs()) {}

  double get() const { return (busyMs() - cpu_ms_) / (nowMs() - begin_ms_); }

 private:
  double busyMs() const {
    return cpuMs(CLOCK_PROCESS_CPUTIME_ID) - cpuMs(CLOCK_THREAD_CPUTIME_ID) - viewers_.cpu() -
           times_.sourceCpuMs();
  }

  const Viewers& viewers_;
  const ReadingTimes& times_;
  double begin_ms_, cpu_ms_;
};

void addAnswers(Report& report, const std::vector<Samples>& answers) {
  Samples all;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    add(report, "answer_p50_ms", targets()[i], median(answers[i]));
    add(report, "answer_p99_ms", targets()[i], percentile(answers[i], 0.99), kAnswerBarMs);
    append(all, answers[i]);
  }
  add(report, "answer_p99_ms", "all", percentile(all, 0.99), kAnswerBarMs);
}

Report measure(const ClusterSize& size, double seconds) {
  Report report{today(), hostName(), "", {}, ""};
  ReadingTimes times;
  const double begin = nowMs();
  const Served served(size, times);
  served.waitUntilReady();
  add(report, "", "ready_s", (nowMs() - begin) / 1e3, kReadyBarS);
  const Viewers viewers(served.port());
  // All scopes have been read once; the store has its series.
  load(served.port(), std::min(seconds, 3.0));
  const CoresUsed followed(viewers, times);
  const double bytes = viewers.bytes();
  poll(nullptr, 0, static_cast<int>(1e3 * seconds / 2));
  add(report, "cores", "viewers follow", followed.get(), kCoresBar);
  add(report, "", "stream_kib_per_s", (viewers.bytes() - bytes) / 1024 / (seconds / 2));
  const std::size_t readings = times.between().size();
  const CoresUsed asked(viewers, times);
  const std::vector<Samples> answers = load(served.port(), seconds);
  add(report, "cores", "and 100 requests a second", asked.get());
  addAnswers(report, answers);
  Samples between = times.between();
  between.erase(between.begin(), between.begin() + static_cast<std::ptrdiff_t>(readings));
  // The interval between two readings is 1 s.
  add(report, "", "view_build_ms", between.empty() ? 0 : median(between) - 1000);
  add(report, "", "streams_ended", viewers.ended(), 0);
  add(report, "", "memory_mib", memoryMib("VmRSS"), kMemoryBarMib);
  add(report, "", "memory_most_mib", memoryMib("VmHWM"));
  report.notes = "Cluster: " + std::to_string(size.nodes) + " nodes of 8 devices, " +
                 std::to_string(size.pods) + " pods, " + std::to_string(size.changes_per_s) +
                 " changes a second; " + std::to_string(kViewers) +
                 " viewers with streams.\nMemory includes the made-up cluster and the clients; "
                 "cores do not. Watches of an API\nserver are not in it.\n";
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  bool quick = false, check = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json" && i + 1 < argc) {
      file = argv[++i];
    } else if (word == "--quick") {
      quick = true;
    } else if (word == "--check") {
      check = true;
    } else {
      std::fputs(
          "usage: divvy-bench-console [--json FILE] [--quick] [--check]\n"
          "  --json FILE  also write the figures as JSON\n"
          "  --quick      100 nodes and 1,000 pods, for 3 s: shows that it works\n"
          "  --check      exit status 1 when a bar is missed\n",
          stderr);
      return 2;
    }
  }
  try {
    ClusterSize size;
    if (quick) size.nodes = 100, size.pods = 1000;
    const Report report = measure(size, quick ? 3 : 30);
    std::fputs(table(report).c_str(), stdout);
    if (!file.empty()) {
      std::ofstream out(file);
      out << json(report);
      if (!out.flush()) throw std::runtime_error("cannot write " + file);
    }
    return check && !report.passed() ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "divvy-bench-console: %s\n", error.what());
    return 1;
  }
}
