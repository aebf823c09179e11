"""What differs between the products for the CUDA driver and those for NVML."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """Names used in generated text."""
    name: str  # in file names and in symbols of ours
    title: str  # in prose
    ids: str  # the enum of entry points
    fn: str  # the template of function types
    result: str  # the type that nearly every entry point returns
    not_supported: str  # what an entry that simgpu lacks returns
    extras: tuple  # further exports of the interposer's library


CUDA = Library("cuda", "CUDA driver", "Cu", "CuFn", "CUresult", "CUDA_ERROR_NOT_SUPPORTED",
               ("dlopen", "divvy_control"))
NVML = Library("nvml", "NVML", "Nv", "NvFn", "nvmlReturn_t", "NVML_ERROR_NOT_SUPPORTED", ())
