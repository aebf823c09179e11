# A real control plane of Kubernetes on this machine, its checks, and programs of other projects. Sourced by ./dev.

# The oldest accepted Go. Debian 12 has an older one, which can fetch this one as a module.
GO_WANTED=go1.25.7
# The earlier commit that upgrades start from.
BEFORE=${DIVVY_BEFORE:-HEAD~1}
# The checks of a node that depend on an agent without rights or on CDI.
# Checks that take long and have not failed for long, or need a program of others: ./dev nightly has them (docs/development/ci.md).
AT_NIGHT=(kubelet-one-card-has-many-names kubelet-a-card-with-memory-errors-is-given-again-once-it-is-quiet
  kubelet-an-idle-pod-is-swapped-out-before-it-is-told kubelet-names-come-and-go-under-pods kubelet-numa-is-aligned
  kubelet-the-dashboards-of-its-node-have-data kubelet-beside-nvidias-plugin
  kubelet-an-upgrade-loses-no-series-alert-or-annotation console-behind-oauth2-proxy
  kueue-admits-a-job-when-its-devices-are-free multikueue-sends-a-job-where-its-devices-are-free
  kueue-hub-dispatches-where-devices-are-free kueue-hub-dispatches-many-jobs)
# How often the checks that kill do so; all that fit into a minute at night.
KILLS_BY_DAY=20
TODAY=kubelet-cdi,kubelet-a-share-is,kubelet-a-container-that,kubelet-pods-that-start,kubelet-neither
TODAY+=,kubelet-a-cheater,kubelet-restricted,kubelet-names-come,kubelet-who-ends

find_go() {
  local version
  version=$(go env GOVERSION 2>/dev/null || true)
  if [[ $version =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 25)); then
    echo go
    return
  fi
  if [[ ! -x $DIVVY_CACHE/$GO_WANTED/bin/go ]]; then
    need golang-go >&2
    local dir
    dir=$(GO111MODULE=on GOFLAGS=-mod=mod go mod download -json \
      "golang.org/toolchain@v0.0.1-$GO_WANTED.linux-$(dpkg --print-architecture)" |
      sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    [[ -n $dir ]] || die "no Go of 1.25 or newer, and it cannot be fetched"
    local fresh=$DIVVY_CACHE/$GO_WANTED.$$
    mkdir -p "$fresh" && cp -r --no-preserve=mode "$dir/." "$fresh/"
    # Modules have no modes of files.
    chmod -R +x "$fresh/bin" "$fresh/pkg/tool"
    # Another checkout may have been quicker.
    mv -T "$fresh" "$DIVVY_CACHE/$GO_WANTED" 2>/dev/null || rm -rf "$fresh"
  fi
  echo "$DIVVY_CACHE/$GO_WANTED/bin/go"
}

# Builds Go programs once per machine: what comes out is kept under a key of all that goes in, and every checkout of
# this user takes it from there. The last three keys of each are kept.
# GO_SOURCES: what of the module goes in [all]. GO_VERB: "test -c" for test programs [build].
go_programs() { # NAME OUT_DIR MODULE_DIR CGO LDFLAGS PACKAGE...
  local name=$1 out=$2 module=$3 cgo=$4 flags=$5 go key kept sources=("$3") verb
  shift 5
  if [[ -n ${GO_SOURCES:-} ]]; then
    read -ra sources <<<"$GO_SOURCES"
    sources=("${sources[@]/#/$module/}")
  fi
  read -ra verb <<<"${GO_VERB:-build}"
  go=$(find_go)
  key=$({ "$go" version; printf '%s\n' "$cgo" "$flags" ${GO_VERB:+"$GO_VERB"} "$@"
    find "${sources[@]}" \( -name '*.go' -o -name go.mod -o -name go.sum \) -print0 | sort -z | xargs -0 sha256sum; } |
    sha256sum | cut -c1-16)
  kept=$DIVVY_CACHE/go/$name/$key
  mkdir -p "$out" "$DIVVY_CACHE/go/$name"
  if [[ ! -d $kept ]]; then
    say "building $name"
    local fresh=$kept.$$
    mkdir -p "$fresh"
    (cd "$module" && CGO_ENABLED=$cgo GOFLAGS=-mod=readonly "$go" "${verb[@]}" -p "$JOBS" -trimpath \
      -ldflags "-s -w $flags" -o "$fresh/" "$@") >&2 || { rm -rf "$fresh" && return 1; }
    mv -T "$fresh" "$kept" 2>/dev/null || rm -rf "$fresh"
    find "$DIVVY_CACHE/go/$name" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | sort -rn | tail -n +4 | cut -d' ' -f2- |
      xargs -r rm -rf
  else
    touch "$kept"
  fi
  local file
  for file in "$kept"/*; do
    # A program that runs keeps its own file.
    cmp -s "$file" "$out/${file##*/}" || cp --remove-destination "$file" "$out/"
  done
}

