// The driver's counts of memory errors. Source: NVML API reference (names and numbers). Cards
// without ECC report none of them. Cards before Ampere retire pages instead of remapping rows.
#include "driver/nvml.h"
#include "nvml_api.h"

namespace divvy::driver {
namespace {

enum ErrorQuery { kEccErrors, kRemappedRows, kRetiredPages };

// Returns true if the device answered. A question that it does not support is not repeated.
template <typename Function, typename... Out>
bool query(Nvml::Api& api, ErrorQuery query_kind, Function* function, nvmlDevice_t device,
           Out... out) {
  if (function == nullptr || api.unsupported.contains({device, query_kind})) return false;
  const nvmlReturn_t status = function(device, out...);
  if (status == NVML_ERROR_NOT_SUPPORTED || status == NVML_ERROR_FUNCTION_NOT_FOUND)
    api.unsupported.insert({device, query_kind});
  return status == NVML_SUCCESS;
}

// Fills in values that are still missing.
void readErrors(Nvml::Api& api, nvmlDevice_t device, MemoryErrors* errors) {
  unsigned long long count = 0;
  if (!errors->uncorrected && query(api, kEccErrors, api.ecc_errors, device,
                                    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &count))
    errors->uncorrected = count;
  if (errors->pending) return;
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (query(api, kRemappedRows, api.remapped_rows, device, &corrected, &uncorrected, &pending,
            &failed)) {
    errors->pending = pending != 0;
    errors->failed = failed != 0;
    return;
  }
  nvmlEnableState_t retires = NVML_FEATURE_DISABLED;
  if (query(api, kRetiredPages, api.retired_pages, device, &retires))
    errors->pending = retires == NVML_FEATURE_ENABLED;
}

}  // namespace

MemoryErrors Nvml::memoryErrors(unsigned index) const {
  MemoryErrors errors;
  if (const Result<nvmlDevice_t> device = api_->device(index)) readErrors(*api_, *device, &errors);
  if (index < api_->cards || index - api_->cards >= api_->parts.size()) return errors;
  const Result<nvmlDevice_t> card = api_->device(api_->parts[index - api_->cards].card);
  if (card) readErrors(*api_, *card, &errors);
  return errors;
}

}  // namespace divvy::driver
