#include "simulator/openb.h"

#include <algorithm>
#include <array>
#include <set>

#include "cluster/csv.h"

namespace divvy::simulator {
namespace {

constexpr std::int64_t kMaxCpu = 1'000'000'000;
constexpr std::int64_t kMaxMib = 1'000'000'000;
constexpr std::int64_t kMaxGpus = 64;
constexpr std::int64_t kMaxSeconds = 1'000'000'000'000;
constexpr std::int64_t kWhole = 1000;

using Row = std::vector<Cell>;

// What is wrong with a row is kept until somebody asks: the first of it.
class Reader {
 public:
  Reader(const Csv& csv, const Row& row) : csv_(csv), row_(row) {}

  std::int64_t number(std::size_t at, std::int64_t low, std::int64_t high) {
    const Result<std::int64_t> value = csv_.number(row_[at], nameOf(at), low, high);
    if (value) return *value;
    if (!error_) error_ = value.error();
    return low;
  }
  void optionalNumber(std::size_t at) {
    if (!row_[at].text.empty()) number(at, 0, kMaxSeconds);
  }
  std::string name(std::size_t at) {
    if (row_[at].text.empty()) refuse(at, "a name");
    return std::string(row_[at].text);
  }
  void oneOf(std::size_t at, std::initializer_list<std::string_view> words) {
    std::string accepted;
    for (const std::string_view word : words) {
      if (row_[at].text == word) return;
      accepted += (accepted.empty() ? "" : ", ") + std::string(word);
    }
    refuse(at, accepted);
  }
  // Names with '|' between them, or nothing.
  std::string models(std::size_t at) {
    const std::string_view text = row_[at].text;
    if (text.starts_with('|') || text.ends_with('|') || text.find("||") != text.npos) {
      refuse(at, "models with one | between them, or nothing");
    }
    return std::string(text);
  }
  void refuse(std::size_t at, const std::string& accepted) {
    if (!error_) error_ = csv_.wrong(row_[at], nameOf(at), accepted);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string nameOf(std::size_t at) const { return std::string(csv_.header()[at].text); }

  const Csv& csv_;
  const Row& row_;
  std::optional<Error> error_;
};

OpenbNode readNode(Reader& row) {
  OpenbNode node{row.name(0), row.number(1, 1, kMaxCpu), row.number(2, 1, kMaxMib),
                 static_cast<std::uint32_t>(row.number(3, 0, kMaxGpus)), row.models(4)};
  if (node.gpus > 0 && node.model.empty()) row.refuse(4, "the model of its GPUs");
  return node;
}

OpenbPod readPod(Reader& row, bool extended) {
  OpenbPod pod{row.name(0),
               row.number(1, 0, kMaxCpu),
               row.number(2, 0, kMaxMib),
               static_cast<std::uint32_t>(row.number(3, 0, kMaxGpus)),
               static_cast<std::int32_t>(row.number(4, 0, kWhole)),
               {}};
  if (pod.gpus == 0 && pod.gpu_milli != 0) row.refuse(4, "0 without GPUs");
  if (pod.gpus == 1 && pod.gpu_milli == 0) row.refuse(4, "1 to 1000 of a GPU");
  if (pod.gpus > 1 && pod.gpu_milli != kWhole) row.refuse(4, "1000 of each of several GPUs");
  if (!extended) return pod;
  pod.models = row.models(5);
  row.oneOf(6, {"LS", "BE", "Burstable", "Guaranteed"});
  row.oneOf(7, {"Running", "Pending", "Succeeded", "Failed"});
  for (const std::size_t at : {8, 9, 10}) row.optionalNumber(at);
  return pod;
}

template <typename T, typename Read>
Result<std::vector<T>> readAll(const Csv& csv, const Read& read) {
  std::vector<T> all;
  std::set<std::string> seen;
  all.reserve(csv.rows());
  for (std::size_t i = 0; i < csv.rows(); ++i) {
    Reader reader(csv, csv.row(i));
    T one = read(reader);
    if (!seen.insert(one.name).second) reader.refuse(0, "a name that no other row has");
    if (reader.error()) return *reader.error();
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Result<std::vector<OpenbNode>> parseOpenbNodes(std::string_view text, const std::string& file) {
  const Result<Csv> csv = Csv::parse(text, file);
  if (!csv) return csv.error();
  const Result<void> header = csv->expect({"sn", "cpu_milli", "memory_mib", "gpu", "model"}, {});
  if (!header) return header.error();
  return readAll<OpenbNode>(*csv, readNode);
}

Result<std::vector<OpenbPod>> parseOpenbPods(std::string_view text, const std::string& file) {
  const Result<Csv> csv = Csv::parse(text, file);
  if (!csv) return csv.error();
  const std::vector<std::string_view> more{"gpu_spec",      "qos",           "pod_phase",
                                           "creation_time", "deletion_time", "scheduled_time"};
  const Result<void> header =
      csv->expect({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, more);
  if (!header) return header.error();
  const bool extended = csv->header().size() > 5;
  return readAll<OpenbPod>(*csv, [&](Reader& row) { return readPod(row, extended); });
}

}  // namespace divvy::simulator
