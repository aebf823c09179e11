#include "view/help.h"

#include <array>
#include <utility>

namespace divvy::cli {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 36> kExamples{{
    {"",
     R"(Examples:
  divvy run --memory 4Gi --cores 30 -- python serve.py
  divvy run --sim --memory 4Gi -- ./program     on a simulated card, no GPU needed
  divvy run --priority low -- python train.py   only in the gaps of others
  divvy top                                     watch tenants and devices, and why a tenant is slow
  divvy resize web --memory 6Gi                    resize a running share

Shares live as long as one of their processes. divvy starts the agent, which keeps the allocations,
when needed; the agent exits by itself. DIVVY_RUNTIME_DIR sets the directory of its socket and
ledgers.)"},
    {"run",
     R"(Examples:
  divvy run --memory 4Gi --cores 30 -- python serve.py
  divvy run --memory 50% --gpus 2 --model a100 -- torchrun train.py
  divvy run --memory 2Gi --name web --wait 10m -- ./server
  divvy run --memory 8Gi --priority high -- ./server      and beside it, in its gaps:
  divvy run --memory 8Gi --priority low -- python train.py
  divvy run --cores 20 --cores-policy cap -- ./sandbox    at most a fifth of the device
  divvy run --memory 60Gi --guaranteed 8Gi -- ./server    where more is promised than there is
  divvy run --sim 4090x2 --memory 8Gi -- ./program
  divvy run --memory 8Gi --podman --rm -it IMAGE python serve.py     in a container

The command sees a device of that size. Its exit status and signals pass through; the share is freed
when the last process of its tree has ended. A request that does not fit is refused with the reason
per device; with --wait it queues, higher priority first.

--cores is device time, as a total: with --gpus 2, 60 is 30% of each. It is never a reason to
refuse: if a device's sum is above 100, each tenant gets its part of the sum, and divvy reports it.
Without --cores a command gets an equal part of what other tenants leave. A tenant that is alone on
a device gets all of it, except under --cores-policy cap.

If the agent promises more memory than a device has (divvy agent --overcommit), tenants take turns
on it, and a tenant without a turn waits. Memory that is swapped out is kept in host memory.
Guaranteed memory (--guaranteed) is never swapped out; a command with all of its memory guaranteed
never waits. An allocation within the share for which the device has no room fails as out of memory,
or waits: --on-pressure, --pressure-wait. An agent that is started for the command reads
DIVVY_OVERCOMMIT, DIVVY_DEVICE_BUDGET, DIVVY_HOST_RESERVE, DIVVY_CHECKPOINT, DIVVY_SWAP_CHUNK and
DIVVY_SWAP_QUANTUM. A tenant that is idle for --idle-reclaim is swapped out until its next work;
one that is idle for --idle-stop is ended (divvy agent --help).

--podman and --docker run a container in the share. The arguments after them go to podman run or
docker run, with the options that give the container its share and no other device. With --detach
the share lives as long as the container. docs/guides/containers.md lists the options that are
refused, with the reasons.

--pool requests a device of that pool (divvy agent --pools). --device-policy orders or excludes
devices: a comma-separated list of tightest, binpack, spread, mutex, numa, numa-strict,
topology-aware, link-strict, nic=NAME. --expected-use gives the hours of use: of equally good
devices, the one with tenants that are busy at other hours is chosen.

Exit status: the command's; 1 refused (may fit later) or failed; 2 wrong usage, or can never fit
here; 126/127 the command cannot be executed / was not found.)"},
    {"share",
     R"(Examples:
  divvy share create web --memory 8Gi --cores 30
  podman run --rm --device divvy.dev/share=web IMAGE python serve.py
  divvy ls                          state "reserved": no container uses it
  divvy share rm web

A share that exists until it is removed: containers start, stop and restart, and find it again;
containers that run at once share its limit. Resize it as others (divvy resize web --memory 10Gi).
docs/guides/containers.md lists the runtimes that read such devices, and the guarantees.)"},
    {"share create",
     R"(Examples:
  divvy share create web --memory 8Gi --cores 30
  divvy share create nightly --memory 50% --model a100 --wait 10m --cdi-dir /etc/cdi

Prints the name of the device. Writes DIR/divvy.dev-share-NAME.json (CDI 0.5.0); the user needs
write access there, which usually means root. A file that Divvy did not write is left alone.)"},
    {"share rm",
     R"(Examples:
  divvy share rm web

Refused while a process of a container uses the share. Removes its device too: the runtime then
refuses containers that request it.)"},
    {"explain",
     R"(Examples:
  divvy explain --memory 60Gi --gpus 2
  divvy explain --memory 8Gi --model 4090 -o json | jq .fixes
  divvy explain --sim a100x8 --memory 50% --gpus 4
  divvy explain pod default/trainer              why it waits, in the cluster of the kubeconfig
  divvy explain reason overcommit                the meaning of a code, or of a message
  divvy explain reason too little device memory free
  divvy explain -f trainer.yaml -o wide          where it would be placed; node by node

Allocates nothing and changes nothing: the decision that divvy run would get now. Prints for each
device why it fits or not, the smallest changes to the request that would fit, each alone, and the
tenants of lower --priority that would have to end; none is ended. Exit status: 0 fits, 3 does not
fit, 1 failed, 2 wrong usage.

For a pod (pod NAMESPACE/NAME, or -f: pods and workloads) the same in a cluster: divvy reads nodes,
pods and quotas with your credentials (list, in all namespaces) and decides as the cluster's
scheduler does. Disruption budgets, queues and namespaces count as well; those that you cannot list
are named on stderr and ignored. -f sends the objects to the API server as a dry run, which needs
create on pods. Reservations that the scheduler has not written yet are not known here. Of
kube-scheduler's own checks, taints, selectors and resource amounts are evaluated; pod affinity,
topology spread, volumes and ports are not. Without list permission, divvy prints what the scheduler
wrote into the pod. If the scheduler runs with --node-policy, --device-policy, --pools, --vendors,
--compat, --device-config, --model-resources or --min-runtime, pass the same here. As kubectl-divvy
(kubectl divvy explain pod NAME -n NAMESPACE) it always explains a pod of a cluster.)"},
    {"plan",
     R"(Examples:
  divvy plan -f job.yaml -f service.yaml
  kubectl kustomize . | divvy plan -f - -n team-a
  divvy plan -f job.yaml -o json | jq '.[] | select(.fits | not)'

Shows where these pods would be placed now, in the order of the files, each after those before it
are placed. A Deployment, Job or similar counts with as many pods as it runs at once. Nothing is
created or evicted: "once A ended" names pods of lower priority that would have to be preempted.
The members of a gang are placed together; a pod stays gated while its queue has no room. Inputs and
limits: divvy explain --help. Exit status: 0 all pods fit, 3 not all fit, 1 failed, 2 bad usage.)"},
    {"ls",
     R"(Examples:
  divvy ls
  divvy ls -o json | jq '.[].id'
  divvy ls --no-headers | awk '{print $1}'
  divvy ls --cluster -n team-a --node gpu-7
  kubectl divvy ls -A

--cluster (or --context, --as ...; kubectl divvy ls): pods of a cluster, the shares of each
container by device, and pending pods with the reason. kubectl divvy ls lists the namespace of the
context, of -n NAME, or all with -A. The columns below are of agents.
CORES: requested percentage of that device. BACKEND: what enforces it (interposer, mps, timeslice).
POLICY: whether CORES is a share or a cap. WEIGHT: the tenant's percentage while all tenants of the
device are busy. MODE: how it runs now: solo (alone), share (in time slices), cap (held at CORES),
latency (others yield to it), best-effort (only in the gaps of others), ungated (not limited now).
NOTES: unpreemptible (its work outlasts its time slices), distrusted (the driver measures more use
than it reports; it is charged full time slices), bypasses its limits (divvy events explains it),
swapped, waits for its turn, short of memory, swapping in (part of its memory is on the host),
paused (its memory is lent to a tenant of higher priority), an allocation waits (the device is short
of memory that is never swapped), pinned (memory that cannot be swapped), cannot be swapped (with
the reason), released its memory (idle for long: --idle-reclaim), ends in (--idle-stop), idle.
RESIDENT, SWAPPED: USED on the device, and on the host; only if device memory is overcommitted.
A narrow terminal leaves out columns with nothing unusual; -o wide prints all.)"},
    {"events",
     R"(Examples:
  divvy events
  divvy events web --follow
  divvy events -o json | jq '.[] | select(.kind == "yielded")'

Each agent keeps the last 2000 events, and writes one log line for each; a new agent starts empty.
KIND: given, changed, ended (shares; by which client, if one asked), not-changed, turned-away (the
request was refused, with the reason), yielded (swapped out for a higher priority), reclaimed (idle
for long), swapped-out, swapped-in, refused (allocations beyond the limit), device-full and waited
(allocations within it), short (it works in host memory), kept (its memory), host-short,
thrash-risk, notice, called-off, hook, stopped, killed (idle for longer than --idle-stop, or for a
bypass), bypass (it uses a device beyond its limits), bypass-over, device-fault (an error of the
device; also one that the driver recorded while no agent ran).
With --follow -o json, one object a line.)"},
    {"snapshot",
     R"(Examples:
  divvy snapshot -o before.json
  divvy simulate replay before.json --policy fgd
  divvy snapshot --redact | gzip > to-send.json.gz
  divvy snapshot --cluster -o cluster.json

Contains devices, tenants with their allocations, the queue, and the last 1000 requests with their
answers and the state at that time (a new agent starts empty). Contains no command lines and no
environment. It contains tenant names, unless --redact replaces them by numbers. The file is
replaced atomically. With several agents it is that of the machine's own devices, or --sim's.
docs/reference/snapshot.md describes the format.

--cluster (or --context, --as ...; kubectl divvy snapshot): of a cluster, as its API server reports
it: nodes with devices, pods that hold them, and pending pods; without history, and without
reservations that the scheduler has not written yet.)"},
    {"doctor",
     R"(Examples:
  divvy doctor
  divvy doctor --node --root /host        the host's files, from a container that mounts them there
  divvy doctor --cluster --context prod
  divvy doctor --only clock,host-preload
  divvy doctor --only node-settings --node-settings nodes.yaml
  divvy doctor -o json | jq '.findings[] | select(.state == "fault")'
  divvy doctor --bundle for-support.tar.gz --redact-names

Checks this machine (driver, agents and their files, container runtime, kubelet, clock) and the
cluster (webhook, certificate, policies, leases, nodes, pods that Divvy does not place), and changes
nothing. Each check is ok, a warning, a fault, or skipped with the reason: files that you cannot
read are not judged. docs/operations/doctor.md explains each id. Without --node and --cluster, a
cluster is checked if one is configured and answers. Exit status: 0 no fault, 3 a fault, 1 not run,
2 wrong usage.

--bundle writes the report, versions, the agents' answers, and of the cluster its nodes, pods with
devices, the Lease, Divvy's ConfigMaps and its last events: no Secret, environment, command or
token; manifest.json lists what was left out. The file is readable by its owner only (0600) and
does not replace an existing one.)"},
    {"gpus",
     R"(Examples:
  divvy gpus
  divvy gpus --sim a100x8
  divvy gpus -o json
  divvy gpus --cluster --node gpu-7
  kubectl divvy gpus -o json | jq '.[] | select(.tenants == 0) | .uuid'

--cluster (or --context, --as ...; kubectl divvy gpus): every device of a cluster, the memory and
cores that are allocated to pods, the containers that share it and their maximum, and a total;
CLOSED: not schedulable. With -o json each device lists its shares.
OVERCOMMIT: memory that may be promised, of BUDGET; PROMISED: memory that is; only if device memory
is overcommitted. Thrash risk: tenants swap too often for the work between swaps; reduce the number
of tenants, or lengthen the turns.
CORES: sum of what the tenants request. Above 100% each tenant gets its part of the sum.)"},
    {"top",
     R"(Examples:
  divvy top
  divvy top --interval 250ms
  divvy top -n 1 -o json

COMPUTE and GOT: device time over the last second (not measured for a tenant that is alone without
a cap); the lighter part of the bar is the part missing to WEIGHT. ASKED: --cores, of this device.
WEIGHT: the tenant's percentage while all tenants are busy. MODE: as in divvy ls. HELD: part of the
last second in which it had work and was held back. WAITS: number of waits since it started.
GRANT/S: time slices a second. LONGEST: its longest kernel.
A wide terminal adds THROTTLED (total time held back), POLICY, BACKEND, ESCAPES (waits given up
because work in flight may have depended on them) and CPU (of a core, by Divvy's threads in the
tenant). The line below a tenant gives the reason why it is slow, if there is one.

If device memory is overcommitted: RESIDENT, SWAPPED: memory on the device, and on the host.
IN/s, OUT/s: swap rate over the last second.

Keys: q quits. Without a terminal, one frame is printed as plain text (-n COUNT for more).)"},
    {"console",
     R"(Examples:
  divvy console --local
  divvy console --local --listen 127.0.0.1:8080
  divvy console --local --sim h100 --history memory
  divvy console --cluster --context prod --allow-changes --prices prices.yaml
  divvy console --cluster --login token --listen 0.0.0.0:9400 --tls-cert tls.crt --tls-key tls.key

Serves a web page until Ctrl-C. --local: devices, shares, waiting requests, events and charts of
this machine. --cluster: nodes, pods and queues that the kubeconfig's user may list: which pods wait
and why, what would fit, which pods have which devices. What pods use is read from Divvy's agents,
for users who may get pods/proxy in the agents' namespace.

The printed link opens one session; each use prints a new link. The page is for browsers on
this machine: to see it elsewhere, forward the port (ssh -L 9400:127.0.0.1:9400 HOST).
--login token serves any address. A viewer signs in with a Kubernetes token (kubectl create token
NAME --audience divvy-console), or at a proxy (--login headers). It sees objects that it may list.

The page is read-only. With --allow-changes it resizes shares and changes their priority, each after
a dry run. Of a cluster it also cordons devices, evicts pods, writes notices and changes queues.
--prices FILE gives usage its cost. The file is YAML (currency: EUR, prices: [{model: H100,
perHour: 2.90, from: 2026-07-01}]); of several prices of a model the latest "from" counts.
--history FILE keeps the charts over a restart: 15 minutes at 5 s, 6 hours at 1 minute, 14 days at
5 minutes, 400 days at 1 hour. "memory" keeps them until the console ends.)"},
    {"resize",
     R"(Examples:
  divvy resize web --memory 6Gi
  divvy resize k3f9x2 --cores 50 --name batch
  divvy resize batch --cores-policy cap --priority low
  divvy resize batch --guaranteed 2Gi --on-pressure wait --pressure-wait 1m
  divvy resize pod/team-a/train -c main --memory 6Gi --cores 40        a pod of a cluster
  kubectl divvy resize pod/train -n team-a --priority high

Compute changes at once. More memory takes effect at once if the device has room. After memory
shrinks, new allocations are refused until the tenant is below its new limit; nothing is taken
away. A limit below the size of one CUDA context is refused, unless contexts count outside the
share: no program could start in it again.

For a pod of a cluster: --memory and --cores of each of the container's devices, and --priority. The
scheduler checks device, quota and queue, the node's agent resizes the running container, and the
new size counts from then on. Less than the container uses is refused.)"},
    {"wait",
     R"(Examples:
  divvy wait web
  divvy wait --all --timeout 10m)"},
    {"stop",
     R"(Examples:
  divvy stop                 refused while tenants run
  divvy stop --force         ends tenants first: SIGTERM, 5 s later SIGKILL)"},
    {"sim",
     R"(Examples:
  divvy sim
  divvy sim -o json)"},
    {"scheduler",
     R"(Examples:
  divvy scheduler --kubeconfig ~/.kube/config
  divvy scheduler --cert-secret divvy-system/divvy-webhook    in a pod beside a kube-scheduler
  divvy scheduler --cert-file tls.crt --key-file tls.key      certificate from another issuer
  divvy scheduler --vendors nvidia,ascend --print webhook     other schedulers place the rest
  divvy scheduler --device-config device-config.yaml          resource names of a HAMi installation
  divvy scheduler --lease none         the only replica, kube-scheduler without leader election
  divvy scheduler --print fencing | kubectl apply -f -
  divvy scheduler --print policies --writers system:serviceaccount:kube-system:hami-scheduler

Runs an extender that chooses node and devices for pods that request devices, and a webhook that
assigns these pods to the scheduler of that name. The replica places pods while the kube-scheduler
of its host holds the Lease; other replicas serve the webhook and refuse all else at once. Runs
until SIGTERM. GET /healthz, /readyz; port 0 is any free port.)"},
    {"cordon",
     R"(Examples:
  divvy cordon gpu-7/3
  divvy cordon gpu-7/GPU-6a3b0f1e-8d0c-4c1f-9a53-0b8c7d1e2f40
  kubectl divvy cordon gpu-7 --as jane --as-group oncall
  kubectl divvy cordon gpu-7          all devices of the node; pods without devices are not affected

Marks devices unschedulable; running pods keep them. The mark is an annotation of the node
(hami.io/device-cordon), which HAMi's scheduler honours too; it needs permission to patch nodes.
`kubectl cordon` keeps all new pods off a node, with and without devices.)"},
    {"uncordon",
     R"(Examples:
  divvy uncordon gpu-7/3
  divvy uncordon gpu-7)"},
    {"drain",
     R"(Examples:
  divvy drain gpu-7/3 --dry-run
  divvy drain gpu-7/3 --timeout 10m

Cordons the devices and evicts their pods through the Eviction API, including pods that were bound
meanwhile. Evictions that a disruption budget refuses are retried until --timeout. Then the devices
stay cordoned, and the remaining pods are listed (exit status 1). Pods without these devices are not
touched. If the scheduler runs with --device-config or --model-resources, pass the same here: pods
that request devices by those names are not recognised otherwise.)"},
    {"queues",
     R"(Examples:
  divvy queues
  kubectl divvy queues               with a link to divvy named kubectl-divvy
  divvy queues -o json | jq '.queues[] | select(.pending > 0)'

Lists each queue below its parent: allocation (with child queues), guarantee and limit, its own
running and pending pods, and what pending pods wait for, with one as an example. Reads with the
credentials of the kubeconfig: permission to list pods is enough.)"},
    {"migrate",
     R"(Examples:
  helm get values hami -n kube-system | divvy migrate values -f - > values.yaml
  divvy migrate names -f dashboard.json > dashboard-now.json)"},
    {"migrate names",
     R"(Examples:
  divvy migrate names -f dashboard.json > dashboard-now.json
  kubectl get prometheusrule mine -o yaml | divvy migrate names -f - | kubectl apply -f -

Replaces old names of metrics, alerts, annotations and commands by the present ones, as whole words.
Nothing else of the text changes. docs/reference/public-names.md lists the names.)"},
    {"migrate values",
     R"(Examples:
  helm get values hami -n kube-system | divvy migrate values -f - > values.yaml
  helm install divvy divvy-0.1.0.tgz -n divvy-system --create-namespace -f values.yaml

Comments at the top of the output list the keys that were not converted: keys that need a decision,
keys that are not needed here with the reason, and unknown keys with their number.)"},
    {"size",
     R"(Examples:
  divvy size --model llama-3-8b --context 8k --concurrency 16
  divvy size --model ./config.json --gpu 4090 --dtype fp8
  divvy size --model llama-3.1-70b --gpu h100 --manifest | kubectl apply -f -
  divvy size --list

Memory that a language model needs on each device while an engine serves it, term by term, and the
command line, or manifest, that matches the figures. HOW: exact is arithmetic on the model's shape
(within 0.3% of logs of real servers), 5% near it, rule fitted to few measurements. With --gpu:
whether it fits, the maximum that would fit, the number of devices; without: the smallest known
device. Compute is proportional to memory, so that both run out together on a device: the real need
of a model depends on its requests. --avg-len provides for sequences of that length and 10% more.
--utilization off passes the engine its cache size in bytes, which requests less.

--context and --avg-len accept k and M (of 1024). Exit status: 3 does not fit, 1 failed, 2 wrong
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

The helper opens the kubelet's sockets and its checkpoint, identifies the peer of a connection, and
asks the driver for the processes on a device; the agent does everything else, without rights on the
node. The helper needs the node's pid namespace (hostPID) and no network: it blocks its own network
access (docs/concepts/security-model.md).)"},
    {"agent",
     R"(Examples:
  divvy agent                            the machine's own devices, until Ctrl-C
  divvy agent --node sim-h100 --idle-exit 5m
  divvy agent --overcommit 1.3           promises 1.3 times the memory of each device
  divvy agent --overcommit 0=1.5 --overcommit GPU-5c2e=2 --host-reserve 64Gi
  divvy agent --overcommit 1.3 --device-budget 20Gi
  divvy agent --node-name worker-1       as the device plugin of that node of Kubernetes (as root)
  divvy agent --node-name worker-1 --install-dir /var/lib/divvy      the same, in a container
  divvy agent --node-name worker-1 --node-settings nodes.yaml        with settings of nodes
  divvy agent --metrics-listen 127.0.0.1:9394      curl http://127.0.0.1:9394/metrics

With --overcommit tenants take turns on a device's memory; memory that is swapped out is kept in
host memory, up to --host-reserve (0: no swapping). --swap-quantum auto chooses the turns by the
cost of a swap. --checkpoint on lets the driver (570 or newer) checkpoint tenants with memory that
cannot be swapped, when others need the device: the whole tenant, and only without a guarantee. A
tenant that needs more than the device can ever give uses the rest in place in host memory, slowly;
--host-map off refuses that, as drivers before 575 do. DEV is an index, or a UUID or its prefix.
Options that are not given are read from DIVVY_OVERCOMMIT, DIVVY_DEVICE_BUDGET, DIVVY_HOST_RESERVE,
DIVVY_CHECKPOINT, DIVVY_HOST_MAP, DIVVY_SWAP_CHUNK and DIVVY_SWAP_QUANTUM; commas separate values.

For tenants that can be swapped the agent observes when they work. A tenant that is idle for
--idle-reclaim is swapped out; its next work swaps it in. A tenant that is idle for --idle-stop is
ended: notice.json in its directory gives time and reason, --idle-hook runs (without a shell;
DIVVY_STOP_TENANT, _NAME, _PID, _REASON, _IDLE_SECONDS, _DEADLINE, _GRACE_SECONDS and _NOTICE in its
environment, killed at the deadline), then SIGTERM, then SIGKILL. Work before SIGTERM cancels it,
and so does a hook that fails. DIVVY_IDLE_RECLAIM, DIVVY_IDLE_STOP, DIVVY_IDLE_NOTICE,
DIVVY_IDLE_GRACE and DIVVY_IDLE_HOOK set the same options.

A tenant bypasses its limits if the driver shows, for some seconds, that it uses a device without
Divvy's library, a device that it was not given, or more memory than its limit. --on-bypass report
reports it (divvy events, divvy ls, /metrics; for pods also Kubernetes); throttle also limits the
tenant to 1 % of its devices' time; evict also ends it after --bypass-notice, unless the bypass ends
before. DIVVY_ON_BYPASS and DIVVY_BYPASS_NOTICE set the same options.)"},
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

Each pod arrives once, in a random order, until 1.3 times the GPUs have been requested; none leaves,
none is retried. ALLOC@100: GPUs allocated when all GPUs had been requested once; mean and standard
deviation over the seeds. FRAG@50, FRAG@100: idle GPUs that the workload's typical pods cannot use.
FAILED: GPUs that were requested and not allocated in the end.
--policy published: the six policies of the FGD paper; all: those and divvy.
With --sample the search stops once that many nodes fit (at least 100), and continues from there for
the next pod. The JSON has all figures at every percent of arrived demand.)"},
    {"simulate day",
     R"(Examples:
  divvy simulate day experiments/utilisation-80g.yaml
  divvy simulate day experiments/utilisation-80g.yaml --overcommit 1.0,1.3 --svg day.svg
  divvy simulate day my.yaml --seeds 10 -o json

A scenario defines clusters (nodes, gpus, gpu_memory, link, price), workloads (kind service, sandbox
or batch, with memory, cores, duty), and sharing (overcommit, slots, policy, preempt, daily: how the
hours of pods count); experiments/ has some. The same pods with the same work run with one device
each, and shared, with memory promised that many times. Time and memory go by priority; equal
priorities that do not fit on a device together take turns, at the measured cost.

GPU-HOURS: of devices with a pod. BUSY: part of these with work. WAIT: p99, from request to
placement. SLOWED: p99 of all work, as a multiple of its time alone; HIGH: of high priority. FETCH:
p99 of all bursts, waiting for memory that was swapped out. UNDONE: GPU-hours of work that was never
placed; if it is not 0 everywhere, rows do not compare. SAFE: overcommit ratio that would have
been safe, by the memory at work at once 95 times of 100.)"},
    {"simulate defrag",
     R"(Examples:
  divvy simulate defrag cluster.json
  divvy simulate defrag cluster.json --goal nodes --most-moves 8
  divvy simulate defrag cluster.json -o json | jq .moves

Plans moves for a snapshot; nothing is moved. --goal devices, nodes: maximises the number of empty
devices or nodes; fragmentation: minimises idle compute that typical requests there cannot use.
In this order each request has room when it is moved, after it has left its old place; without any
of them the result is worse. Reservations stay, and so do allocations with an unknown request.)"},
    {"simulate replay",
     R"(Examples:
  divvy simulate replay cluster.json
  divvy simulate replay cluster.json --policy fgd --device-policy spread
  divvy simulate replay cluster.json --expect-same -o json

Decides a snapshot again. Decisions: each request of the history alone, with the state at its time.
Placed again: the present requests, on empty nodes, in the order of arrival; differences are
expected if others came and went between them. For each difference: old place, new place, reason.
For each pending request: the reason, and the smallest changes that would fit, each alone.
FRAGMENTED: idle capacity that requests such as the snapshot's cannot use. Requests that name a
policy keep it. --expect-same covers decisions, and pending requests that fit and are first in line.
Exit status: 0 decided, 1 not decided, or different with --expect-same, 2 wrong usage or no
snapshot.)"},
    {"simulate plan",
     R"(Examples:
  divvy simulate plan --nodes nodes.csv --pods default.csv
  divvy simulate plan --nodes nodes.csv --pods default.csv --overcommit 1.0,1.3,2.0 --svg plan.svg
  divvy simulate plan --nodes nodes.csv --pods default.csv --cards-only -o json

Places all pods in random orders (--seeds; figures are means). First with a whole device for each
pod that requests a part of one, then with shares: a pod's part of a device is taken as memory, of
which --overcommit times the capacity is promised. GPUS: devices in use; SHARING: of these, with
pods that request a part; NODE-GPUS: all GPUs of nodes in use. If the nodes are too few for a device
for each pod, each node is counted twice or more often (reported below the table); UNPLACED: pods
that no node takes even then.)"},
}};

}  // namespace

std::string examplesOf(const std::string& subcommand) {
  for (const auto& [name, text] : kExamples) {
    if (subcommand == name) return text;
  }
  return "";
}

}  // namespace divvy::cli
