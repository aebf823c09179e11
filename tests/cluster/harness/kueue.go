package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

const (
	kueueProcess = "kueue"
	// KueueAPI is the path of Kueue's objects.
	KueueAPI = "/apis/kueue.x-k8s.io/v1beta2"
	// KueueQueueLabel names the LocalQueue of a job.
	KueueQueueLabel = "kueue.x-k8s.io/queue-name"
)

// Of the frameworks that Kueue knows, the API server here has Jobs only.
const kueueConfiguration = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kube-system
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "127.0.0.1:%d"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
integrations: {frameworks: [batch/job]}
`

// Kueue reads the certificate of its metrics from a fixed folder of /etc: it gets an /etc of its own.
const kueueInOwnEtc = `mount -t tmpfs none /mnt
cp -a /etc/. /mnt
mkdir -p /mnt/kueue/metrics/certs
cp "$1"/tls.crt "$1"/tls.key /mnt/kueue/metrics/certs/
mount --bind /mnt /etc
shift
exec "$@"`

// kueueWebhooks reads the registrations of Kueue's webhooks for the kinds that the API server has, at this address.
func kueueWebhooks(file, address string, authority []byte) (*registration.MutatingWebhookConfiguration,
	*registration.ValidatingWebhookConfiguration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	served := func(client *registration.WebhookClientConfig) bool {
		if client.Service == nil || client.Service.Path == nil {
			return false
		}
		path := *client.Service.Path
		url := "https://" + address + path
		*client = registration.WebhookClientConfig{URL: &url, CABundle: authority}
		return strings.Contains(path, "kueue-x-k8s-io") || strings.Contains(path, "batch-v1-job")
	}
	mutating := &registration.MutatingWebhookConfiguration{}
	validating := &registration.ValidatingWebhookConfiguration{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		switch {
		case strings.Contains(document, "kind: MutatingWebhookConfiguration"):
			err = yaml.Unmarshal([]byte(document), mutating)
		case strings.Contains(document, "kind: ValidatingWebhookConfiguration"):
			err = yaml.Unmarshal([]byte(document), validating)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	mutating.Name, validating.Name = "check-kueue", "check-kueue"
	var changes []registration.MutatingWebhook
	for _, one := range mutating.Webhooks {
		if served(&one.ClientConfig) {
			changes = append(changes, one)
		}
	}
	var validations []registration.ValidatingWebhook
	for _, one := range validating.Webhooks {
		if served(&one.ClientConfig) {
			validations = append(validations, one)
		}
	}
	mutating.Webhooks, validating.Webhooks = changes, validations
	return mutating, validating, nil
}

func (env *Env) registerKueue(webhook int) error {
	authority, err := os.ReadFile(env.Path("pki", "ca.crt"))
	if err != nil {
		return err
	}
	address := net.JoinHostPort("127.0.0.1", fmt.Sprint(webhook))
	mutating, validating, err := kueueWebhooks(
		filepath.Join(filepath.Dir(env.Kueue), "kueue-manifests", "webhooks.yaml"), address, authority)
	if err != nil {
		return err
	}
	api := env.Client.AdmissionregistrationV1()
	if _, err := api.MutatingWebhookConfigurations().Create(env.Ctx, mutating, meta.CreateOptions{}); err != nil {
		return err
	}
	_, err = api.ValidatingWebhookConfigurations().Create(env.Ctx, validating, meta.CreateOptions{})
	return err
}

// Gates of Kueue that all checks need, in its configuration's form.
const kueueGates = "VisibilityOnDemand: false"

// KueueOptions are further parts of Kueue's configuration, in YAML.
type KueueOptions struct{ Configuration string }

// PrintedKueue returns what `divvy COMMAND --print kueue` prints, without the head that all configurations have.
func (env *Env) PrintedKueue(command string) (KueueOptions, error) {
	text, err := exec.Command(env.Divvy, command, "--print", "kueue").Output()
	if err != nil {
		return KueueOptions{}, fmt.Errorf("%s --print kueue: %w", command, err)
	}
	_, body, found := strings.Cut(string(text), "\nkind: Configuration\n")
	if !found {
		return KueueOptions{}, fmt.Errorf("%s --print kueue: no Configuration in %q", command, text)
	}
	return KueueOptions{Configuration: body}, nil
}

func (env *Env) runKueue(options KueueOptions) error {
	var health, metrics, webhook int
	if err := ChooseFreePorts(&health, &metrics, &webhook); err != nil {
		return err
	}
	authority, err := openAuthority(env.Path("pki"))
	if err != nil {
		return err
	}
	if err := authority.server("kueue", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return err
	}
	certificates := env.Path("kueue")
	if err := os.MkdirAll(certificates, 0o700); err != nil {
		return err
	}
	for from, to := range map[string]string{"kueue.crt": "tls.crt", "kueue.key": "tls.key"} {
		if err := os.Rename(authority.path(from), filepath.Join(certificates, to)); err != nil {
			return err
		}
	}
	file := filepath.Join(certificates, "configuration.yaml")
	text := fmt.Sprintf(kueueConfiguration, health, metrics, webhook, certificates)
	// Further gates are on the same line: {VisibilityOnDemand: false, More: true}.
	gates := strings.Replace(options.Configuration, "featureGates: {", "featureGates: {"+kueueGates+", ", 1)
	if gates == options.Configuration {
		gates += "featureGates: {" + kueueGates + "}\n"
	}
	if err := os.WriteFile(file, []byte(text+gates), 0o600); err != nil {
		return err
	}
	if err := env.Processes.Start(kueueProcess, "/usr/bin/unshare", "--mount", "/bin/sh", "-ec", kueueInOwnEtc,
		kueueProcess, certificates, "/usr/bin/env", "KUBECONFIG="+env.Path("kubeconfig"), env.Kueue,
		"--config", file); err != nil {
		return err
	}
	return env.registerKueue(webhook)
}

// StartKueue runs Kueue in the cluster with these options. The result ends it, and removes its objects.
func (env *Env) StartKueue(options KueueOptions) (func() error, error) {
	if env.Kueue == "" {
		return nil, Skip{Cause: errors.New("Kueue is not built here (--kueue)")}
	}
	if os.Geteuid() != 0 {
		return nil, Skip{Cause: errors.New("Kueue needs an /etc of its own here, which only root can mount")}
	}
	kinds, err := filepath.Glob(filepath.Join(filepath.Dir(env.Kueue), "kueue-manifests", "kueue.x-k8s.io_*.yaml"))
	if err == nil && len(kinds) == 0 {
		err = fmt.Errorf("no kinds of Kueue beside %s", env.Kueue)
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, kind := range kinds {
		files = append(files, "-f", kind)
	}
	end := func() error {
		api := env.Client.AdmissionregistrationV1()
		return errors.Join(env.deleteKueueObjects(), env.StopProcess(kueueProcess),
			ignoreNotFound(api.MutatingWebhookConfigurations().Delete(env.Ctx, "check-kueue", meta.DeleteOptions{})),
			ignoreNotFound(api.ValidatingWebhookConfigurations().Delete(env.Ctx, "check-kueue", meta.DeleteOptions{})),
			os.RemoveAll(env.Path("kueue")),
			env.Kubectl(env.Ctx, append([]string{"delete", "--ignore-not-found"}, files...)...))
	}
	if err := env.Kubectl(env.Ctx, append([]string{"apply", "--server-side"}, files...)...); err != nil {
		return end, err
	}
	wait := append([]string{"wait", "--for=condition=Established", "--timeout=30s"}, files...)
	if err := env.Kubectl(env.Ctx, wait...); err != nil {
		return end, err
	}
	if err := env.runKueue(options); err != nil {
		return end, err
	}
	return end, env.WaitFor("Kueue answers", func() error {
		err := env.CreateKueue("", "resourceflavors", "ResourceFlavor", "check-probe", map[string]any{})
		if err != nil {
			return fmt.Errorf("%w; %s", err, env.Processes.Tail(kueueProcess))
		}
		return nil
	})
}

func ignoreNotFound(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}

// deleteKueueObjects removes all objects of Kueue, also where it has stopped: their finalizers are removed here.
func (env *Env) deleteKueueObjects() error {
	background := meta.DeletePropagationBackground
	all := []error{env.Client.BatchV1().Jobs(env.Namespace).DeleteCollection(env.Ctx,
		meta.DeleteOptions{PropagationPolicy: &background}, meta.ListOptions{})}
	for _, kind := range []string{"workloads", "localqueues", "clusterqueues", "admissionchecks",
		"multikueueconfigs", "multikueueclusters", "resourceflavors"} {
		all = append(all, env.WaitFor("no "+kind+" are left", func() error { return env.deleteKueueKind(kind) }))
	}
	return errors.Join(all...)
}

func (env *Env) deleteKueueKind(plural string) error {
	rest := env.Client.CoreV1().RESTClient()
	text, err := rest.Get().AbsPath(kueuePath("", plural)...).DoRaw(env.Ctx)
	if err != nil {
		return ignoreNotFound(err)
	}
	list := struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
		}
	}{}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, one := range list.Items {
		path := append(kueuePath(one.Metadata.Namespace, plural), one.Metadata.Name)
		gone := rest.Delete().AbsPath(path...).Do(env.Ctx).Error()
		free := rest.Patch(types.MergePatchType).AbsPath(path...).Body([]byte(`{"metadata":{"finalizers":null}}`)).
			Do(env.Ctx).Error()
		if err := errors.Join(ignoreNotFound(gone), ignoreNotFound(free)); err != nil {
			return err
		}
	}
	if len(list.Items) > 0 {
		return fmt.Errorf("%d are left", len(list.Items))
	}
	return nil
}

func kueuePath(namespace, kind string) []string {
	if namespace == "" {
		return []string{KueueAPI, kind}
	}
	return []string{KueueAPI, "namespaces", namespace, kind}
}

// CreateKueue makes an object of Kueue; an empty namespace: it has none.
func (env *Env) CreateKueue(namespace, plural, kind, name string, spec map[string]any) error {
	body, err := json.Marshal(map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind,
		"metadata": map[string]string{"name": name}, "spec": spec})
	if err != nil {
		return err
	}
	return env.Client.CoreV1().RESTClient().Post().AbsPath(kueuePath(namespace, plural)...).
		SetHeader("Content-Type", "application/json").Body(body).Do(env.Ctx).Error()
}

// A KueueCondition is a condition in an object's status.
type KueueCondition struct{ Type, Status, Reason, Message string }

// A KueueWorkload is what checks read of a Workload.
type KueueWorkload struct {
	Metadata struct {
		Name            string
		OwnerReferences []struct{ Name string }
	}
	Spec   struct{ Active *bool }
	Status struct {
		ClusterName           string
		NominatedClusterNames []string
		Conditions            []KueueCondition
		Admission             struct {
			PodSetAssignments []struct{ ResourceUsage map[string]string }
		}
		AdmissionChecks []struct {
			Name, State, Message string
			RequeueAfterSeconds  int
		}
	}
}

// Is returns whether the condition of that type is true.
func (w *KueueWorkload) Is(kind string) bool {
	for _, one := range w.Status.Conditions {
		if one.Type == kind {
			return one.Status == "True"
		}
	}
	return false
}

// KueueWorkloadNamed reads a workload in the namespace of the check.
func (env *Env) KueueWorkloadNamed(name string) (*KueueWorkload, error) {
	path := append(kueuePath(env.Namespace, "workloads"), name)
	text, err := env.Client.CoreV1().RESTClient().Get().AbsPath(path...).DoRaw(env.Ctx)
	if err != nil {
		return nil, err
	}
	workload := &KueueWorkload{}
	return workload, json.Unmarshal(text, workload)
}

// KueueWorkloadOf reads the workload of a job in the namespace of the check.
func (env *Env) KueueWorkloadOf(job string) (*KueueWorkload, error) {
	text, err := env.Client.CoreV1().RESTClient().Get().AbsPath(kueuePath(env.Namespace, "workloads")...).DoRaw(env.Ctx)
	if err != nil {
		return nil, err
	}
	list := struct{ Items []*KueueWorkload }{}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	for _, one := range list.Items {
		for _, owner := range one.Metadata.OwnerReferences {
			if owner.Name == job {
				return one, nil
			}
		}
	}
	return nil, fmt.Errorf("job %s has no workload", job)
}
