package webhook

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

func TestAvailability(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "without-the-webhook-no-pod-with-devices-is-made",
			Requirement: "webhook down: a GPU pod of every configured name is refused and a plain pod is admitted",
			Run:         webhookAbsent},
		checks.Check{Name: "a-new-certificate-is-noticed-by-nobody",
			Requirement: "TLS with hot reload and self-managed rotating certificates",
			Run:         certificateChanges})
}

// deviceNames are all names of resources that Divvy places.
func deviceNames(env *harness.Env) ([]string, error) {
	text, err := exec.CommandContext(env.Ctx, env.Divvy, "scheduler", "--print", "config").Output()
	if err != nil {
		return nil, err
	}
	var config struct {
		Extenders []struct {
			ManagedResources []struct{ Name string }
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	var names []string
	for _, one := range config.Extenders {
		for _, managed := range one.ManagedResources {
			names = append(names, managed.Name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the configuration names no resource")
	}
	return append(names, "nvidia.com/mig-1g.5gb"), nil
}

func webhookAbsent(env *harness.Env) error {
	names, err := deviceNames(env)
	if err != nil {
		return err
	}
	if err := env.Kill(harness.ExtenderProcess); err != nil {
		return err
	}
	return errors.Join(shut(env, names), env.Reinstall(), open(env, names))
}

func shut(env *harness.Env, names []string) error {
	for _, name := range names {
		err := env.DryRunPod(harness.Pod("p", harness.Container("c", harness.Limits{name: "1"})))
		if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			return fmt.Errorf("%s without the webhook: %v", name, err)
		}
		// Who asks not to be seen by it is refused by a policy, which needs nobody of us.
		unseen := harness.Pod("p", harness.Container("c", harness.Limits{name: "1"}))
		unseen.Labels = map[string]string{"hami.io/webhook": "ignore"}
		err = env.DryRunPod(unseen)
		if err == nil || !strings.Contains(err.Error(), "divvy-devices") {
			return fmt.Errorf("%s, unseen by the webhook: %v", name, err)
		}
	}
	env.Note = fmt.Sprintf("%d names", len(names))
	if err := env.DryRunPod(harness.Pod("plain", harness.Container("c", harness.Limits{"cpu": "1"}))); err != nil {
		return fmt.Errorf("a pod without devices: %w", err)
	}
	return nil
}

// open is the control: it was the webhook's absence that refused.
func open(env *harness.Env, names []string) error {
	for _, name := range names {
		err := env.DryRunPod(harness.Pod("p", harness.Container("c", harness.Limits{name: "1"})))
		if err != nil && strings.Contains(err.Error(), "failed calling webhook") {
			return fmt.Errorf("%s with the webhook: %w", name, err)
		}
	}
	return nil
}

// shownKey is the fingerprint of the certificate that the webhook shows.
func shownKey(env *harness.Env) (string, error) {
	found, err := env.Ports(harness.DefaultReplica)
	if err != nil {
		return "", err
	}
	address := strings.TrimPrefix(harness.LocalURL("https", found.Webhook), "https://")
	// Whom to trust is the API server's question; here it is only which one is shown.
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return "", err
	}
	defer connection.Close()
	return fmt.Sprintf("%x", sha256.Sum256(connection.ConnectionState().PeerCertificates[0].Raw)), nil
}

// certificateChanges deletes the Secret, which is how one changes the key, while pods are made all
// the time, and then what the API server trusts.
func certificateChanges(env *harness.Env) error {
	before, err := shownKey(env)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(env.Ctx)
	made, refused := make(chan int, 1), make(chan error, 1)
	go func() {
		count, failed := 0, error(nil)
		for ; ctx.Err() == nil && failed == nil; count++ {
			if err := env.DryRunPod(harness.Pod("p", harness.Container("c", harness.OneShare("1000", "10")))); err != nil {
				failed = fmt.Errorf("pod %d while the certificate changed: %w", count, err)
			}
		}
		made <- count
		refused <- failed
	}()
	began := time.Now()
	err = env.Client.CoreV1().Secrets(harness.SystemNamespace).Delete(env.Ctx, harness.WebhookSecret, meta.DeleteOptions{})
	if err == nil {
		err = env.WaitFor("another certificate is shown", func() error {
			now, err := shownKey(env)
			if err == nil && now == before {
				err = errors.New("it is the one from before")
			}
			return err
		})
	}
	changed := time.Since(began)
	stop()
	env.Note = fmt.Sprintf("another key after %.0f s, %d pods made meanwhile", changed.Seconds(), <-made)
	if err = errors.Join(err, <-refused); err != nil {
		return err
	}
	return emptiedTrust(env)
}

// emptiedTrust: somebody applied the registration as it was deployed.
func emptiedTrust(env *harness.Env) error {
	hooks := env.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := hooks.Patch(env.Ctx, harness.SchedulerAccount, types.JSONPatchType,
		[]byte(`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`), meta.PatchOptions{})
	if err != nil {
		return err
	}
	err = env.WaitFor("its authority is trusted again", func() error {
		now, err := hooks.Get(env.Ctx, harness.SchedulerAccount, meta.GetOptions{})
		if err == nil && len(now.Webhooks[0].ClientConfig.CABundle) == 0 {
			err = errors.New("nobody is")
		}
		return err
	})
	if err != nil {
		return err
	}
	return env.WaitFor("the webhook works", func() error { return env.WebhookWorks(env.Ctx, env.Client) })
}
