#include "cluster_console/change_effects.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "kube/assignment_text.h"
#include "kubernetes/cordon_plan.h"
#include "kubernetes/pod_resize.h"
#include "share_options/share_options.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

using AmountList = std::vector<kube::QueueAmount>;

constexpr std::int64_t kMilli = 1000;

std::string countedNoun(std::size_t count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

// "4GiB", or "4GiB, 8GiB" if devices differ.
template <typename Text>
std::string presentOf(const std::vector<kube::AssignedDevice>& devices, Text text) {
  std::vector<std::string> seen;
  for (const kube::AssignedDevice& one : devices)
    if (std::find(seen.begin(), seen.end(), text(one)) == seen.end()) seen.push_back(text(one));
  std::string all;
  for (const std::string& one : seen) all += (all.empty() ? "" : ", ") + one;
  return all;
}

void addAmount(const std::string& what, const std::string& from, const std::string& to,
               std::size_t devices, std::vector<std::string>* effects) {
  if (from == to) return;
  // Other vendors keep the amounts in annotations of their own.
  if (from.empty()) {
    effects->push_back(what + ": " + to + " on each of its devices");
  } else {
    effects->push_back(what + ": " + from + " to " + to + " on each of " +
                       countedNoun(devices, "device"));
  }
}

// The priority as agents read it.
std::string priorityOf(const kube::Pod& pod, const std::string& container) {
  const Result<std::optional<kube::Labels>> decided = kube::decidedIn(pod.meta.annotations);
  const kube::Labels& said = decided && *decided ? **decided : pod.meta.annotations;
  const std::string of_all = std::string(share_options::kDomain) + "/priority";
  auto found = said.find(container + '.' + of_all);
  if (found == said.end()) found = said.find(of_all);
  return found == said.end() ? "normal" : found->second;
}

std::string amountText(const kube::QueueAmount& amount) {
  std::string text = amount.model + ':';
  if (amount.milli) {
    const std::int64_t rest = *amount.milli % kMilli;
    std::string number = std::to_string(*amount.milli / kMilli);
    if (rest != 0) {
      std::string part = std::to_string(kMilli + rest).substr(1);
      part.erase(part.find_last_not_of('0') + 1);
      number += '.' + part;
    }
    text += ' ' + number + (number == "1" ? " device" : " devices");
  }
  if (amount.mebibytes)
    text += std::string(amount.milli ? "," : "") + ' ' +
            sizeWord(mib(static_cast<std::uint64_t>(*amount.mebibytes)).count);
  return text;
}

std::string listText(const AmountList& amounts, const char* none) {
  std::string text;
  for (const kube::QueueAmount& one : amounts) text += (text.empty() ? "" : "; ") + amountText(one);
  return text.empty() ? none : text;
}

// Returns whether a number of `one` is above that of `bound`.
bool above(const kube::QueueAmount& one, const kube::QueueAmount& bound) {
  return (one.milli && bound.milli && *one.milli > *bound.milli) ||
         (one.mebibytes && bound.mebibytes && *one.mebibytes > *bound.mebibytes);
}

// Calls `each` for the amounts of the same model that are above their bound.
template <typename Each>
void eachAbove(const AmountList& amounts, const AmountList& bounds, Each each) {
  for (const kube::QueueAmount& one : amounts)
    for (const kube::QueueAmount& bound : bounds)
      if (one.model == bound.model && above(one, bound)) each(one);
}

void warnOfQueue(const kube::Queue& queue, const console::QueueTerms& terms,
                 std::vector<std::string>* warnings) {
  const AmountList& limit = terms.limit ? *terms.limit : queue.limit;
  const AmountList& guarantee = terms.guarantee ? *terms.guarantee : queue.guarantee;
  eachAbove(queue.status.used, limit, [&](const kube::QueueAmount& used) {
    warnings->push_back("it uses more than the limit (" + amountText(used) +
                        "): its pods keep running, and others wait until it uses less");
  });
  eachAbove(guarantee, limit, [&](const kube::QueueAmount& more) {
    warnings->push_back("the guarantee is above the limit (" + amountText(more) + ')');
  });
  if (!queue.status.fault.empty())
    warnings->push_back("the queue is not in force now: " + queue.status.fault);
}

}  // namespace

