#include "card.h"

#include <algorithm>

namespace divvy::arbiter::world {

unsigned Card::addContext() {
  contexts_.emplace_back();
  return static_cast<unsigned>(contexts_.size() - 1);
}

void Card::submit(unsigned context, Kernel kernel) {
  account();
  contexts_[context].queue.push_back(std::move(kernel));
  if (current_ == kNobody) start(context);
  schedule();
}

void Card::look() {
  account();
  schedule();
}

Nanos Card::got(unsigned context) {
  account();
  return contexts_[context].got;
}

Nanos Card::leftOf(const Kernel& kernel) const {
  return kernel.released != nullptr && !*kernel.released ? kNever : kernel.left;
}

// Brings what was executed up to now.
void Card::account() {
  const Nanos now = timeline_.now();
  const Nanos from = std::max(accounted_, slice_start_);
  accounted_ = now;
  if (current_ == kNobody || now <= from) return;
  Context& context = contexts_[current_];
  context.got += now - from;
  if (context.queue.empty()) return;
  Kernel& kernel = context.queue.front();
  if (kernel.started < 0) kernel.started = std::max(from, context.last_end);
  if (leftOf(kernel) != kNever) kernel.left -= std::min(kernel.left, now - from);
}

unsigned Card::nextAfter(unsigned context) const {
  const auto count = static_cast<unsigned>(contexts_.size());
  for (unsigned step = 1; step <= count; ++step) {
    const unsigned candidate = (context + step) % count;
    if (!contexts_[candidate].queue.empty()) return candidate;
  }
  return kNobody;
}

void Card::start(unsigned context) {
  const Nanos now = timeline_.now();
  const bool loads = last_ != kNobody && last_ != context;
  current_ = last_ = context;
  slice_start_ = now + (loads ? switch_cost_ : 0);
  accounted_ = now;
}

// The next instant at which something happens by itself.
void Card::schedule() {
  const std::uint64_t generation = ++generation_;
  if (current_ == kNobody) return;
  const Nanos now = timeline_.now();
  const Nanos from = std::max(now, slice_start_);
  Nanos until = kNever;
  const Nanos left = leftOf(contexts_[current_].queue.front());
  if (left != kNever) until = from + left;
  if (nextAfter(current_) != current_) {
    const Nanos slices = (from - slice_start_) / slice_ + 1;
    until = std::min(until, slice_start_ + slices * slice_);
  }
  if (until != kNever) timeline_.at(until, [this, generation] { tick(generation); });
}

void Card::tick(std::uint64_t generation) {
  if (generation != generation_) return;
  account();
  const Nanos now = timeline_.now();
  Context& context = contexts_[current_];
  std::function<void(Nanos)> done;
  Nanos elapsed = 0;
  if (leftOf(context.queue.front()) == 0) {
    Kernel kernel = std::move(context.queue.front());
    context.queue.pop_front();
    elapsed = now - (kernel.started < 0 ? now : kernel.started);
    context.last_end = now;
    done = std::move(kernel.done);
  }
  const bool slice_over = now > slice_start_ && (now - slice_start_) % slice_ == 0;
  if (context.queue.empty() || slice_over) {
    const unsigned next = nextAfter(current_);
    if (next == kNobody) {
      current_ = kNobody;
    } else if (next != current_) {
      start(next);
    }
  }
  schedule();
  if (done) done(elapsed);
}

}  // namespace divvy::arbiter::world
