package shares

import (
	"errors"
	"fmt"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestInitContainers(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-init-containers-have-what-is-theirs",
			Requirement: "init containers with the same units as those behind them, on cards of their own choice: " +
				"each sees its own limit and the card of its assignment; by their units they would not",
			Run: enforcedInOrder})
}

// Limits differ from container to container, and so do, where there are several cards, these.
func enforcedInOrder(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	names := []string{"first", "second", "probe"}
	var pods []*core.Pod
	var all []harness.ContainerRequest
	for at := range 4 {
		var requests []harness.ContainerRequest
		for index, name := range names {
			requests = append(requests, harness.ContainerRequest{Pod: fmt.Sprintf("in-order-%d", at), Container: name,
				Index: index, Mebibytes: 1000 + 700*at + 200*index, Devices: 1})
		}
		// Others have one unit: the kubelet gives both to nobody else then.
		if at == 0 {
			requests[0].Devices = 2
		}
		pods = append(pods, harness.RequestPod(requests, len(names)-1))
		all = append(all, requests...)
	}
	reports, err := env.RunRequests(pods, all)
	if err == nil {
		err = reports.Correct()
	}
	if err != nil {
		return err
	}
	history, err := env.ContainerStarts()
	if err != nil {
		return err
	}
	wrong, err := reports.CountWrong(history, reports.ByDeviceIDs)
	env.Note = fmt.Sprintf("%d containers on %d cards; by their units %d would have another's", len(all), reports.Cards(),
		wrong)
	if err == nil && wrong == 0 {
		err = errors.New("control: all have units of their own: nothing is shown")
	}
	return err
}
