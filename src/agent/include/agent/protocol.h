// The agent's socket protocol: one JSON object per line in each direction (agent.sock).
// This header is the protocol's only description; src/agent/api/protocol*.cpp encode and decode it.
// Each request has exactly one reply, except RunRequest: QueuedReply may precede its grant or
// refusal.
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

// A longer line is refused and its connection closed.
constexpr std::size_t kMaxLine = 1 << 20;
// Longer command lines are cut: they are for display only.
constexpr std::size_t kMaxCommand = 4096;

// Checks that the agent answers. The reply is DoneReply.
struct PingRequest {};

// Requests a share. The sender becomes its holder: the share lives until EndRequest, and at least
// as long as that process.
struct RunRequest {
  ShareRequest ask;
  std::string name;  // empty: none; else unique among tenants
  Priority priority = Priority::kNormal;
  Enforce enforce = Enforce::kAuto;
  OnPressure on_pressure = OnPressure::kOom;
  std::uint64_t pressure_wait_ms = kPressureWaitMs;
  IdleRequest idle;
  std::string mps_dir;        // the sender's CUDA_MPS_PIPE_DIRECTORY; empty: none
  bool wait = false;          // queue instead of a refusal
  std::uint64_t wait_ms = 0;  // longest time in the queue; 0: unlimited
  bool contained = false;     // for a container: the reply has its edits
  bool kept = false;          // lives until ReleaseRequest, not as long as the sender
  std::string cdi_dir;        // of a kept share: the runtimes' CDI directory; empty: none
  std::vector<std::string> command;
  std::uint64_t start_time = 0;  // the sender's, clock ticks since boot (/proc/<pid>/stat field 22)
};

// Evaluates that request without effect.
struct ExplainRequest {
  RunRequest run;
};

// Reports the process of the command. Only from the holder.
struct StartedRequest {
  std::string tenant;
  int pid = 0;
};

// Reports that the holder's process tree has ended: frees the share if no other process uses it.
// Only from the holder.
struct EndRequest {
  std::string tenant;
};

// Ends the reservation of a kept share. kUnavailable while a container uses it.
struct ReleaseRequest {
  std::string tenant;  // ID or name
};

// Requests a snapshot of devices, tenants and queue.
struct ListRequest {};

