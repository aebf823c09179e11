package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"divvy.dev/tests/cluster/harness"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	device "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const hamiPluginUsage = `usage: cluster hami-plugin --kubeconfig FILE --node NAME --terms FILE [--dir DIR]

  Does what the device plugins of HAMi's world do to a node, NVIDIA's and other vendors', by
  facts/hami-control-plane.md 2.1 to 2.5 and none of our code: HAMi's own module cannot be had. What they
  mount into containers is not there: these have their variables, and nothing in them is limited.
  --terms FILE   JSON: what the vendor's plugin calls things, and which cards there are
`

// A hamiPlugin serves one resource of a node.
type hamiPlugin struct {
	device.UnimplementedDevicePluginServer
	client kubernetes.Interface
	node   string
	terms  harness.PluginTerms
	ended  <-chan struct{}
	mutex  sync.Mutex // one Allocate at a time, on all of the node
}

func hamiPluginCommand(args []string) int {
	flags := flag.NewFlagSet("cluster hami-plugin", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, hamiPluginUsage) }
	kubeconfig := flags.String("kubeconfig", "", "")
	node := flags.String("node", "", "")
	terms := flags.String("terms", "", "")
	dir := flags.String("dir", device.DevicePluginPath, "")
	_ = flags.Parse(args)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := runHamiPlugin(ctx, *kubeconfig, *node, *terms, *dir); err != nil {
		fmt.Fprintf(os.Stderr, "hami-plugin: %v\n", err)
		return 1
	}
	return 0
}

func runHamiPlugin(ctx context.Context, kubeconfig, node, terms, dir string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	p := &hamiPlugin{client: client, node: node, ended: ctx.Done()}
	text, err := os.ReadFile(terms)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &p.terms); err != nil {
		return err
	}
	notes := map[string]any{}
	for key, value := range p.terms.Register {
		notes[key] = value
	}
	if err := p.note(ctx, notes); err != nil {
		return err
	}
	return p.serve(ctx, dir)
}

// note writes annotations of the node; nil takes one away.
func (p *hamiPlugin) note(ctx context.Context, notes map[string]any) error {
	text, err := harness.AnnotationPatch(notes)
	if err == nil {
		_, err = p.client.CoreV1().Nodes().Patch(ctx, p.node, types.MergePatchType, text, meta.PatchOptions{})
	}
	return err
}

func (p *hamiPlugin) serve(ctx context.Context, dir string) error {
	socket := p.terms.Word + "-hami.sock"
	path := filepath.Join(dir, socket)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	device.RegisterDevicePluginServer(server, p)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer server.Stop()
	kubelet, err := grpc.NewClient("unix:"+filepath.Join(dir, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer kubelet.Close()
	_, err = device.NewRegistrationClient(kubelet).Register(ctx, &device.RegisterRequest{Version: device.Version,
		Endpoint: socket, ResourceName: p.terms.Resource, Options: &device.DevicePluginOptions{}})
	if err != nil {
		return err
	}
	fmt.Println("the kubelet knows the plugin of", p.terms.Resource)
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func (p *hamiPlugin) GetDevicePluginOptions(context.Context, *device.Empty) (*device.DevicePluginOptions, error) {
	return &device.DevicePluginOptions{}, nil
}

func (p *hamiPlugin) ListAndWatch(_ *device.Empty,
	stream grpc.ServerStreamingServer[device.ListAndWatchResponse]) error {
	reply := &device.ListAndWatchResponse{}
	for _, card := range p.terms.Cards {
		for at := range harness.HamiSplit {
			reply.Devices = append(reply.Devices, &device.Device{ID: fmt.Sprintf("%s-%d", card, at),
				Health: device.Healthy})
		}
	}
	if err := stream.Send(reply); err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-stream.Context().Done():
	}
	return nil
}

// Allocate guesses which pod it is: that of the node's lock, or one that is being bound here.
func (p *hamiPlugin) Allocate(ctx context.Context, ask *device.AllocateRequest) (*device.AllocateResponse, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	pod, err := p.pending(ctx)
	if err != nil {
		return nil, err
	}
	reply, err := p.give(ctx, pod, ask)
	phase := "success"
	if err != nil {
		phase = "failed"
	}
	now, got := p.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, meta.GetOptions{})
	done := got == nil && !strings.Contains(now.Annotations[p.terms.ToAllocate], p.terms.Word)
	if err == nil && !done {
		return reply, got // others of its containers come
	}
	marked := p.mark(ctx, pod, map[string]any{"hami.io/bind-phase": phase})
	return reply, errors.Join(err, marked, p.note(ctx, map[string]any{"hami.io/mutex.lock": nil}))
}

func (p *hamiPlugin) pending(ctx context.Context) (*core.Pod, error) {
	node, err := p.client.CoreV1().Nodes().Get(ctx, p.node, meta.GetOptions{})
	if err != nil {
		return nil, err
	}
	if words := strings.Split(node.Annotations["hami.io/mutex.lock"], ","); len(words) == 3 {
		return p.client.CoreV1().Pods(words[1]).Get(ctx, words[2], meta.GetOptions{})
	}
	pods, err := p.client.CoreV1().Pods("").List(ctx, meta.ListOptions{FieldSelector: "spec.nodeName=" + p.node})
	if err != nil {
		return nil, err
	}
	for at := range pods.Items {
		notes := pods.Items[at].Annotations
		phase := notes["hami.io/bind-phase"]
		if pods.Items[at].Status.Phase == core.PodPending && notes["hami.io/bind-time"] != "" &&
			(phase == "allocating" || phase == "success") && notes["hami.io/vgpu-node"] == p.node {
			return &pods.Items[at], nil
		}
	}
	return nil, fmt.Errorf("no binding pod found on node %s", p.node)
}

// give takes the first container that has something left.
func (p *hamiPlugin) give(ctx context.Context, pod *core.Pod, ask *device.AllocateRequest) (*device.AllocateResponse,
	error) {
	slots := strings.Split(pod.Annotations[p.terms.ToAllocate], ";")
	if len(ask.ContainerRequests) != 1 {
		return nil, fmt.Errorf("%d containers at once", len(ask.ContainerRequests))
	}
	for at, slot := range slots {
		devices := strings.FieldsFunc(slot, func(r rune) bool { return r == ':' })
		if len(devices) == 0 {
			continue
		}
		if len(devices) != len(ask.ContainerRequests[0].DevicesIds) {
			return nil, errors.New("device number not matched")
		}
		given, err := p.injected(devices)
		if err != nil {
			return nil, err
		}
		slots[at] = ""
		return &device.AllocateResponse{ContainerResponses: []*device.ContainerAllocateResponse{given}},
			p.mark(ctx, pod, map[string]any{p.terms.ToAllocate: strings.Join(slots, ";")})
	}
	return nil, fmt.Errorf("pod %s/%s has nothing left to be given", pod.Namespace, pod.Name)
}

// injected: each is "UUID,WORD,MIB,CORES".
func (p *hamiPlugin) injected(devices []string) (*device.ContainerAllocateResponse, error) {
	given := &device.ContainerAllocateResponse{Envs: map[string]string{}}
	var uuids []string
	for at, one := range devices {
		words := strings.Split(one, ",")
		if len(words) != 4 {
			return nil, fmt.Errorf("%q is no device", one)
		}
		uuids = append(uuids, words[0])
		if p.terms.Memory != "" {
			given.Envs[p.terms.Memory+strconv.Itoa(at)] = words[2] + "m"
		}
		if p.terms.Cores != "" && at == 0 {
			given.Envs[p.terms.Cores] = words[3]
		}
		if !slices.Contains(p.terms.Cards, words[0]) {
			return nil, fmt.Errorf("there is no card %s", words[0])
		}
	}
	given.Envs[p.terms.Visible] = strings.Join(uuids, ",")
	return given, nil
}

func (p *hamiPlugin) mark(ctx context.Context, pod *core.Pod, notes map[string]any) error {
	text, err := harness.AnnotationPatch(notes)
	if err == nil {
		_, err = p.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, text,
			meta.PatchOptions{})
	}
	return err
}
