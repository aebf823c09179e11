# What takes long and rarely fails, and is left out of CI (docs/development/ci.md). Sourced by ./dev.

NIGHTLY=(apart web pictures checks clients containerd2 permutations swaps fuzz repeat vm bench)

# One compiler that never ends, so that tests have a busy machine. It ends with this shell's command.
beside() { # COMMAND ARGS
  local unit=build/beside.cpp compiler status=0
  printf '#include <regex>\n#include <boost/asio.hpp>\nstd::regex one("a*b");\n' >"$unit"
  while :; do g++ -std=c++20 -O2 -fsyntax-only "$unit"; done &
  compiler=$!
  "$@" || status=$?
  kill "$compiler" 2>/dev/null || true
  wait "$compiler" 2>/dev/null || true
  return "$status"
}

repeat_tests() { # TIMES
  local time status=0
  build release
  third_party
  for ((time = 1; time <= $1; time++)); do
    say "run $time of $1"
    beside run_tests release || status=$?
  done
  return "$status"
}

compiler_clients() {
  mkdir -p build
  tools/fetch-clients build/pypi-clients --all || return 1
  DIVVY_ALL_CLIENTS=1 ./dev test -R '^e2e_pypi$'
}

quick_benches() {
  local suite
  for suite in dataplane shares priority swap oversubscribe engine moves; do
    ./dev bench "$suite" --quick --check || return 1
  done
}

nightly_stage() { # STAGE
  case "$1" in
    apart) run_stage apart ./dev build apart ;;
    web) run_stage web ./dev web browser ;;
    pictures) run_stage pictures ./dev web pictures --check ;;
    checks) run_stage checks ./dev e2e --night ;;
    clients) run_stage clients compiler_clients ;;
    containerd2) run_stage containerd2 ./dev e2e --node containerd2 ;;
    permutations) run_stage permutations ./dev test --long permutations 10000 ;;
    swaps) run_stage swaps ./dev test --long 100000 ;;
    fuzz) run_stage fuzz ./dev fuzz 300 ;;
    repeat) run_stage repeat repeat_tests 10 ;;
    vm) run_stage vm ./dev cluster vm ;;
    bench) run_stage bench quick_benches ;;
    *) die "nightly: no stage \"$1\"; accepted are ${NIGHTLY[*]}" ;;
  esac
}

nightly() { # [STAGE...]
  local one
  (($#)) || set -- "${NIGHTLY[@]}"
  export DIVVY_FLAKES=$PWD/build/flakes.tsv
  mkdir -p build && rm -f "$DIVVY_FLAKES"
  STAGES_GO_ON=1
  # shellcheck source=/dev/null
  . tools/stages.sh
  for one in "$@"; do
    nightly_stage "$one"
  done
  { printf '# The last nightly run\n\n%s, commit %s, %s processors. Command: `./dev nightly %s`\n\n```\n' "$(date -u +%F)" \
    "$(git rev-parse --short HEAD)" "$(nproc)" "$*"
    stage_table
    printf '```\n'
    [[ ! -e $DIVVY_FLAKES ]] || { printf '\nFlaky tests:\n\n```\n' && cat "$DIVVY_FLAKES" && printf '```\n'; }; } >build/nightly.md
  return "$stage_failed"
}
