#include "annotations/share_annotations.h"

#include <algorithm>
#include <charconv>

#include "base/device_memory.h"
#include "kube/resize_request.h"
#include "requests/shape.h"

namespace divvy::scheduler {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\n");
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(" \t\n") - from + 1));
}

struct Key {
  std::string_view container;  // empty: of all
  std::string_view word;
};

// None: it is none of ours.
std::optional<Key> keyOf(std::string_view key) {
  const std::size_t slash = key.find('/');
  const std::string_view domain = key.substr(0, slash);
  if (slash == std::string_view::npos || !domain.ends_with(share_options::kDomain))
    return std::nullopt;
  std::string_view container = domain.substr(0, domain.size() - share_options::kDomain.size());
  if (!container.empty() && container.back() != '.') return std::nullopt;
  if (!container.empty()) container.remove_suffix(1);
  return Key{container, key.substr(slash + 1)};
}

std::string acceptedWords() {
  std::string list;
  for (const share_options::ShareOption& one : share_options::all())
    if (one.place == share_options::Place::kAnnotation)
      list += (list.empty() ? "" : ", ") + std::string(one.word);
  return list;
}

bool hasContainer(const kube::Pod& pod, std::string_view name) {
  const auto is = [&](const kube::PodContainer& one) { return one.name == name; };
  return std::any_of(pod.init.begin(), pod.init.end(), is) ||
         std::any_of(pod.containers.begin(), pod.containers.end(), is);
}

Error wrong(std::string_view key, const std::string& what) {
  return {ErrorCode::kUsage, "annotation " + std::string(key) + ": " + what};
}

Result<void> checkKey(const kube::Pod& pod, std::string_view key, const Key& said,
                      const share_options::ShareOption* term) {
  if (term == nullptr)
    return wrong(key,
                 '"' + std::string(said.word) + "\" is not known; accepted: " + acceptedWords());
  if (said.container.empty()) return {};
  if (term->scope == share_options::Scope::kPod)
    return wrong(key, "is set for one container; accepted: for the pod, as " + wishKey(said.word));
  if (hasContainer(pod, said.container)) return {};
  return wrong(key, "the pod has no container \"" + std::string(said.container) +
                        "\"; accepted: the name of one");
}

// As it was checked: "4Gi", "50%", "0".
engine::DeviceMemory memoryOf(std::string_view value) {
  if (value.ends_with('%') && value != "0%") {
    engine::Percent percent;
    std::from_chars(value.data(), value.data() + value.size() - 1, percent.value);
    return percent;
  }
  const Result<Bytes> bytes = parseDeviceMemory(value);
  return bytes ? *bytes : Bytes{};
}

bool isMore(const engine::DeviceMemory& one, const engine::DeviceMemory& other) {
  return one.index() == other.index() && one > other;
}

