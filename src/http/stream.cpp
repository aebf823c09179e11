#include <utility>

#include "http/stream.h"
#include "stream_state.h"

namespace divvy::http {

void Stream::State::fail() {
  if (phase == Phase::kClosed) return;
  const bool told = phase == Phase::kOpen;
  phase = Phase::kClosed;
  queued = {};
  if (changed) changed();
  // The application may end its own object in there.
  const std::function<void()> call = std::exchange(closed, nullptr);
  if (told && call) call();
}

std::string Stream::State::take() {
  writing = queued.size();
  return std::exchange(queued, {});
}

Stream::Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}

std::shared_ptr<Stream> Stream::make(std::size_t max_outstanding) {
  auto state = std::make_shared<State>();
  state->max_outstanding = max_outstanding;
  return std::shared_ptr<Stream>(new Stream(std::move(state)));
}

Stream::~Stream() {
  close();
}

Stream::Push Stream::push(std::string_view chunk) {
  if (!open()) return Push::kClosed;
  if (chunk.size() > state_->max_outstanding - outstanding()) return Push::kFull;
  state_->queued += chunk;
  if (state_->changed) state_->changed();
  return Push::kQueued;
}

void Stream::close() {
  if (!open()) return;
  state_->phase = State::Phase::kEnding;
  state_->closed = nullptr;
  if (state_->changed) state_->changed();
}

bool Stream::open() const {
  return state_->phase == State::Phase::kOpen;
}

std::size_t Stream::outstanding() const {
  return state_->queued.size() + state_->writing;
}

void Stream::onClosed(std::function<void()> closed) {
  if (open()) state_->closed = std::move(closed);
}

}  // namespace divvy::http