# The checker of prose, into build/third_party/vale. Its grammars of other languages need a C compiler.
build_vale() {
  need g++ >&2
  go_programs vale build/third_party tests/third_party/vale 1 "" github.com/errata-ai/vale/v3/cmd/vale
}

# The control plane as one program. Its version is what go.mod says.
build_cluster() {
  local version
  version=$(sed -n 's/^\tk8s.io\/kubernetes //p' tests/cluster/go.mod)
  [[ -d $DIVVY_CACHE/go/kubernetes ]] || say "Kubernetes $version is built once per machine: 10 to 15 minutes"
  GO_SOURCES="cmd harness go.mod go.sum" go_programs kubernetes build/cluster/bin tests/cluster 0 \
    "-X k8s.io/component-base/version.gitVersion=$version \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$version")" ./cmd/cluster
}

# Each package that has checks, as AREA.test. They link no component of Kubernetes.
build_checks() {
  local out=build/cluster/bin/checks folders=() file
  mapfile -t folders < <(cd tests/cluster && grep -rl --include='*_test.go' '"divvy.dev/tests/cluster/checks"' . |
    xargs -n1 dirname | sort -u)
  for file in "$out"/*.test; do
    [[ " ${folders[*]/%/ }" == *"/$(basename "$file" .test) "* ]] || rm -f "$file"
  done
  GO_VERB="test -c" go_programs checks "$out" tests/cluster 0 "" "${folders[@]}"
}

# Programs of other projects, of their own modules, to check against. Where one cannot be had its check is
# skipped and says so.
build_nvidia_plugin() {
  if go_programs nvidia-device-plugin build/third_party tests/third_party/nvidia 1 "" \
    github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin; then
    printf '%s\n' "$PWD/build/third_party/nvidia-device-plugin"
  else
    say "NVIDIA's device plugin cannot be built here: the check of a migration is skipped"
  fi
}

# Volcano's scheduler, and the kinds of objects that it works with beside it. Prints its path, or nothing.
build_volcano() {
  mkdir -p build/third_party/volcano-crds
  local dir
  if go_programs volcano build/third_party tests/third_party/volcano 0 "" volcano.sh/volcano/cmd/scheduler &&
    dir=$(cd tests/third_party/volcano && "$(find_go)" list -m -f '{{.Dir}}' volcano.sh/volcano) &&
    install -m 644 "$dir"/config/crd/volcano/bases/*.yaml build/third_party/volcano-crds/; then
    mv build/third_party/scheduler build/third_party/volcano-scheduler
    printf '%s\n' "$PWD/build/third_party/volcano-scheduler"
  else
    say "Volcano's scheduler cannot be built here: the check of its dialect is skipped"
  fi
}

# Prints its path, or nothing.
build_oauth2_proxy() {
  if go_programs oauth2-proxy build/third_party tests/third_party/oauth2-proxy 0 "" \
    github.com/oauth2-proxy/oauth2-proxy/v7; then
    printf '%s\n' "$PWD/build/third_party/oauth2-proxy"
  else
    say "oauth2-proxy cannot be built here: the check of a console behind it is skipped"
  fi
}

# Kueue, with its kinds and the registrations of its webhooks in kueue-manifests beside it. Prints its path, or nothing.
build_kueue() {
  local dir out=build/third_party/kueue-manifests
  [[ -d $DIVVY_CACHE/go/kueue ]] || say "Kueue is built once per machine: 10 to 30 minutes"
  if go_programs kueue build/third_party tests/third_party/kueue 0 "" sigs.k8s.io/kueue/cmd/kueue &&
    dir=$(cd tests/third_party/kueue && "$(find_go)" list -m -f '{{.Dir}}' sigs.k8s.io/kueue); then
    rm -rf $out && mkdir -p $out
    install -m 644 "$dir"/config/components/crd/bases/*.yaml $out/ &&
      install -m 644 "$dir/config/components/webhook/manifests.yaml" $out/webhooks.yaml || return 1
    printf '%s\n' "$PWD/build/third_party/kueue"
  else
    say "Kueue cannot be built here: the checks of its admission check are skipped"
  fi
}

# The kinds that Prometheus' operator has and the chart makes something of. Where they are, or nothing.
operator_kinds() {
  local dir module=github.com/prometheus-operator/prometheus-operator out=build/third_party/operator-kinds kind
  rm -rf $out && mkdir -p $out
  if (cd tests/third_party/prometheus-operator && "$(find_go)" mod download $module) >&2 &&
    dir=$(cd tests/third_party/prometheus-operator && "$(find_go)" list -m -f '{{.Dir}}' $module); then
    for kind in servicemonitors podmonitors prometheusrules; do
      install -m 644 "$dir/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml" $out/ || return 1
    done
    printf '%s\n' "$PWD/$out"
  else
    say "the kinds of Prometheus' operator cannot be had here: the check of monitors is skipped"
  fi
}

# Nodes of today have containerd 2; Debian's is of 1.6.
build_containerd() {
  go_programs containerd build/third_party tests/third_party/containerd 0 "" github.com/containerd/containerd/v2/cmd/containerd \
    github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2
}

build_before() {
  local commit dir
  if ! commit=$(git rev-parse --verify --quiet "$BEFORE^{commit}"); then
    say "no commit $BEFORE here: the check of an upgrade is skipped"
    return 0
  fi
  dir=$PWD/build/before/$commit
  if [[ ! -e $dir/build/release/commit ]]; then
    say "building what was before: $(git log -1 --format='%h, %cs' "$commit")"
    mkdir -p "$dir"
    git archive "$commit" | tar -x -C "$dir"
    (cd "$dir" && export CCACHE_BASEDIR=$dir && cmake --preset release >configure.log &&
      cmake --build --preset release -j "$JOBS" \
        --target "${PRODUCT_TARGETS[@]}") >&2 ||
      { say "it cannot be built here: the check of an upgrade is skipped"; return 0; }
    git log -1 --format='%h of %cs' "$commit" >"$dir/build/release/commit"
  fi
  find build/before -mindepth 1 -maxdepth 1 ! -name "$commit" -exec rm -rf {} +
  printf '%s\n' "$dir/build/release"
}

# The node's checks in a virtual machine that has systemd and control groups of version 2, as users' nodes.
node_vm() { # [--json FILE] [--only TEXT,...] [--containerd 2]
  local json="" only=kubelet- runtime=1 emulate=0
  while (($#)); do
    case "$1" in
      --json) json=${2:?--json FILE} && shift 2 ;;
      --only) only=${2:?--only TEXT} && shift 2 ;;
      --containerd)
        [[ ${2:-} == [12] ]] || die "--containerd: accepted are 1, Debian's of 1.6, and 2"
        runtime=$2 && shift 2 ;;
      --emulate) emulate=1 && shift ;;
      *) die "cluster vm: \"$1\" is not expected" ;;
    esac
  done
  # Of a hypervisor that runs kernels made for it only Debian's is none.
  if ((!emulate)) && [[ ! -r /dev/kvm || ! -w /dev/kvm || -e /sys/module/kvm_pvm ]]; then
    say "SKIPPED: /dev/kvm cannot be used here, or for no kernel of Debian's: nothing was checked under systemd and control groups of version 2 (--emulate does without)"
    return 0
  fi
  need "${VM_PACKAGES[@]}" "${NODE_PACKAGES[@]}"
  build_tests release "${NODE_TARGETS[@]}"
  build_cluster
  build_checks
  [[ $runtime == 1 ]] || build_containerd
  local nvidia volcano options=(--only "$only")
  nvidia=$(build_nvidia_plugin) && [[ -z $nvidia ]] || options+=(--nvidia build/third_party/nvidia-device-plugin)
  volcano=$(build_volcano) && [[ -z $volcano ]] || options+=(--volcano build/third_party/volcano-scheduler)
  say "making the machine's disk"
  tests/systemd_vm/make-root build/vm
  say "booting the machine"
  DIVVY_VM_EMULATES=$emulate DIVVY_VM_CONTAINERD=$runtime tests/systemd_vm/boot build/vm "$json" "${options[@]}"
}

# up, check, down, status, with what `cluster` itself takes; sizes and --install are made into that.
cluster() {
  if [[ ${1:-} == vm ]]; then
    shift
    node_vm "$@"
    return
  fi
  local program=build/cluster/bin/cluster command=${1:-status} size="" install=0 kubelet=0 before nvidia volcano proxy kueue runtime=1
  local on=() rest=()   # options that say what is up; others, which only the command takes
  shift || true
  while (($#)); do
    case "$1" in
      --nodes) size=${2:?--nodes COUNTxDEVICES} && shift 2 ;;
      --install) install=1 && shift ;;
      --kubelet) kubelet=1 && shift ;;
      --containerd)
        [[ ${2:-} == [12] ]] || die "--containerd: accepted are 1, the machine's own of 1.6, and 2"
        runtime=$2 && shift 2 ;;
      --dir) on+=(--dir "${2:?--dir DIR}") && shift 2 ;;
      --helper) on+=(--helper) && shift ;;
      *) rest+=("$1") && shift ;;
    esac
  done
  if [[ $command == down || $command == status ]] && [[ ! -x $program ]]; then
    say "no cluster was ever built here"
    return 0
  fi
  [[ $command == down || $command == status ]] || build_cluster
  if [[ $command == check ]]; then
    build_checks
    install=1
  fi
  if ((install)) || [[ -n $size ]]; then build_tests release divvy fake_nodes pod_forms; fi
  if ((install)); then on+=(--install "$PWD/build/release/bin/divvy"); fi
  if ((kubelet)); then
    need "${NODE_PACKAGES[@]}"
    build_tests release "${NODE_TARGETS[@]}"
    on+=(--kubelet "$PWD/build/release")
    if [[ $runtime == 2 ]]; then
      build_containerd
      on+=(--containerd "$PWD/build/third_party")
    fi
  fi
  case "$command" in
    check)
      say "evaluating the policies"
      # What needs no cluster: before it is up.
      (cd tests/cluster && CGO_ENABLED=0 GOFLAGS=-mod=readonly "$(find_go)" test -p "$JOBS" -trimpath ./policies ./upgrade)
      if ((kubelet)); then
        # A cluster of that one node: pods of other checks never end.
        "$program" up "${on[@]}"
        before=$(build_before)
        nvidia=$(build_nvidia_plugin)
        volcano=$(build_volcano)
        rest=(--only kubelet ${before:+--before "$before"} ${nvidia:+--nvidia "$nvidia"}
          ${volcano:+--volcano "$volcano"} "${rest[@]}")
      else
        [[ ! -e build/cluster/node.json ]] ||
          die "this cluster has a node with a kubelet, and is checked with --kubelet only: ./dev cluster down first"
        build/release/tests/fake_nodes 3x8 |
          "$program" up --nodes-from - "${on[@]}"
        # CI leaves this check out.
        if [[ " ${rest[*]} " != *" --except "* ]]; then
          proxy=$(build_oauth2_proxy)
          # It takes half an hour the first time.
          [[ " ${rest[*]} " == *" --only "* && "${rest[*]}" != *kueue* ]] || kueue=$(build_kueue)
          rest+=(${proxy:+--oauth2-proxy "$proxy"} ${kueue:+--kueue "$kueue"})
        fi
      fi
      "$program" check "${on[@]}" "${rest[@]}" ;;
    *)
      if [[ -n $size ]]; then
        build/release/tests/fake_nodes "$size" | "$program" "$command" --nodes-from - "${on[@]}" "${rest[@]}"
      else
        "$program" "$command" "${on[@]}" "${rest[@]}"
      fi ;;
  esac
}

# First nodes that only the API server knows, then this machine as one. Each part is a process of its own: `set -e`
# does not count behind `||`. No part of the cluster is left, however it ends.
e2e() { # [--json FILE] [--junit FILE] [--only TEXT] [--node containerd2] [--night]
  local file="" junit="" only="" node="" status=0 parts=() night=0 except
  except=$(IFS=,; printf '%s' "${AT_NIGHT[*]}")
  while (($#)); do
    case "$1" in
      --json) file=${2:?--json FILE} && shift 2 ;;
      --junit) junit=${2:?--junit FILE} && shift 2 ;;
      --only) only=${2:?--only TEXT} && shift 2 ;;
      --node)
        [[ ${2:-} == containerd2 ]] || die "e2e: --node \"${2:-}\"; accepted is containerd2"
        node=$2 && shift 2 ;;
      --night) night=1 && shift ;;
      *) die "e2e: unknown argument \"$1\"; accepted are --json FILE, --junit FILE, --only TEXT, --node containerd2 and --night" ;;
    esac
  done
  mkdir -p build
  rm -f build/e2e-*.json
  trap 'build/cluster/bin/cluster down >/dev/null 2>&1 || true' EXIT
  stage "building Kubernetes" build_cluster
  stage "building the checks" build_checks
  stage "building Divvy" build_tests release divvy fake_nodes pod_forms
  if [[ $node == containerd2 ]]; then
    ((EUID == 0)) || die "e2e --node: a node with a kubelet needs root"
    parts+=(build/e2e-today.json)
    build_containerd || die "containerd 2 cannot be built here"
    DIVVY_BEFORE=none stage "checks with containerd 2 and a helper" ./dev cluster check --kubelet \
      --containerd 2 --helper --only "${only:-$TODAY}" --json "${parts[0]}" || status=$?
    build/cluster/bin/cluster down
  elif ((night)); then
    ((EUID == 0)) || die "e2e --night: a node with a kubelet needs root"
    parts+=(build/e2e-kills.json)
    stage "checks that kill, or need a program of others" ./dev cluster check --only kills-,console-behind --json "${parts[0]}" || status=$?
    build/cluster/bin/cluster down
    parts+=(build/e2e-node.json)
    stage "checks of a node" ./dev cluster check --kubelet --only "$except" --json "${parts[1]}" || status=$?
    build/cluster/bin/cluster down
  else
    [[ -z $only ]] || except=""
    if [[ -z $only || $only != kubelet* ]]; then
      parts+=(build/e2e-plane.json)
      stage "checks" ./dev cluster check --kills "$KILLS_BY_DAY" --json build/e2e-plane.json \
        ${except:+--except "$except"} ${only:+--only "$only"} || status=$?
      build/cluster/bin/cluster down
    fi
    if ((EUID != 0)); then
      say "skipped: the checks of a node with a kubelet need root"
    elif [[ -z $only || $only == *kubelet* ]]; then
      parts+=(build/e2e-node.json)
      stage "checks of a node" ./dev cluster check --kubelet --json build/e2e-node.json \
        ${except:+--except "$except"} ${only:+--only "$only"} || status=$?
      build/cluster/bin/cluster down
    fi
    [[ -n $only ]] || say "${#AT_NIGHT[@]} more checks, and more kills, run with --night"
  fi
  tools/join-checks ${junit:+--junit "$junit"} "${parts[@]}" >build/e2e-all.json
  [[ -z $file ]] || cp build/e2e-all.json "$file"
  return "$status"
}

# On a control plane of its own, which ends with it.
bench_scheduler() {
  build_cluster
  build_tests release divvy fake_nodes
  exec build/cluster/bin/cluster bench --divvy "$PWD/build/release/bin/divvy" \
    --fake-nodes build/release/tests/fake_nodes "$@"
}

bench_node() {
  need "${NODE_PACKAGES[@]}"
  build_cluster
  build_tests release "${NODE_TARGETS[@]}"
  exec build/cluster/bin/cluster bench-node --build "$PWD/build/release" "$@"
}

