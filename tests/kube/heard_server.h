// An API server of few objects that keeps what it was asked, with all headers.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace divvy::test {

// A request as it came: "GET /path?query HTTP/1.1", and its headers, names in small letters.
struct Heard {
  std::string line;
  std::multimap<std::string, std::string> headers;

  std::string path() const;  // without the query
  std::vector<std::string> all(const std::string& header) const;
  // Those of the header, with ',' between.
  std::string text(const std::string& header) const;
};

class HeardServer {
 public:
  // By path what is answered, with 200; others are 404. `silent`: nobody is answered at all.
  explicit HeardServer(std::map<std::string, std::string> objects, bool silent = false);
  ~HeardServer();
  HeardServer(const HeardServer&) = delete;
  HeardServer& operator=(const HeardServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // What came since the last time.
  std::vector<Heard> take();

 private:
  void serve();
  void answer(boost::asio::ip::tcp::socket& socket);

  std::map<std::string, std::string> objects_;
  bool silent_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  int port_ = 0;
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::vector<Heard> heard_;
  std::vector<boost::asio::ip::tcp::socket> waiting_;  // those that are not answered
  std::thread serving_;
};

}  // namespace divvy::test
