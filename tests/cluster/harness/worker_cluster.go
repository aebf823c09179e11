package harness

import (
	"errors"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// StartWorkerCluster runs a further cluster with the nodes of this one and Divvy in it, and the namespace of the check. The
// function that it returns ends the cluster.
func (env *Env) StartWorkerCluster(name string) (*Env, func() error, error) {
	cluster, err := Open(env.Dir+"-"+name, env.Self)
	if err != nil {
		return nil, nil, err
	}
	if err := cluster.Up(env.Ctx); err != nil {
		return nil, nil, err
	}
	installation := &Installation{Cluster: cluster, Divvy: env.Divvy, Deploy: env.Deploy, OwnCertificate: true,
		Kueue: env.Kueue}
	end := func() error { return errors.Join(installation.Remove(), cluster.Down(true)) }
	client, err := cluster.Client()
	if err != nil {
		return nil, end, err
	}
	worker := &Env{Installation: installation, Ctx: env.Ctx, Client: client, Namespace: env.Namespace}
	if err := worker.copyNodes(env); err != nil {
		return nil, end, err
	}
	if err := installation.Install(env.Ctx); err != nil {
		return nil, end, err
	}
	_, err = client.CoreV1().Namespaces().Create(env.Ctx,
		&core.Namespace{ObjectMeta: meta.ObjectMeta{Name: env.Namespace}}, meta.CreateOptions{})
	if err != nil {
		return nil, end, err
	}
	return worker, end, worker.WaitFor("the namespace's service account", func() error {
		_, err := client.CoreV1().ServiceAccounts(env.Namespace).Get(env.Ctx, "default", meta.GetOptions{})
		return err
	})
}

func (env *Env) copyNodes(from *Env) error {
	nodes, err := from.Client.CoreV1().Nodes().List(env.Ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for at := range nodes.Items {
		one := &nodes.Items[at]
		made := &core.Node{ObjectMeta: meta.ObjectMeta{Name: one.Name, Labels: one.Labels, Annotations: one.Annotations},
			Spec: one.Spec, Status: one.Status}
		if _, err := env.Client.CoreV1().Nodes().Create(env.Ctx, made, meta.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// ConnectMultiKueue makes the worker known to the Kueue of this cluster, its manager, as a MultiKueueCluster of that
// name.
func (env *Env) ConnectMultiKueue(name string, worker *Env) error {
	config, err := clientcmd.LoadFromFile(worker.Path("kubeconfig"))
	if err != nil {
		return err
	}
	// Kueue accepts no files in it.
	if err := api.FlattenConfig(config); err != nil {
		return err
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	// Of an earlier check that was ended.
	if err := env.DisconnectMultiKueue(name); err != nil {
		return err
	}
	secret := &core.Secret{ObjectMeta: meta.ObjectMeta{Name: name}, Data: map[string][]byte{"kubeconfig": text}}
	if _, err := env.Client.CoreV1().Secrets("kube-system").Create(env.Ctx, secret, meta.CreateOptions{}); err != nil {
		return err
	}
	return env.CreateKueue("", "multikueueclusters", "MultiKueueCluster", name, map[string]any{
		"clusterSource": map[string]any{"kubeConfig": map[string]any{"location": name, "locationType": "Secret"}}})
}

// DisconnectMultiKueue removes the access to the worker.
func (env *Env) DisconnectMultiKueue(name string) error {
	return ignoreNotFound(env.Client.CoreV1().Secrets("kube-system").Delete(env.Ctx, name, meta.DeleteOptions{}))
}
