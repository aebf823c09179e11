// The console over real HTTP on the loopback interface.
#include <gmock/gmock.h>

#include <set>

#include "served_console.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

using ConsoleServer = ServedConsole;

const std::vector<std::pair<std::string, std::string>>& routes() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"GET", "session"},
      {"DELETE", "session"},
      {"GET", "overview"},
      {"GET", "devices"},
      {"GET", "devices/GPU-0"},
      {"GET", "shares"},
      {"GET", "shares/studio/t-1"},
      {"GET", "waiting"},
      {"GET", "waiting/studio/4711"},
      {"GET", "events"},
      {"GET", "events/x"},
      {"GET", "nodes"},
      {"GET", "nodes/studio"},
      {"GET", "series"},
      {"GET", "usage"},
      {"GET", "usage.csv"},
      {"GET", "usage.focus.csv"},
      {"GET", "rightsize"},
      {"GET", "rightsize.csv"},
      {"GET", "stream?topics=shares"},
      {"GET", "about"},
      {"POST", "explain"},
      {"POST", "changes"},
      {"HEAD", "shares"},
      {"HEAD", "stream?topics=shares"},
      {"GET", "shares?limit=nonsense"},
      {"GET", "shares/none"},
  };
  return all;
}

TEST_F(ConsoleServer, Link_OpensOneSessionAndNewLinkShown) {
  start();
  ASSERT_EQ(links().size(), 1u);
  const std::string used = token();
  EXPECT_EQ(links()[0], "http://" + host() + "/#token=" + used);
  const Session session = opened();
  EXPECT_EQ(get(session, "session").status, 200u);
  ASSERT_TRUE(eventually([&] { return links().size() == 2; }));
  EXPECT_NE(token(), used);
  const Reply again = useToken(used);
  EXPECT_EQ(again.status, 401u);
  EXPECT_EQ(again.errorCode(), "unauthenticated");
  EXPECT_THAT(again.body, HasSubstr("link"));
  EXPECT_EQ(again.field("Set-Cookie"), "");
  EXPECT_EQ(links().size(), 2u) << "a wrong token shows no link";
  EXPECT_EQ(useToken(token()).status, 200u);
}

