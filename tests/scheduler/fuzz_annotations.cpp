// Any bytes as an annotation that others write, or that we wrote: refused with a reason, or read;
// and what is read is read the same once it has been written by us. The first byte says which.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "annotations/reservation_annotation.h"
#include "extender/node_lock.h"
#include "kube/assignment.h"
#include "kube/device_scores.h"
#include "kube/instances.h"
#include "kube/nics.h"
#include "kube/registration.h"
#include "kube/resize_request.h"

using namespace divvy;

namespace {

void need(bool so) {
  if (!so) std::abort();
}

template <typename Value>
bool read(const Result<Value>& value) {
  need(value || (value.error().code() == ErrorCode::kCorrupt && !value.error().message().empty()));
  return static_cast<bool>(value);
}

// `form`: as many as there are.
void registration(std::string_view text, unsigned form) {
  const Result<std::vector<kube::RegisteredDevice>> devices =
      form == 0   ? kube::decodeRegistration(text)
      : form == 1 ? kube::decodeRegistrationList(text)
      : form == 2 ? kube::decodeRegistrationMetax(text)
                  : kube::decodeRegistrationDrs(text);
  if (!read(devices) || form != 0) return;
  const auto again = kube::decodeRegistration(kube::encode(*devices));
  need(again && *again == *devices);
}

void assignment(std::string_view text) {
  const Result<kube::Assignment> given = kube::decodeAssignment(text);
  if (!read(given)) return;
  const Result<kube::Assignment> again = kube::decodeAssignment(kube::encode(*given));
  need(again && *again == *given);
}

void instances(std::string_view text) {
  const auto given = kube::decodeInstances(text);
  if (!read(given)) return;
  const auto again = kube::decodeInstances(kube::encode(*given));
  need(again && *again == *given);
}

// None are written as nothing at all.
void nics(std::string_view text) {
  const auto given = kube::decodeNics(text);
  if (!read(given) || given->empty()) return;
  const auto again = kube::decodeNics(kube::encode(*given));
  need(again && *again == *given);
}

void promise(const std::string& text) {
  const Result<scheduler::ReservationAnnotation> plan = scheduler::decodePlan(text);
  if (!read(plan)) return;
  const Result<scheduler::ReservationAnnotation> again =
      scheduler::decodePlan(scheduler::encode(*plan));
  need(again && again->epoch == plan->epoch && again->queue == plan->queue &&
       again->place.node == plan->place.node &&
       again->place.annotations == plan->place.annotations);
}

template <typename Decode>
void change(const std::string& text, Decode decode) {
  const auto given = decode(text);
  if (!read(given)) return;
  const auto again = decode(kube::encode(*given));
  need(again && *again == *given);
}

void lock(const std::string& text) {
  const scheduler::LockValue said = scheduler::parseLock(text);
  if (said.seconds <= 0 || said.holder == scheduler::LockHolder{}) return;
  const scheduler::LockValue again =
      scheduler::parseLock(scheduler::lockText("hami.io/mutex.lock", said.seconds, said.holder));
  need(again.seconds == said.seconds && again.holder == said.holder);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case '0':
    case '1':
    case '2':
    case '3':
      registration(text, data[0] - '0');
      break;
    case 'a':
      assignment(text);
      break;
    case 'i':
      instances(text);
      break;
    case 's':
      (void)read(kube::decodeScores(text));
      break;
    case 'n':
      nics(text);
      break;
    case 'p':
      promise(text);
      break;
    case 'l':
      lock(text);
      break;
    case 'c':
      change(text, kube::decodeShareChange);
      change(text, kube::decodeChangeState);
      change(text, kube::decodeChangeResults);
      break;
    default:
      break;
  }
  return 0;
}
