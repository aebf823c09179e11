package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settled is what is shown of the cluster, but for texts that the scheduler writes again and again.
func (s *consoleSession) settled() (string, error) {
	devices, err := rows[consoleDevice](s, "devices")
	shares, failed := rows[consoleShare](s, "shares")
	waiting, unread := rows[consoleWaiting](s, "waiting")
	for at := range waiting {
		waiting[at].Reason = ""
	}
	pods, unlisted := s.env.Client.CoreV1().Pods(s.env.Namespace).List(s.env.Ctx, meta.ListOptions{})
	if err := errors.Join(err, failed, unread, unlisted); err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{devices, shares, waiting, len(pods.Items)})
	return string(text), err
}

// explainedAlike: the console and the command give the same answer on a pod, byte by byte, and again.
func (s *consoleSession) explainedAlike(name string) error {
	var said []json.RawMessage
	if _, err := s.env.RunDivvy(&said, "explain", "pod", name, "-n", s.env.Namespace, "-o", "json"); err != nil {
		return err
	}
	if len(said) != 1 {
		return fmt.Errorf("divvy explain has %d answers", len(said))
	}
	for range 2 {
		var answer struct{ Explanation json.RawMessage }
		if err := s.get(&answer, "waiting/"+s.env.Namespace+"/"+name+"/explain"); err != nil {
			return err
		}
		if err := differ(name, answer.Explanation, said[0]); err != nil {
			return err
		}
		if !bytes.Equal(answer.Explanation, said[0]) {
			return fmt.Errorf("%s: other bytes:\n%s\n%s", name, answer.Explanation, said[0])
		}
	}
	return nil
}

// planByCommand is what `divvy plan -f -` prints for a manifest.
func planByCommand(env *harness.Env, manifest string) (json.RawMessage, error) {
	command := exec.CommandContext(env.Ctx, env.Divvy, "plan", "-f", "-", "-n", env.Namespace, "-o", "json")
	command.Env = append(os.Environ(), "KUBECONFIG="+env.Path("kubeconfig"))
	command.Stdin = strings.NewReader(manifest)
	said, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 && len(said) > 0 {
		err = nil // a pod of it fits nowhere
	}
	return bytes.TrimSpace(said), err
}

func (s *consoleSession) plan(manifest string) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]string{"manifest": manifest, "namespace": s.env.Namespace})
	if err != nil {
		return nil, err
	}
	var answer struct{ Plan json.RawMessage }
	return answer.Plan, errors.Join(err, s.ask(&answer, http.MethodPost, "plan", body))
}

func consoleAnswers(env *harness.Env) error {
	_, away, err := consoleScene(env)
	defer away()
	if err != nil {
		return err
	}
	s, end, err := openConsole(env)
	defer end()
	if err != nil {
		return err
	}
	if err := s.waitRead(consoleCollections...); err != nil {
		return err
	}
	if err := env.WaitFor("waiting pods agree", s.waitingAgree); err != nil {
		return err
	}
	before, err := s.settled()
	if err != nil {
		return err
	}
	names := []string{"p-0", "first"}
	for name := range consoleWaits {
		names = append(names, name)
	}
	for _, name := range names {
		// A condition may be written between both answers.
		if err := env.WaitFor(name+" is explained alike", func() error { return s.explainedAlike(name) }); err != nil {
			return err
		}
	}
	if err := s.plansAlike(); err != nil {
		return err
	}
	var none any
	if err := s.get(&none, "waiting/"+env.Namespace+"/no-such/explain"); err == nil ||
		!strings.Contains(err.Error(), `404 {"error":{"code":"not-found"`) {
		return fmt.Errorf("a pod that does not exist is explained: %w", err)
	}
	if _, err := s.plan("{apiVersion: v1, kind: Pod, metadata: ["); err == nil ||
		!strings.Contains(err.Error(), `400 {"error":{"code":"usage"`) {
		return fmt.Errorf("a plan of no YAML: %w", err)
	}
	return env.WaitFor("nothing has changed", func() error {
		after, err := s.settled()
		if err == nil && after != before {
			err = fmt.Errorf("before, it was\n%s\nand now it is\n%s", before, after)
		}
		return err
	})
}

