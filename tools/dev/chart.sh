# The Helm chart, images, the Debian package. Sourced by ./dev.

CHART_ON_NODES=(chart-runs-beside-a-pod chart-runs-from-before chart-runs-with-probed-agents chart-runs-in-two-replicas
  chart-runs-a-console)

# Helm has no Debian package: it is built of its module, of the version that tests/helm names.
build_helm() {
  go_programs helm build/helm tests/helm 0 "" helm.sh/helm/v3/cmd/helm
}

# Links of the chart are into deploy/kubernetes; Helm says so of each, every time.
# shellcheck disable=SC2120  # ./dev passes them
chart() { # [check ARGS]
  local what
  need "${CHART_PACKAGES[@]}"
  build_helm
  build release divvy
  say "checking the chart"
  for what in chart pods network_policy values install console hub; do
    python3 -B tests/helm/${what}_test.py build/helm/helm deploy/helm/divvy deploy/kubernetes build/release/bin/divvy
  done
  rm -rf build/chart && mkdir -p build/chart/before
  build/helm/helm package deploy/helm/divvy -d build/chart 2>/dev/null
  [[ ${1:-} == check ]] || return 0
  shift
  if git cat-file -e "$BEFORE:deploy/helm/divvy/Chart.yaml" 2>/dev/null; then
    git archive "$BEFORE" deploy | tar -x -C build/chart/before
  fi
  chart_in_cluster "$@"
}

# First on a control plane whose API server says what it thinks of the chart; then, as root, with this
# machine as a node, which runs the images.
chart_in_cluster() { # [--json FILE] [--junit FILE] [--only TEXT]
  local program=build/cluster/bin/cluster before="" status=0 json="" junit="" only="" parts=(build/chart/plane.json) operator one
  local on_nodes=()
  local common=(--helm build/helm/helm --chart deploy/helm/divvy --cluster build/cluster)
  while (($#)); do
    case "$1" in
      --json) json=${2:?--json FILE} && shift 2 ;;
      --junit) junit=${2:?--junit FILE} && shift 2 ;;
      --only) only=${2:?--only TEXT} && shift 2 ;;
      *) die "chart check: unknown argument \"$1\"; accepted are --json FILE, --junit FILE and --only TEXT" ;;
    esac
  done
  [[ -e build/chart/before/deploy ]] && before=build/chart/before/deploy/helm/divvy
  build_cluster
  trap 'build/cluster/bin/cluster down >/dev/null 2>&1 || true' EXIT
  operator=$(operator_kinds)
  "$program" up
  python3 -B tests/helm/cluster_test.py "${common[@]}" --before "$before" --only "$only" --but chart-runs \
    --operator "$operator" --json "${parts[0]}" || status=$?
  "$program" down
  for one in "${CHART_ON_NODES[@]}"; do
    [[ $one != *"$only"* ]] || on_nodes+=("$one")
  done
  if ((EUID != 0)); then
    say "skipped: the checks of a node with a kubelet need root"
  elif ((${#on_nodes[@]})); then
    need "${NODE_PACKAGES[@]}" iproute2
    local earlier=""
    [[ -z $before ]] || earlier=$(build_before)
    images ${earlier:+"$earlier"}
    build_tests release "${NODE_TARGETS[@]}"
    # Each on an API server of its own: one that had the fencing policy before has an old Lease (docs/guides/install.md#again).
    for one in "${on_nodes[@]}"; do
      chart_on_a_node "$one" ${earlier:+build/images/divvy-before.tar} || status=$?
      parts+=("build/chart/$one.json")
    done
  fi
  [[ -z $json && -z $junit ]] || tools/join-checks ${junit:+--junit "$junit"} "${parts[@]}" >"${json:-/dev/null}"
  return "$status"
}

chart_on_a_node() { # CHECK [more images]; of chart_in_cluster, whose variables it has
  local file good=0
  "$program" up --kubelet "$PWD/build/release" --bare || good=$?
  for file in build/images/{divvy,kube-scheduler}.tar "${@:2}"; do
    ((good)) || ctr -a build/cluster/ctd/ctd.sock -n k8s.io images import "$file" >/dev/null || good=$?
  done
  # What cannot be imported is a failed check, and has its record.
  python3 -B tests/helm/cluster_test.py "${common[@]}" --before "$before" --only "$1" --images build/images \
    --json "build/chart/$1.json" || good=$?
  "$program" down
  return "$good"
}

# images [check [--made]] [--newest-packages]
images_command() {
  local word check="" made=""
  for word in "$@"; do
    case "$word" in
      check) check=1 ;;
      --made) made=1 ;;
      --newest-packages) export DIVVY_NEWEST_PACKAGES=1 ;;
      *) die "images: unknown argument \"$word\"; accepted are check, --made and --newest-packages" ;;
    esac
  done
  [[ -z $made || -n $check ]] || die "images: --made belongs to check"
  [[ -n $made ]] || images
  [[ -z $check ]] || check_release "$made"
}

# Signs image, chart and package with a throw-away key and verifies them. Other stages of CI have made all three.
check_release() { # [MADE]
  local files=(build/images/divvy.oci.tar) one
  need openssl
  if [[ -z ${1:-} ]]; then
    # shellcheck disable=SC2119  # without its check
    chart
    package
  fi
  files+=(build/chart/divvy-*.tgz build/package/divvy_*.deb)
  for one in "${files[@]}"; do
    [[ -e $one ]] || die "images check: there is no $one; ./dev images check makes it without --made"
  done
  say "checking the licences of what is in the image and the package"
  DIVVY_BUILD_DIR=build/release python3 -B tests/images/licences_test.py build/{images,package}/divvy*.spdx.json
  say "signing ${files[*]} with a throw-away key and verifying them"
  python3 -B tests/images/sign_test.py "${files[@]}"
}

# The kube-scheduler that chart checks run is the cluster's own program under that name.
images() { # [what was built of an earlier commit]
  need "${IMAGE_PACKAGES[@]}"
  build_tests release "${PRODUCT_TARGETS[@]}" cluster_share_probe
  say "making the image"
  tools/make-images build/release build/images "$@"
  say "comparing what is in it with what its document lists"
  python3 -B tests/images/sbom_test.py build/images build/release
  [[ ! -x build/cluster/bin/cluster ]] ||
    tools/make-kube-scheduler-image build/cluster/bin/cluster \
      "$(sed -n 's/^\tk8s.io\/kubernetes //p' tests/cluster/go.mod)" build/images
}

