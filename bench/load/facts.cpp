#include "facts.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace divvy::bench {
namespace {

std::string list(const std::vector<CardTime>& times) {
  std::string text;
  for (const CardTime at : times) text += (text.empty() ? "" : ",") + std::to_string(at);
  return "[" + text + "]";
}

}  // namespace

std::map<std::string, double> threadTimes() {
  std::map<std::string, double> times;
  std::error_code ended;  // a thread may go while we look
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ended)) {
    std::string name;
    std::uint64_t nanos = 0;
    std::getline(std::ifstream(task.path() / "comm"), name);
    std::ifstream(task.path() / "schedstat") >> nanos;
    times[name] += static_cast<double>(nanos) / kNanosPerMilli;
  }
  return times;
}

std::string json(const LoadFacts& facts) {
  std::string text =
      "{\"pid\":" + std::to_string(getpid()) + ",\"begin\":" + std::to_string(facts.begin) +
      ",\"end\":" + std::to_string(facts.end) + ",\"worked\":" + std::to_string(facts.worked) +
      ",\"mismatched\":" + std::to_string(facts.mismatched) +
      ",\"read_bytes\":" + std::to_string(facts.read_bytes) +
      ",\"launches\":" + std::to_string(facts.launches) + ",\"resumed\":" + list(facts.resumed) +
      ",\"rested\":" + list(facts.rested);
  std::string answers;
  for (const Answer& answer : facts.answers) {
    answers += (answers.empty() ? "" : ",") + list({answer.arrived, answer.launched, answer.done});
  }
  std::string threads;
  for (const auto& [name, ms] : facts.thread_ms) {
    threads += (threads.empty() ? "\"" : ",\"") + name + "\":" + std::to_string(ms);
  }
  return text + ",\"answers\":[" + answers + "],\"thread_ms\":{" + threads + "}}\n";
}

}  // namespace divvy::bench