func (s *consoleSession) plansAlike() error {
	command, err := planByCommand(s.env, plannedPods)
	if err != nil {
		return err
	}
	for range 2 {
		page, err := s.plan(plannedPods)
		if err != nil {
			return err
		}
		if err := differ("the plan", page, command); err != nil {
			return err
		}
		if !bytes.Equal(page, command) {
			return fmt.Errorf("the plan has other bytes:\n%s\n%s", page, command)
		}
	}
	var plan []plannedPod
	if err := json.Unmarshal(command, &plan); err != nil {
		return err
	}
	if len(plan) != 4 || !plan[0].Fits || plan[3].Fits {
		return fmt.Errorf("the plan is %s", command)
	}
	return nil
}

func consoleFollows(env *harness.Env) error {
	s, end, err := openConsole(env)
	defer end()
	if err != nil {
		return err
	}
	if err := s.waitRead(consoleCollections...); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.Ctx)
	defer cancel()
	stream, err := s.stream(ctx, "shares,waiting,overview,nodes")
	if err != nil {
		return err
	}
	node, err := s.followsShare(stream)
	if err != nil {
		return err
	}
	if err := s.followsWaiting(stream); err != nil {
		return err
	}
	if err := env.Delete("new"); err != nil {
		return err
	}
	share := env.Namespace + "/new/c"
	err = stream.until("the share goes", func(one delta) bool {
		return one.Topic == "shares" && slices.Contains(one.Drop, share)
	})
	if err != nil {
		return err
	}
	var one struct{ Item consoleShare }
	if err := s.get(&one, "shares/"+share); err == nil || !strings.Contains(err.Error(), "not-found") {
		return fmt.Errorf("the share of a deleted pod is %+v, %w", one, err)
	}
	return s.followsCordon(stream, node)
}

// puts: a message that has such a row of a list.
func puts(list, id string, so func(map[string]any) bool) func(delta) bool {
	return func(one delta) bool {
		return one.Topic == list && slices.ContainsFunc(one.Put, func(row map[string]any) bool {
			return row["id"] == id && so(row)
		})
	}
}

// followsShare: the pod new is bound, and its share is shown. The result is its node.
func (s *consoleSession) followsShare(stream *consoleStream) (string, error) {
	env := s.env
	_, err := env.Create(harness.Pod("new", harness.Container("c", harness.OneShare("1024", "10"))))
	if err != nil {
		return "", err
	}
	p, err := env.WaitBound("new")
	if err != nil {
		return "", err
	}
	share := env.Namespace + "/new/c"
	since := time.Now()
	err = stream.until("the new share", puts("shares", share, func(row map[string]any) bool {
		return row["node"] == p.Spec.NodeName && row["limit_bytes"] == float64(1<<30)
	}))
	if err != nil {
		return "", err
	}
	var one struct{ Item consoleShare }
	if err := s.get(&one, "shares/"+share); err != nil {
		return "", err
	}
	env.Note = fmt.Sprintf("a new share is shown %.1f s after its binding", time.Since(since).Seconds())
	return p.Spec.NodeName, stream.until("the overview", puts("overview", "overview", func(row map[string]any) bool {
		shares, _ := row["shares"].(map[string]any)
		return shares["pending"] == float64(1)
	}))
}

// followsWaiting: a pod that fits nowhere comes and goes.
func (s *consoleSession) followsWaiting(stream *consoleStream) error {
	if _, err := s.env.Create(harness.Pod("large", harness.Container("c", harness.OneShare("90000", "30")))); err != nil {
		return err
	}
	id := s.env.Namespace + "/large"
	err := stream.until("the waiting pod", puts("waiting", id, func(row map[string]any) bool {
		return row["kind"] == "never-fits"
	}))
	if err != nil {
		return err
	}
	if err := s.env.Delete("large"); err != nil {
		return err
	}
	return stream.until("the waiting pod goes", func(one delta) bool {
		return one.Topic == "waiting" && slices.Contains(one.Drop, id)
	})
}