TEST_F(ConsoleServer, BadSessionBodies_RefusedAndLinkKept) {
  start();
  const std::string link = token();
  for (const char* body :
       {"", "{}", "[]", "{\"token\": 5}", "{\"token\": null}", "\xff", "{\"token\"", "\"text\""}) {
    const Reply reply = ask("POST", "/api/v1/session", "", body);
    EXPECT_EQ(reply.status, 400u) << body;
    EXPECT_EQ(reply.errorCode(), "usage") << body;
  }
  EXPECT_EQ(useToken("").status, 401u);
  EXPECT_EQ(useToken(std::string(60'000, 'a')).status, 401u);
  EXPECT_EQ(useToken(std::string(70'000, 'a')).status, 413u);
  EXPECT_EQ(token(), link);
}

TEST_F(ConsoleServer, NoSession_EveryRoute401) {
  start();
  for (const auto& [method, path] : routes()) {
    for (const std::string& cookie :
         {std::string(), "Cookie: divvy_session_" + std::to_string(port_) + "=0123\r\n"}) {
      const Reply reply = ask(method, "/api/v1/" + path, cookie, method == "POST" ? "{}" : "");
      EXPECT_EQ(reply.status, 401u) << method << " " << path << reply.header;
      EXPECT_TRUE(method == "HEAD" || reply.errorCode() == "unauthenticated") << path;
    }
  }
}

TEST_F(ConsoleServer, OwnFields_OnEveryAnswer) {
  start();
  const Session session = opened();
  std::vector<std::pair<std::string, std::string>> all = routes();
  all.insert(all.end(), {{"GET", "../../healthz"},
                         {"GET", "nothing"},
                         {"PUT", "session"},
                         {"GET", "shares?%zz"},
                         {"GET", "shares/%zz"}});
  for (const auto& [method, path] : all) {
    if (path.starts_with("stream")) continue;
    const std::string fields = path == "session" && method == "DELETE" ? "" : fieldsOf(session);
    const Reply reply = ask(method, "/api/v1/" + path, fields, method == "POST" ? "{}" : "");
    ASSERT_NE(reply.status, 0u) << path;
    EXPECT_THAT(reply.field("Content-Security-Policy"), HasSubstr("default-src 'self'")) << path;
    EXPECT_THAT(reply.field("Content-Security-Policy"), HasSubstr("frame-ancestors 'none'"));
    EXPECT_EQ(reply.field("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(reply.field("Referrer-Policy"), "no-referrer") << path;
    EXPECT_EQ(reply.field("Access-Control-Allow-Origin"), "") << path;
  }
  for (const char* path : {"/", "/healthz", "/readyz", "/shares", "/assets/none.js"})
    EXPECT_EQ(ask("GET", path).field("X-Content-Type-Options"), "nosniff") << path;
  const Reply malformed = ask("GE T", "/");
  EXPECT_EQ(malformed.status, 400u);
  EXPECT_EQ(malformed.field("X-Content-Type-Options"), "nosniff");
}

TEST_F(ConsoleServer, SessionCookie_Attributes) {
  start();
  const Reply reply = useToken(token());
  const std::string cookie = reply.field("Set-Cookie");
  EXPECT_THAT(cookie, testing::StartsWith("divvy_session_" + std::to_string(port_) + "="));
  EXPECT_THAT(cookie, HasSubstr("HttpOnly"));
  EXPECT_THAT(cookie, HasSubstr("SameSite=Strict"));
  EXPECT_THAT(cookie, HasSubstr("Path=/"));
  EXPECT_EQ(reply.field("Cache-Control"), "no-store");
  EXPECT_EQ(cookie.find(std::string(reply.json().at("csrf").as_string())), std::string::npos);
}

TEST_F(ConsoleServer, ForeignPages_Refused) {
  options_.allow_changes = true;
  start();
  const Session session = opened();
  const std::string fields = fieldsOf(session);
  EXPECT_EQ(ask("GET", "/api/v1/shares", fields + "Host: evil.example\r\n").status, 403u);
  EXPECT_EQ(ask("GET", "/", "Host: evil.example\r\n").status, 403u);
  EXPECT_EQ(ask("GET", "/api/v1/shares", fields + "Origin: http://evil.example\r\n").status, 403u);
  EXPECT_EQ(ask("GET", "/api/v1/stream?topics=shares", fields + "Origin: null\r\n").status, 403u);
  for (const char* path : {"explain", "changes", "session"}) {
    const std::string target = std::string("/api/v1/") + path;
    EXPECT_EQ(ask("POST", target, fields + "Origin: http://evil.example\r\n", "{}").status, 403u);
    EXPECT_EQ(ask("POST", target, fields + "Sec-Fetch-Site: same-site\r\n", "{}").status, 403u);
  }
  for (const char* path : {"explain", "changes"})
    EXPECT_EQ(
        ask("POST", std::string("/api/v1/") + path, "Cookie: " + session.cookie + "\r\n", "{}")
            .status,
        403u)
        << "no X-Divvy-CSRF";
  EXPECT_EQ(ask("DELETE", "/api/v1/session", "Cookie: " + session.cookie + "\r\n").status, 403u);
  EXPECT_EQ(get(session, "session").status, 200u) << "the session lasts";
}

TEST_F(ConsoleServer, Lists_RowsTotalAndSources) {
  start();
  const Session session = opened();
  const std::vector<std::pair<const char*, std::size_t>> totals{
      {"devices", 2}, {"shares", 2}, {"waiting", 1}, {"nodes", 1}, {"events", 0}};
  for (const auto& [list, total] : totals) {
    const bj::object object = get(session, list).json();
    EXPECT_EQ(object.at("total"), total) << list;
    EXPECT_EQ(object.at("items").as_array().size(), total) << list;
    EXPECT_TRUE(object.at("next").is_null()) << list;
    EXPECT_GT(object.at("server_time_ms").as_int64(), 0);
    EXPECT_GT(object.at("data_time_ms").as_int64(), 0);
    EXPECT_EQ(object.at("sources").at(0).at("state"), "ok");
    for (const bj::value& row : object.at("items").as_array()) {
      const std::string id(row.at("id").as_string());
      const Reply item = get(session, std::string(list) + "/" + id);
      ASSERT_EQ(item.status, 200u) << list << "/" << id;
      EXPECT_EQ(item.json().at("item").at("id").as_string(), id);
    }
  }
  const Reply none = get(session, "shares/studio/t-9");
  EXPECT_EQ(none.status, 404u);
  EXPECT_EQ(none.errorCode(), "not-found");
  EXPECT_EQ(get(session, "shares/studio%2Ft-1").status, 200u);
  EXPECT_EQ(get(session, "shares/").status, 404u);
}

// A cursor goes into an address as it is.
TEST_F(ConsoleServer, Cursor_NeedsNoEscape) {
  agent::Snapshot node = sampleNode();
  for (int i = 0; i < 8; ++i)
    node.tenants.push_back(
        sampleTenant("t-" + std::to_string(i + 3), "\xC3\xBF\xC3\xBE?>" + std::to_string(i)));
  agents_->set(node);
  start();
  const Session session = opened();
  std::set<std::string> seen;
  std::string target = "shares?limit=1";
  for (int page = 0; page < 20; ++page) {
    const Reply reply = get(session, target);
    ASSERT_EQ(reply.status, 200u) << target << reply.body;
    const bj::object object = reply.json();
    for (const bj::value& row : object.at("items").as_array())
      EXPECT_TRUE(seen.insert(std::string(row.at("id").as_string())).second);
    if (object.at("next").is_null()) break;
    target = "shares?limit=1&after=" + std::string(object.at("next").as_string());
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST_F(ConsoleServer, BadWords_400WithJson) {
  start();
  const Session session = opened();
  for (const std::string& path :
       {std::string("shares?page=2"), std::string("shares?%ff=1"), std::string("series?%ff=1"),
        std::string("shares?sort=%ff"), "shares?" + std::string(62, 'a') + "%E2%82%AC=1",
        std::string("usage?x=1"), std::string("usage.csv?x=1"), std::string("usage.focus.csv?x=1"),
        std::string("rightsize?days=0"), std::string("rightsize.csv?namespace=a"),
        std::string("stream?topics=%ff"), std::string("stream"),
        std::string("stream?topics=shares,shares"), std::string("shares?after=%00"),
        std::string("series?of=device:a&what=%ff")}) {
    const Reply reply = get(session, path);
    EXPECT_EQ(reply.status, 400u) << path << reply.body;
    // The server itself refuses NUL, in plain text.
    const bool nul = path.find("%00") != std::string::npos;
    EXPECT_TRUE(nul || reply.errorCode() == "usage") << path;
  }
}

TEST_F(ConsoleServer, HostileNames_AnswersAreJson) {
  const std::vector<std::string> names{"\"<script>alert(1)</script>\\", "\xD7\xA9\xE2\x80\xAE",
                                       std::string("a\0b", 3),          std::string(253, 'n'),
                                       "bad \xff\xc3 \xed\xa0\x80",     "a\r\nSet-Cookie: b=c"};
  agent::Snapshot node = sampleNode();
  node.tenants.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    agent::TenantView tenant = sampleTenant("t-" + std::to_string(i), names[i]);
    tenant.note = tenant.bypass = names[i];
    tenant.command = {names[i]};
    node.tenants.push_back(tenant);
  }
  node.devices[0].model = node.devices[0].fault = node.queue[0].reason = names[4];
  agents_->set(node);
  start();
  const Session session = opened();
  for (const char* path : {"shares", "devices", "waiting", "overview", "nodes", "session", "about",
                           "shares?sort=command", "devices/GPU-0"}) {
    const Reply reply = get(session, path);
    EXPECT_EQ(reply.status, 200u) << path;
    EXPECT_FALSE(reply.json().empty()) << path;
    EXPECT_EQ(reply.field("Content-Type"), "application/json") << path;
  }
  EXPECT_EQ(get(session, "shares").json().at("items").as_array().size(), names.size());
}

TEST_F(ConsoleServer, AgentFails_RowsStay) {
  start();
  const Session session = opened();
  NodeReading failed;
  failed.node = "studio";
  failed.failure = "no answer within 4 s";
  agents_->set(std::vector<NodeReading>{failed});
  ASSERT_TRUE(eventually([&] {
    return get(session, "shares").json().at("sources").at(0).at("state") == "unreachable";
  }));
  const bj::object shares = get(session, "shares").json();
  EXPECT_EQ(shares.at("total"), 2);
  EXPECT_EQ(shares.at("sources").at(0).at("message"), "no answer within 4 s");
  const bj::object overview = get(session, "overview").json();
  EXPECT_EQ(overview.at("attention").at(0).at("code"), "agent-unreachable");
  agents_->set(std::vector<NodeReading>{});
  EXPECT_TRUE(eventually([&] { return get(session, "shares").json().at("total") == 0; }));
}

TEST_F(ConsoleServer, NotLoopback_Refused) {
  for (const char* host :
       {"0.0.0.0", "::", "192.0.2.1", "example.org", "", "127.0.0.1.evil", "::ffff:10.0.0.1"}) {
    options_.host = host;
    const auto console = Console::start(
        loop_.get_executor(), options_, std::make_unique<FakeSource>(agents_),
        [](const agent::TenantView&, const agent::Snapshot&) { return std::vector<std::string>(); },
        [](const std::string&) {});
    ASSERT_FALSE(console) << host;
    EXPECT_EQ(console.error().code(), ErrorCode::kUsage) << host;
    EXPECT_THAT(console.error().message(), HasSubstr("loopback")) << host;
  }
}

// Every address that is accepted must also be usable.
TEST_F(ConsoleServer, OtherLoopbackAddress_LinkWorks) {
  options_.host = "127.0.0.9";
  const auto console = Console::start(
      loop_.get_executor(), options_, std::make_unique<FakeSource>(agents_),
      [](const agent::TenantView&, const agent::Snapshot&) { return std::vector<std::string>(); },
      [this](const std::string& link) { links_.push_back(link); });
  if (!console) {
    EXPECT_EQ(console.error().code(), ErrorCode::kUsage);
    return;
  }
  FAIL() << "the guard refuses requests to " << (*console)->address();
}

TEST_F(ConsoleServer, BasePath_AllBelowIt) {
  options_.base_path = "/gpu/";
  start();
  const Reply opened_below = useToken(token());
  ASSERT_EQ(opened_below.status, 200u) << opened_below.body;
  EXPECT_THAT(opened_below.field("Set-Cookie"), HasSubstr("Path=/gpu/"));
  EXPECT_EQ(ask("GET", "/api/v1/shares").status, 404u);
  EXPECT_EQ(ask("GET", "/gpu/api/v1/shares").status, 401u);
  EXPECT_EQ(ask("GET", "/gpu/healthz").status, 200u);
}

TEST_F(ConsoleServer, PortInUse_Error) {
  start();
  options_.port = port_;
  const auto second = Console::start(
      loop_.get_executor(), options_, std::make_unique<FakeSource>(agents_),
      [](const agent::TenantView&, const agent::Snapshot&) { return std::vector<std::string>(); },
      [](const std::string&) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kIo);
  EXPECT_THAT(second.error().message(), HasSubstr("127.0.0.1:" + std::to_string(port_)));
  EXPECT_THAT(second.error().message(), HasSubstr("--listen 127.0.0.1:0"));
}

// Hands out the answers of the agents after the gate.
class LateSource : public FakeSource {
 public:
  LateSource(std::shared_ptr<FakeAgents> agents, std::shared_ptr<Gate> gate)
      : FakeSource(std::move(agents)), gate_(std::move(gate)) {}
  std::vector<NodeReading> read() override {
    gate_->pass();
    return FakeSource::read();
  }

 private:
  std::shared_ptr<Gate> gate_;
};

TEST_F(ConsoleServer, BeforeFirstReading_NotReadyAndEmptyOverview) {
  const auto gate = std::make_shared<Gate>();
  serve(std::make_unique<LateSource>(agents_, gate));
  EXPECT_EQ(ask("GET", "/healthz").status, 200u);
  EXPECT_EQ(ask("GET", "/readyz").status, 503u);
  const Session session = opened();
  const bj::object overview = get(session, "overview").json();
  EXPECT_TRUE(overview.at("data_time_ms").is_null());
  ASSERT_TRUE(overview.contains("funnel"));
  EXPECT_EQ(overview.at("funnel").at("devices"), 0);
  EXPECT_EQ(get(session, "shares").json().at("total"), 0);
  gate->open();
  EXPECT_TRUE(eventually([&] { return ask("GET", "/readyz").status == 200; }));
}

TEST_F(ConsoleServer, Metrics_NeedNoSessionAndNameNothing) {
  start();
  const Session session = opened();
  ASSERT_TRUE(eventually([&] { return ask("GET", "/readyz").status == 200; }));
  const Reply reply = ask("GET", "/metrics");
  EXPECT_EQ(reply.status, 200u);
  EXPECT_THAT(reply.body, HasSubstr("divvy_console_sessions 1\n"));
  EXPECT_THAT(reply.body, HasSubstr("divvy_console_data_age_seconds"));
  for (const char* name : {"studio", "GPU-0", "train"})
    EXPECT_THAT(reply.body, testing::Not(HasSubstr(name)));
}

TEST_F(ConsoleServer, UsageCsv_Table) {
  start();
  const Session session = opened();
  const Reply reply = get(session, "usage.csv");
  EXPECT_EQ(reply.status, 200u);
  EXPECT_THAT(reply.field("Content-Type"), HasSubstr("text/csv"));
  EXPECT_THAT(reply.body, testing::StartsWith("key,name,allocated_device_hours"));
  const Reply unpriced = get(session, "usage.focus.csv");
  EXPECT_EQ(unpriced.status, 400u);
  EXPECT_THAT(unpriced.body, HasSubstr("--prices"));
}

TEST_F(ConsoleServer, FocusCsv_TableWithPrices) {
  options_.prices = {"EUR", {{"h100", 3'600'000'000, 0}}};
  start();
  const Session session = opened();
  const Reply reply = get(session, "usage.focus.csv");
  EXPECT_EQ(reply.status, 200u);
  EXPECT_THAT(reply.field("Content-Disposition"), HasSubstr("divvy-focus.csv"));
  EXPECT_THAT(reply.body, testing::StartsWith("BilledCost,"));
  EXPECT_EQ(get(session, "usage.focus.csv?by=team").status, 400u);
}

TEST_F(ConsoleServer, RightSize_SharesByName) {
  start();
  const Session session = opened();
  const bj::object report = get(session, "rightsize?days=1").json();
  EXPECT_EQ(report.at("days"), 1);
  ASSERT_EQ(report.at("items").as_array().size(), 2u);
  const bj::value& item = report.at("items").at(0);
  EXPECT_EQ(item.at("key"), "serve");
  EXPECT_EQ(item.at("state"), "too-early");
  EXPECT_EQ(item.at("peak_bytes").to_number<std::uint64_t>(), std::uint64_t{1} << 30);
  const Reply csv = get(session, "rightsize.csv");
  EXPECT_EQ(csv.status, 200u);
  EXPECT_THAT(csv.field("Content-Type"), HasSubstr("text/csv"));
  EXPECT_THAT(csv.field("Content-Disposition"), HasSubstr("divvy-rightsize.csv"));
  EXPECT_THAT(csv.body, HasSubstr("\r\n\"serve\","));
}

}  // namespace
}  // namespace divvy::console
