package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Loads begin with this, which does not count: everybody's first query costs more.
const warmLoad = 2 * time.Second

// Kinds of pods in a load, and in how many orders nodes are named.
const (
	loadKinds  = 8
	loadOrders = 16
)

// Far fewer pods fit nowhere than fit, and kube-scheduler asks for each again after a pause.
const refusedPerSecond = 20

// measureQueries: the answers of a Divvy that knows a full cluster, and what knowing it takes.
func (b *bench) measureQueries() error {
	if err := b.Remove(); err != nil {
		return err
	}
	printProgress("making %d pods that hold devices", b.plan.held)
	if err := b.asBeforePolicies(); err != nil {
		return err
	}
	err := harness.Concurrently(b.plan.held, func(at int) error {
		if at == 0 {
			return nil
		}
		_, err := b.client.CoreV1().Pods(benchSpace).Create(b.ctx, b.alreadyThere(at),
			meta.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := b.measureRebuild(); err != nil || b.only == "rebuild" {
		return err
	}
	found, err := b.Installation.Ports(harness.DefaultReplica)
	if err != nil {
		return err
	}
	if err := b.measureFilter(found); err != nil {
		return err
	}
	if err := b.measureRefusals(found); err != nil {
		return err
	}
	if err := b.measureWebhook(found); err != nil {
		return err
	}
	most, _, err := memoryMiB(b.Processes, harness.DefaultReplica.Extender())
	b.report.atMost("rss_mib", most, mostMiB)
	return err
}

// asBeforePolicies: they let nobody make pods that hold devices already, and take a while to go. The
// first pod shows when.
func (b *bench) asBeforePolicies() error {
	bindings := b.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	if err := bindings.Delete(b.ctx, "divvy-devices", meta.DeleteOptions{}); err != nil {
		return err
	}
	return b.Processes.Wait(b.ctx, "kube-apiserver", func() error {
		_, err := b.client.CoreV1().Pods(benchSpace).Create(b.ctx, b.alreadyThere(0), meta.CreateOptions{})
		return err
	})
}

// measureRebuild: from its start until it says that it knows the cluster.
func (b *bench) measureRebuild() error {
	b.Alone = true // only asked, and binds nothing
	var walls, used []float64
	for range b.plan.starts {
		if err := b.Remove(); err != nil {
			return err
		}
		began := time.Now()
		if err := b.StartExtender(harness.DefaultReplica); err != nil {
			return err
		}
		if err := b.Processes.Wait(b.ctx, harness.DefaultReplica.Extender(),
			func() error { return b.Leads(harness.DefaultReplica) }); err != nil {
			return err
		}
		walls = append(walls, time.Since(began).Seconds())
		seconds, err := processorSeconds(b.Processes, harness.DefaultReplica.Extender())
		if err != nil {
			return err
		}
		used = append(used, seconds)
		printProgress("knows %d pods after %.2f s, of which it worked %.2f s", b.plan.held,
			walls[len(walls)-1], seconds)
	}
	if b.plan.held == fullPlan.held {
		b.report.atMost("rebuild_s", median(walls), mostRebuild)
	} else {
		b.report.add("rebuild_s", median(walls))
		b.report.note("rebuild_s and rss_mib are of %d pods, not of %d.", b.plan.held, fullPlan.held)
	}
	b.report.add("rebuild_cpu_s", median(used))
	return nil
}

// loadPods are as the API server has them, without what kube-scheduler drops.
func (b *bench) loadPods() ([]string, error) {
	var texts []string
	for at := range loadKinds {
		p := harness.Pod(fmt.Sprintf("load-%d", at), harness.Container("c", harness.Limits{countName: "1",
			"nvidia.com/gpumem": fmt.Sprint(1000 + 500*at), "nvidia.com/gpucores": "5"}))
		p.Spec.SchedulerName = "nobody"
		made, err := b.client.CoreV1().Pods(benchSpace).Create(b.ctx, p, meta.CreateOptions{})
		if err != nil {
			return nil, err
		}
		made.ManagedFields = nil
		made.Spec.SchedulerName = harness.SchedulerAccount
		text, err := json.Marshal(made)
		if err != nil {
			return nil, err
		}
		// Of the loads each pod is another.
		texts = append(texts, strings.ReplaceAll(string(text), string(made.UID), "UID-OF-IT"))
	}
	return texts, nil
}

func (b *bench) nameOrders() ([]string, error) {
	var orders []string
	for at := range loadOrders {
		names := make([]string, len(b.nodes))
		for i := range b.nodes {
			names[i] = b.nodes[(i+at*len(b.nodes)/loadOrders)%len(b.nodes)].Name
		}
		text, err := json.Marshal(names)
		if err != nil {
			return nil, err
		}
		orders = append(orders, string(text))
	}
	return orders, nil
}

// oneNode is what is good about an answer of /filter.
func oneNode(reply []byte) error {
	var said struct {
		NodeNames []string
		Error     string
	}
	if err := json.Unmarshal(reply, &said); err != nil {
		return err
	}
	if said.Error != "" || len(said.NodeNames) != 1 {
		return fmt.Errorf("/filter answers %d nodes, %q", len(said.NodeNames), said.Error)
	}
	return nil
}

func (b *bench) measureFilter(found harness.ExtenderPorts) error {
	printProgress("asking /filter %d times a second with %d names", perSecond, len(b.nodes))
	pods, err := b.loadPods()
	if err != nil {
		return err
	}
	orders, err := b.nameOrders()
	if err != nil {
		return err
	}
	asked := 0
	next := func(at int) query {
		asked++
		uid := fmt.Sprintf("00000000-0000-4000-8000-%012d", asked)
		body := `{"Pod":` + strings.ReplaceAll(pods[at%loadKinds], "UID-OF-IT", uid) +
			`,"Nodes":null,"NodeNames":` + orders[at%loadOrders] + "}\n"
		return query{harness.LocalURL("http", found.Extender) + "/filter", []byte(body), oneNode}
	}
	if _, err := openLoop(perSecond, warmLoad, next); err != nil {
		return err
	}
	before, err := processorSeconds(b.Processes, harness.DefaultReplica.Extender())
	if err != nil {
		return err
	}
	took, err := openLoop(perSecond, b.plan.load, next)
	if err != nil {
		return err
	}
	after, err := processorSeconds(b.Processes, harness.DefaultReplica.Extender())
	b.report.add("filter_p50_ms", took.at(0.5))
	b.report.atMost("filter_p99_ms", took.at(0.99), mostFilterMs)
	b.report.add("filter_p999_ms", took.at(0.999))
	b.report.add("filter_cpu_ms", 1e3*(after-before)/float64(len(took)))
	return err
}

// nowhere is what is good about an answer of /filter to a pod that fits nowhere.
func nowhere(reply []byte) error {
	var said struct {
		NodeNames []string
		Error     string
	}
	if err := json.Unmarshal(reply, &said); err != nil {
		return err
	}
	if said.Error != "" || len(said.NodeNames) != 0 {
		return fmt.Errorf("/filter answers %d nodes, %q", len(said.NodeNames), said.Error)
	}
	return nil
}

// measureRefusals: the same of pods that fit nowhere, for which every node needs a reason.
func (b *bench) measureRefusals(found harness.ExtenderPorts) error {
	printProgress("asking /filter %d times a second for pods that fit nowhere", refusedPerSecond)
	text, err := json.Marshal(harness.Pod("refused", harness.Container("c", harness.Limits{countName: "1",
		"nvidia.com/gpumem": "1000000", "nvidia.com/gpucores": "5"})))
	if err != nil {
		return err
	}
	orders, err := b.nameOrders()
	if err != nil {
		return err
	}
	next := func(at int) query {
		named := strings.Replace(string(text), `"metadata":{`,
			fmt.Sprintf(`"metadata":{"namespace":%q,"uid":"refused-%d",`, benchSpace, at%loadKinds), 1)
		body := `{"Pod":` + named + `,"Nodes":null,"NodeNames":` + orders[at%loadOrders] + "}\n"
		return query{harness.LocalURL("http", found.Extender) + "/filter", []byte(body), nowhere}
	}
	if _, err := openLoop(refusedPerSecond, warmLoad, next); err != nil {
		return err
	}
	before, err := processorSeconds(b.Processes, harness.DefaultReplica.Extender())
	if err != nil {
		return err
	}
	took, err := openLoop(refusedPerSecond, b.plan.load, next)
	if err != nil {
		return err
	}
	after, err := processorSeconds(b.Processes, harness.DefaultReplica.Extender())
	b.report.add("filter_refused_p50_ms", took.at(0.5))
	b.report.add("filter_refused_p99_ms", took.at(0.99))
	b.report.add("filter_refused_cpu_ms", 1e3*(after-before)/float64(len(took)))
	return err
}

func (b *bench) measureWebhook(found harness.ExtenderPorts) error {
	printProgress("asking /webhook %d times a second", perSecond)
	p := harness.Pod("asked", harness.Container("c", harness.Limits{countName: "1", "nvidia.com/gpumem": "3000"}))
	p.TypeMeta = meta.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	patch := base64.StdEncoding.EncodeToString([]byte(
		`[{"op":"add","path":"/spec/schedulerName","value":"` + harness.SchedulerAccount + `"}]`))
	next := func(at int) query {
		uid := fmt.Sprintf("00000000-0000-4000-9000-%012d", at)
		body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"` + uid +
			`","operation":"CREATE","object":` + string(text) + `}}`
		return query{harness.LocalURL("https", found.Webhook) + "/webhook", []byte(body), func(said []byte) error {
			if !bytes.Contains(said, []byte(uid)) || !bytes.Contains(said, []byte(patch)) {
				return errors.New("/webhook answers " + string(said))
			}
			return nil
		}}
	}
	if _, err := openLoop(perSecond, warmLoad, next); err != nil {
		return err
	}
	took, err := openLoop(perSecond, b.plan.load, next)
	b.report.add("webhook_p50_ms", took.at(0.5))
	b.report.atMost("webhook_p99_ms", took.at(0.99), mostWebhookMs)
	return err
}