// followsCordon: a node is shown as cordoned, with its devices, and as ready again.
func (s *consoleSession) followsCordon(stream *consoleStream, node string) error {
	defer func() { _ = s.env.Kubectl(s.env.Ctx, "uncordon", node) }()
	for _, step := range []struct{ command, node, device string }{{"cordon", "cordoned", "cordoned"},
		{"uncordon", "ready", "healthy"}} {
		if err := s.env.Kubectl(s.env.Ctx, step.command, node); err != nil {
			return err
		}
		err := stream.until("a node is "+step.node, puts("nodes", node, func(row map[string]any) bool {
			return row["state"] == step.node
		}))
		if err != nil {
			return err
		}
		devices, err := rows[consoleDevice](s, "devices")
		if err != nil {
			return err
		}
		for _, one := range devices {
			if want := map[bool]string{true: step.device, false: "healthy"}[one.Node == node]; one.State != want {
				return fmt.Errorf("after %s of %s, %s is %s", step.command, node, one.ID, one.State)
			}
		}
	}
	return nil
}

// The served model, the image and an annotation of the check: quotes, markup, a line's end, U+2028, and marks that turn
// the direction of text.
const (
	hostileModel = "\u202e<script>alert(\"1\")</script>\u2066' \\ \n\u2028&amp;"
	hostileImage = "registry.invalid/\"none'<script>alert(1)</script>\u202e"
	hostileType  = "\"<img src=x onerror=alert(1)>\u202e'"
)

func consoleNames(env *harness.Env) error {
	s, end, err := openConsole(env)
	defer end()
	if err != nil {
		return err
	}
	if err := s.waitRead(consoleCollections...); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.Ctx)
	defer cancel()
	stream, err := s.stream(ctx, "shares,models,waiting,workloads")
	if err != nil {
		return err
	}
	hostile := harness.Container("c", harness.OneShare("1024", "10"))
	hostile.Image, hostile.Args = hostileImage, []string{"--model", hostileModel}
	if _, err := env.Create(harness.Pod("hostile", hostile)); err != nil {
		return err
	}
	picky := harness.Pod("picky", harness.Container("c", harness.OneShare("1024", "10")))
	if _, err := env.Create(harness.WithAnnotations(picky, "nvidia.com/use-gputype", hostileType)); err != nil {
		return err
	}
	if _, err := env.WaitBound("hostile"); err != nil {
		return err
	}
	err = stream.until("the share", func(one delta) bool {
		return one.Topic == "shares" && slices.ContainsFunc(one.Put, func(row map[string]any) bool {
			return row["model_served"] == hostileModel && row["image"] == hostileImage
		})
	})
	if err != nil {
		return err
	}
	return env.WaitFor("all texts are unchanged", s.hostileUnchanged)
}

func (s *consoleSession) hostileUnchanged() error {
	shares, err := rows[consoleShare](s, "shares")
	if err != nil {
		return err
	}
	if len(shares) != 1 || shares[0].Image != hostileImage || shares[0].Model == nil ||
		*shares[0].Model != hostileModel {
		return fmt.Errorf("the share is %+v", shares)
	}
	models, err := rows[consoleModel](s, "models")
	if err != nil {
		return err
	}
	if len(models) != 1 || models[0].Name != hostileModel || models[0].Source != "argument --model" ||
		!slices.Equal(models[0].Images, []string{hostileImage}) {
		return fmt.Errorf("the model is %+v", models)
	}
	var one struct{ Item consoleModel }
	if err := s.get(&one, "models/"+url.PathEscape(hostileModel)); err != nil {
		return err
	}
	workloads, err := rows[consoleGroup](s, "workloads")
	if err != nil {
		return err
	}
	if one.Item.Name != hostileModel || len(workloads) != 2 || workloads[0].Models != hostileModel ||
		workloads[0].Images != hostileImage {
		return fmt.Errorf("the model is %+v; the workloads are %+v", one.Item, workloads)
	}
	var answer struct {
		Explanation struct {
			Fits   bool
			Models map[string]string `json:"models_asked"`
		}
	}
	if err := s.get(&answer, "waiting/"+s.env.Namespace+"/picky/explain"); err != nil {
		return err
	}
	if answer.Explanation.Fits || answer.Explanation.Models["nvidia.com/use-gputype"] != hostileType {
		return fmt.Errorf("the explanation is %+v", answer)
	}
	return nil
}
