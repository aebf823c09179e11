#include "snapshot/text.h"

#include <algorithm>
#include <boost/json.hpp>

#include "check.h"
#include "json_path.h"
#include "reader.h"
#include "writer.h"

namespace divvy::snapshot {
namespace {

namespace bj = boost::json;

Error wrong(std::string_view text, const std::string& name, std::size_t offset,
            const std::string& what) {
  return {ErrorCode::kUsage, name + ":" + positionOf(text, offset) + ": " + clean(what)};
}

Error wrong(std::string_view json, const std::string& name, const Fault& fault) {
  const std::string path = text(fault.path);
  return wrong(json, name, offsetOf(json, fault.path),
               (path.empty() ? "" : path + ": ") + fault.what);
}

Result<bj::value> parseJson(std::string_view json, const std::string& name) {
  boost::system::error_code fault;
  bj::stream_parser parser;
  std::size_t read = parser.write_some(json.data(), json.size(), fault);
  if (!fault) parser.finish(fault);
  if (fault) return wrong(json, name, read, "not JSON: " + fault.message());
  read = std::min(json.find_first_not_of(" \t\r\n", read), json.size());
  if (read != json.size()) return wrong(json, name, read, "not JSON: something follows its end");
  if (const auto second = secondMember(json))
    return wrong(json, name, *second, "this member is there twice");
  return parser.release();
}

// What it is comes before what is in it: of another version nothing else is understood.
void readHead(const bj::value& value, Fault& fault) {
  Reader head(value, fault);
  if (!value.is_object()) return head.fail("no snapshot; accepted: what divvy snapshot writes");
  std::string schema;
  std::int64_t version = 0;
  std::string writer = "somebody";
  head.must("schema", schema);
  if (head.ok() && schema != "divvy-snapshot") {
    fault = {"\"" + schema + "\"; accepted: divvy-snapshot", {{"schema"}}};
    return;
  }
  head.must("version", version);
  if (!head.ok() || version == kVersion) return;
  const bj::value* by = value.get_object().if_contains("written_by");
  if (by != nullptr && by->is_string())
    writer.assign(by->get_string().data(), by->get_string().size());
  fault.path = {{"version"}};
  fault.what = "version " + std::to_string(version) + " of the schema, as " + writer.substr(0, 64) +
               " writes it; accepted: version " + std::to_string(kVersion);
}

}  // namespace

Result<Snapshot> parse(std::string_view json, const std::string& name) {
  Result<bj::value> value = parseJson(json, name);
  if (!value) return value.error();
  Fault fault;
  readHead(*value, fault);
  if (!fault.what.empty()) return wrong(json, name, fault);
  value->get_object().erase("schema");
  value->get_object().erase("version");
  Snapshot snapshot;
  Reader(*value, fault).read(snapshot);
  if (fault.what.empty()) fault = check(snapshot);
  if (!fault.what.empty()) return wrong(json, name, fault);
  return snapshot;
}

}  // namespace divvy::snapshot
