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
    ShareOption{"memory", "SIZE", "memory per device: 4Gi, 4096 (MiB), 50% of the device", "100%",
                kResource, "divvy.dev/gpumem", kContainer, kBoth, ValueKind::kElsewhere,
                "percent are divvy.dev/gpumem-percentage"},
    ShareOption{"guaranteed", "SIZE", "part of --memory that is never swapped out",
                "all; with overcommit, none", kAnnotation, "guaranteed", kContainer, kBoth,
                ValueKind::kSizeOrNone, "a pod that sets it consents to swapping of the rest"},
    ShareOption{"on-pressure", "oom|wait", "result of an allocation while the device is short",
                "oom", kAnnotation, "on-pressure", kContainer, kAgent, ValueKind::kWord},
    ShareOption{"pressure-wait", "TIME", "maximum wait of such an allocation", "30s", kAnnotation,
                "pressure-wait", kContainer, kAgent, ValueKind::kTime},
    ShareOption{"idle-reclaim", "TIME", "swap memory out after this idle time, or off",
                "by its priority", kAnnotation, "idle-reclaim", kContainer, kAgent,
                ValueKind::kTimeOrOff},
    ShareOption{"idle-stop", "TIME", "end it after this idle time, with a notice, or off",
                "by its priority", kAnnotation, "idle-stop", kContainer, kAgent,
                ValueKind::kTimeOrOff,
                "the pod is evicted once all of its containers were idle for that time"},
    ShareOption{"cores", "PERCENT", "percent of compute, sum over all GPUs",
                "what other tenants leave", kResource, "divvy.dev/gpucores", kContainer, kBoth,
                ValueKind::kElsewhere, "of each GPU"},
    ShareOption{"cores-policy", "share|cap",
                "cores are a share of a busy device, or a cap at all times", "share", kAnnotation,
                "cores-policy", kContainer, kAgent, ValueKind::kWord},
    ShareOption{"priority", "high|normal|low",
                "high: others yield to it; low: only in the gaps of others", "normal", kAnnotation,
                "priority", kContainer, kAgent, ValueKind::kWord,
                "or by nvidia.com/priority (0 high, others low), or the PriorityClass"},
    ShareOption{"gpus", "N", "number of devices", "1", kResource, "divvy.dev/gpu", kContainer,
                kScheduler, ValueKind::kElsewhere,
                "divvy.dev/gpu-MODEL counts devices of that model"},
    ShareOption{"model", "NAME", "only a device with these words in its model; may be repeated", "",
                kAnnotation, "model", kPod, kScheduler, ValueKind::kModels, "several with commas"},
    ShareOption{"uuid", "UUID", "only the device with this UUID (or prefix); may be repeated", "",
                kAnnotation, "uuid", kPod, kScheduler, ValueKind::kNames, "several with commas"},
    ShareOption{"pool", "NAME", "a device of this pool, or of none", "your default", kAnnotation,
                "pool", kPod, kScheduler, ValueKind::kElsewhere, "the namespace's default"},
    ShareOption{"device-policy", "WORD,..",
                "choice of devices: binpack, spread, mutex, numa-strict, ..",
                "the pool's, the agent's", kAnnotation, "device-policy", kPod, kScheduler,
                ValueKind::kElsewhere},
    ShareOption{"expected-use", "HOURS=PERCENT,..",
                "part of the request in use, by hours of UTC: 9-18=80%,else=10%",
                "all of it, all day", kAnnotation, "expected-use", kPod, kScheduler,
                ValueKind::kElsewhere},
    ShareOption{"enforce", "auto|interposer|mps|timeslice", "what enforces the compute share",
                "auto", kAnnotation, "enforce", kContainer, kBoth, ValueKind::kWord},
    ShareOption{"context-overhead", "inside|outside",
                "CUDA contexts count inside the share, or one of them outside", "inside",
                kAnnotation, "context-overhead", kPod, kBoth, ValueKind::kWord},
    ShareOption{"sim", "[PROFILE]",
                "share a simulated card instead; DIVVY_SIM names another default", "h100",
                Place::kNone, "a node's simulated cards are set where its agent is started"},
    ShareOption{"name", "NAME", "name for ls, resize and wait", "", Place::kNone,
                "a pod has a name, and so have its containers"},
    ShareOption{"podman", "", "run a container: the arguments after it go to podman run", "",
                Place::kNone, "the kubelet runs a pod's containers"},
    ShareOption{"docker", "", "run a container: the arguments after it go to docker run", "",
                Place::kNone, "the kubelet runs a pod's containers"},
    ShareOption{"wait", "[TIME]", "queue until it fits, at most this long", "", Place::kNone,
                "pods wait until they fit"},
    ShareOption{"", "NAME", "choice of the node: divvy, binpack, spread, fgd ...",
                "the pool's, the scheduler's", kAnnotation, "node-policy", kPod, kScheduler,
                ValueKind::kElsewhere},
    ShareOption{"", "NAME", "no device with these words in its model", "", kAnnotation, "not-model",
                kPod, kScheduler, ValueKind::kModels, "several with commas"},
    ShareOption{"", "NAME", "queue of the pod", "the namespace's", kAnnotation, "queue", kPod,
                kScheduler, ValueKind::kElsewhere, "see queues.md"},
    ShareOption{"", "NAME", "gang of the pod; its pods start together", "", kAnnotation, "gang",
                kPod, kScheduler, ValueKind::kElsewhere, "see queues.md"},
    ShareOption{"", "N", "minimum number of a gang's pods that start together", "", kAnnotation,
                "gang-min", kPod, kScheduler, ValueKind::kElsewhere, "see queues.md"},
    ShareOption{"", "NAME", "worker cluster of the job, for `divvy hub`", "any", kAnnotation,
                "cluster", kPod, kScheduler, ValueKind::kElsewhere, "see kueue.md"},
    ShareOption{"", "true|false", "whether pods of higher priority may preempt it", "true",
                kAnnotation, "evictable", kPod, kScheduler, ValueKind::kWord},
    ShareOption{"", "TIME", "minimum run time after binding before it may be preempted",
                "the scheduler's", kAnnotation, "min-runtime", kPod, kScheduler, ValueKind::kTime},
    ShareOption{"", "UUID", "no device with this UUID (or prefix)", "", kAnnotation, "not-uuid",
                kPod, kScheduler, ValueKind::kNames, "several with commas"},
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
