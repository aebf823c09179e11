# Runs named stages one after another and prints what each took as a table at the end, however it ends. Sourced by
# .ci/run and ./dev nightly.
#
# A stage that fails ends the run, unless STAGES_GO_ON is set: then the others run, and the run fails at the end.

stage_rows=()
stage_failed=0

stage_table() {
  local row
  ((${#stage_rows[@]})) || return 0
  printf '\n%-22s %9s  %s\n' stage seconds result
  for row in "${stage_rows[@]}"; do
    IFS='|' read -r name seconds result <<<"$row"
    printf '%-22s %9s  %s\n' "$name" "$seconds" "$result"
  done
  printf '%-22s %9s\n' sum "$SECONDS"
}

run_stage() { # NAME COMMAND ARGS
  local name=$1 began=$SECONDS status=0
  shift
  printf '==> stage %s: %s\n' "$name" "$*"
  "$@" || status=$?
  if ((status)); then
    stage_rows+=("$name|$((SECONDS - began))|failed, exit status $status")
    stage_failed=1
    [[ -n ${STAGES_GO_ON:-} ]] || exit "$status"
  else
    stage_rows+=("$name|$((SECONDS - began))|passed")
  fi
}


# A command beside the next stages, at the lowest priority: what only computes does not wait for what only waits. Its
# output is in build/beside-NAME.log; finish_beside waits for it and counts it as a stage.
declare -A beside_pid=() beside_began=()

start_beside() { # NAME COMMAND ARGS
  local name=$1
  shift
  printf '==> beside %s: %s\n' "$name" "$*"
  # The kernel weighs sessions first and processes only within theirs (autogroup): this one is a session of low weight.
  # shellcheck disable=SC2016  # the inner shell expands it
  setsid bash -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19 "$@"' beside "$@" \
    >"build/beside-$name.log" 2>&1 </dev/null &
  beside_pid[$name]=$!
  beside_began[$name]=$SECONDS
}

finish_beside() { # NAME
  local name=$1 status=0
  wait "${beside_pid[$name]}" || status=$?
  unset "beside_pid[$name]"
  if ((status)); then
    tail -n 60 "build/beside-$name.log"
    stage_rows+=("$name|$((SECONDS - beside_began[$name]))|failed, exit status $status (beside others)")
    stage_failed=1
    [[ -n ${STAGES_GO_ON:-} ]] || exit "$status"
  else
    tail -n 25 "build/beside-$name.log"
    stage_rows+=("$name|$((SECONDS - beside_began[$name]))|passed (beside others)")
  fi
}

# No command beside outlives the run.
end_stages() {
  local name
  for name in "${!beside_pid[@]}"; do
    kill -- "-${beside_pid[$name]}" 2>/dev/null || true
  done
  stage_table
}
trap end_stages EXIT