ChangeEffects effectsOnShare(const kube::Pod& pod, const console::ClusterChange& change) {
  const std::string& container = change.target.container;
  const std::vector<kube::AssignedDevice> devices = devicesOf(pod, container);
  ChangeEffects result;
  if (change.to.mebibytes)
    addAmount(
        "memory limit of container " + container,
        presentOf(devices, [](const auto& one) { return sizeWord(mib(one.mebibytes).count); }),
        sizeWord(mib(*change.to.mebibytes).count), devices.size(), &result.effects);
  if (change.to.cores)
    addAmount("compute of container " + container,
              presentOf(devices, [](const auto& one) { return std::to_string(one.cores) + '%'; }),
              std::to_string(*change.to.cores) + '%', devices.size(), &result.effects);
  if (!change.to.priority.empty()) {
    const std::string was = priorityOf(pod, container);
    if (was != change.to.priority)
      result.effects.push_back("priority of container " + container + ": " + was + " to " +
                               change.to.priority);
  }
  if (change.to.mebibytes && change.used_bytes &&
      *change.used_bytes > mib(*change.to.mebibytes).count)
    result.warnings.push_back("less than it uses now (" + sizeWord(*change.used_bytes) +
                              "): the agent will refuse it");
  return result;
}

ChangeEffects effectsOfCordon(const console::ClusterChange& change,
                              const CordonedDevices& devices) {
  const bool close = change.kind == console::ClusterChangeKind::kCordon;
  const bool one = devices.uuids.size() == 1;
  const std::string what =
      one ? "device " + *devices.uuids.begin() : countedNoun(devices.uuids.size(), "device");
  ChangeEffects result;
  result.effects.push_back(what + " of " + change.target.node + (one ? " takes" : " take") +
                           (close ? " no new pods" : " new pods again"));
  if (!close) return result;
  const char* them = one ? "it" : "them";
  if (devices.pods == 0) {
    result.effects.push_back(std::string("no running pod uses ") + them);
    return result;
  }
  result.effects.push_back(countedNoun(devices.pods, "running pod") +
                           (devices.pods == 1 ? " keeps " : " keep ") + them);
  result.warnings.push_back(
      "pods that run there stay until they end; evict them, or use \"divvy "
      "drain\", to free " +
      std::string(them));
  return result;
}

ChangeEffects effectsOfEviction(const kube::Pod& pod, const std::string& owner) {
  ChangeEffects result;
  if (pod.meta.deleting || pod.ended()) return result;
  result.effects.push_back("pod " + pod.meta.namespace_name + '/' + pod.meta.name +
                           " ends; it has " + std::to_string(pod.grace) + " s for that");
  if (owner.empty()) {
    result.effects.push_back("nothing starts it again");
  } else if (owner.starts_with("Job/")) {
    result.effects.push_back("its controller " + owner +
                             " starts another one, within its limit of retries");
  } else {
    result.effects.push_back("its controller " + owner + " starts another one");
  }
  // Only a drain minds a DaemonSet: its device is cordoned.
  kube::Pod replaced = pod;
  if (pod.controller == "DaemonSet") replaced.controller = "ReplicaSet";
  const std::string why = whyNotToEvict(replaced);
  if (!why.empty()) result.warnings.push_back(why);
  return result;
}

ChangeEffects effectsOnQueue(const kube::Queue& queue, const console::QueueTerms& terms) {
  const std::string of = " of queue " + queue.meta.name + ": ";
  ChangeEffects result;
  const auto add = [&](const char* what, const std::string& from, const std::string& to) {
    if (from != to) result.effects.push_back(what + of + from + " to " + to);
  };
  if (terms.guarantee)
    add("guarantee", listText(queue.guarantee, "none"), listText(*terms.guarantee, "none"));
  if (terms.limit)
    add("limit", listText(queue.limit, "unlimited"), listText(*terms.limit, "unlimited"));
  if (terms.weight) add("weight", std::to_string(queue.weight), std::to_string(*terms.weight));
  if (terms.borrows) add("borrowing", queue.borrows ? "on" : "off", *terms.borrows ? "on" : "off");
  if (!result.effects.empty()) warnOfQueue(queue, terms, &result.warnings);
  return result;
}

}  // namespace divvy::cli
