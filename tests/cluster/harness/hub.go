package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const hubProcess = "hub"

// A Hub is a running `divvy hub`, the dispatcher of this cluster's MultiKueue.
type Hub struct {
	env     *Env
	Address string
	servers []*http.Server
}

const schedulerService = "/api/v1/namespaces/divvy-system/services/divvy-scheduler:metrics/proxy"

// serveScheduler serves the scheduler's metrics address under the path of its Service: the scheduler here is a process
// on loopback, to which no API server passes requests on.
func (env *Env) serveScheduler() (*http.Server, string, error) {
	ports, err := env.Ports(DefaultReplica)
	if err != nil {
		return nil, "", err
	}
	target, err := url.Parse(LocalURL("http", ports.Metrics))
	if err != nil {
		return nil, "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	server := &http.Server{Handler: http.StripPrefix(schedulerService, httputil.NewSingleHostReverseProxy(target))}
	go func() { _ = server.Serve(listener) }()
	return server, "http://" + listener.Addr().String(), nil
}

// StartHub runs `divvy hub` for these workers, with further options. End it, also after an error.
func (env *Env) StartHub(workers map[string]*Env, options ...string) (*Hub, error) {
	all := api.NewConfig()
	hub := &Hub{env: env}
	for name, worker := range workers {
		server, address, err := worker.serveScheduler()
		if err != nil {
			return hub, err
		}
		hub.servers = append(hub.servers, server)
		all.Clusters[name] = &api.Cluster{Server: address}
		all.AuthInfos[name] = &api.AuthInfo{}
		all.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	}
	file := env.Path("hub", "clusters.kubeconfig")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return hub, err
	}
	if err := clientcmd.WriteToFile(*all, file); err != nil {
		return hub, err
	}
	var port int
	if err := ChooseFreePorts(&port); err != nil {
		return hub, err
	}
	hub.Address = LocalURL("http", port)
	arguments := append([]string{"hub", "--clusters", file, "--dispatch", "--kubeconfig", env.Path("kubeconfig"),
		"--listen", strings.TrimPrefix(hub.Address, "http://")}, options...)
	if err := env.Processes.Start(hubProcess, env.Divvy, arguments...); err != nil {
		return hub, err
	}
	return hub, env.WaitFor("the hub knows all clusters", func() error {
		clusters := struct {
			Clusters []struct{ Name, State, Problem string }
		}{}
		if err := hub.get("/api/v1/clusters", &clusters); err != nil {
			return fmt.Errorf("%w; %s", err, env.Processes.Tail(hubProcess))
		}
		for _, one := range clusters.Clusters {
			if one.State != "fresh" {
				return fmt.Errorf("%+v", clusters)
			}
		}
		return nil
	})
}

// End stops the hub.
func (hub *Hub) End() error {
	var all []error
	for _, one := range hub.servers {
		all = append(all, one.Close())
	}
	return errors.Join(append(all, hub.env.StopProcess(hubProcess))...)
}

// Metrics returns the hub's metrics.
func (hub *Hub) Metrics() (string, error) {
	reply, err := http.Get(hub.Address + "/metrics")
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return string(text), err
}

func (hub *Hub) get(path string, into any) error {
	reply, err := http.Get(hub.Address + path)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	return json.NewDecoder(reply.Body).Decode(into)
}
