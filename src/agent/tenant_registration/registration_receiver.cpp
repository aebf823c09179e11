#include "tenant_registration/registration_receiver.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include <boost/asio/post.hpp>

#include "base/fd.h"
#include "base/rate_limit.h"
#include "log/log.h"
#include "tenant_registration/register_packet.h"

namespace divvy::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBacklog = 1024;
constexpr int kAcceptsPerTurn = 32;
// Connections that have sent nothing yet. A client sends immediately after it has connected.
constexpr std::size_t kMaxSilent = 256;
constexpr std::chrono::milliseconds kPatience{1000};
// Registrations queued for the loop, and those that it takes in one turn.
constexpr std::size_t kMaxQueued = 256;
constexpr unsigned kTurn = 8;
// Limits of one sender and of all together, each second; a process registers once.
constexpr Rate kOfOne{50, 200};
constexpr Rate kOfUnknown{200, 200};
constexpr Rate kOfAll{2'000, 500};
constexpr std::chrono::milliseconds kNudge{2};
constexpr std::chrono::milliseconds kStuck{5000};  // longer than the limit of helper calls
constexpr unsigned kMaxStuck = 8;
constexpr int kNudgeSignal = SIGURG;

// Interrupts waits of the calling thread every kNudge while it is armed.
class Nudge {
 public:
  Nudge() {
    struct sigaction action {};
    action.sa_handler = [](int) {};  // without SA_RESTART: the interrupted call ends
    sigaction(kNudgeSignal, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kNudgeSignal;
    event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
    valid_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  }
  ~Nudge() {
    if (valid_) timer_delete(timer_);
  }
  Nudge(const Nudge&) = delete;
  Nudge& operator=(const Nudge&) = delete;

  void arm(bool on) {
    if (!valid_ || on == armed_) return;
    const timespec every{0, on ? std::chrono::nanoseconds(kNudge).count() : 0};
    const itimerspec terms{every, every};
    timer_settime(timer_, 0, &terms, nullptr);
    armed_ = on;
  }

 private:
  timer_t timer_{};
  bool valid_ = false;
  bool armed_ = false;
};

struct Queued {
  std::uint64_t id = 0;
  Registration registration;
};

struct Reply {
  std::uint64_t id = 0;
  ledger::RegisterReply reply{};
};

}  // namespace

struct RegistrationReceiver::Shared {
  Fd listener;
  AcceptFrom hears = AcceptFrom::kOwn;
  std::atomic<std::uint64_t> received{0}, dropped{0}, limited{0}, replaced{0};

  mutable std::mutex mutex;
  std::deque<Queued> queued;
  std::map<Worker*, std::deque<Reply>> replies;
  bool posted = false;
  std::uint64_t next_id = 1;
  std::map<std::uint64_t, Worker*> asked;  // the worker that received the registration
  std::shared_ptr<Worker> worker;          // the one that accepts
  std::list<std::shared_ptr<Worker>> stuck;
  std::function<void()> post;  // makes the loop read the queue; empty: the agent ends
};

class RegistrationReceiver::Worker : public std::enable_shared_from_this<Worker> {
 public:
  explicit Worker(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        done_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~Worker() {
    if (thread_.joinable()) thread_.detach();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool start() {
    if (!epoll_.valid() || !wake_.valid() || !done_.valid() || !follow(wake_.get(), EPOLLIN) ||
        !follow(shared_->listener.get(), EPOLLIN))
      return false;
    try {
      thread_ = std::thread([self = shared_from_this()] { self->run(); });
    } catch (const std::system_error&) {
      return false;
    }
    pthread_setname_np(thread_.native_handle(), "divvy-register");
    return true;
  }
  void stop() {
    stopped_ = true;
    wake();
  }
  void wake() const { ring(wake_); }
  // Start of its work on the present connection; 0: it waits for the next.
  Clock::time_point::rep busySince() const { return busy_since_; }
  bool over() const { return over_; }
  // A stuck thread is detached: it ends when the kernel lets it.
  void part() {
    if (!thread_.joinable()) return;
    if (over()) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }
  void join() {
    pollfd waiting{done_.get(), POLLIN, 0};
    while (::poll(&waiting, 1, static_cast<int>(kStuck.count())) < 0 && errno == EINTR) {
    }
    part();
  }

 private:
  static void ring(const Fd& bell) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(bell.get(), &one, sizeof one);
  }

  struct Silent {
    Fd connection;
    Clock::time_point until;
  };

  bool follow(int fd, std::uint32_t what) const {
    epoll_event event{};
    event.events = what;
    event.data.fd = fd;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void run() {
    Nudge nudge;
    nudge_ = &nudge;
    while (!stopped_) {
      std::array<epoll_event, 64> events;
      nudge.arm(false);
      busy_since_ = 0;
      const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout());
      nudge.arm(true);
      mark();
      for (int i = 0; i < count && !stopped_; ++i) {
        const int fd = events.at(static_cast<std::size_t>(i)).data.fd;
        if (fd == wake_.get()) answer();
        if (fd == shared_->listener.get()) accept();
        if (const auto silent = silent_.find(fd); silent != silent_.end()) hear(silent);
      }
      dropLate();
    }
    silent_.clear(), asked_.clear();
    dropListener();
    nudge.arm(false);
    over_ = true;
    ring(done_);
  }

  // When the agent ends: connections in the backlog are dropped with it, and may linger, too.
  void dropListener() {
    Fd listener;
    const std::lock_guard<std::mutex> hold(shared_->mutex);
    if (!shared_->post) listener = std::move(shared_->listener);
  }

  // Call before a step that may block.
  void mark() { busy_since_ = Clock::now().time_since_epoch().count(); }

  int timeout() {
    const auto now = Clock::now();
    if (resting_) return std::max(1, inMilliseconds(rest_until_ - now));
    if (silent_.empty()) return -1;
    auto first = now + kPatience;
    for (const auto& [fd, silent] : silent_) first = std::min(first, silent.until);
    return std::max(0, inMilliseconds(first - now) + 1);
  }
  static int inMilliseconds(Clock::duration time) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  }

  // Above the limit of all senders it pauses accepting, and connections wait in the backlog.
  void rest(bool on) {
    if (on == resting_) return;
    resting_ = on;
    rest_until_ = Clock::now() + std::chrono::milliseconds(20);
    epoll_event event{};
    event.events = on ? 0u : static_cast<std::uint32_t>(EPOLLIN);
    event.data.fd = shared_->listener.get();
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, shared_->listener.get(), &event);
  }

  void accept() {
    for (int i = 0; i < kAcceptsPerTurn && !stopped_; ++i) {
      if (!of_all_.take("", Clock::now())) return rest(true);
      Fd connection(
          accept4(shared_->listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      // Without free descriptors epoll would report the listener again at once.
      if (!connection.valid()) return rest(errno == EMFILE || errno == ENFILE);
      mark();
      const int fd = connection.get();
      if (take(connection)) continue;
      if (silent_.size() >= kMaxSilent) dropOldest();
      if (follow(fd, EPOLLIN)) silent_[fd] = {std::move(connection), Clock::now() + kPatience};
    }
  }

  void hear(std::map<int, Silent>::iterator silent) {
    Fd connection = std::move(silent->second.connection);
    silent_.erase(silent);
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.get(), nullptr);
    mark();
    const int fd = connection.get();
    if (take(connection)) return;
    // The event was of an earlier connection with that descriptor; this one has sent nothing yet.
    if (follow(fd, EPOLLIN)) silent_[fd] = {std::move(connection), Clock::now() + kPatience};
  }

  // Returns false if nothing was sent yet. Otherwise the connection is closed here, or kept until
  // the loop has answered.
  bool take(Fd& connection) {
    Queued queued;
    ledger::RegisterPacket& packet = queued.registration.packet;
    // Without room for control messages the kernel drops descriptors that are sent.
    iovec data{&packet, sizeof packet};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    const ssize_t got = recvmsg(connection.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    ++shared_->received;
    const bool ours = isRegisterPacket(packet, got);
    if (!ours) ++shared_->dropped;
    if (!ours || !mayRegister(connection.get(), queued.registration) ||
        !enqueue(std::move(queued), connection))
      connection.reset();
    return true;
  }

  // Cheap checks first: the peer of a connection may need a call of the helper.
  bool mayRegister(int connection, Registration& registration) {
    ucred known{};
    socklen_t size = sizeof known;
    const bool has_user = getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &known, &size) == 0;
    const bool ours =
        shared_->hears == AcceptFrom::kAll || known.uid == geteuid() || known.uid == 0;
    if (!has_user || !ours) return ++shared_->dropped, false;
    // For a process outside our PID namespace the helper determines the number. Such calls are
    // limited for connections without a known PID.
    const bool known_here = known.pid > 0;
    if (!known_here && !of_unknown_.take("", Clock::now())) return ++shared_->limited, false;
    if (known_here && !of_one_.take(std::to_string(known.pid), Clock::now()))
      return ++shared_->limited, false;
    // The helper call has a bound, which interruptions would extend.
    nudge_->arm(false);
    const Result<Peer> peer = processes().peer(connection);
    nudge_->arm(true);
    // An unknown process registers again, or a sweep finds its slot.
    if (!peer || peer->pid <= 0) return ++shared_->dropped, false;
    if (!known_here && !of_one_.take(std::to_string(peer->pid), Clock::now()))
      return ++shared_->limited, false;
    registration.peer = *peer;
    return true;
  }

  bool enqueue(Queued queued, Fd& connection) {
    const std::lock_guard<std::mutex> hold(shared_->mutex);
    if (shared_->queued.size() >= kMaxQueued || !shared_->post) return ++shared_->limited, false;
    queued.id = shared_->next_id++;
    asked_[queued.id] = std::move(connection);
    shared_->asked[queued.id] = this;
    shared_->queued.push_back(std::move(queued));
    if (!std::exchange(shared_->posted, true)) shared_->post();
    return true;
  }

  void answer() {
    std::uint64_t rung = 0;
    [[maybe_unused]] const ssize_t got = read(wake_.get(), &rung, sizeof rung);
    std::deque<Reply> replies;
    {
      const std::lock_guard<std::mutex> hold(shared_->mutex);
      replies.swap(shared_->replies[this]);
    }
    for (const Reply& one : replies) {
      const auto asked = asked_.find(one.id);
      if (asked == asked_.end()) continue;
      mark();
      // The sender may have ended or may not read.
      static_cast<void>(
          send(asked->second.get(), &one.reply, sizeof one.reply, MSG_DONTWAIT | MSG_NOSIGNAL));
      asked_.erase(asked);
    }
  }

  void dropOldest() {
    auto oldest = silent_.begin();
    for (auto at = silent_.begin(); at != silent_.end(); ++at)
      if (at->second.until < oldest->second.until) oldest = at;
    if (oldest == silent_.end()) return;
    silent_.erase(oldest);
    ++shared_->dropped;
  }

  void dropLate() {
    const auto now = Clock::now();
    if (resting_ && now >= rest_until_) rest(false);
    for (auto at = silent_.begin(); at != silent_.end();) {
      if (at->second.until > now) {
        ++at;
        continue;
      }
      mark();
      at = silent_.erase(at);
      ++shared_->dropped;
    }
  }

  const std::shared_ptr<Shared> shared_;
  const Fd epoll_;
  const Fd wake_;
  const Fd done_;  // signalled when its thread ends
  std::thread thread_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> over_{false};
  std::atomic<Clock::time_point::rep> busy_since_{0};
  // Used by the thread only.
  std::map<int, Silent> silent_;
  std::map<std::uint64_t, Fd> asked_;
  Nudge* nudge_ = nullptr;
  RateLimit of_one_{kOfOne};
  RateLimit of_unknown_{kOfUnknown};
  RateLimit of_all_{kOfAll};
  bool resting_ = false;
  Clock::time_point rest_until_;
};

RegistrationReceiver::RegistrationReceiver(asio::io_context& loop, Handler handler)
    : loop_(loop), handler_(std::move(handler)), shared_(std::make_shared<Shared>()) {}

RegistrationReceiver::~RegistrationReceiver() {
  std::shared_ptr<Worker> worker;
  std::list<std::shared_ptr<Worker>> stuck;
  {
    const std::lock_guard<std::mutex> hold(shared_->mutex);
    shared_->post = nullptr;
    worker = std::exchange(shared_->worker, nullptr);
    stuck.swap(shared_->stuck);
  }
  if (worker) worker->stop(), worker->join();
  for (const auto& one : stuck) one->part();
}

Result<void> RegistrationReceiver::listen(const std::string& path, AcceptFrom hears) {
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  unlink(path.c_str());
  if (!fd.valid() || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      (hears == AcceptFrom::kAll && chmod(path.c_str(), 0666) != 0) ||
      ::listen(fd.get(), kBacklog) != 0)
    return Error{ErrorCode::kIo, "listening on " + path + ": " + std::strerror(errno)};
  shared_->listener = std::move(fd);
  shared_->hears = hears;
  shared_->post = [this] { asio::post(loop_, [this] { drain(); }); };
  if (!startWorker())
    return Error{ErrorCode::kIo, "listening on " + path + ": no thread can be started"};
  return {};
}

bool RegistrationReceiver::startWorker() {
  auto worker = std::make_shared<Worker>(shared_);
  if (!worker->start()) return false;
  const std::lock_guard<std::mutex> hold(shared_->mutex);
  shared_->worker = std::move(worker);
  return true;
}

void RegistrationReceiver::drain() {
  std::deque<Queued> turn;
  {
    const std::lock_guard<std::mutex> hold(shared_->mutex);
    for (unsigned i = 0; i < kTurn && !shared_->queued.empty(); ++i) {
      turn.push_back(std::move(shared_->queued.front()));
      shared_->queued.pop_front();
    }
    shared_->posted = !shared_->queued.empty();
    if (shared_->posted) shared_->post();
  }
  for (const Queued& one : turn) {
    const ledger::RegisterStatus status = handler_(one.registration);
    const auto pid = static_cast<std::uint32_t>(one.registration.peer.pid);
    const std::lock_guard<std::mutex> hold(shared_->mutex);
    const auto asked = shared_->asked.extract(one.id);
    if (asked.empty() || asked.mapped() != shared_->worker.get()) continue;
    shared_->replies[asked.mapped()].push_back({one.id, {ledger::kRegisterMagic, status, pid, 0}});
    asked.mapped()->wake();
  }
}

void RegistrationReceiver::poll() {
  std::shared_ptr<Worker> worker;
  {
    const std::lock_guard<std::mutex> hold(shared_->mutex);
    worker = shared_->worker;
    shared_->stuck.remove_if([](const std::shared_ptr<Worker>& one) {
      const bool over = one->over();
      if (over) one->part();
      return over;
    });
    if (shared_->stuck.size() >= kMaxStuck) return;
  }
  const Clock::time_point::rep busy_since = worker ? worker->busySince() : 0;
  if (busy_since == 0 || Clock::now() - Clock::time_point{Clock::duration{busy_since}} < kStuck)
    return;
  if (!startWorker()) return;
  ++shared_->replaced;
  worker->stop();
  const std::lock_guard<std::mutex> hold(shared_->mutex);
  shared_->replies.erase(worker.get());
  shared_->stuck.push_back(std::move(worker));
  log::warn(
      "a thread for registrations made no progress and is replaced; descriptors of its process "
      "stay open",
      {{"stuck_s", "5"}});
}

RegistrationReceiver::Counts RegistrationReceiver::counts() const {
  return {shared_->received, shared_->dropped, shared_->limited, shared_->replaced};
}

}  // namespace divvy::agent
