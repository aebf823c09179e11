#include "view/help.h"

#include <array>
#include <utility>

namespace divvy::cli {
namespace {

constexpr std::size_t kShortHash = 12;
SourceCommit source_commit;

constexpr std::array<std::pair<const char*, const char*>, 35> kExamples{{
    {"",
     R"(Examples:
  divvy run --memory 4Gi --cores 30 -- python serve.py
  divvy run --sim --memory 4Gi -- ./program     on a simulated card, no GPU needed
  divvy run --priority low -- python train.py   only in the gaps of others
  divvy top                                     watch who uses what, and why something is slow
  divvy resize web --memory 6Gi                 resize a running share

Shares live as long as a process of theirs does. The agent that keeps the books is started when
needed and leaves by itself. DIVVY_RUNTIME_DIR names the directory of its socket and ledgers.)"},
    {"run",
     R"(Examples:
  divvy run --memory 4Gi --cores 30 -- python serve.py
  divvy run --memory 50% --gpus 2 --model a100 -- torchrun train.py
  divvy run --memory 2Gi --name web --wait 10m -- ./server
  divvy run --memory 8Gi --priority high -- ./server      and beside it, in its gaps:
  divvy run --memory 8Gi --priority low -- python train.py
  divvy run --cores 20 --cores-policy cap -- ./sandbox    at most a fifth of the card
  divvy run --memory 60Gi --guaranteed 8Gi -- ./server    where more is promised than there is
  divvy run --sim 4090x2 --memory 8Gi -- ./program
  divvy run --memory 8Gi --podman --rm -it IMAGE python serve.py     in a container

The command sees a device of that size. Its exit status and signals pass through; the share is freed
when the last process of its tree has ended. A request that does not fit is refused with the reason
per device; with --wait it queues, those of higher priority first.

--cores asks for time on the cards, in total: with --gpus 2, 60 is 30% of each. Nobody is refused
for it: where it adds to more than 100 on a card, each gets its part of the sum, and that is said.
Without --cores a command gets an equal part of what others leave. Alone on a card, everybody has
all of it, except under --cores-policy cap.

Where the agent promises more memory than a device has (divvy agent --overcommit), tenants take
turns on it, and who has none waits: what is swapped out is kept in the host's memory. --guaranteed
is never swapped out; a command that is guaranteed all of its memory never waits. An allocation for
which the card, not the share, has no room is out of memory, or waits: --on-pressure,
--pressure-wait. An agent that is started for the command takes DIVVY_OVERCOMMIT,
DIVVY_DEVICE_BUDGET, DIVVY_HOST_RESERVE, DIVVY_CHECKPOINT, DIVVY_SWAP_CHUNK and
DIVVY_SWAP_QUANTUM. Who is idle for --idle-reclaim gives its memory back until its next work,
for --idle-stop is ended (divvy agent --help).

--podman and --docker run a container in the share: the words after them go to podman run or docker
run, with the options that give the container its share and no other card. With --detach the share
lives as long as the container. docs/guides/containers.md says which options are refused and why.

--pool asks for a card of that pool (divvy agent --pools), --device-policy says which cards go
first, or which will not do: words of tightest, binpack, spread, mutex, numa, numa-strict,
topology-aware, link-strict, nic=NAME, with commas between them. --expected-use says when the cards
are used: of equally good ones it gets one whose tenants use theirs at other hours.

Exit status: the command's; 1 refused (there may be room later) or failed, 2 wrong usage, or more
than can ever fit here, 126/127 the command cannot be executed / was not found.)"},
    {"share",
     R"(Examples:
  divvy share create web --memory 8Gi --cores 30
  podman run --rm --device divvy.dev/share=web IMAGE python serve.py
  divvy ls                          its state is "reserved" while nobody uses it
  divvy share rm web

A share of its own, until it is given back: containers come and go, are started again, and find it
where it was; several at once share its limit. It is resized like any other (divvy resize web
--memory 10Gi). docs/guides/containers.md says which runtimes read such devices, and what holds.)"},
    {"share create",
     R"(Examples:
  divvy share create web --memory 8Gi --cores 30
  divvy share create nightly --memory 50% --model a100 --wait 10m --cdi-dir /etc/cdi

Prints what the device is called. It is written as DIR/divvy.dev-share-NAME.json (CDI 0.5.0), for
whoever may write there: root, as a rule. What is there and not Divvy's is left alone.)"},
    {"share rm",
     R"(Examples:
  divvy share rm web

Refused while a process of a container uses it. Its device is removed with it: who asks for it then
is turned away by the runtime.)"},
    {"explain",
     R"(Examples:
  divvy explain --memory 60Gi --gpus 2
  divvy explain --memory 8Gi --model 4090 -o json | jq .fixes
  divvy explain --sim a100x8 --memory 50% --gpus 4
  divvy explain pod default/trainer              why it waits, in the cluster of the kubeconfig
  divvy explain reason overcommit                what a code, or a message's words, mean
  divvy explain reason too little device memory free
  divvy explain -f trainer.yaml -o wide          what would become of it; node by node

Takes nothing and changes nothing: the same decision as divvy run's, as things are now. Below it,
why each device would do or not, the smallest changes of the request with which it would fit, each
alone, and who of lower --priority would have to end for it: nobody is ended. Exit status: 0 it
fits, 1 it does not, 2 wrong usage.

Of a pod (pod NAMESPACE/NAME, or -f: pods, and what makes pods) the same in a cluster: nodes, pods
and quotas are read with your own rights (list, in all namespaces), and decided on here as the
cluster's scheduler does. Disruption budgets, queues and namespaces are heeded, too; those that you
may not list are named on stderr, and do not count. -f asks the API server for what it would make of
it, as a dry run: create on pods is needed. What the scheduler has promised and not yet written is
not known here; of what kube-scheduler looks at itself, taints, selectors and amounts are, other
pods' affinity, spread, volumes and ports are not. Who may not list is told what the scheduler wrote
into the pod. Where the scheduler was told --node-policy, --device-policy, --pools, --vendors,
--compat, --device-config, --model-resources or --min-runtime, say the same. Called as kubectl-divvy
(kubectl divvy explain pod NAME -n NAMESPACE) always of a cluster.)"},
    {"plan",
     R"(Examples:
  divvy plan -f job.yaml -f service.yaml
  kubectl kustomize . | divvy plan -f - -n team-a
  divvy plan -f job.yaml -o json | jq '.[] | select(.fits | not)'

Where these pods would go now, one after the other as they stand there, each beside those before it;
of Deployments, Jobs and the like as many as they make at once. Nothing is made and nobody is ended:
"once A ended" says who of lower priority would have to. Members of a gang come together; who is of
a queue that has no room waits at its gate. What is read and what is not known: divvy explain
--help. Exit status: 0 all have a place, 1 not all, 2 wrong usage.)"},
    {"ls",
     R"(Examples:
  divvy ls
  divvy ls -o json | jq '.[].id'
  divvy ls --no-headers | awk '{print $1}'
  divvy ls --cluster -n team-a --node gpu-7
  kubectl divvy ls -A

--cluster (or --context, --as ...; kubectl divvy ls): pods of a cluster, what each of their
containers has of which device, and those that wait, with the reason. kubectl divvy ls lists those
of the context's namespace, of -n NAME, or of all with -A. What follows is of agents.
CORES: what was asked for of that card. BACKEND: who sees to it (interposer, mps, timeslice).
POLICY: whether CORES is a share or a cap. WEIGHT: what the tenant gets while all others want to run
too. MODE: how it runs now: solo (alone), share (in turns), cap (held at CORES), latency (others
make room), best-effort (in the gaps of others), ungated (nothing limits it now). NOTES:
unpreemptible (its work outlasts its turns), distrusted (the driver sees more use than it reports;
it pays whole turns), goes around its limits (divvy events says how), swapped, waits for its turn,
short of memory, comes back (some of its memory is with the host), paused (it is lent to a tenant of
higher priority), an allocation waits (the card is short of what is never swapped), pinned (what of
it cannot be swapped), cannot be swapped (and why), gave its memory back (idle for long:
--idle-reclaim), ends in (--idle-stop), idle.
RESIDENT, SWAPPED: what of USED is on the card and with the host; only where a device is promised
more than once.
On a narrow terminal, columns that say nothing unusual are left out; -o wide prints all.)"},
    {"events",
     R"(Examples:
  divvy events
  divvy events web --follow
  divvy events -o json | jq '.[] | select(.kind == "yielded")'

The last 2000 of each agent, and a line each in its log; a new agent begins anew. KIND: given,
changed, ended (shares; by whom, where somebody asked), not-changed, turned-away (what was asked for
is not so, and why), yielded (swapped out for a higher priority), reclaimed (idle for long),
swapped-out, swapped-in, waited and refused (allocations: the card, or the share, was short), kept
(could not give memory back), host-short (of host memory for it), thrash-risk, notice, called-off,
hook, stopped, killed (idle for longer than --idle-stop, or for a bypass), bypass (it uses a device
past what limits it), bypass-over, card-fault (an error of the card's own; also one of while no
agent was there, by what the driver remembers).
With --follow -o json, one object a line.)"},
    {"snapshot",
     R"(Examples:
  divvy snapshot -o before.json
  divvy simulate replay before.json --policy fgd
  divvy snapshot --redact | gzip > to-send.json.gz
  divvy snapshot --cluster -o cluster.json

Devices, tenants with what they have, the queue, and the last 1000 asks with their answers and what
was so when they were given (a new agent starts from nothing). Command lines and environment are
not in it. Names of tenants are, unless --redact replaces them by numbers. A file is written whole
or left as it was. With several agents it is that of the machine's own cards, or --sim's.
docs/reference/snapshot.md describes the format.

--cluster (or --context, --as ...; kubectl divvy snapshot): of a cluster, as its API server
tells it: nodes with devices, pods that hold them, and who waits; no history, and nothing of what
the scheduler has promised and not yet written.)"},
    {"doctor",
     R"(Examples:
  divvy doctor
  divvy doctor --node --root /host        the host's files, from a container that has them there
  divvy doctor --cluster --context prod
  divvy doctor --only clock,host-preload
  divvy doctor --only node-settings --node-settings nodes.yaml
  divvy doctor -o json | jq '.findings[] | select(.state == "fault")'
  divvy doctor --bundle for-support.tar.gz --redact-names

Looks at this machine (driver, agents and what they keep, container runtime, kubelet, clock) and at
the cluster (webhook, certificate, policies, leases, nodes, pods that nobody serves), and changes
nothing. Each check is ok, a warning, a fault, or skipped, with the reason: what you may not read is
not judged. docs/operations/doctor.md explains each id. With neither --node nor --cluster a cluster
is checked if one is configured and answers. Exit status: 0 no fault, 3 a fault, 1 not run, 2
wrong usage.

--bundle writes the report, versions, what agents say, and of the cluster nodes, pods with devices,
the Lease, Divvy's ConfigMaps and its last events: no Secret, environment, command or token, and
manifest.json says what was left out. For its owner alone (0600), and not over what is there.)"},
    {"gpus",
     R"(Examples:
  divvy gpus
  divvy gpus --sim a100x8
  divvy gpus -o json
  divvy gpus --cluster --node gpu-7
  kubectl divvy gpus -o json | jq '.[] | select(.tenants == 0) | .uuid'

--cluster (or --context, --as ...; kubectl divvy gpus): every device of a cluster, what of its
memory and cores its pods were given, containers that share it of as many as may, and the sum of
all; CLOSED where nothing new goes. With -o json each has its shares with it.
OVERCOMMIT: how much memory may be promised, of BUDGET; PROMISED: what is; only where a device is
promised more than once. Thrash risk: its tenants swap too often for what they do between; fewer of
them, or longer turns, help.
CORES is what tenants ask for, added up. Above 100% each gets its part of the sum.)"},
    {"top",
     R"(Examples:
  divvy top
  divvy top --interval 250ms
  divvy top -n 1 -o json

COMPUTE and GOT: time on the card over the last second (not measured for one that is alone and has
no cap); the bar's lighter part is what is missing to WEIGHT. ASKED: --cores, of this card. WEIGHT:
what it gets while all others want to run too. MODE: as in divvy ls. HELD: how much of the last
second it wanted to run and was not let. WAITS: how often it waited since it began. GRANT/S: turns
in a second. LONGEST: its longest kernel.
On a wide terminal also THROTTLED (all the time it was held), POLICY, BACKEND, ESCAPES (waits given
up, because what was in flight may have depended on them) and CPU (of a core, by Divvy's own threads
in it). Below a tenant: why it is slow, where there is something to say.

Where a device is promised more than once: RESIDENT, SWAPPED: memory on the card, and with the host.
IN/s, OUT/s: how fast it moved over the last second.

Keys: q ends it. Not on a terminal, one plain picture is printed (-n COUNT for more).)"},
    {"resize",
     R"(Examples:
  divvy resize web --memory 6Gi
  divvy resize k3f9x2 --cores 50 --name batch
  divvy resize batch --cores-policy cap --priority low
  divvy resize batch --guaranteed 2Gi --on-pressure wait --pressure-wait 1m
  divvy resize pod/team-a/train -c main --memory 6Gi --cores 40     of a cluster
  kubectl divvy resize pod/train -n team-a --priority high

Compute changes at once. Growing memory takes effect at once where the card has room. After
shrinking, new allocations are refused until the tenant is under its new limit; nothing is taken
away. Less than one CUDA context takes is refused, unless contexts count outside the share: no
program could start in it again.

Of a cluster's pod: --memory and --cores of each of the container's devices, and --priority. The
scheduler looks whether card, quota and queue have room, the node's agent does it while the
container runs, and what it has is counted from then on. Less than it uses is refused.)"},
    {"wait",
     R"(Examples:
  divvy wait web
  divvy wait --all --timeout 10m)"},
    {"stop",
     R"(Examples:
  divvy stop                 refused while tenants run
  divvy stop --force         ends them first: SIGTERM, 5 s later SIGKILL)"},
    {"sim",
     R"(Examples:
  divvy sim
  divvy sim -o json)"},
    {"scheduler",
     R"(Examples:
  divvy scheduler --kubeconfig ~/.kube/config
  divvy scheduler --cert-secret divvy-system/divvy-webhook    in a pod beside a kube-scheduler
  divvy scheduler --cert-file tls.crt --key-file tls.key      the certificate is somebody else's
  divvy scheduler --vendors nvidia,ascend --print webhook     where others place the rest
  divvy scheduler --device-config device-config.yaml          resources as HAMi was told of them
  divvy scheduler --lease none         the only replica, beside a kube-scheduler that elects nobody
  divvy scheduler --print fencing | kubectl apply -f -
  divvy scheduler --print policies --writers system:serviceaccount:kube-system:hami-scheduler

An extender that chooses node and devices of pods that ask for devices, and a webhook that gives
them to the scheduler of that name. It places while the kube-scheduler of the same host holds the
Lease; other replicas serve the webhook and refuse the rest at once. Until SIGTERM. GET /healthz,
/readyz; port 0 is any that is free.)"},
    {"cordon",
     R"(Examples:
  divvy cordon gpu-7/3
  divvy cordon gpu-7/GPU-6a3b0f1e-8d0c-4c1f-9a53-0b8c7d1e2f40
  kubectl divvy cordon gpu-7 --as jane --as-group oncall
  kubectl divvy cordon gpu-7          all devices of the node; its other pods come and go as before

Nothing new is given of them; who has something there keeps it. It is an annotation of the node
(hami.io/device-cordon), which HAMi's scheduler heeds, too; whoever may patch nodes may do it. By
`kubectl cordon` nothing new comes to a node, with devices or without.)"},
    {"uncordon",
     R"(Examples:
  divvy uncordon gpu-7/3
  divvy uncordon gpu-7)"},
    {"drain",
     R"(Examples:
  divvy drain gpu-7/3 --dry-run
  divvy drain gpu-7/3 --timeout 10m

Cordons the devices and evicts the pods that have something of them, through the Eviction API, and
those that came meanwhile: who is protected by a disruption budget is asked again until --timeout.
Then the devices stay cordoned, and who is left is named (exit status 1). Pods that have nothing of
these devices are not touched. Where the scheduler was told --device-config or --model-resources,
say the same: else pods that ask by those names are not known.)"},
    {"queues",
     R"(Examples:
  divvy queues
  kubectl divvy queues               where a link to divvy is called kubectl-divvy
  divvy queues -o json | jq '.queues[] | select(.pending > 0)'

Each queue below the one that it is of: what it has (with those below it), what is guaranteed to it
and its limit, pods of its own that run and that wait, and for what with one as an example. Read
with the rights of the kubeconfig: who may see pods may see queues.)"},
    {"migrate",
     R"(Examples:
  helm get values hami -n kube-system | divvy migrate values -f - > values.yaml
  divvy migrate names -f dashboard.json > dashboard-now.json)"},
    {"migrate values",
     R"(Examples:
  helm get values hami -n kube-system | divvy migrate values -f - > values.yaml
  helm install divvy divvy-0.1.0.tgz -n divvy-system --create-namespace -f values.yaml

Comments at the top of what is printed say, key by key, what is not in it: what somebody has to
decide, what needs no saying here and why, and keys that are not known, which are counted.)"},
    {"migrate names",
     R"(Examples:
  divvy migrate names -f dashboard.json > dashboard-now.json
  kubectl get prometheusrule mine -o yaml | divvy migrate names -f - | kubectl apply -f -

Replaces old names of metrics, annotations and commands by the present ones, as whole words. Nothing
else of the text changes. docs/reference/public-names.md lists the names.)"},
    {"size",
     R"(Examples:
  divvy size --model llama-3-8b --context 8k --concurrency 16
  divvy size --model ./config.json --gpu 4090 --dtype fp8
  divvy size --model llama-3.1-70b --gpu h100 --manifest | kubectl apply -f -
  divvy size --list

What a language model needs of each card while an engine serves it, term by term, and the command
line, or manifest, that makes the figures true. HOW: exact is arithmetic on the model's shape (met
to 0.3% by logs of real servers), 5% near it, rule fitted to few measurements. With --gpu: whether
it fits, what would fit at most, how many cards it takes; without: the smallest known card.
Compute is given in proportion to memory, so that both of a card run out together: what a model
needs depends on its requests. --avg-len provides for sequences of that length and a tenth more.
--utilization off tells the engine its cache in bytes, which asks for less.

--context and --avg-len take k and M (of 1024). Exit status: 3 it does not fit, 1 failed, 2 wrong
usage.)"},
    {"completion",
     R"(Examples:
  source <(divvy completion bash)
  divvy completion zsh > "${fpath[1]}/_divvy"
  divvy completion fish > ~/.config/fish/completions/divvy.fish)"},
    {"agent-helper",
     R"(Examples:
  divvy agent-helper                                    as root, on the node
  divvy agent --helper --node-name worker-1             as user 65532, group 0

The helper opens the kubelet's sockets and its note, says who is at the other end of a
connection, and asks the driver which processes use a card; the agent does everything else,
without rights on the node. The helper needs the node's pid namespace (hostPID) and no network:
it closes that to itself (docs/concepts/security-model.md).)"},
    {"agent",
     R"(Examples:
  divvy agent                            the machine's own cards, until Ctrl-C
  divvy agent --node sim-h100 --idle-exit 5m
  divvy agent --overcommit 1.3           promises 1.3 times what each device has
  divvy agent --overcommit 0=1.5 --overcommit GPU-5c2e=2 --host-reserve 64Gi
  divvy agent --overcommit 1.3 --device-budget 20Gi
  divvy agent --node-name worker-1       as the device plugin of that node of Kubernetes (as root)
  divvy agent --node-name worker-1 --install-dir /var/lib/divvy      the same, in a container
  divvy agent --node-name worker-1 --node-settings nodes.yaml        with what is said of nodes
  divvy agent --metrics-listen 127.0.0.1:9394      curl http://127.0.0.1:9394/metrics

With --overcommit tenants take turns on a device's memory; what is swapped out is kept in the
host's, up to --host-reserve (0: nothing is). --swap-quantum auto chooses turns from what a swap
costs. --checkpoint on has the driver (570 or newer) take tenants off a card with what cannot be
swapped, where others need that: all of a tenant, without a guarantee only. Who needs more than the
device can ever give it uses the rest where it is, in the host's memory, slowly; --host-map off
refuses it, as drivers before 575 have it. DEV is
an index, or a UUID or its beginning. In place of options that are not given count
DIVVY_OVERCOMMIT, DIVVY_DEVICE_BUDGET, DIVVY_HOST_RESERVE, DIVVY_CHECKPOINT, DIVVY_HOST_MAP,
DIVVY_SWAP_CHUNK and DIVVY_SWAP_QUANTUM; several values have commas between them.

Of tenants that may be swapped it is known when they work. One that is idle for --idle-reclaim is
swapped out; its next work brings it back. One that is idle for --idle-stop is ended: notice.json in
its directory says when and why, --idle-hook is run (not by a shell; DIVVY_STOP_TENANT, _NAME, _PID,
_REASON, _IDLE_SECONDS, _DEADLINE, _GRACE_SECONDS and _NOTICE in its environment, killed at the
deadline), then SIGTERM, then SIGKILL. Work before SIGTERM calls it off, and so does a hook that
fails. DIVVY_IDLE_RECLAIM, DIVVY_IDLE_STOP, DIVVY_IDLE_NOTICE, DIVVY_IDLE_GRACE, DIVVY_IDLE_HOOK
likewise.

Whom the driver sees use a device without Divvy's library, or one that he was not given, or more
memory than he may have, for some seconds, goes around what limits him. --on-bypass report tells of
it (divvy events, divvy ls, /metrics; of pods with Kubernetes, too); throttle also lets the tenant
have 1 % of its devices' time; evict also ends it after --bypass-notice, unless that ends before.
DIVVY_ON_BYPASS and DIVVY_BYPASS_NOTICE likewise.)"},
    {"simulate",
     R"(Examples:
  divvy simulate openb --nodes nodes.csv --pods pods.csv --policy fgd
  divvy simulate plan --nodes nodes.csv --pods pods.csv
  divvy simulate day experiments/utilisation-80g.yaml
  divvy simulate replay snapshot.json
  divvy simulate openb --help)"},
    {"simulate openb",
     R"(Examples:
  divvy simulate openb --nodes nodes.csv --pods default.csv --policy fgd --json fgd.json
  divvy simulate openb --nodes nodes.csv --pods default.csv --policy published --svg all.svg
  divvy simulate openb --nodes nodes.csv --pods default.csv --policy all --sample 10%
  divvy simulate openb --nodes nodes.csv --pods a.csv b.csv --policy fgd,divvy --seeds 3

Each pod arrives once, in a random order, until 1.3 times the GPUs have been asked for; none leaves,
none is tried again. ALLOC@100: GPUs given when as much had been asked for as there is; mean and
standard deviation over the seeds. FRAG@50, FRAG@100: of the idle GPUs, what the workload's usual
pods cannot use. FAILED: GPUs that were asked for and not given in the end.
--policy published: the six that FGD was published with; all: those and divvy.
With --sample, looking ends when that many nodes fit (at least 100), and goes on from there for the
next pod. The JSON has all of it at every percent of arrived demand.)"},
    {"simulate day",
     R"(Examples:
  divvy simulate day experiments/utilisation-80g.yaml
  divvy simulate day experiments/utilisation-80g.yaml --overcommit 1.0,1.3 --svg day.svg
  divvy simulate day my.yaml --seeds 10 -o json

A scenario says which clusters there are (nodes, gpus, gpu_memory, link, price), which workloads
(kind service, sandbox or batch, with memory, cores, duty), and how they share (overcommit, slots,
policy, preempt, daily: how pods' hours count); experiments/ has some. The same pods with the same
work run with a card each, and shared, with memory promised so many times. Time and memory go by
priority; equals that do not fit on a card together take turns, at what that was measured to cost.

GPU-HOURS: of cards with a pod. BUSY: how much of these was work. WAIT: p99, from wanting a place
until it is given. SLOWED: p99 of all work, times what it takes alone; HIGH: of those of high
priority. FETCH: p99 of all bursts, waiting for memory that was swapped out. UNDONE: GPU-hours of
work that never got a place; if it is not 0 everywhere, rows do not compare. SAFE: so many times the
memory could have been promised, by what was at work at once 95 times of 100.)"},
    {"simulate defrag",
     R"(Examples:
  divvy simulate defrag cluster.json
  divvy simulate defrag cluster.json --goal nodes --most-moves 8
  divvy simulate defrag cluster.json -o json | jq .moves

A plan from a snapshot; nothing is moved. --goal devices, nodes: as many with nobody on them as can
be; fragmentation: the least idle compute that requests as they are usual there cannot use. In this
order each request has room when its turn comes, once it has left where it was; without any of them
less is won. Who is only reserved stays, and who asked for nobody knows what.)"},
    {"simulate replay",
     R"(Examples:
  divvy simulate replay cluster.json
  divvy simulate replay cluster.json --policy fgd --device-policy spread
  divvy simulate replay cluster.json --expect-same -o json

A snapshot, decided again. Decisions: each ask of its history by itself, by what was so when it was
made. Placed anew: those that are there, on empty nodes, in the order in which they came; where
others came and went between them, that differs by right. Of what differs: where it went, where
it goes, and why. Of who waits: why, and the smallest changes with which it would fit, each alone.
FRAGMENTED: of what is idle, what requests such as the snapshot's cannot use. Requests that name a
policy of their own keep it. --expect-same is about decisions, and about who waits although it
fits and is first. Exit status: 0 it could be decided, 1 it could not, or differs and was expected
not to, 2 wrong usage or no snapshot.)"},
    {"simulate plan",
     R"(Examples:
  divvy simulate plan --nodes nodes.csv --pods default.csv
  divvy simulate plan --nodes nodes.csv --pods default.csv --overcommit 1.0,1.3,2.0 --svg plan.svg
  divvy simulate plan --nodes nodes.csv --pods default.csv --cards-only -o json

All pods are placed, in random orders (--seeds; figures are means). First a card for each pod that
asks for a part of one, then shares: what a pod asks of a card is taken for memory, of which
--overcommit times as much is promised as there is. GPUS: with anything on them; SHARING: of these,
with pods that ask for a part; NODE-GPUS: all GPUs of nodes with anything on any. Where the nodes
are too few for a card for each pod they are all there twice, or more often (said below the table);
UNPLACED: pods that even then no node takes.)"},
}};

}  // namespace

std::string examplesOf(const std::string& subcommand) {
  for (const auto& [name, text] : kExamples) {
    if (subcommand == name) return text;
  }
  return "";
}

std::string versionLine() {
  const std::string hash = source_commit.hash;
  if (hash.empty()) return "divvy " DIVVY_VERSION;
  return "divvy " DIVVY_VERSION " (commit " + hash.substr(0, kShortHash) +
         (source_commit.modified ? ", modified)" : ")");
}

std::string versionJson() {
  std::string text = "{\n  \"name\": \"divvy\",\n  \"version\": \"" DIVVY_VERSION "\"";
  if (*source_commit.hash != '\0') {
    text += std::string(",\n  \"commit\": \"") + source_commit.hash +
            "\",\n  \"modified\": " + (source_commit.modified ? "true" : "false");
  }
  return text + "\n}\n";
}

void setSourceCommit(const SourceCommit& commit) {
  source_commit = commit;
}

}  // namespace divvy::cli