// Changes the limits of a running tenant. Zero, empty or nothing: unchanged.
struct SetRequest {
  std::string tenant;  // ID or name
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

// Waits until this tenant (ID or name) has ended; empty: until none is left.
struct WaitRequest {
  std::string tenant;
};

// Stops the agent. Refused while tenants live, unless forced: then their processes are ended first.
struct StopRequest {
  bool force = false;
};

// Requests the events after number `after`, of all tenants or of one (ID or name).
struct EventsRequest {
  std::string tenant;
  std::uint64_t after = 0;
};

// Requests the input of placement and its recent decisions.
struct PlacementRequest {};

using Request = std::variant<PingRequest, RunRequest, StartedRequest, EndRequest, ListRequest,
                             SetRequest, WaitRequest, StopRequest, EventsRequest, ExplainRequest,
                             PlacementRequest, ReleaseRequest>;

// A link from one device to another that is better than a path through the host.
struct LinkView {
  unsigned device = 0;
  unsigned score = 0;   // higher is better
  bool direct = false;  // NVLink; else through PCIe switches
};

struct NicView {
  std::string name;
  unsigned distance =
      0;  // 0: one board, 1: one switch, 2: switches, 3: host bridge, 4: NUMA node, 5: farther
};

struct DeviceView {
  unsigned index = 0;
  std::string uuid;
  std::string model;
  std::string pci;
  std::uint64_t physical = 0;   // bytes
  std::uint64_t allocated = 0;  // bytes promised to tenants
  std::uint64_t used = 0;       // bytes in use by any process, according to the driver
  std::uint64_t context = 0;    // bytes of one context
  unsigned cores = 0;           // percent that tenants request; may exceed 100
  unsigned tenants = 0;
  int utilisation = -1;  // percent over the driver's last sample; -1: unknown
  // Memory promised more than once:
  unsigned overcommit_permille = 1000;
  std::uint64_t budget = 0;      // bytes that tenants may have on the device at once
  std::uint64_t promised = 0;    // bytes: the sum of the tenants' limits
  std::uint64_t guaranteed = 0;  // bytes of `promised` that are never swapped
  std::uint64_t booked = 0;      // bytes that tenants have or are being given
  unsigned ratio_permille = 0;   // needs of active tenants, relative to the budget
  std::uint64_t quantum_ms = 0;  // length of a turn, as last computed
  std::uint64_t swap_predicted_ms = 0;
  std::uint64_t swap_actual_ms = 0;
  unsigned checkpointed = 0;  // tenants with all memory off the device by a checkpoint
  bool excluded = false;      // excluded by an option: no new allocations
  std::string fault;          // why there are no new allocations: "Xid 79"; empty: healthy
  bool thrash_risk = false;   // tenants swap too often for the work they do
  std::string pool;           // empty: none
  int numa = -1;              // NUMA node; -1: unknown
  std::vector<LinkView> links;
  std::vector<NicView> nics;  // RDMA
};

struct ShareView {
  unsigned device = 0;
  std::string uuid;
  std::uint64_t limit = 0;  // bytes
  std::uint64_t used = 0;   // bytes
  unsigned cores = 0;       // percent of this device; 0: none requested
  int utilisation = -1;     // percent of the device's time; -1: unknown
  // Permille of the device's time over the last second, as charged by Divvy; -1: unknown.
  int got_permille = -1;
  // Memory in bytes; rates in bytes per second over the last second.
  std::uint64_t guarantee = 0;  // part of `limit` that is never swapped
  std::uint64_t allowed = 0;    // resident bytes allowed, where memory is promised more than once
  std::uint64_t resident = 0;   // part of `used` on the device
  std::uint64_t swapped = 0;    // part of `used` in host memory
  std::uint64_t pinned = 0;     // part of `resident` that cannot be swapped
  std::uint64_t out_bps = 0;
  std::uint64_t in_bps = 0;
};

struct TenantView {
  std::string id;
  std::string name;
  std::string namespace_name, pod, container;  // empty: of no pod
  std::string state;  // running, reserved (kept and unused), orphaned (its `divvy run` ended),
                      // broken (unreadable ledger)
  std::string priority;
  std::string note;           // why it is broken, or why its report or compute is in doubt
  int pid = 0;                // the command; before its start the `divvy run`; 0: a kept share
  unsigned processes = 0;     // registered processes
  std::int64_t created = 0;   // seconds since 1970
  std::uint64_t refused = 0;  // allocations over the limit
  std::uint64_t refused_bytes = 0;  // of the last one; 0: not known
  std::vector<std::string> command;
  std::vector<ShareView> shares;
  // Compute. Totals are over the tenant's life.
  std::string mode = "solo";           // solo, share, cap, latency, best-effort, ungated
  std::string backend = "interposer";  // enforcement: interposer, mps, timeslice
  std::string cores_policy = "share";  // as requested: share, cap
  std::string expected_use;            // by hours of UTC; empty: not given
  unsigned weight = 0;                 // percent that it gets while all tenants are busy
  unsigned throttled_permille = 0;     // of the last second: wanted to run and was held back
  std::uint64_t throttled_ms = 0;
  std::uint64_t waits = 0;       // launches that were held back
  unsigned grants_per_s = 0;     // over the last second
  std::uint64_t longest_us = 0;  // longest kernel or graph
  std::uint64_t escapes = 0;     // waits given up: work in flight may depend on the waiting thread
  unsigned cpu_permille = 0;  // of one core: Divvy's threads in its processes, over the last second
  bool unpreemptible = false;  // its work did not end within the bound when its turn ended
  std::string bypass;          // how it bypasses its limits; empty: not at all
  bool distrusted = false;     // reports less use than the driver: charged for its grants
  // Memory.
  // kept: nothing is swapped; resident; waiting: for its turn; coming: returns to the device; out:
  // swapped out, and not wanted on the device.
  std::string memory = "kept";
  std::string memory_reason = "fits";  // fits, others-turn, idle, higher-class, unused, short
  std::string lent_to;    // ID of the tenant that has the missing memory; empty: none, or unknown
  std::string unswapped;  // why nothing can be swapped although it should be
  // Use of host memory in place of memory that never fits the device: off, unknown, can, in-use,
  // cannot (not with its driver).
  std::string host_map = "unknown";
  std::string refusal;                 // why it gave no memory back when last asked
  std::vector<std::string> pinned_by;  // kinds of memory that cannot be swapped
  // Phase of the driver's checkpoint of the whole tenant: here, leaving, away, returning.
  std::string checkpoint = "here";
  std::string checkpoint_note;  // why it cannot be checkpointed, or the losses of a checkpoint
  std::uint64_t swaps = 0;      // swaps back to the device
  std::uint64_t longest_wait_ms = 0;
  std::uint64_t turn_left_ms = 0;    // while other tenants wait for its turn to end
  bool idle_known = false;           // the next fields are valid: from launches, or from the driver
  std::uint64_t idle_s = 0;          // since it last used its devices
  std::uint64_t idle_reclaim_s = 0;  // idle time until its memory is swapped out; 0: never
  std::uint64_t idle_stop_s = 0;     // idle time until it is shut down; 0: never
  std::string stop;                  // noticed, ending; empty: no shutdown is pending
  std::uint64_t stop_left_s = 0;     // until SIGTERM, or until SIGKILL
  unsigned pressed = 0;              // processes in which an allocation waits for memory
  std::uint64_t pressure_waits = 0;  // allocations that waited
  std::uint64_t refused_short = 0;   // allocations within the limit that found the device full
  std::uint64_t refused_short_bytes = 0;  // of the last one; 0: not known
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
  std::uint64_t host_reserve = 0;   // bytes of host memory for swapped-out memory
  std::uint64_t host_promised = 0;  // bytes of `host_reserve` that may be needed
  // Largest delay of the agent's loop in the last minute, in ms; -1: not measured.
  std::int64_t loop_late_ms = -1;
  std::vector<DeviceView> devices;
  std::vector<TenantView> tenants;
  std::vector<QueuedView> queue;
};

// An event of a tenant or a device, and its cause.
struct EventView {
  std::uint64_t seq = 0;     // numbered by this agent, from 1
  std::int64_t time_ms = 0;  // milliseconds since 1970
  std::string tenant;        // ID; empty: an event of a device
  std::string name;
  int device = -1;      // index; -1: none in particular
  std::string kind;     // given, changed, ended, swapped-out, yielded, refused, waited, ...
  std::string reason;   // one sentence, with numbers
  std::string by = {};  // requester; empty: none, or unknown
};

struct DoneReply {
  std::string note;
};

// The request failed. `reasons` has one line per device if a share was refused.
struct FailedReply {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::vector<std::string> reasons;
};

// The request waits; a grant or a refusal follows.
struct QueuedReply {
  unsigned position = 0;  // 1: next
  std::vector<std::string> reasons;
};

struct GrantedReply {
  std::string tenant;
  std::string dir;                   // directory of the tenant's pages
  std::vector<std::string> devices;  // UUIDs, in device order
  std::vector<std::string> notes;    // notes for the requester, a line each
  CommandEnvironment environment;    // for a command
  ContainerEdits edits;              // for a container
};

// Path at an agent's address of metrics, which answers with an encoded SnapshotReply without the
// tenants' command lines.
inline constexpr const char* kSnapshotPath = "/v1/snapshot";

struct SnapshotReply {
  Snapshot snapshot;
};

// The verdict on one device for a request.
struct DeviceVerdictView {
  unsigned device = 0;
  std::string uuid;
  std::string model;
  bool given = false;   // the request would get this device
  std::string refusal;  // why the device does not fit; empty: it fits
  std::string code;     // the refusal's code; empty: it fits, or the agent is older than this field
};

// A tenant of lower priority that holds capacity which the request needs.
struct VictimView {
  std::string id;
  std::string name;
  std::string priority;
  Bytes memory;  // over all devices
};

struct ExplainReply {
  bool fits = false;
  bool impossible = false;  // does not fit an idle node either
  std::string summary;      // one line; empty if it fits
  unsigned waiting = 0;     // requests in the queue
  std::vector<DeviceVerdictView> devices;
  std::vector<std::string> fixes;  // options of divvy run; each line alone suffices
  // Tenants without which the request would fit unchanged. They are not evicted for it.
  std::vector<VictimView> victims;
};

struct EventsReply {
  int agent_pid = 0;       // event numbers are valid for this agent only
  std::uint64_t last = 0;  // number of the last event of all tenants
  std::vector<EventView> events;
};

struct PlacementReply {
  std::string text;  // in the format of snapshot/text.h
};

using Reply = std::variant<DoneReply, FailedReply, QueuedReply, GrantedReply, SnapshotReply,
                           EventsReply, ExplainReply, PlacementReply>;

// One line each, newline included.
std::string encode(const Request& request);
std::string encode(const Reply& reply);

// Decode untrusted input. Any deviation is kCorrupt with the member's name; unknown members are
// ignored.
Result<Request> decodeRequest(std::string_view line);
Result<Reply> decodeReply(std::string_view line);

// The output of `-o json`: an array of objects with the member names of the views above.
std::string devicesJson(const std::vector<Snapshot>& nodes);
std::string tenantsJson(const std::vector<Snapshot>& nodes);
std::string snapshotsJson(const std::vector<Snapshot>& nodes);
std::string explanationJson(const ExplainReply& reply);
// Events with their nodes: an array, or one object a line.
std::string eventsJson(const std::vector<std::pair<std::string, EventView>>& events, bool lines);

// The names of errors in the protocol ("usage", "no-room", ...).
const char* errorName(ErrorCode code);
// kInternal for an unknown name.
ErrorCode errorFromName(std::string_view name);

}  // namespace divvy::agent
