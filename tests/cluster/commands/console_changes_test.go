package commands

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConsoleChanges(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "console-changes",
			Requirement: "divvy console --login token --allow-changes: a viewer resizes a share, cordons a device, evicts a " +
				"pod, writes a notice and changes a queue with its own rights, after dry runs that write nothing; Events " +
				"name it. A viewer without these rights is refused by the API server, and nothing changes",
			Run: consoleChanges})
}

// A changeAnswer is the answer to POST /changes.
type changeAnswer struct {
	DryRun            bool `json:"dry_run"`
	Effects, Warnings []string
	Refused           *struct{ Code, Message string }
	State             string
	Recorded          *bool
}

// A changeScene is a pod with a share, and a queue. The pod ends as soon as it is evicted: there is no kubelet.
type changeScene struct {
	env                 *harness.Env
	node, device, queue string
}

const changedPod = "changed"

func withChangeScene(env *harness.Env, run func(*changeScene) error) error {
	s := &changeScene{env: env, queue: "changes-" + env.Namespace}
	away, err := env.CreateQueue(s.queue, harness.QueueSpec{Limit: harness.DeviceAmount(1)})
	defer away()
	if err != nil {
		return err
	}
	p := harness.Pod(changedPod, harness.Container("main", harness.OneShare("2048", "10")))
	none := int64(0)
	p.Spec.TerminationGracePeriodSeconds = &none
	if _, err := env.Create(p); err != nil {
		return err
	}
	bound, err := env.WaitBound(changedPod)
	if err != nil {
		return err
	}
	shares, err := harness.SharesOf(bound)
	if err != nil {
		return err
	}
	s.node, s.device = bound.Spec.NodeName, shares[0][0].UUID
	return run(s)
}

// bodies are the changes of the check, in the order in which they can be made. The eviction is the last one.
func (s *changeScene) bodies() []map[string]any {
	share := map[string]string{"share": s.env.Namespace + "/" + changedPod + "/main"}
	pod := map[string]string{"pod": s.env.Namespace + "/" + changedPod}
	device := map[string]string{"device": s.node + "/" + s.device}
	return []map[string]any{
		{"what": "resize", "target": share, "to": map[string]any{"memory": "3Gi", "cores": 20}},
		{"what": "cordon", "target": device},
		{"what": "uncordon", "target": device},
		{"what": "notice", "target": pod, "to": map[string]string{"text": `save "all" work`}},
		{"what": "queue", "target": map[string]string{"queue": s.queue}, "to": map[string]any{"weight": 7,
			"limit": []map[string]any{{"model": "*", "devices_milli": 2000, "memory_bytes": nil}}}},
		{"what": "evict", "target": pod},
	}
}

// post asks for a change, or with dry only what it would do.
func (s *changeScene) post(by *viewer, body map[string]any, dry bool) (changeAnswer, error) {
	var answer changeAnswer
	body["dry_run"] = dry
	text, err := json.Marshal(body)
	if err == nil {
		err = by.session.ask(&answer, http.MethodPost, "changes", text)
	}
	if err != nil {
		return answer, fmt.Errorf("%s asks for %s: %w", by.name, text, err)
	}
	if answer.DryRun != dry || len(answer.Effects) == 0 {
		return answer, fmt.Errorf("%s asked for %s and got %+v", by.name, text, answer)
	}
	return answer, nil
}

// unchanged: no change has been made.
func (s *changeScene) unchanged() error {
	p, err := s.env.Get(changedPod)
	if err != nil {
		return err
	}
	if p.Annotations["use.divvy.dev/change"] != "" || p.DeletionTimestamp != nil {
		return fmt.Errorf("the pod was changed: %v, deleted at %v", p.Annotations, p.DeletionTimestamp)
	}
	if err := s.env.WaitCordoned(s.node, s.device, false); err != nil {
		return err
	}
	if weight, err := s.weight(); err != nil || weight > 1 {
		return fmt.Errorf("the queue has weight %d: %v", weight, err)
	}
	events, err := s.events()
	if err == nil && len(events) != 0 {
		err = fmt.Errorf("there are %d events of changes: %+v", len(events), events)
	}
	return err
}

func (s *changeScene) weight() (int, error) {
	var found struct{ Spec struct{ Weight int } }
	text, err := s.env.Client.CoreV1().RESTClient().Get().AbsPath("/apis/divvy.dev/v1alpha1/queues", s.queue).
		DoRaw(s.env.Ctx)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	return found.Spec.Weight, err
}

