# What every command of ./dev uses: messages, packages, stages. Sourced, never run.

# What the product is compiled with: all that `./dev demo` installs.
BUILD_PACKAGES=(g++ cmake ninja-build ccache mold python3 git
  libboost1.81-dev libboost-json1.81-dev libcli11-dev libspdlog-dev libfmt-dev libyaml-cpp-dev libssl-dev
  libtomlplusplus-dev libsqlite3-dev zlib1g-dev pkg-config libseccomp-dev libgrpc++-dev libprotobuf-dev
  protobuf-compiler protobuf-compiler-grpc)
# For the console's page; a node of another source does as well.
WEB_PACKAGES=(nodejs npm)
# What tests and benches are compiled with.
TEST_PACKAGES=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev)
# What tests run, beside the product.
THIRD_PARTY_PACKAGES=(binutils python3-pip zsh fish openssl gpg)
# These packages start services on a machine with systemd: there the tests that need them are skipped.
[[ -d /run/systemd/system ]] || THIRD_PARTY_PACKAGES+=(prometheus podman conmon runc uidmap)
# Only for assembling and running the aarch64 stubs on another machine.
ARM_PACKAGES=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
# Only for a node with a kubelet.
NODE_PACKAGES=(containerd runc)
LINT_PACKAGES=(clang-format-14 python3 python3-pip)
# The chart's checks, and images without a registry.
CHART_PACKAGES=(python3-yaml)
VM_PACKAGES=(qemu-system-x86 mmdebstrap e2fsprogs)
IMAGE_PACKAGES=(buildah binutils dpkg-dev)
# For systemd-analyze, which checks a unit file.
UNIT_PACKAGES=(systemd)
FUZZ_PACKAGES=(clang-16 libclang-rt-16-dev)

# The product as it is installed on a machine with cards, simulated ones included.
PRODUCT_TARGETS=(divvy divvy_cuda_so divvy_nvml_so divvy_simgpu_cuda divvy_simgpu_nvml)
# The product and the programs that containers of the node with a kubelet run.
NODE_TARGETS=("${PRODUCT_TARGETS[@]}" cluster_pause cluster_share_probe divvy_e2e_busy divvy_e2e_swapper
  divvy_simgpu_rm)

JOBS=${DIVVY_JOBS:-$(nproc)}
# Results that every checkout of this user shares: Kubernetes for tests, programs of other projects.
DIVVY_CACHE=${DIVVY_CACHE:-${XDG_CACHE_HOME:-${HOME:-$PWD/build}/.cache}/divvy}
# Two checkouts of the same sources share the compiler cache.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
export NINJA_STATUS='[%f/%t, %e s] '

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() { printf 'dev: %s\n' "$*" >&2; exit 1; }

# True if every named package is installed.
installed() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || return 1
  done
}

# Installs the named packages that are missing. Names them, and their size, before it starts.
need() {
  local missing=() package
  command -v dpkg-query >/dev/null || { say "not a Debian system: please provide ${*}"; return 0; }
  for package in "$@"; do
    installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local root=() size
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "missing packages: ${missing[*]}; install them as root"
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${root[@]}" apt-get update -q >/dev/null
  size=$(apt-get install -y --no-install-recommends --print-uris "${missing[@]}" 2>/dev/null |
    awk '/^\x27/ { n++; b += $3 } END { if (n) printf "%d packages, %.0f MB to download", n, b / 1e6 }')
  [[ -z $size ]] || say "$size"
  DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -q --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# What the product is built with.
need_to_build() {
  need "${BUILD_PACKAGES[@]}"
  { command -v node && command -v npm; } >/dev/null || need "${WEB_PACKAGES[@]}"
}

# Runs a command and says how long it took.
stage() { # NAME COMMAND ARGS
  local name=$1 began=$SECONDS status=0
  shift
  "$@" || status=$?
  say "$name: $((SECONDS - began)) s"
  return "$status"
}
