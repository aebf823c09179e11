package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	authentication "k8s.io/api/authentication/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

const (
	space         = "divvy-system"
	account       = "divvy-scheduler"
	extender      = "divvy-scheduler"
	secondKube    = "divvy-kube-scheduler"
	configAddress = "http://127.0.0.1:9396" // in the configuration as it is deployed
	tokenSeconds  = int64(certificateLife / 1e9)
)

// An installation is Divvy as deploy/ has it, but for what a machine without a kubelet can not do:
// its containers run as processes here, with the service account's rights, and the webhook is found
// at an address instead of a service.
type installation struct {
	*cluster
	divvy  string // the program
	deploy string // folder of the manifests
	second int    // port of its kube-scheduler
}

type extenderPorts struct{ Extender, Webhook int }

func (i *installation) portsFile() string { return i.path("divvy-ports.json") }

func (i *installation) ports() (extenderPorts, error) {
	var found extenderPorts
	text, err := os.ReadFile(i.portsFile())
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(text, &found)
}

func (i *installation) apply(ctx context.Context, file string) error {
	command := exec.CommandContext(ctx, i.path("bin", "kubectl"), "--kubeconfig", i.path("kubeconfig"),
		"apply", "-f", filepath.Join(i.deploy, file))
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("applying %s: %w\n%s", file, err, out)
	}
	return nil
}

// writeAccount makes a kubeconfig of the service account's, as its pods would have it.
func (i *installation) writeAccount(ctx context.Context, client *kubernetes.Clientset) error {
	seconds := tokenSeconds
	request := &authentication.TokenRequest{
		Spec: authentication.TokenRequestSpec{ExpirationSeconds: &seconds}}
	made, err := client.CoreV1().ServiceAccounts(space).CreateToken(ctx, account, request,
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	return writeTokenKubeconfig(i.path("divvy.kubeconfig"), local("https", i.cluster.ports.Apiserver),
		i.path("pki", "ca.crt"), made.Status.Token)
}

func (i *installation) startExtender() error {
	_ = os.Remove(i.portsFile())
	return i.processes.start(extender, i.divvy, "scheduler", "--kubeconfig", i.path("divvy.kubeconfig"),
		"--listen", "127.0.0.1:0", "--webhook-listen", "127.0.0.1:0",
		"--cert-file", i.path("pki", "webhook.crt"), "--key-file", i.path("pki", "webhook.key"),
		"--ports-file", i.portsFile())
}

// extenderReady: it has said where it is, and that it knows the cluster.
func (i *installation) extenderReady() error {
	found, err := i.ports()
	if err != nil {
		return err
	}
	return answers(local("http", found.Extender) + "/readyz")
}

// startKubeScheduler runs the one of the deployed configuration.
func (i *installation) startKubeScheduler(found extenderPorts) error {
	text, err := os.ReadFile(filepath.Join(i.deploy, "scheduler-config.yaml"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), configAddress) {
		return fmt.Errorf("scheduler-config.yaml has no %s", configAddress)
	}
	config := strings.ReplaceAll(string(text), configAddress, local("http", found.Extender)) +
		fmt.Sprintf("clientConnection: {qps: 5000, burst: 5000, kubeconfig: %q}\n",
			i.path("divvy.kubeconfig"))
	file := i.path("divvy-kube-scheduler.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return err
	}
	return i.processes.start(secondKube, i.self, "kube-scheduler", "--config", file,
		"--authentication-kubeconfig="+i.path("divvy.kubeconfig"),
		"--authorization-kubeconfig="+i.path("divvy.kubeconfig"),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", i.second),
		"--cert-dir="+i.path("pki"), "--v=1")
}

// answers: 200, from whoever it is: these certificates are made by those who show them.
func answers(url string) error {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}

// registerWebhook applies the deployed registration with an address instead of the service.
func (i *installation) registerWebhook(ctx context.Context, client *kubernetes.Clientset,
	found extenderPorts) error {
	text, err := os.ReadFile(filepath.Join(i.deploy, "webhook.yaml"))
	if err != nil {
		return err
	}
	var config admission.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return fmt.Errorf("webhook.yaml: %w", err)
	}
	authority, err := os.ReadFile(i.path("pki", "ca.crt"))
	if err != nil {
		return err
	}
	for at := range config.Webhooks {
		where := &config.Webhooks[at].ClientConfig
		if where.Service == nil || where.Service.Path == nil {
			return errors.New("webhook.yaml: no service with a path")
		}
		url := local("https", found.Webhook) + *where.Service.Path
		*where = admission.WebhookClientConfig{URL: &url, CABundle: authority}
	}
	hooks := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	old, err := hooks.Get(ctx, config.Name, meta.GetOptions{})
	switch {
	case isNotFound(err):
		_, err = hooks.Create(ctx, &config, meta.CreateOptions{})
	case err == nil:
		config.ResourceVersion = old.ResourceVersion
		_, err = hooks.Update(ctx, &config, meta.UpdateOptions{})
	}
	return err
}

// webhookWorks: the API server has heard of the registration, which it does not at once.
func webhookWorks(ctx context.Context, client *kubernetes.Clientset) error {
	tried := pod("tried", container("c", asks{"nvidia.com/gpu": "1"}))
	made, err := client.CoreV1().Pods("default").Create(ctx, tried,
		meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
	if err == nil && made.Spec.SchedulerName != account {
		err = fmt.Errorf("a pod with devices is still for %s", made.Spec.SchedulerName)
	}
	return err
}

// remove ends what an earlier one started: installing again is how a new build is tried.
func (i *installation) remove() error {
	for _, name := range []string{secondKube, extender} {
		if one, known := i.processes.find(name); known {
			if err := one.end(stopBound); err != nil {
				return err
			}
		}
	}
	return nil
}

// install returns when pods with devices are placed by Divvy.
func (i *installation) install(ctx context.Context) error {
	client, err := i.client()
	if err != nil {
		return err
	}
	if err := i.apply(ctx, "rbac.yaml"); err != nil {
		return err
	}
	if err := i.writeAccount(ctx, client); err != nil {
		return err
	}
	a, err := openAuthority(i.path("pki"))
	if err != nil {
		return err
	}
	err = a.server("webhook", []string{account + "." + space + ".svc"}, []net.IP{net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	if err := i.startExtender(); err != nil {
		return err
	}
	if err := i.processes.wait(ctx, extender, i.extenderReady); err != nil {
		return err
	}
	found, err := i.ports()
	if err != nil {
		return err
	}
	if err := chooseInto(&i.second); err != nil {
		return err
	}
	if err := i.startKubeScheduler(found); err != nil {
		return err
	}
	err = i.processes.wait(ctx, secondKube, func() error {
		return answers(local("https", i.second) + "/readyz")
	})
	if err != nil {
		return err
	}
	if err := i.registerWebhook(ctx, client, found); err != nil {
		return err
	}
	return i.processes.wait(ctx, extender, func() error { return webhookWorks(ctx, client) })
}
