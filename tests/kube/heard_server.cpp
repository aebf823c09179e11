#include "heard_server.h"

#include <algorithm>
#include <cctype>
#include <istream>
#include <utility>

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>

namespace divvy::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

std::string small(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string lineOf(std::istream& in) {
  std::string line;
  std::getline(in, line);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

}  // namespace

std::string Heard::path() const {
  const std::size_t begin = line.find(' ') + 1;
  return line.substr(begin, line.find_first_of(" ?", begin) - begin);
}

std::vector<std::string> Heard::all(const std::string& header) const {
  std::vector<std::string> found;
  const auto [begin, end] = headers.equal_range(header);
  for (auto at = begin; at != end; ++at) found.push_back(at->second);
  return found;
}

std::string Heard::text(const std::string& header) const {
  std::string text;
  for (const std::string& one : all(header)) text += (text.empty() ? "" : ",") + one;
  return text;
}

HeardServer::HeardServer(std::map<std::string, std::string> objects, bool silent)
    : objects_(std::move(objects)),
      silent_(silent),
      acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port_(acceptor_.local_endpoint().port()),
      serving_([this] { serve(); }) {}

HeardServer::~HeardServer() {
  over_ = true;
  boost::system::error_code ignored;
  tcp::socket last(context_);
  last.connect(acceptor_.local_endpoint(), ignored);
  serving_.join();
}

std::vector<Heard> HeardServer::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(heard_, {});
}

void HeardServer::serve() {
  while (!over_) {
    boost::system::error_code fault;
    tcp::socket socket(context_);
    acceptor_.accept(socket, fault);
    if (fault || over_) continue;
    if (silent_) {
      waiting_.push_back(std::move(socket));
    } else {
      answer(socket);
    }
  }
}

void HeardServer::answer(tcp::socket& socket) {
  boost::system::error_code fault;
  asio::streambuf buffer;
  asio::read_until(socket, buffer, "\r\n\r\n", fault);
  if (fault) return;
  std::istream in(&buffer);
  Heard heard;
  heard.line = lineOf(in);
  for (std::string line = lineOf(in); !line.empty(); line = lineOf(in)) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos)
      heard.headers.emplace(small(line.substr(0, colon)), line.substr(colon + 2));
  }
  const std::string length = heard.text("content-length");
  const std::size_t body = length.empty() ? 0 : std::stoul(length);
  if (body > buffer.size())
    asio::read(socket, buffer, asio::transfer_exactly(body - buffer.size()), fault);
  const auto found = objects_.find(heard.path());
  const std::string said =
      found == objects_.end() ? R"({"kind":"Status","message":"no such"})" : found->second;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_.push_back(std::move(heard));
  }
  const std::string reply = std::string("HTTP/1.1 ") +
                            (found == objects_.end() ? "404 Not Found" : "200 OK") +
                            "\r\nContent-Type: application/json\r\nConnection: close\r\n" +
                            "Content-Length: " + std::to_string(said.size()) + "\r\n\r\n" + said;
  asio::write(socket, asio::buffer(reply), fault);
}

}  // namespace divvy::test
