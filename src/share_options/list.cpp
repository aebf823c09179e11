// The list itself.
#include <algorithm>
#include <array>

#include "share_options/share_options.h"

namespace divvy::share_options {
namespace {

constexpr auto kResource = Place::kResource;
constexpr auto kAnnotation = Place::kAnnotation;
constexpr auto kPod = Scope::kPod;
constexpr auto kContainer = Scope::kContainer;
constexpr auto kScheduler = Reader::kScheduler;
constexpr auto kAgent = Reader::kAgent;
constexpr auto kBoth = Reader::kBoth;

// In the order of `divvy run --help`; then what only pods say.
constexpr std::array kAll{
    ShareOption{"memory", "SIZE", "memory per device: 4Gi, 4096 (MiB), 50% of the card", "100%",
                kResource, "divvy.dev/gpumem", kContainer, kBoth, ValueKind::kElsewhere,
                "percent are divvy.dev/gpumem-percentage"},
    ShareOption{"guaranteed", "SIZE", "of --memory, never swapped out",
                "all; with overcommit, none", kAnnotation, "guaranteed", kContainer, kBoth,
                ValueKind::kSizeOrNone, "what is above it may be swapped out: so a pod consents"},
    ShareOption{"on-pressure", "oom|wait", "what an allocation sees while the card is short", "oom",
                kAnnotation, "on-pressure", kContainer, kAgent, ValueKind::kWord},
    ShareOption{"pressure-wait", "TIME", "how long it waits at most", "30s", kAnnotation,
                "pressure-wait", kContainer, kAgent, ValueKind::kTime},
    ShareOption{"idle-reclaim", "TIME", "idle for so long its memory is swapped out, or off",
                "as its priority has it", kAnnotation, "idle-reclaim", kContainer, kAgent,
                ValueKind::kTimeOrOff},
    ShareOption{"idle-stop", "TIME", "idle for so long it is ended, after a notice, or off",
                "as its priority has it", kAnnotation, "idle-stop", kContainer, kAgent,
                ValueKind::kTimeOrOff,
                "the pod is evicted, once all of its containers were idle for so long"},
    ShareOption{"cores", "PERCENT", "percent of compute, all GPUs together", "what others leave",
                kResource, "divvy.dev/gpucores", kContainer, kBoth, ValueKind::kElsewhere,
                "of each GPU"},
    ShareOption{"cores-policy", "share|cap",
                "cores are a share of a busy card, or a cap at all times", "share", kAnnotation,
                "cores-policy", kContainer, kAgent, ValueKind::kWord},
    ShareOption{"priority", "high|normal|low", "high: others make room; low: in the gaps of others",
                "normal", kAnnotation, "priority", kContainer, kAgent, ValueKind::kWord,
                "or by nvidia.com/priority (0 high, others low), or the PriorityClass"},
    ShareOption{"gpus", "N", "number of devices", "1", kResource, "divvy.dev/gpu", kContainer,
                kScheduler, ValueKind::kElsewhere, "divvy.dev/gpu-MODEL are of that model"},
    ShareOption{"model", "NAME", "only on a card with these words in its model; may be repeated",
                "", kAnnotation, "model", kPod, kScheduler, ValueKind::kModels,
                "several with commas"},
    ShareOption{"uuid", "UUID", "only on this card (or prefix); may be repeated", "", kAnnotation,
                "uuid", kPod, kScheduler, ValueKind::kNames, "several with commas"},
    ShareOption{"pool", "NAME", "on a card of this pool, or of none", "your default", kAnnotation,
                "pool", kPod, kScheduler, ValueKind::kElsewhere, "the namespace's default"},
    ShareOption{"device-policy", "WORD,..", "which cards: binpack, spread, mutex, numa-strict, ..",
                "the pool's, the agent's", kAnnotation, "device-policy", kPod, kScheduler,
                ValueKind::kElsewhere},
    ShareOption{"expected-use", "HOURS=PERCENT,..",
                "of what it asks, by hours of UTC: 9-18=80%,else=10%", "all of it, all day",
                kAnnotation, "expected-use", kPod, kScheduler, ValueKind::kElsewhere},
    ShareOption{"enforce", "auto|interposer|mps|timeslice", "who keeps the compute share", "auto",
                kAnnotation, "enforce", kContainer, kBoth, ValueKind::kWord},
    ShareOption{"context-overhead", "inside|outside",
                "CUDA contexts count inside the share, or one of them outside", "inside",
                kAnnotation, "context-overhead", kPod, kBoth, ValueKind::kWord},
    ShareOption{"sim", "[PROFILE]", "share a simulated card instead", "DIVVY_SIM, else h100",
                Place::kNone, "which cards a node has is said where its agent is started"},
    ShareOption{"name", "NAME", "a name for ls, set and wait", "", Place::kNone,
                "a pod has a name, and so have its containers"},
    ShareOption{"podman", "", "in a container: all behind it is said to podman run", "",
                Place::kNone, "a pod's containers are the kubelet's"},
    ShareOption{"docker", "", "likewise, to docker run", "", Place::kNone,
                "a pod's containers are the kubelet's"},
    ShareOption{"wait", "[TIME]", "queue until there is room, at most this long", "", Place::kNone,
                "pods wait until there is room"},
    ShareOption{"", "NAME", "which node: divvy, binpack, spread, fgd ...",
                "the pool's, the scheduler's", kAnnotation, "node-policy", kPod, kScheduler,
                ValueKind::kElsewhere},
    ShareOption{"", "NAME", "not on a card with these words in its model", "", kAnnotation,
                "not-model", kPod, kScheduler, ValueKind::kModels, "several with commas"},
    ShareOption{"", "NAME", "in this queue", "the namespace's", kAnnotation, "queue", kPod,
                kScheduler, ValueKind::kElsewhere, "see queues.md"},
    ShareOption{"", "NAME", "one of a gang, which starts as a whole", "", kAnnotation, "gang", kPod,
                kScheduler, ValueKind::kElsewhere, "see queues.md"},
    ShareOption{"", "N", "how many of a gang start together at least", "", kAnnotation, "gang-min",
                kPod, kScheduler, ValueKind::kElsewhere, "see queues.md"},
    ShareOption{"", "true|false", "whether it may end for pods of higher priority", "true",
                kAnnotation, "evictable", kPod, kScheduler, ValueKind::kWord},
    ShareOption{"", "TIME", "so long it does not end for others, once it is bound",
                "the scheduler's", kAnnotation, "min-runtime", kPod, kScheduler, ValueKind::kTime},
    ShareOption{"", "UUID", "not on this card (or prefix)", "", kAnnotation, "not-uuid", kPod,
                kScheduler, ValueKind::kNames, "several with commas"},
};

template <typename Is>
const ShareOption* first(const Is& is) {
  const auto found = std::find_if(kAll.begin(), kAll.end(), is);
  return found == kAll.end() ? nullptr : &*found;
}

}  // namespace

std::span<const ShareOption> all() {
  return kAll;
}

const ShareOption* ofOption(std::string_view option) {
  return first([&](const ShareOption& one) { return !option.empty() && one.option == option; });
}

const ShareOption* ofAnnotation(std::string_view word) {
  return first(
      [&](const ShareOption& one) { return one.place == Place::kAnnotation && one.word == word; });
}

}  // namespace divvy::share_options