std::vector<std::string> namesOf(const std::string* value) {
  std::vector<std::string> names;
  std::string_view rest = value == nullptr ? std::string_view() : *value;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    names.push_back(trimmed(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return names;
}

template <typename Name>
std::vector<Name> listOf(const std::string* value) {
  std::vector<Name> list;
  for (std::string& one : namesOf(value)) list.emplace_back(std::move(one));
  return list;
}

// The container's requests for shares, without those for parts of a device.
std::vector<engine::DeviceRequest*> sharesOf(engine::Container* container) {
  std::vector<engine::DeviceRequest*> shares;
  if (container->devices.count > 0) shares.push_back(&container->devices);
  for (engine::DeviceRequest& one : container->others) shares.push_back(&one);
  std::erase_if(shares, [](const engine::DeviceRequest* one) { return one->part.has_value(); });
  return shares;
}

}  // namespace

kube::Labels ShareAnnotations::forAgents() const {
  kube::Labels words;
  for (const ShareAnnotation& one : wishes_)
    if (one.term->reader != share_options::Reader::kScheduler)
      words.emplace(wishKey(one.term->word, one.container), one.value);
  return words;
}

std::string wishKey(std::string_view word, std::string_view container) {
  std::string key(container);
  if (!key.empty()) key += '.';
  return key + std::string(share_options::kDomain) + '/' + std::string(word);
}

Result<ShareAnnotations> ShareAnnotations::of(const kube::Pod& pod) {
  ShareAnnotations wishes;
  for (const auto& [key, text] : pod.meta.annotations) {
    const std::optional<Key> said = keyOf(key);
    // A resize of a running pod: the resize controller reads it.
    if (!said || key == kube::kChangeKey || key == kube::kResizeKey) continue;
    const share_options::ShareOption* term = share_options::ofAnnotation(said->word);
    const Result<void> known = checkKey(pod, key, *said, term);
    if (!known) return known.error();
    std::string value = trimmed(text);
    if (value.empty()) continue;
    const Result<void> good = share_options::check(*term, value);
    if (!good) return wrong(key, good.error().message());
    wishes.wishes_.push_back({term, std::string(said->container), std::move(value)});
  }
  return wishes;
}

const std::string* ShareAnnotations::exactly(std::string_view word,
                                             std::string_view container) const {
  const auto found = std::find_if(wishes_.begin(), wishes_.end(), [&](const ShareAnnotation& one) {
    return one.term->word == word && one.container == container;
  });
  return found == wishes_.end() ? nullptr : &found->value;
}

const std::string* ShareAnnotations::find(std::string_view word, std::string_view container) const {
  const std::string* own = container.empty() ? nullptr : exactly(word, container);
  return own != nullptr ? own : exactly(word, {});
}

Result<void> ShareAnnotations::applyTo(const kube::PodContainer& from,
                                       engine::Container* to) const {
  const std::string* pressure = find("on-pressure", from.name);
  const std::string* wait = find("pressure-wait", from.name);
  if (wait != nullptr && (pressure == nullptr || *pressure != "wait"))
    return wrong(wishKey("pressure-wait"),
                 "requires on-pressure=wait; accepted: both of them, for container " + from.name);
  const std::vector<engine::DeviceRequest*> shares = sharesOf(to);
  const auto idle = [](const engine::DeviceRequest* one) {
    return one->compute == engine::Compute{};
  };
  if (exactly("cores-policy", from.name) != nullptr &&
      std::all_of(shares.begin(), shares.end(), idle))
    return wrong(wishKey("cores-policy", from.name),
                 "requires cores, and the container requests none; accepted: both of them");
  const std::string* enforce = find("enforce", from.name);
  const bool unswappable = enforce != nullptr && (*enforce == "mps" || *enforce == "timeslice");
  const std::string* guaranteed = find("guaranteed", from.name);
  if (guaranteed == nullptr && !unswappable) return {};
  if (exactly("guaranteed", from.name) != nullptr && shares.empty())
    return wrong(wishKey("guaranteed", from.name), "the container has no share of a device");
  for (engine::DeviceRequest* share : shares) {
    const engine::DeviceMemory memory = unswappable ? share->memory : memoryOf(*guaranteed);
    if (isMore(memory, share->memory))
      return wrong(wishKey("guaranteed"), *guaranteed + " is more than container " + from.name +
                                              " has; accepted: at most its memory");
    share->guarantee = memory;
  }
  return {};
}

// Divvy's selection replaces that of another dialect.
Result<void> ShareAnnotations::select(engine::Shape* shape) const {
  const std::string* models = find("model");
  const std::string* not_models = find("not-model");
  const std::string* uuids = find("uuid");
  const std::string* not_uuids = find("not-uuid");
  const bool by_model = models != nullptr || not_models != nullptr;
  const bool by_uuid = uuids != nullptr || not_uuids != nullptr;
  if (!by_model && !by_uuid) return {};
  if (requests::kindsOf(*shape).size() > 1)
    return wrong(wishKey(by_model ? "model" : "uuid"),
                 "the pod requests devices of several kinds; accepted: one kind");
  if (by_model) {
    // As divvy run has it.
    shape->selector.match = engine::ModelMatch::kWords;
    shape->selector.models = listOf<engine::ModelName>(models);
    shape->selector.not_models = listOf<engine::ModelName>(not_models);
  }
  if (by_uuid) {
    shape->selector.uuid_match = engine::UuidMatch::kPrefix;
    shape->selector.uuids = listOf<engine::DeviceUuid>(uuids);
    shape->selector.not_uuids = listOf<engine::DeviceUuid>(not_uuids);
  }
  return {};
}

Result<void> ShareAnnotations::apply(const kube::Pod& pod, engine::Shape* shape) const {
  if (wishes_.empty()) return {};
  for (std::size_t at = 0; at < shape->init.size() && at < pod.init.size(); ++at)
    if (const auto good = applyTo(pod.init[at], &shape->init[at]); !good) return good;
  for (std::size_t at = 0; at < shape->containers.size() && at < pod.containers.size(); ++at)
    if (const auto good = applyTo(pod.containers[at], &shape->containers[at]); !good) return good;
  const std::string* overhead = find("context-overhead");
  if (overhead != nullptr) shape->context_outside = *overhead == "outside";
  return select(shape);
}

}  // namespace divvy::scheduler
