#include "api_double.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace divvy::test {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using asio::ip::tcp;
using Request = http::request<http::string_body>;

// Who asks for what is older is told so, as servers do.
constexpr std::size_t kMaxEvents = 4096;
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPods = "/api/v1/pods";

struct Answer {
  unsigned status = 200;
  std::string body;
};

Answer refusal(unsigned status, const std::string& reason) {
  return {status, json::serialize(json::object{{"kind", "Status"},
                                               {"apiVersion", "v1"},
                                               {"status", "Failure"},
                                               {"reason", reason},
                                               {"code", status}})};
}

// RFC 7386.
void merge(json::object& into, const json::object& patch) {
  for (const auto& [key, value] : patch) {
    if (value.is_null()) {
      into.erase(key);
    } else if (value.is_object()) {
      json::value& there = into[key];
      if (!there.is_object()) there.emplace_object();
      merge(there.get_object(), value.get_object());
    } else {
      into[key] = value;
    }
  }
}

std::string memberOf(const json::object& object, const char* name) {
  return std::string(object.at("metadata").at(name).as_string());
}

// "...&resourceVersion=7&..."; 0: it is not there.
std::uint64_t versionIn(const std::string& query) {
  const std::string key = "resourceVersion=";
  const std::size_t at = query.find(key);
  return at == std::string::npos ? 0 : std::strtoull(query.c_str() + at + key.size(), nullptr, 10);
}

}  // namespace

class ApiDouble::Inside {
 public:
  explicit Inside(const std::string& name) : acceptor(loop, {asio::ip::address_v4::loopback(), 0}) {
    objects[kNodes][name] = json::object{
        {"kind", "Node"},
        {"apiVersion", "v1"},
        {"metadata", {{"name", name}, {"uid", "node-" + name}, {"annotations", json::object()}}},
        {"status",
         {{"capacity", {{"example.com/other", "3"}}},
          {"nodeInfo",
           {{"containerRuntimeVersion", "containerd://1.6.20"}, {"kubeletVersion", "v1.34.0"}}}}}};
  }

  // `key` within `path`'s objects; null: it goes.
  void change(const char* path, const std::string& key, const json::object* object) {
    const std::lock_guard<std::mutex> hold(mutex);
    changeHeld(path, key, object);
  }

  void changeHeld(const char* path, const std::string& key, const json::object* object) {
    std::map<std::string, json::object>& all = objects[path];
    const bool there = all.contains(key);
    if (object == nullptr && !there) return;
    json::object now = object == nullptr ? all.at(key) : *object;
    now["metadata"].as_object()["resourceVersion"] = std::to_string(++version);
    const char* type = object == nullptr ? "DELETED" : there ? "MODIFIED" : "ADDED";
    events.push_back(
        {version, path, json::serialize(json::object{{"type", type}, {"object", now}}) + "\n"});
    if (events.size() > kMaxEvents) events.pop_front();
    if (object == nullptr)
      all.erase(key);
    else
      all[key] = std::move(now);
    changed.notify_all();
  }

  std::map<std::string, std::string> textsOfNode(const char* part, const char* member) {
    const std::lock_guard<std::mutex> hold(mutex);
    std::map<std::string, std::string> texts;
    const json::object& node = objects[kNodes].begin()->second;
    for (const auto& [key, value] : node.at(part).at(member).as_object())
      texts[key] = std::string(value.as_string());
    return texts;
  }

  void serve(const std::shared_ptr<tcp::socket>& socket) {
    beast::flat_buffer buffer;
    beast::error_code fault;
    for (;;) {
      Request request;
      http::read(*socket, buffer, request, fault);
      if (fault) return;
      const std::string target(request.target());
      const std::string path = target.substr(0, target.find('?'));
      const std::string query =
          target.find('?') == std::string::npos ? "" : target.substr(target.find('?') + 1);
      if (request.method() == http::verb::get && query.find("watch=") != std::string::npos &&
          (path == kNodes || path == kPods)) {
        watch(*socket, path, versionIn(query));
        return;
      }
      const Answer answer = answerTo(request, path);
      http::response<http::string_body> response{http::int_to_status(answer.status), 11};
      response.set(http::field::content_type, "application/json");
      response.body() = answer.body;
      response.prepare_payload();
      http::write(*socket, response, fault);
      if (fault) return;
    }
  }

  asio::io_context loop;
  tcp::acceptor acceptor;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::map<std::string, json::object>> objects;  // by path and key
  struct Event {
    std::uint64_t version;
    std::string path, text;
  };
  std::deque<Event> events;
  std::uint64_t version = 1;
  std::vector<std::string> writes;
  std::vector<std::string> unknown;
  bool over = false;
  std::vector<std::shared_ptr<tcp::socket>> sockets;
  std::vector<std::thread> threads;