// events are those of the console about the scene, by reason.
func (s *changeScene) events() (map[string]core.Event, error) {
	found := map[string]core.Event{}
	for space, names := range map[string][]string{s.env.Namespace: {changedPod}, "default": {s.node, s.queue}} {
		list, err := s.env.Client.CoreV1().Events(space).List(s.env.Ctx, meta.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, one := range list.Items {
			// A node has events of other checks, too: the name of an account has the namespace of this one.
			about := one.InvolvedObject.Name == names[0] || len(names) > 1 && one.InvolvedObject.Name == names[1]
			if about && one.ReportingController == "divvy-console" && strings.Contains(one.Message, s.env.Namespace) {
				found[one.Reason] = one
			}
		}
	}
	return found, nil
}

func changeViewer(scene *viewerScene, c *viewerConsole, shape viewerShape) (*viewer, func(), error) {
	v, away, err := newViewer(scene, shape)
	if err == nil {
		v.session, err = c.signIn(v.token)
	}
	return v, away, err
}

func consoleChanges(env *harness.Env) error {
	all := append(reads("", "nodes", "pods", "events"), reads("divvy.dev", "queues")...)
	writes := append(append([]rbac.PolicyRule{}, all...),
		rbac.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{"patch"}},
		rbac.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/eviction", "events"}, Verbs: []string{"create"}},
		rbac.PolicyRule{APIGroups: []string{"divvy.dev"}, Resources: []string{"queues"}, Verbs: []string{"patch"}})
	whole := viewerRights{nodes: true, queues: true, pods: everyNamespace, events: everyNamespace}
	return withChangeScene(env, func(s *changeScene) error {
		c, end, err := openViewerConsole(env, "--allow-changes")
		defer end()
		if err != nil {
			return err
		}
		scene := &viewerScene{env: env, spaces: map[string]*harness.Env{}}
		reader, gone, err := changeViewer(scene, c, viewerShape{name: "reader", cluster: all, api: true, want: whole})
		defer gone()
		if err != nil {
			return err
		}
		operator, away, err := changeViewer(scene, c,
			viewerShape{name: "operator", cluster: writes, api: true, want: whole})
		defer away()
		if err != nil {
			return err
		}
		for _, one := range []*viewer{reader, operator} {
			if err := env.WaitFor("the console shows pod and queue to "+one.name, func() error {
				var row json.RawMessage
				if err := one.session.get(&row, "queues/"+s.queue); err != nil {
					return err
				}
				return one.session.get(&row, "shares/"+env.Namespace+"/"+changedPod+"/main")
			}); err != nil {
				return err
			}
		}
		if err := s.refusedTo(reader); err != nil {
			return err
		}
		return s.madeBy(operator)
	})
}

// refusedTo: the API server forbids each change, in the dry run, too.
func (s *changeScene) refusedTo(reader *viewer) error {
	for _, body := range s.bodies() {
		// Nothing is cordoned.
		if body["what"] == "uncordon" {
			continue
		}
		for _, dry := range []bool{true, false} {
			answer, err := s.post(reader, body, dry)
			if err != nil {
				return err
			}
			if answer.Refused == nil || answer.Refused.Code != "forbidden" ||
				!strings.Contains(answer.Refused.Message, reader.user()) || answer.Recorded != nil {
				return fmt.Errorf("%v of a reader: %+v", body, answer)
			}
		}
	}
	return s.unchanged()
}

func (s *changeScene) madeBy(operator *viewer) error {
	for _, body := range s.bodies() {
		if body["what"] == "uncordon" {
			continue
		}
		answer, err := s.post(operator, body, true)
		if err != nil {
			return err
		}
		if answer.Refused != nil || answer.State != "planned" || answer.Recorded != nil {
			return fmt.Errorf("the dry run of %v: %+v", body, answer)
		}
	}
	if err := s.unchanged(); err != nil {
		return fmt.Errorf("after dry runs: %w", err)
	}
	for _, body := range s.bodies() {
		answer, err := s.post(operator, body, false)
		if err != nil {
			return err
		}
		// No agent carries the resize out.
		want := "done"
		if body["what"] == "resize" {
			want = "requested"
		}
		if answer.Refused != nil || answer.State != want || answer.Recorded == nil || !*answer.Recorded {
			return fmt.Errorf("%v: %+v", body, answer)
		}
		if err := s.took(body["what"].(string)); err != nil {
			return fmt.Errorf("%v: %w", body, err)
		}
	}
	events, err := s.events()
	if err != nil {
		return err
	}
	for _, reason := range []string{"ResizeRequested", "DeviceCordoned", "DeviceUncordoned", "OperatorNotice",
		"QueueChanged", "EvictionRequested"} {
		if one, there := events[reason]; !there || !strings.HasPrefix(one.Message, operator.user()+": ") {
			return fmt.Errorf("no event %s of %s: %+v", reason, operator.user(), events)
		}
	}
	if one := events["OperatorNotice"]; one.Type != core.EventTypeWarning ||
		one.Message != operator.user()+`: save "all" work` {
		return fmt.Errorf("the notice is %+v", one)
	}
	return nil
}

// took: the change is in the API server.
func (s *changeScene) took(what string) error {
	switch what {
	case "resize":
		p, err := s.env.Get(changedPod)
		if err == nil && !strings.Contains(p.Annotations["divvy.dev/change-state"], "admitted") {
			err = fmt.Errorf("the annotations are %v", p.Annotations)
		}
		return err
	case "cordon":
		return s.env.WaitCordoned(s.node, s.device, true)
	case "uncordon":
		return s.env.WaitCordoned(s.node, s.device, false)
	case "queue":
		weight, err := s.weight()
		if err == nil && weight != 7 {
			err = fmt.Errorf("its weight is %d", weight)
		}
		return err
	case "evict":
		return s.env.WaitFor("the pod is gone", func() error {
			_, err := s.env.Get(changedPod)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there: %v", err)
		})
	}
	return nil
}
