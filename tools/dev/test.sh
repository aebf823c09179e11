# Tests, sanitizers, fuzzers, checks on a card. Sourced by ./dev.

# Peers that tests compare with. Without them those checks are skipped, and say so.
third_party() {
  mkdir -p build
  [[ $(uname -m) == aarch64 ]] || (need "${ARM_PACKAGES[@]}") ||
    say "no aarch64 tools: that test will be skipped"
  [[ -e build/old-libc/ok ]] || say "fetching Debian 11's libc for the old-glibc test"
  tools/fetch-old-libc build/old-libc || say "no old glibc: that test will be skipped"
  [[ -e build/headers/13.5 ]] || say "fetching NVIDIA's headers for the ABI parity test"
  tools/abi/fetch-headers build/headers || say "no NVIDIA headers: that test will be skipped"
  [[ -e build/nvcc/bin/nvcc ]] || say "fetching NVIDIA's compiler to compile the PTX kernels anew"
  tools/fetch-nvcc build/nvcc || say "no nvcc: the kernels' kept PTX is compared, none is made anew"
  [[ -e build/pypi-clients/cuda-core/.have-1 ]] || say "fetching programs from PyPI that use a GPU"
  tools/fetch-clients build/pypi-clients || say "no programs from PyPI: that test will be skipped"
  build_vale || say "Vale cannot be built: the test of its rules will fail"
}

run_tests() { # PRESET [CTEST ARGS]
  local preset=$1
  shift
  say "testing $preset"
  tools/run-tests "build/$preset" "$JOBS" "$@"
}

# Tests that compare with what `third_party` fetches, and tests that run what THIRD_PARTY_PACKAGES has.
THIRD_PARTY_TESTS='^(abi_|ptx_recompiled|e2e_pypi|repo_prose_rules|interposer_(cuda|nvml|timeslice)_elf)'
PACKAGE_TESTS='^(abi_|ptx_recompiled|cli_|e2e_podman|e2e_kept_share|prometheus_|interposer_|images_)'