 private:
  Answer answerTo(const Request& request, const std::string& path) {
    const std::lock_guard<std::mutex> hold(mutex);
    const bool reads = request.method() == http::verb::get;
    if (reads && (path == kNodes || path == kPods)) return list(path);
    const std::string nodes = std::string(kNodes) + "/";
    if (request.method() == http::verb::patch && path.starts_with(nodes))
      return patch(path.substr(nodes.size()), request.body());
    const std::string spaces = "/api/v1/namespaces/";
    const std::size_t at = path.find("/pods/");
    if (reads && path.starts_with(spaces) && at != std::string::npos)
      return one(path.substr(spaces.size(), at - spaces.size()), path.substr(at + 6));
    unknown.push_back(std::string(request.method_string()) + " " + path);
    return refusal(404, "NotFound");
  }

  Answer list(const std::string& path) {
    json::array items;
    for (const auto& [key, object] : objects[path]) items.push_back(object);
    return {200, json::serialize(
                     json::object{{"kind", path == kNodes ? "NodeList" : "PodList"},
                                  {"apiVersion", "v1"},
                                  {"metadata", {{"resourceVersion", std::to_string(version)}}},
                                  {"items", std::move(items)}})};
  }

  Answer one(const std::string& space, const std::string& name) {
    for (const auto& [uid, pod] : objects[kPods])
      if (memberOf(pod, "namespace") == space && memberOf(pod, "name") == name)
        return {200, json::serialize(pod)};
    return refusal(404, "NotFound");
  }

  // Of a node, or of its status.
  Answer patch(const std::string& what, const std::string& body) {
    const std::string name = what.substr(0, what.find('/'));
    if (!objects[kNodes].contains(name)) return refusal(404, "NotFound");
    json::object node = objects[kNodes].at(name);
    merge(node, json::parse(body).as_object());
    // As a real one: what changes nothing has no new version, and no watch is told of it.
    if (node != objects[kNodes].at(name)) {
      writes.push_back(body);
      changeHeld(kNodes, name, &node);
    }
    return {200, json::serialize(objects[kNodes].at(name))};
  }

  void watch(tcp::socket& socket, const std::string& path, std::uint64_t from) {
    beast::error_code fault;
    const auto say = [&](const std::string& text) {
      char size[20];
      std::snprintf(size, sizeof size, "%zx\r\n", text.size());
      asio::write(socket, asio::buffer(size + text + "\r\n"), fault);
    };
    asio::write(socket,
                asio::buffer(std::string("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                         "Transfer-Encoding: chunked\r\n\r\n")),
                fault);
    std::unique_lock<std::mutex> hold(mutex);
    while (!over && !fault) {
      const bool old = !events.empty() && from + 1 < events.front().version && from < version &&
                       events.size() == kMaxEvents;
      std::string news;
      for (const Event& event : events)
        if (event.version > from && event.path == path) news += event.text;
      from = version;
      if (old) {
        say("{\"type\":\"ERROR\",\"object\":" + refusal(410, "Expired").body + "}\n");
        return;
      }
      if (news.empty()) {
        changed.wait(hold);
        continue;
      }
      hold.unlock();
      say(news);
      hold.lock();
    }
  }
};

ApiDouble::ApiDouble(const std::string& node) : inside_(std::make_shared<Inside>(node)) {
  inside_->threads.emplace_back([inside = inside_] {
    for (;;) {
      const auto socket = std::make_shared<tcp::socket>(inside->loop);
      beast::error_code fault;
      inside->acceptor.accept(*socket, fault);
      const std::lock_guard<std::mutex> hold(inside->mutex);
      if (fault || inside->over) return;
      socket->set_option(tcp::no_delay(true), fault);
      inside->sockets.push_back(socket);
      inside->threads.emplace_back([inside, socket] { inside->serve(socket); });
    }
  });
}

ApiDouble::~ApiDouble() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard<std::mutex> hold(inside_->mutex);
    inside_->over = true;
    inside_->changed.notify_all();
    beast::error_code ignored;
    for (const auto& socket : inside_->sockets)
      socket->shutdown(tcp::socket::shutdown_both, ignored);
    ::shutdown(inside_->acceptor.native_handle(), SHUT_RDWR);
    threads.swap(inside_->threads);
  }
  for (std::thread& thread : threads) thread.join();
}

std::string ApiDouble::url() const {
  return "http://127.0.0.1:" + std::to_string(inside_->acceptor.local_endpoint().port());
}

void ApiDouble::setPod(const json::object& pod) {
  inside_->change(kPods, memberOf(pod, "uid"), &pod);
}

void ApiDouble::removePod(const std::string& uid) {
  inside_->change(kPods, uid, nullptr);
}

void ApiDouble::removePods() {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  std::map<std::string, json::object>& pods = inside_->objects[kPods];
  while (!pods.empty()) {
    const std::string uid = pods.begin()->first;
    inside_->changeHeld(kPods, uid, nullptr);
  }
}

std::map<std::string, std::string> ApiDouble::notes() const {
  return inside_->textsOfNode("metadata", "annotations");
}

std::map<std::string, std::string> ApiDouble::capacity() const {
  return inside_->textsOfNode("status", "capacity");
}

std::vector<std::string> ApiDouble::writes() const {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  return inside_->writes;
}

std::vector<std::string> ApiDouble::unknown() const {
  const std::lock_guard<std::mutex> hold(inside_->mutex);
  return inside_->unknown;
}

}  // namespace divvy::test
