// The agent's socket protocol: one JSON object per line in each direction (agent.sock). This header
// is the protocol's only description; wire.cpp and json_*.cpp turn it into text and back. A request
// is answered by exactly one reply, except `run` (queued replies may precede the grant or refusal).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/container_edits.h"
#include "agent/enforcement.h"
#include "agent/idle_policy.h"
#include "agent/share_request.h"
#include "base/result.h"

namespace divvy::agent {

// A line longer than this is refused and its sender dropped.
constexpr std::size_t kMaxLine = 1 << 20;
// At most this much of a command line travels; it is for showing only.
constexpr std::size_t kMaxCommand = 4096;

// Are you there? Answered by Done.
struct PingRequest {};

// Give me a share. The sender becomes its holder: the share lives at least as long as that process,
// until it says `end`.
struct RunRequest {
  ShareRequest ask;
  std::string name;  // empty = none; else unique among the living
  Priority priority = Priority::kNormal;
  Enforce enforce = Enforce::kAuto;
  OnPressure on_pressure = OnPressure::kOom;
  std::uint64_t pressure_wait_ms = kPressureWaitMs;
  IdleRequest idle;
  std::string mps_dir;        // CUDA_MPS_PIPE_DIRECTORY of the sender; empty = none
  bool wait = false;          // queue instead of refusing
  std::uint64_t wait_ms = 0;  // 0 = no end
  bool contained = false;     // for a container: the reply says what it is to be given
  bool kept = false;          // until it is released, not as long as the sender lives
  std::string cdi_dir;        // of a kept one: where runtimes look for devices; empty: nowhere
  std::vector<std::string> command;
  std::uint64_t start_time =
      0;  // of the sender, clock ticks since boot (/proc/<pid>/stat field 22)
};

// What would become of that request now. Changes nothing.
struct ExplainRequest {
  RunRequest run;
};

// The command was started as this process. From the holder only.
struct StartedRequest {
  std::string tenant;
  int pid = 0;
};

// The tree has ended: free the share if no other process uses it. From the holder only.
struct EndRequest {
  std::string tenant;
};

// A kept share is not kept any more. Refused while a container has it.
struct ReleaseRequest {
  std::string tenant;  // id or name
};

// Tell me all: devices, tenants, queue.
struct ListRequest {};

// Change a living share. Zero, empty or nothing means unchanged.
struct SetRequest {
  std::string tenant;  // id or name
  bool has_memory = false;
  MemoryRequest memory;
  unsigned cores = 0;  // percent, over all its devices together
  std::optional<CoresPolicy> cores_policy;
  std::optional<Priority> priority;
  std::string name;
  std::optional<MemoryRequest> guaranteed;
  std::optional<OnPressure> on_pressure;
  std::optional<std::uint64_t> pressure_wait_ms;
  IdleRequest idle;
};

// Answer when this tenant (id or name) has ended; empty: when none is left.
struct WaitRequest {
  std::string tenant;
};

// Leave. Refused while tenants live, unless forced: then their processes are ended first.
struct StopRequest {
  bool force = false;
};

// What happened to tenants, or to one (id or name), since the event of that number.
struct EventsRequest {
  std::string tenant;
  std::uint64_t after = 0;
};

// All that placement goes by, and what it decided lately.
struct PlacementRequest {};

using Request = std::variant<PingRequest, RunRequest, StartedRequest, EndRequest, ListRequest,
                             SetRequest, WaitRequest, StopRequest, EventsRequest, ExplainRequest,
                             PlacementRequest, ReleaseRequest>;

// From one device to another, better than through the host.
struct LinkView {
  unsigned device = 0;
  unsigned score = 0;   // more is better
  bool direct = false;  // NVLink; else by switches of the PCIe bus
};

struct NicView {
  std::string name;
  unsigned distance =
      0;  // 0 a board, 1 a switch, 2 switches, 3 a host bridge, 4 a NUMA node, 5 more
};

struct DeviceView {
  unsigned index = 0;
  std::string uuid;
  std::string model;
  std::string pci;
  std::uint64_t physical = 0;   // bytes
  std::uint64_t allocated = 0;  // bytes promised to tenants
  std::uint64_t used = 0;       // bytes in use, by whomever, as the driver says
  std::uint64_t context = 0;    // bytes one context costs
  unsigned cores = 0;           // percent asked for by tenants; may be more than 100
  unsigned tenants = 0;
  int utilisation = -1;  // percent over the driver's last sample; -1 = not known
  // Memory promised more than once.
  unsigned overcommit_permille = 1000;
  std::uint64_t budget = 0;      // bytes that tenants may have there at once
  std::uint64_t promised = 0;    // bytes: their limits
  std::uint64_t guaranteed = 0;  // bytes of these that are never swapped
  std::uint64_t booked = 0;      // bytes that they have, or are being given
  unsigned ratio_permille = 0;   // what those need that are at work, of the budget
  std::uint64_t quantum_ms = 0;  // of a turn, as last computed
  std::uint64_t swap_predicted_ms = 0;
  std::uint64_t swap_actual_ms = 0;
  unsigned checkpointed = 0;  // tenants that are off it, with all that they have
  bool excluded = false;      // nobody new gets anything of it, for that was said of this node
  std::string fault;          // why nobody new gets anything of it: "Xid 79"; empty: it is good
  bool thrash_risk = false;   // they swap too often for what they do
  std::string pool;           // empty: in none
  int numa = -1;              // NUMA node; -1 = not known
  std::vector<LinkView> links;
  std::vector<NicView> nics;  // RDMA
};

struct ShareView {
  unsigned device = 0;
  std::string uuid;
  std::uint64_t limit = 0;  // bytes
  std::uint64_t used = 0;   // bytes
  unsigned cores = 0;       // percent of this device; 0 = none asked
  int utilisation = -1;     // percent of the device's time; -1 = not known
  // Of the device's time over the last second, as Divvy charged it; -1 = not known.
  int got_permille = -1;
  // Bytes.
  std::uint64_t guarantee = 0;  // of the limit, never swapped
  std::uint64_t allowed = 0;    // on the device, where it takes turns
  std::uint64_t resident = 0;   // of what is used, on the device
  std::uint64_t swapped = 0;    // with the host
  std::uint64_t pinned = 0;     // of what is on the device, what cannot be swapped
  std::uint64_t out_bps = 0;    // over the last second
  std::uint64_t in_bps = 0;
};

struct TenantView {
  std::string id;
  std::string name;
  std::string state;  // running, reserved (kept, and used by nobody), orphaned (its `divvy run` is
                      // gone), broken (its ledger is unreadable)
  std::string priority;
  std::string note;           // why, when broken
  int pid = 0;                // the command, or its `divvy run` until it is started
  unsigned processes = 0;     // that use the device
  std::int64_t created = 0;   // seconds since 1970
  std::uint64_t refused = 0;  // allocations over the limit
  std::vector<std::string> command;
  std::vector<ShareView> shares;
  // Compute. Figures are of the tenant's life unless they say otherwise.
  std::string mode = "solo";           // solo, share, cap, latency, best-effort, ungated
  std::string backend = "interposer";  // who enforces it: interposer, mps, timeslice
  std::string cores_policy = "share";  // as asked: share, cap
  std::string expected_use;            // by hours of UTC; empty: not said
  unsigned weight = 0;                 // percent it gets while all others want to run too
  unsigned throttled_permille = 0;     // of the last second: wanted to run and was not let
  std::uint64_t throttled_ms = 0;
  std::uint64_t waits = 0;       // launches that had to wait
  unsigned grants_per_s = 0;     // over the last second
  std::uint64_t longest_us = 0;  // longest single kernel or graph
  std::uint64_t escapes = 0;     // waits given up because work in flight may depend on the waiter
  unsigned cpu_permille = 0;     // of one core, by Divvy's own threads in it, over the last second
  bool unpreemptible = false;    // its work did not end within the bound when it had to
  std::string bypass;            // what it does past what limits it; empty: nothing
  bool distrusted = false;  // reports less than the driver sees: charged for what it is granted
  // Memory.
  // kept: nothing of it is swapped; resident; waiting: for its turn; coming: back to the device;
  // out: and it does not want it.
  std::string memory = "kept";
  std::string memory_reason = "fits";  // others-turn, idle, higher-class, unused, short
  std::string lent_to;                 // id of who has what it lacks; empty: nobody, or not known
  std::string unswapped;               // why nothing of it can be swapped although it was to
  // What it can never have on a device is used where it is, with the host: off, unknown, can,
  // in-use, cannot (its driver).
  std::string host_map = "unknown";
  std::string refusal;                 // why it did not give memory back when last asked
  std::vector<std::string> pinned_by;  // what cannot be swapped
  // By the driver's checkpoint, with all that it has: here, leaving, away, returning.
  std::string checkpoint = "here";
  std::string checkpoint_note;  // why it cannot leave so, or what it lost by it
  std::uint64_t swaps = 0;      // back to the device
  std::uint64_t longest_wait_ms = 0;
  std::uint64_t turn_left_ms = 0;    // while others wait for it to end
  bool idle_known = false;           // what follows is: by its launches, or by the driver's figures
  std::uint64_t idle_s = 0;          // since it last used its devices
  std::uint64_t idle_reclaim_s = 0;  // idle for so long it gives its memory back; 0: never
  std::uint64_t idle_stop_s = 0;     // and for so long it is ended; 0: never
  std::string stop;                  // noticed, ending; empty: it is not being ended
  std::uint64_t stop_left_s = 0;     // until SIGTERM, or SIGKILL
  unsigned pressed = 0;              // processes in which an allocation waits for the device
  std::uint64_t pressure_waits = 0;  // how often one did
  std::uint64_t refused_short = 0;   // allocations within the limit: the device was short of them
  std::string on_pressure = "oom";
  std::uint64_t pressure_wait_ms = kPressureWaitMs;
};

struct QueuedView {
  int pid = 0;
  std::string name;
  std::string memory;
  unsigned gpus = 1;
  std::string reason;
};

struct Snapshot {
  std::string node;
  std::string driver;
  int agent_pid = 0;
  std::uint64_t host_reserve = 0;   // bytes of the host for what is swapped out
  std::uint64_t host_promised = 0;  // of these, what may be needed
  // The largest lateness of the agent's loop in the last minute, in ms; -1: not measured.
  std::int64_t loop_late_ms = -1;
  std::vector<DeviceView> devices;
  std::vector<TenantView> tenants;
  std::vector<QueuedView> queue;
};

// Something that happened to a tenant, and why.
struct EventView {
  std::uint64_t seq = 0;     // of this agent, from 1
  std::int64_t time_ms = 0;  // since 1970
  std::string tenant;        // id; empty: a device's
  std::string name;
  int device = -1;      // -1: none in particular
  std::string kind;     // given, changed, ended, swapped-out, yielded, refused, waited, ...
  std::string reason;   // one sentence, with numbers
  std::string by = {};  // who asked for it; empty: nobody did, or it is not known
};

struct DoneReply {
  std::string note;
};

// The request failed. `reasons` has one line per device, for refused shares.
struct FailedReply {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::vector<std::string> reasons;
};

// The request waits; the grant, or a refusal, follows.
struct QueuedReply {
  unsigned position = 0;  // 1 = next
  std::vector<std::string> reasons;
};

struct GrantedReply {
  std::string tenant;
  std::string dir;                   // the tenant's pages
  std::vector<std::string> devices;  // UUIDs, in device order
  std::vector<std::string> notes;    // what the asker should know, a line each
  CommandEnvironment environment;    // for the command
  ContainerEdits edits;              // for the container, instead
};

struct SnapshotReply {
  Snapshot snapshot;
};

// One device, as a request sees it.
struct DeviceVerdictView {
  unsigned device = 0;
  std::string uuid;
  std::string model;
  bool given = false;   // the request would get this one
  std::string refusal;  // why it will not do; empty: it will
};

// A tenant of lower priority that stands in the way.
struct VictimView {
  std::string id;
  std::string name;
  std::string priority;
  Bytes memory;  // that it has of all devices
};

struct ExplainReply {
  bool fits = false;
  bool impossible = false;  // does not fit even with nobody there
  std::string summary;      // one line; empty where it fits
  unsigned waiting = 0;     // requests in the queue
  std::vector<DeviceVerdictView> devices;
  std::vector<std::string> fixes;  // options of divvy run, each line alone would do
  // If all of these ended it would fit, as it was asked; nothing ends them for it.
  std::vector<VictimView> victims;
};

struct EventsReply {
  int agent_pid = 0;       // numbers of another agent's events mean nothing to this one
  std::uint64_t last = 0;  // of all events, not only of those asked for
  std::vector<EventView> events;
};

struct PlacementReply {
  std::string text;  // as snapshot/text.h reads it
};

using Reply = std::variant<DoneReply, FailedReply, QueuedReply, GrantedReply, SnapshotReply,
                           EventsReply, ExplainReply, PlacementReply>;

// One line each, newline included.
std::string encode(const Request& request);
std::string encode(const Reply& reply);

// Input is untrusted; any deviation is kCorrupt with the member's name. Unknown members are
// ignored.
Result<Request> decodeRequest(std::string_view line);
Result<Reply> decodeReply(std::string_view line);

// What `-o json` prints: an array of objects with the member names of the views above.
std::string devicesJson(const std::vector<Snapshot>& nodes);
std::string tenantsJson(const std::vector<Snapshot>& nodes);
std::string snapshotsJson(const std::vector<Snapshot>& nodes);
std::string explanationJson(const ExplainReply& reply);
// Events with their nodes: as an array, or one object a line.
std::string eventsJson(const std::vector<std::pair<std::string, EventView>>& events, bool lines);

// The names errors travel under ("usage", "no-room", ...).
const char* errorName(ErrorCode code);
// kInternal for a name that is none of them.
ErrorCode errorFromName(std::string_view name);

}  // namespace divvy::agent
