#include "agent/protocol.h"

#include <gtest/gtest.h>

#include <random>

namespace divvy::agent {
namespace {

RunRequest sampleRun() {
  RunRequest run;
  run.ask.memory = {gib(4), 0};
  run.ask.cores = 130;
  run.ask.cores_policy = CoresPolicy::kCap;
  run.enforce = Enforce::kMps;
  run.mps_dir = "/run/mps";
  run.ask.gpus = 2;
  run.ask.models = {"h100"};
  run.ask.uuids = {"GPU-1", "GPU-2"};
  run.ask.pool = "";
  run.ask.devices = *engine::parseDevicePolicy("binpack,numa");
  run.ask.expected_use = engine::UsageByHour{};
  run.ask.expected_use->permille[7] = 125;
  run.ask.context_inside = false;
  run.name = "web";
  run.priority = Priority::kLow;
  run.ask.guaranteed = MemoryRequest{gib(1), 0};
  run.on_pressure = OnPressure::kWait;
  run.pressure_wait_ms = 1234;
  run.idle = {0, 5000};
  run.wait = true;
  run.wait_ms = 1500;
  run.command = {"python", "serve.py", "a \"b\"\n"};
  run.start_time = 1ull << 60;
  return run;
}

SetRequest sampleSet() {
  SetRequest set;
  set.tenant = "a";
  set.has_memory = true;
  set.memory = {gib(1), 0};
  set.cores = 5;
  set.cores_policy = CoresPolicy::kCap;
  set.priority = Priority::kLow;
  set.name = "n";
  set.guaranteed = MemoryRequest{{}, 0};
  set.on_pressure = OnPressure::kWait;
  set.pressure_wait_ms = 700;
  return set;
}

void fillIdle(TenantView& tenant) {
  tenant.idle_known = true;
  tenant.idle_s = 86400;
  tenant.idle_reclaim_s = 7;
  tenant.idle_stop_s = 8;
  tenant.stop = "noticed";
  tenant.stop_left_s = 9;
}

void fillPlace(DeviceView& device) {
  device.numa = 1;
  device.links = {{0, 150, true}, {2, 50, false}};
  device.nics = {{"mlx5_0", 1}};
}

Snapshot sampleSnapshot() {
  Snapshot snapshot;
  snapshot.node = "sim-h100";
  snapshot.driver = "550.54";
  snapshot.agent_pid = 7;
  DeviceView device;
  device.index = 3;
  device.uuid = "GPU-3";
  device.model = "NVIDIA H100";
  device.physical = gib(80).count;
  device.allocated = gib(5).count;
  device.used = gib(2).count;
  device.utilisation = -1;
  device.overcommit_permille = 1300;
  device.budget = gib(70).count;
  device.promised = gib(90).count;
  device.guaranteed = gib(9).count;
  device.booked = gib(69).count;
  device.ratio_permille = 1250;
  device.quantum_ms = 17000;
  device.swap_predicted_ms = 1200;
  device.swap_actual_ms = 1300;
  device.thrash_risk = true;
  device.checkpointed = 2;
  fillPlace(device);
  snapshot.host_reserve = gib(64).count;
  snapshot.host_promised = gib(20).count;
  snapshot.devices = {device};
  TenantView tenant;
  tenant.id = "abc234";
  tenant.state = "running";
  tenant.priority = "low";
  tenant.pid = 99;
  tenant.created = 1700000000;
  tenant.command = {"./program"};
  tenant.shares = {{3, "GPU-3", gib(4).count, gib(1).count, 30, 42, 291}};
  tenant.shares[0].guarantee = gib(1).count;
  tenant.shares[0].resident = gib(3).count;
  tenant.shares[0].swapped = 4711;
  tenant.shares[0].pinned = 42;
  tenant.shares[0].out_bps = 1ull << 33;
  tenant.shares[0].in_bps = 1ull << 34;
  tenant.memory = "waiting";
  tenant.memory_reason = "others-turn";
  tenant.unswapped = "why";
  tenant.refusal = "it captures a graph";
  tenant.pinned_by = {"arrays", "graph memory"};
  tenant.swaps = 17;
  tenant.checkpoint = "away";
  tenant.checkpoint_note = "it uses managed memory";
  tenant.longest_wait_ms = 6000;
  tenant.turn_left_ms = 500;
  fillIdle(tenant);
  tenant.lent_to = "x";
  tenant.pressed = 1;
  tenant.pressure_waits = 5;
  tenant.refused_short = 6;
  tenant.on_pressure = "wait";
  tenant.pressure_wait_ms = 700;
  tenant.mode = "latency";
  tenant.cores_policy = "cap";
  tenant.expected_use = "0-24=50%";
  tenant.weight = 23;
  tenant.throttled_permille = 300;
  tenant.longest_us = 1ull << 40;
  tenant.unpreemptible = true;
  snapshot.tenants = {tenant};
  snapshot.queue = {{12, "batch", "50%", 2, "no room"}};
  return snapshot;
}

TEST(Protocol, RunRequest_DecodesToEqualFields) {
  const Result<Request> back = decodeRequest(encode(Request(sampleRun())));
  ASSERT_TRUE(back) << back.error().message();
  const auto& run = std::get<RunRequest>(*back);
  EXPECT_EQ(run.ask.memory.bytes, gib(4));
  EXPECT_EQ(run.ask.cores, 130u);
  EXPECT_EQ(run.ask.cores_policy, CoresPolicy::kCap);
  EXPECT_EQ(run.enforce, Enforce::kMps);
  EXPECT_EQ(run.mps_dir, "/run/mps");
  EXPECT_EQ(run.ask.gpus, 2u);
  EXPECT_EQ(run.ask.models, sampleRun().ask.models);
  EXPECT_EQ(run.ask.uuids, sampleRun().ask.uuids);
  EXPECT_EQ(run.ask.pool, "") << "none is not nothing";
  ASSERT_TRUE(run.ask.devices);
  EXPECT_EQ(engine::text(*run.ask.devices), engine::text(*sampleRun().ask.devices));
  EXPECT_EQ(run.ask.expected_use, sampleRun().ask.expected_use);
  EXPECT_FALSE(run.ask.context_inside);
  EXPECT_EQ(run.name, "web");
  EXPECT_EQ(run.priority, Priority::kLow);
  EXPECT_TRUE(run.wait);
  EXPECT_EQ(run.wait_ms, 1500u);
  ASSERT_TRUE(run.ask.guaranteed);
  EXPECT_EQ(run.ask.guaranteed->bytes, gib(1));
  EXPECT_EQ(run.on_pressure, OnPressure::kWait);
  EXPECT_EQ(run.pressure_wait_ms, 1234u);
  EXPECT_EQ(run.idle.reclaim_ms, 0u);
  EXPECT_EQ(run.idle.stop_ms, 5000u);
  EXPECT_EQ(run.command, sampleRun().command);
  EXPECT_EQ(run.start_time, 1ull << 60);
}

TEST(Protocol, PercentMemory_DecodesToSamePercent) {
  RunRequest run;
  run.ask.memory = {{}, 50};
  const Result<Request> back = decodeRequest(encode(Request(run)));
  ASSERT_TRUE(back);
  EXPECT_TRUE(std::get<RunRequest>(*back).ask.memory.isPercent());
  EXPECT_EQ(std::get<RunRequest>(*back).ask.memory.percent, 50u);
}

TEST(Protocol, EachRequestKind_DecodesToSameKind) {
  const std::vector<Request> all{PingRequest{},    sampleRun(),      StartedRequest{"a", 3},
                                 EndRequest{"a"},  ListRequest{},    sampleSet(),
                                 WaitRequest{"a"}, StopRequest{true}};
  for (const Request& request : all) {
    const Result<Request> back = decodeRequest(encode(request));
    ASSERT_TRUE(back) << encode(request);
    EXPECT_EQ(back->index(), request.index());
    EXPECT_EQ(encode(*back), encode(request));
  }
}

TEST(Protocol, EachReplyKind_DecodesToSameKind) {
  const std::vector<Reply> all{DoneReply{"n"}, FailedReply{ErrorCode::kNoRoom, "full", {"a", "b"}},
                               QueuedReply{2, {"x"}},
                               GrantedReply{"id", "/d", {"GPU-1"}, {"n"}, {{"A=1"}, {"/l"}}, {}},
                               SnapshotReply{sampleSnapshot()}};
  for (const Reply& reply : all) {
    const Result<Reply> back = decodeReply(encode(reply));
    ASSERT_TRUE(back) << encode(reply);
    EXPECT_EQ(back->index(), reply.index());
    EXPECT_EQ(encode(*back), encode(reply));
  }
}

TEST(Protocol, ContainerEdits_DecodeToEqualFields) {
  GrantedReply granted;
  granted.edits.environment = {{"A", "1"}, {"B", "x=y"}};
  granted.edits.mounts = {{"/from", "/to", true}, {"/from2", "/to2", false}};
  granted.edits.devices = {"/dev/nvidia0"};
  const Result<Reply> back = decodeReply(encode(Reply(granted)));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(std::get<GrantedReply>(*back).edits, granted.edits);
  RunRequest run;
  run.contained = run.kept = true;
  run.cdi_dir = "/run/cdi";
  const Result<Request> asked = decodeRequest(encode(Request(run)));
  ASSERT_TRUE(asked) << asked.error().message();
  EXPECT_TRUE(std::get<RunRequest>(*asked).contained);
  EXPECT_TRUE(std::get<RunRequest>(*asked).kept);
  EXPECT_EQ(std::get<RunRequest>(*asked).cdi_dir, "/run/cdi");
  const Result<Request> release = decodeRequest(encode(Request(ReleaseRequest{"web"})));
  ASSERT_TRUE(release) << release.error().message();
  EXPECT_EQ(std::get<ReleaseRequest>(*release).tenant, "web");
  EXPECT_FALSE(decodeReply(R"({"reply":"granted","edits":{"environment":[]}})"));
}

TEST(Protocol, OvercommitSnapshot_DecodesToEqualFields) {
  const Result<Reply> back = decodeReply(encode(Reply(SnapshotReply{sampleSnapshot()})));
  ASSERT_TRUE(back) << back.error().message();
  const Snapshot& snapshot = std::get<SnapshotReply>(*back).snapshot;
  EXPECT_EQ(snapshot.host_reserve, gib(64).count);
  EXPECT_EQ(snapshot.host_promised, gib(20).count);
  const DeviceView& device = snapshot.devices.at(0);
  EXPECT_EQ(device.overcommit_permille, 1300u);
  EXPECT_EQ(device.budget, gib(70).count);
  EXPECT_EQ(device.promised, gib(90).count);
  EXPECT_EQ(device.guaranteed, gib(9).count);
  EXPECT_EQ(device.booked, gib(69).count);
  EXPECT_EQ(device.ratio_permille, 1250u);
  EXPECT_EQ(device.quantum_ms, 17000u);
  EXPECT_EQ(device.swap_predicted_ms, 1200u);
  EXPECT_EQ(device.swap_actual_ms, 1300u);
  EXPECT_TRUE(device.thrash_risk);
  EXPECT_EQ(device.checkpointed, 2u);
  const TenantView& tenant = snapshot.tenants.at(0);
  EXPECT_EQ(tenant.memory, "waiting");
  EXPECT_EQ(tenant.memory_reason, "others-turn");
  EXPECT_EQ(tenant.unswapped, "why");
  EXPECT_EQ(tenant.refusal, "it captures a graph");
  EXPECT_EQ(tenant.pinned_by, (std::vector<std::string>{"arrays", "graph memory"}));
  EXPECT_EQ(tenant.swaps, 17u);
  EXPECT_EQ(tenant.checkpoint, "away");
  EXPECT_EQ(tenant.checkpoint_note, "it uses managed memory");
  EXPECT_EQ(tenant.longest_wait_ms, 6000u);
  EXPECT_EQ(tenant.turn_left_ms, 500u);
  EXPECT_TRUE(tenant.idle_known);
  EXPECT_EQ(tenant.idle_s, 86400u);
  EXPECT_EQ(tenant.idle_reclaim_s, 7u);
  EXPECT_EQ(tenant.idle_stop_s, 8u);
  EXPECT_EQ(tenant.stop, "noticed");
  EXPECT_EQ(tenant.stop_left_s, 9u);
  EXPECT_EQ(tenant.lent_to, "x");
  EXPECT_EQ(tenant.pressed, 1u);
  EXPECT_EQ(tenant.pressure_waits, 5u);
  EXPECT_EQ(tenant.refused_short, 6u);
  EXPECT_EQ(tenant.on_pressure, "wait");
  EXPECT_EQ(tenant.pressure_wait_ms, 700u);
  const ShareView& share = tenant.shares.at(0);
  EXPECT_EQ(share.guarantee, gib(1).count);
  EXPECT_EQ(share.resident, gib(3).count);
  EXPECT_EQ(share.swapped, 4711u);
  EXPECT_EQ(share.pinned, 42u);
  EXPECT_EQ(share.out_bps, 1ull << 33);
  EXPECT_EQ(share.in_bps, 1ull << 34);
}

TEST(Protocol, Events_DecodeToEqualFields) {
  const Result<Request> asked = decodeRequest(encode(Request{EventsRequest{"web", 7}}));
  ASSERT_TRUE(asked);
  EXPECT_EQ(std::get<EventsRequest>(*asked).tenant, "web");
  EXPECT_EQ(std::get<EventsRequest>(*asked).after, 7u);
  EventsReply reply{5, 9, {}};
  reply.events.push_back({8, 123, "id", "web", 2, "yielded", "1 GiB \xff"});
  reply.events.push_back({9, 124, "", "", -1, "thrash-risk", "", "alice"});
  const Result<Reply> back = decodeReply(encode(Reply{reply}));
  ASSERT_TRUE(back);
  const EventsReply& events = std::get<EventsReply>(*back);
  EXPECT_EQ(events.agent_pid, 5);
  EXPECT_EQ(events.last, 9u);
  ASSERT_EQ(events.events.size(), 2u);
  EXPECT_EQ(events.events[0].device, 2);
  EXPECT_EQ(events.events[0].time_ms, 123);
  EXPECT_EQ(events.events[0].reason, "1 GiB ?");
  EXPECT_EQ(events.events[0].by, "");
  EXPECT_EQ(events.events[1].device, -1);
  EXPECT_EQ(events.events[1].by, "alice");
  const std::string lines =
      eventsJson({{"gpu", events.events[0]}, {"gpu", events.events[1]}}, true);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_EQ(lines.find("{\"node\":\"gpu\",\"seq\":8,"), 0u);
  EXPECT_EQ(eventsJson({}, false), "[]\n");
}

TEST(Protocol, InvalidMember_ErrorNamesMember) {
  const auto message = [](const std::string& line) {
    const Result<Request> request = decodeRequest(line);
    return request ? std::string("accepted") : request.error().message();
  };
  EXPECT_NE(message("{").find("not JSON"), std::string::npos);
  EXPECT_EQ(message("[]"), "not an object");
  EXPECT_EQ(message(R"({"verb":"fly"})"), "verb \"fly\" is not known");
  EXPECT_EQ(message(R"({"verb":"run","gpus":-1})"), "gpus is not a fitting number");
  EXPECT_EQ(message(R"({"verb":"run","gpus":0})"), "gpus is zero");
  EXPECT_EQ(message(R"({"verb":"run","cores":101})"),
            "cores is more than 100 for each of its GPUs");
  EXPECT_EQ(message(R"({"verb":"run","cores":200,"gpus":2})"), "accepted");
  EXPECT_EQ(message(R"({"verb":"run","cores":1,"gpus":2})"),
            "cores is less than 1 for each of its GPUs");
  EXPECT_EQ(message(R"({"verb":"set","cores":-3})"), "cores is not a fitting number");
  EXPECT_EQ(message(R"({"verb":"set","cores_policy":"most"})"),
            "cores policy \"most\" is not known; accepted: share, cap");
  EXPECT_EQ(message(R"({"verb":"run","memory":0})"), "memory is not a fitting number of bytes");
  EXPECT_EQ(message(R"({"verb":"run","memory":1.5})"), "memory is not a fitting number");
  EXPECT_EQ(message(R"({"verb":"run","uuids":[1]})"), "uuids holds something that is not a text");
  EXPECT_EQ(message(R"({"verb":"set","on_pressure":"hope"})"),
            "on-pressure \"hope\" is not known; accepted: oom, wait");
  EXPECT_NE(message(R"({"verb":"run","pressure_wait_ms":0})").find("at most 24h"),
            std::string::npos);
  EXPECT_EQ(message(R"({"verb":"run","guaranteed":-1})"), "guaranteed is not a fitting number");
  EXPECT_EQ(message(R"({"verb":"run","guaranteed":0})"), "accepted");
  EXPECT_EQ(message(R"({"verb":"stop","force":1})"), "force is not true or false");
  EXPECT_EQ(message(R"({"verb":"started","pid":99999999999})"), "pid is not a fitting number");
}

TEST(Protocol, UnknownMember_IsIgnored) {
  EXPECT_TRUE(decodeRequest(R"({"verb":"ping","later":[1,{}]})"));
}

TEST(Protocol, NonUtf8Command_BytesBecomeQuestionMarks) {
  RunRequest run;
  run.command = {"\xff\xfe", "ok"};
  const Result<Request> back = decodeRequest(encode(Request(run)));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(std::get<RunRequest>(*back).command[0], "??");
}

TEST(Protocol, DeepNesting_IsRefused) {
  EXPECT_FALSE(decodeRequest("{\"verb\":" + std::string(100000, '[')));
}

// Fixed seed: any byte may change, the decoder may refuse or accept but never fail otherwise.
TEST(Protocol, MutatedLines_DecodersDoNotCrash) {
  std::mt19937 random(1);
  const std::string request = encode(Request(sampleRun()));
  const std::string reply = encode(Reply(SnapshotReply{sampleSnapshot()}));
  for (int round = 0; round < 20000; ++round) {
    std::string line = round % 2 == 0 ? request : reply;
    for (int change = 0; change < 3; ++change)
      line[random() % line.size()] = static_cast<char>(random());
    if (random() % 4 == 0) line.resize(random() % line.size());
    static_cast<void>(decodeRequest(line));
    static_cast<void>(decodeReply(line));
  }
}

TEST(Protocol, TwoSnapshots_DevicesJsonHoldsBothNodes) {
  Snapshot other = sampleSnapshot();
  other.node = "gpu";
  const std::string text = devicesJson({sampleSnapshot(), other});
  EXPECT_NE(text.find("\"node\": \"sim-h100\""), std::string::npos);
  EXPECT_NE(text.find("\"node\": \"gpu\""), std::string::npos);
  EXPECT_NE(text.find("\"utilisation\": null"), std::string::npos);
}

}  // namespace
}  // namespace divvy::agent
