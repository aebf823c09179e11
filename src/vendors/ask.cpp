#include "vendors/ask.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/device_memory.h"
#include "base/quantity.h"

namespace divvy::vendors {
namespace {

constexpr std::uint32_t kWholeCompute = 1000;
constexpr std::int64_t kMaxDevices = 1024;
constexpr std::int64_t kMaxUnits = INT32_MAX;

std::string list(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

// Reads one container's request for one kind.
class RequestReader {
 public:
  RequestReader(const Kind& kind, const Quantities& limits, const Quantities& requests,
                const Annotations& annotations)
      : kind_(kind), limits_(limits), requests_(requests) {
    const auto found = annotations.find(kind.soft_split);
    soft_ = !kind.soft_split.empty() && found != annotations.end() &&
            found->second == kind.soft_split_value;
    const auto mode = annotations.find(kind.instances);
    partitioned_ = !kind.instances.empty() && mode != annotations.end() &&
                   mode->second.find(kind.instances_value) != std::string::npos;
  }

  // Returns none if the container requests no device of this kind.
  Result<std::optional<KindRequest>> read();
  // Reads requests by the names of instances; other resources do not affect them.
  Result<std::vector<KindRequest>> readInstances() const;

 private:
  // The amount under one name, or under any name of a resource; `name` is set to that name. Null:
  // none.
  const std::string* under(const std::string& name) const;
  const std::string* find(const std::string& resource, const std::string** name) const;
  const std::string* textOf(const std::string& resource) const;
  Result<void> once() const;
  // Returns none if the resource is absent or empty.
  Result<std::optional<Quantity>> quantity(const std::string& resource) const;
  Result<std::optional<std::int64_t>> number(const std::string& resource, std::int64_t most) const;
  Error wrong(const std::string& resource, const std::string& what) const;

  Result<void> readCount(KindRequest* request);
  Result<void> countByCores(KindRequest* request, std::int64_t cores);
  Result<void> readMemory(KindRequest* request);
  Result<Bytes> bytesOf(const Quantity& asked) const;
  Result<void> readCores(KindRequest* request);
  Result<void> fitPart(KindRequest* request) const;
  Result<void> joinMany(KindRequest* request) const;
  Result<std::optional<KindRequest>> wholeOnes() const;
  void nameModel(KindRequest* request) const;

  const Kind& kind_;
  const Quantities& limits_;
  const Quantities& requests_;
  bool soft_ = false;
  bool partitioned_ = false;
  bool memory_asked_ = false;
  bool cores_asked_ = false;
};

const std::string* RequestReader::under(const std::string& name) const {
  if (name.empty()) return nullptr;
  for (const Quantities* from : {&limits_, &requests_}) {
    const auto found = from->find(name);
    if (found != from->end()) return &found->second;
  }
  return nullptr;
}

const std::string* RequestReader::find(const std::string& resource,
                                       const std::string** name) const {
  const auto findText = [&](const std::string& one) {
    *name = &one;
    return under(one);
  };
  if (const std::string* text = findText(resource)) return text;
  for (const ResourceAlias& other : kind_.also)
    if (!resource.empty() && meant(kind_, other) == resource)
      if (const std::string* text = findText(other.resource)) return text;
  if (!resource.empty() && resource == kind_.count.resource)
    for (const ModelResource& one : kind_.of_models)
      if (const std::string* text = findText(one.resource)) return text;
  *name = &resource;
  return nullptr;
}

const std::string* RequestReader::textOf(const std::string& resource) const {
  const std::string* name = nullptr;
  return find(resource, &name);
}

Error RequestReader::wrong(const std::string& resource, const std::string& what) const {
  const std::string* name = nullptr;
  const std::string* text = find(resource, &name);
  return {ErrorCode::kUsage, *name + (text == nullptr ? "" : ": " + *text) + ": " + what};
}

// Two names of one resource could have different amounts.
Result<void> RequestReader::once() const {
  const auto check = [&](const std::string& name, const std::string& means) -> Result<void> {
    if (under(name) == nullptr) return {};
    const std::string* counts = nullptr;
    (void)find(means, &counts);
    if (*counts == name) return {};
    return Error(ErrorCode::kUsage,
                 *counts + " and " + name + " set the same value; accepted: one of them");
  };
  for (const ResourceAlias& other : kind_.also)
    if (const auto good = check(other.resource, meant(kind_, other)); !good) return good;
  for (const ModelResource& one : kind_.of_models)
    if (const auto good = check(one.resource, kind_.count.resource); !good) return good;
  return {};
}

Result<std::optional<Quantity>> RequestReader::quantity(const std::string& resource) const {
  const std::string* name = nullptr;
  const std::string* text = find(resource, &name);
  if (text == nullptr) return std::optional<Quantity>();
  const auto parsed = Quantity::parse(*text);
  if (!parsed) return Error(parsed.error()).context(*name);
  if (parsed->negative()) return wrong(resource, "negative; accepted: 0 or more");
  if (parsed->milli() == 0) return std::optional<Quantity>();
  return std::optional<Quantity>(*parsed);
}

Result<std::optional<std::int64_t>> RequestReader::number(const std::string& resource,
                                                          std::int64_t most) const {
  const auto asked = quantity(resource);
  if (!asked) return asked.error();
  if (!*asked) return std::optional<std::int64_t>();
  const auto whole = (*asked)->whole();
  if (!whole || (*asked)->binary() || *whole > most)
    return wrong(resource, "accepted: a whole number up to " + std::to_string(most));
  return std::optional<std::int64_t>(*whole);
}

// ---- number ------------------------------------------------------------------------------------

// The sum of cores is that of one device, or of several complete ones.
Result<void> RequestReader::countByCores(KindRequest* request, std::int64_t cores) {
  const auto each = static_cast<std::int64_t>(kind_.cores.per_card);
  if (cores < each) {
    request->count = 1;
    request->compute_milli = static_cast<std::uint32_t>(cores * kWholeCompute / each);
    return {};
  }
  if (cores % each != 0)
    return wrong(kind_.cores.resource,
                 "accepted: less than " + std::to_string(each) + ", or a multiple of it");
  request->count = static_cast<std::uint32_t>(cores / each);
  request->compute_milli = kWholeCompute;
  return {};
}

Result<void> RequestReader::readCount(KindRequest* request) {
  const CountRule& rule = kind_.count;
  const auto asked = number(rule.resource, kMaxDevices);
  if (!asked) return asked.error();
  if (*asked) {
    request->count = static_cast<std::uint32_t>(**asked);
    if (kind_.cores.counts) request->compute_milli = kWholeCompute;
  } else if (kind_.cores.counts) {
    const auto cores = number(kind_.cores.resource, kMaxDevices * kind_.cores.per_card);
    if (!cores) return cores.error();
    return *cores ? countByCores(request, **cores) : Result<void>();
  } else if (!kind_.slice.empty()) {
    const auto slice = number(kind_.slice, kMaxUnits);
    if (!slice) return slice.error();
    request->slice = static_cast<std::uint64_t>(slice->value_or(0));
    request->count = *slice || memory_asked_ || cores_asked_ ? 1 : 0;
  } else if (memory_asked_ || cores_asked_) {
    request->count = rule.absent;
    // An explicit 0 requests no device.
    if (textOf(rule.resource) != nullptr) request->count = 0;
    if (request->count == 0 && textOf(rule.resource) == nullptr)
      return Error(ErrorCode::kUsage, rule.resource +
                                          ": not asked for, but parts of such a device "
                                          "are; accepted: how many devices");
  }
  if (!rule.pairs || request->count % 2 == 0) return {};
  if (request->count != 1)
    return wrong(rule.resource,
                 "devices come in pairs; accepted: 1, which becomes 2, or even "
                 "numbers");
  request->count = 2;
  return {};
}

// ---- memory ------------------------------------------------------------------------------------

Result<Bytes> RequestReader::bytesOf(const Quantity& asked) const {
  const MemoryRule& rule = kind_.memory;
  const auto units = static_cast<std::uint64_t>(asked.whole().value_or(0));
  const bool mebibytes = rule.mebibytes_above != 0 && units > rule.mebibytes_above;
  const Result<Bytes> bytes = deviceMemory(asked, mebibytes ? mib(1) : rule.unit);
  if (!bytes) return wrong(rule.resource, bytes.error().message());
  if (*bytes > kMaxDeviceMemory)
    return wrong(rule.resource, "accepted: at most " + formatBytes(kMaxDeviceMemory));
  const bool counted = !asked.binary() && bytes->count != units;
  if (counted && !rule.amounts.empty() &&
      std::find(rule.amounts.begin(), rule.amounts.end(), units) == rule.amounts.end())
    return wrong(rule.resource,
                 "accepted: " + list(rule.amounts) + " (of " + formatBytes(rule.unit) + ")");
  return bytes;
}

Result<void> RequestReader::readMemory(KindRequest* request) {
  const MemoryRule& rule = kind_.memory;
  const auto asked = quantity(rule.resource);
  if (!asked) return asked.error();
  if (*asked) {
    const auto bytes = bytesOf(**asked);
    if (!bytes) return bytes.error();
    const auto percent = quantity(rule.percent);
    if (percent && *percent)
      return wrong(rule.percent, "memory is asked for as an amount, too; accepted: one of them");
    request->memory = *bytes;
    memory_asked_ = true;
    if (rule.steps.empty()) return {};
    const auto step = std::lower_bound(rule.steps.begin(), rule.steps.end(), *bytes);
    if (step == rule.steps.end())
      return wrong(rule.resource, "accepted: at most " + formatBytes(rule.steps.back()));
    request->memory = *step;
    return {};
  }
  const auto percent = number(rule.percent, 100);
  if (!percent) return percent.error();
  if (!*percent && rule.absent > 0) request->memory = Bytes{rule.absent * rule.unit.count};
  if (!*percent) return {};
  memory_asked_ = true;
  request->memory = **percent == 100 ? Memory(WholeMemory{})
                                     : Memory(PercentMemory{static_cast<std::uint32_t>(**percent)});
  return {};
}

// ---- compute -----------------------------------------------------------------------------------

Result<void> RequestReader::readCores(KindRequest* request) {
  const CoreRule& rule = kind_.cores;
  if (rule.counts) return {};
  const std::int64_t most = rule.clamp ? INT32_MAX : rule.per_card;
  const auto asked = number(rule.resource, most);
  if (!asked) return asked.error();
  cores_asked_ = asked->has_value();
  std::uint64_t cores = asked->value_or(rule.absent);
  if (kind_.wholeOnly()) cores = rule.per_card;
  cores = std::min<std::uint64_t>(cores, rule.per_card);
  request->compute_milli = static_cast<std::uint32_t>(cores * kWholeCompute / rule.per_card);
  if (cores != 0 && request->compute_milli == 0) request->compute_milli = 1;
  if (rule.follow_memory) {
    const Bytes* bytes = std::get_if<Bytes>(&request->memory);
    const Bytes card = kind_.card.memory;
    if (bytes != nullptr && *bytes > card)
      return wrong(kind_.memory.resource, "accepted: at most " + formatBytes(card));
    request->compute_milli = kWholeCompute;
    if (bytes != nullptr)
      request->compute_milli = static_cast<std::uint32_t>(
          static_cast<unsigned __int128>(bytes->count) * kWholeCompute / card.count);
  }
  const bool whole = std::holds_alternative<WholeMemory>(request->memory);
  if (kind_.whole_is_exclusive && whole && textOf(rule.resource) == nullptr)
    request->compute_milli = kWholeCompute;
  return {};
}

// ---- partitions and several devices ------------------------------------------------------------

// The smallest partition with that much memory; above the largest one, the whole device.
Result<void> RequestReader::fitPart(KindRequest* request) const {
  if (kind_.templates.empty()) return {};
  const Bytes* bytes = std::get_if<Bytes>(&request->memory);
  if (bytes != nullptr && *bytes > kind_.card.memory)
    return wrong(kind_.memory.resource, "accepted: at most " + formatBytes(kind_.card.memory));
  if (soft_) return {};
  if (cores_asked_)
    return wrong(kind_.cores.resource, "parts are made by memory; accepted: with the annotation " +
                                           kind_.soft_split + "=" + kind_.soft_split_value +
                                           " only");
  if (bytes != nullptr) {
    const auto part = std::find_if(kind_.templates.begin(), kind_.templates.end(),
                                   [&](const Template& each) { return each.memory >= *bytes; });
    if (part != kind_.templates.end()) {
      request->part = &*part;
      request->memory = part->memory;
      request->compute_milli = part->cores * kWholeCompute / kind_.card.cores;
      return {};
    }
  }
  request->memory = WholeMemory{};
  request->compute_milli = kWholeCompute;
  return {};
}

Result<void> RequestReader::joinMany(KindRequest* request) const {
  if (request->count <= 1 || kind_.many != MultiDeviceRule::kNoParts || request->part == nullptr)
    return {};
  // A single device that became a pair is two whole devices, because the other half would be
  // useless.
  const auto asked = number(kind_.count.resource, kMaxDevices);
  if (kind_.count.pairs && asked && asked->value_or(0) == 1) {
    request->part = nullptr;
    request->memory = WholeMemory{};
    request->compute_milli = kWholeCompute;
    return {};
  }
  return wrong(kind_.memory.resource, "is a part of a device, of which " +
                                          std::to_string(request->count) +
                                          " are asked for; accepted: one device, or whole ones");
}

// Several devices of such a kind are whole devices, and other resources are ignored. Webhooks may
// have written the sums over all of them.
Result<std::optional<KindRequest>> RequestReader::wholeOnes() const {
  if (kind_.many != MultiDeviceRule::kWhole) return std::optional<KindRequest>();
  const auto count = number(kind_.count.resource, kMaxDevices);
  if (!count) return count.error();
  if (count->value_or(0) <= 1) return std::optional<KindRequest>();
  KindRequest request;
  request.kind = &kind_;
  request.count = static_cast<std::uint32_t>(**count);
  request.compute_milli = kWholeCompute;
  nameModel(&request);
  return std::optional<KindRequest>(request);
}

// Sets the model of the resource's name.
void RequestReader::nameModel(KindRequest* request) const {
  for (const ModelResource& one : kind_.of_models)
    if (under(one.resource) != nullptr) request->of_model = &one;
  const std::string* name = nullptr;
  if (find(kind_.count.resource, &name) != nullptr) request->counted_by = *name;
}

Result<std::optional<KindRequest>> RequestReader::read() {
  if (const auto good = once(); !good) return good.error();
  const auto whole = wholeOnes();
  if (!whole || *whole) return whole;
  KindRequest request;
  request.kind = &kind_;
  for (const auto step :
       {&RequestReader::readMemory, &RequestReader::readCores, &RequestReader::readCount})
    if (const auto read = (this->*step)(&request); !read) return read.error();
  if (request.count == 0) return std::optional<KindRequest>();
  if (request.slice != 0) {
    request.memory = SliceMemory{};
    request.compute_milli = 0;
  }
  request.partitioned = partitioned_;
  nameModel(&request);
  for (const auto step : {&RequestReader::fitPart, &RequestReader::joinMany})
    if (const auto fit = (this->*step)(&request); !fit) return fit.error();
  return std::optional<KindRequest>(request);
}

Result<std::vector<KindRequest>> RequestReader::readInstances() const {
  std::vector<KindRequest> result;
  if (kind_.instances_prefix.empty()) return result;
  std::set<std::string> names;
  for (const Quantities* from : {&limits_, &requests_})
    for (const auto& [name, quantity] : *from)
      if (name.compare(0, kind_.instances_prefix.size(), kind_.instances_prefix) == 0)
        names.insert(name);
  for (const std::string& name : names) {
    const auto count = number(name, kMaxDevices);
    if (!count) return count.error();
    if (!*count) continue;
    KindRequest request;
    request.kind = &kind_;
    request.count = static_cast<std::uint32_t>(**count);
    request.counted_by = name;
    request.instance = name.substr(kind_.instances_prefix.size());
    if (request.instance.empty()) return wrong(name, "accepted: with the name of an instance");
    result.push_back(std::move(request));
  }
  return result;
}

std::vector<std::string> itemsOf(const Annotations& annotations, const std::string& key) {
  std::vector<std::string> items;
  const auto found = key.empty() ? annotations.end() : annotations.find(key);
  if (found == annotations.end()) return items;
  std::string item;
  const auto end = [&] {
    const auto first = item.find_first_not_of(" \t\r\n");
    if (first != std::string::npos)
      items.push_back(item.substr(first, item.find_last_not_of(" \t\r\n") - first + 1));
    item.clear();
  };
  for (const char c : found->second) {
    if (c == ',') {
      end();
    } else {
      item += c;
    }
  }
  end();
  return items;
}

}  // namespace

Result<std::vector<KindRequest>> readRequests(const Catalog& catalog, const Quantities& limits,
                                              const Quantities& requests,
                                              const Annotations& annotations) {
  std::vector<KindRequest> result;
  for (const Kind* kind : catalog.kinds()) {
    RequestReader reading(*kind, limits, requests, annotations);
    auto request = reading.read();
    if (!request) return request.error();
    if (*request) result.push_back(**request);
    const auto instances = reading.readInstances();
    if (!instances) return instances.error();
    result.insert(result.end(), instances->begin(), instances->end());
  }
  return result;
}

Selection readSelection(const Kind& kind, const Annotations& annotations) {
  return {itemsOf(annotations, kind.models.use), itemsOf(annotations, kind.models.not_use),
          itemsOf(annotations, kind.uuids.use), itemsOf(annotations, kind.uuids.not_use)};
}

}  // namespace divvy::vendors
