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
	var all []harness.Claim
	for at := range 4 {
		var claims []harness.Claim
		for place, name := range names {
			claims = append(claims, harness.Claim{Pod: fmt.Sprintf("in-order-%d", at), Container: name, Place: place,
				Mebibytes: 1000 + 700*at + 200*place, Devices: 1})
		}
		// Others have one unit: the kubelet gives both to nobody else then.
		if at == 0 {
			claims[0].Devices = 2
		}
		pods = append(pods, harness.ClaimPod(claims, len(names)-1))
		all = append(all, claims...)
	}
	heard, err := env.RunClaims(pods, all)
	if err == nil {
		err = heard.Correct()
	}
	if err != nil {
		return err
	}
	history, err := env.ContainerStarts()
	if err != nil {
		return err
	}
	wrong, err := heard.CountWrong(history, heard.ByUnits)
	env.Note = fmt.Sprintf("%d containers on %d cards; by their units %d would have another's", len(all), heard.Cards(),
		wrong)
	if err == nil && wrong == 0 {
		err = errors.New("control: all have units of their own: nothing is shown")
	}
	return err
}
