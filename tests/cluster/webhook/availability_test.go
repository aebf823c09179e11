package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

func init() {
	checks = append(checks,
		check{"without-the-webhook-no-pod-with-devices-is-made",
			"webhook down: a GPU pod of every configured name is refused and a plain pod is admitted",
			doorIsShut},
		check{"a-new-certificate-is-noticed-by-nobody",
			"TLS with hot reload and self-managed rotating certificates",
			certificateChanges})
}

// deviceNames are all names of resources that Divvy places.
func (w *world) deviceNames() ([]string, error) {
	text, err := exec.CommandContext(w.ctx, w.divvy, "scheduler", "--print", "config").Output()
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

func (w *world) tryPod(p *core.Pod) error {
	_, err := w.client.CoreV1().Pods(w.space).Create(w.ctx, p, meta.CreateOptions{DryRun: onlyTried})
	return err
}

func doorIsShut(w *world) error {
	names, err := w.deviceNames()
	if err != nil {
		return err
	}
	if err := w.kill(extender); err != nil {
		return err
	}
	return errors.Join(w.shut(names), w.again(), w.open(names))
}

func (w *world) shut(names []string) error {
	for _, name := range names {
		err := w.tryPod(pod("p", container("c", asks{name: "1"})))
		if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			return fmt.Errorf("%s without the webhook: %v", name, err)
		}
		// Who asks not to be seen by it is refused by a policy, which needs nobody of us.
		unseen := pod("p", container("c", asks{name: "1"}))
		unseen.Labels = map[string]string{"hami.io/webhook": "ignore"}
		err = w.tryPod(unseen)
		if err == nil || !strings.Contains(err.Error(), "divvy-devices") {
			return fmt.Errorf("%s, unseen by the webhook: %v", name, err)
		}
	}
	w.note = fmt.Sprintf("%d names", len(names))
	if err := w.tryPod(pod("plain", container("c", asks{"cpu": "1"}))); err != nil {
		return fmt.Errorf("a pod without devices: %w", err)
	}
	return nil
}

// open is the control: it was the webhook's absence that refused.
func (w *world) open(names []string) error {
	for _, name := range names {
		err := w.tryPod(pod("p", container("c", asks{name: "1"})))
		if err != nil && strings.Contains(err.Error(), "failed calling webhook") {
			return fmt.Errorf("%s with the webhook: %w", name, err)
		}
	}
	return nil
}

// shownKey is the fingerprint of the certificate that the webhook shows.
func (w *world) shownKey() (string, error) {
	found, err := w.ports(standing)
	if err != nil {
		return "", err
	}
	address := strings.TrimPrefix(local("https", found.Webhook), "https://")
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
func certificateChanges(w *world) error {
	before, err := w.shownKey()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(w.ctx)
	made, refused := make(chan int, 1), make(chan error, 1)
	go func() {
		count, failed := 0, error(nil)
		for ; ctx.Err() == nil && failed == nil; count++ {
			if err := w.tryPod(pod("p", container("c", one("1000", "10")))); err != nil {
				failed = fmt.Errorf("pod %d while the certificate changed: %w", count, err)
			}
		}
		made <- count
		refused <- failed
	}()
	began := time.Now()
	err = w.client.CoreV1().Secrets(space).Delete(w.ctx, webhookSecret, meta.DeleteOptions{})
	if err == nil {
		err = w.until("another certificate is shown", func() error {
			now, err := w.shownKey()
			if err == nil && now == before {
				err = errors.New("it is the one from before")
			}
			return err
		})
	}
	changed := time.Since(began)
	stop()
	w.note = fmt.Sprintf("another key after %.0f s, %d pods made meanwhile", changed.Seconds(), <-made)
	if err = errors.Join(err, <-refused); err != nil {
		return err
	}
	return w.emptiedTrust()
}

// emptiedTrust: somebody applied the registration as it was deployed.
func (w *world) emptiedTrust() error {
	hooks := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := hooks.Patch(w.ctx, account, types.JSONPatchType,
		[]byte(`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`), meta.PatchOptions{})
	if err != nil {
		return err
	}
	err = w.until("its authority is trusted again", func() error {
		now, err := hooks.Get(w.ctx, account, meta.GetOptions{})
		if err == nil && len(now.Webhooks[0].ClientConfig.CABundle) == 0 {
			err = errors.New("nobody is")
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.until("the webhook works", func() error { return w.webhookWorks(w.ctx, w.client) })
}