# Only what the chosen tests need is built and fetched: `./dev test -R scheduler` compiles no interposer.
chosen_tests() { # PRESET [CTEST ARGS]
  local preset=$1 files names
  shift
  need_to_build && need "${TEST_PACKAGES[@]}"
  configure "$preset" tests
  files=$(python3 -B tools/test_files.py "build/$preset" "$@") || exit $?
  names=$(ctest --test-dir "build/$preset" -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p')
  ! grep -qE "$PACKAGE_TESTS" <<<"$names" || need "${THIRD_PARTY_PACKAGES[@]}"
  # shellcheck disable=SC2086  # names of files of the build directory, one word each
  [[ -z $files ]] || build_tests "$preset" $files
  ! grep -qE "$THIRD_PARTY_TESTS" <<<"$names" || third_party
  run_tests "$preset" "$@"
}

# test [--preset PRESET] [--changed [BASE]] [CTEST ARGS], test --long ...
test_command() {
  local preset=release changed="" base=""
  if [[ ${1:-} == --long ]]; then
    long_test "${@:2}"
    return
  fi
  while (($#)); do
    case "$1" in
      --preset) preset=${2:?--preset PRESET} && shift 2 ;;
      --changed)
        changed=1 && shift
        if [[ ${1:-} == [!-]* ]]; then base=$1 && shift; fi ;;
      *) break ;;
    esac
  done
  if [[ -n $changed ]]; then
    local folders
    folders=$(tools/changed-folders ${base:+"$base"}) || exit $?
    [[ -n $folders ]] || { say "nothing changed that a test covers" && return 0; }
    say "tests of: ${folders//$'\n'/ }"
    need_to_build && need "${TEST_PACKAGES[@]}"
    configure "$preset" tests
    chosen_tests "$preset" -R "$(python3 -B tools/test_files.py "build/$preset" --folders $folders)" "$@"
  elif (($#)); then
    chosen_tests "$preset" "$@"
  else
    need "${THIRD_PARTY_PACKAGES[@]}"
    build "$preset" && third_party && run_tests "$preset"
  fi
}

long_test() { # [turns [PODS [SEED]]] [permutations [GROUPS [SEED]]] [SWAPS [SEED]]
  if [[ ${1:-} == permutations ]]; then
    local groups=${2:-10000} seed=${3:-$RANDOM}
    build_tests release deviceplugin_permutations_test divvy divvy_cuda_so divvy_nvml_so divvy_simgpu_cuda divvy_simgpu_nvml
    say "$groups groups of pods, seed $seed, at low priority"
    DIVVY_PERMUTATIONS=$groups DIVVY_PERMUTATIONS_KILLED=$((groups / 1000)) DIVVY_PERMUTATIONS_SEED=$seed \
      DIVVY_BUILD_DIR=$PWD/build/release nice -n 10 build/release/tests/deviceplugin_permutations_test
    return
  fi
  if [[ ${1:-} == turns ]]; then
    local pods=${2:-1000000} seed=${3:-$RANDOM}
    build_tests release agent_unit_test
    say "$pods pods, seed $seed, at low priority"
    DIVVY_TURN_PODS=$pods DIVVY_TURN_SEED=$seed nice -n 10 build/release/tests/agent_unit_test \
      --gtest_filter=ResolveContainer.RandomLateStatuses*
    return
  fi
  local swaps=${1:-1000000} seed=${2:-$RANDOM}
  build_tests release interposer_twin_test divvy_cuda_so divvy_simgpu_cuda
  say "$swaps swaps, seed $seed, at low priority"
  DIVVY_TWIN_SWAPS=$swaps DIVVY_TWIN_SEED=$seed DIVVY_BUILD_DIR=$PWD/build/release \
    nice -n 10 build/release/tests/interposer_twin_test
}

sanitize() { # PRESET
  build_tests "$1" divvy_sanitize
  run_tests "$1" -L '^sanitize$'
}

# What `gpu` needs of a build, without what only debuggers read.
pack_for_card() {
  local pack=build/card-pack file
  rm -rf $pack && mkdir -p $pack/{bin,lib,bench,e2e,clients,demo,libraries}
  for file in bin/divvy bin/divvy-bench lib/libdivvy-{cuda,nvml,timeslice}.so bench/divvy-bench-{load,probe} \
    e2e/{hand,busy,swapper} clients/{linked,lookup}_client demo/{race,hold,compute,timed,greedy}; do
    strip -o $pack/$file build/release/$file
  done
  if command -v runc >/dev/null; then strip -o $pack/bin/runc "$(command -v runc)"; fi
  ldd $pack/bin/* $pack/bench/* | awk '/libyaml-cpp|libbenchmark|libssl|libcrypto|libseccomp/ { print $3 }' |
    sort -u | xargs -I{} cp -L {} $pack/libraries/
  say "packed: $pack ($(du -sh $pack | cut -f1)); there, from this repository:"
  echo "python3 tests/gpu/run.py --build $pack [PART...]"
}

gpu() { # [--pack] [PART...]
  if [[ ${1:-} == --pack ]]; then
    build_tests release divvy_card
    pack_for_card
    return
  fi
  ldconfig -p | grep -q 'libcuda\.so\.1' || [[ -n ${DIVVY_CUDA_LIBRARY:-} ]] ||
    die "no NVIDIA driver found: this command needs a machine with a card (./dev demo does not)"
  build_tests release divvy_card
  python3 -B tests/gpu/run.py --build build/release --out build/card "$@"
  say "build/card/*.json: commit them under bench/results/ with date, card, driver"
}

fuzz() { # SECONDS [SEED]
  need "${FUZZ_PACKAGES[@]}"
  build_tests fuzz divvy_fuzzers
  local targets
  mapfile -t targets < <(find build/fuzz/fuzz -maxdepth 1 -type f -perm -u+x -printf '%f\n' | sort)
  say "fuzzing ${#targets[@]} targets for $1 s each, $JOBS at a time"
  printf '%s\n' "${targets[@]}" | xargs -P "$JOBS" -I{} tools/fuzz-one {} "$1" "${2-0}"
}
