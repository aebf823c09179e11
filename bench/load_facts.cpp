#include "load_facts.h"

#include <boost/json.hpp>
#include <fstream>
#include <stdexcept>

namespace divvy::bench {
namespace {

namespace bj = boost::json;

std::vector<CardTime> times(const bj::value& list) {
  std::vector<CardTime> result;
  for (const bj::value& item : list.as_array()) result.push_back(item.to_number<CardTime>());
  return result;
}

}  // namespace

TenantRecord readLoadFacts(const std::string& json, int* pid) {
  TenantRecord record;
  try {
    const bj::value facts = bj::parse(json);
    *pid = facts.at("pid").to_number<int>();
    record.begin = facts.at("begin").to_number<CardTime>();
    record.end = facts.at("end").to_number<CardTime>();
    record.worked = facts.at("worked").to_number<CardTime>();
    record.mismatched = facts.at("mismatched").to_number<std::uint64_t>();
    record.read_bytes = facts.at("read_bytes").to_number<std::uint64_t>();
    record.launches = facts.at("launches").to_number<std::uint64_t>();
    record.resumed = times(facts.at("resumed"));
    record.rested = times(facts.at("rested"));
    for (const bj::value& answer : facts.at("answers").as_array()) {
      const std::vector<CardTime> parts = times(answer);
      record.arrived.push_back(parts.at(0));
      record.requests.push_back({parts.at(1), parts.at(2)});
    }
    for (const auto& [name, ms] : facts.at("thread_ms").as_object()) {
      if (name.starts_with("divvy")) record.divvy_ms += ms.to_number<double>();
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string("what a load told is not understood: ") + error.what());
  }
  return record;
}

Spans readSpans(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("no intervals in " + path);
  Spans spans;
  for (Span span; file >> span.start >> span.end;) spans.push_back(span);
  return united(std::move(spans));
}

}  // namespace divvy::bench
