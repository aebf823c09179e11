package shares

import (
	"errors"
	"fmt"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	core "k8s.io/api/core/v1"
)

func TestConcurrentStarts(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "kubelet-pods-that-start-at-once-get-what-is-theirs",
			Requirement: "a dozen pods at the same instant, on several cards, with one device for each container: nobody gets " +
				"another's limit or card; by the order in which they begin they would",
			Run: enforcedAtOnce})
}

// Each other's limits differ, so that a mix-up shows, and numbers of devices do not, so that nobody
// is told by them.
func enforcedAtOnce(env *harness.Env) error {
	if err := env.RequireKubelet(); err != nil {
		return err
	}
	var pods []*core.Pod
	var all []harness.ContainerRequest
	for at := range 12 {
		form := []struct {
			inits int
			names []string
		}{{0, []string{"probe"}}, {0, []string{"probe", "beside"}}, {1, []string{"before", "probe"}}}[at%3]
		var requests []harness.ContainerRequest
		for index, name := range form.names {
			requests = append(requests, harness.ContainerRequest{Pod: fmt.Sprintf("at-once-%d", at), Container: name,
				Index: index, Mebibytes: 1000 + 300*at + 100*index, Devices: 1})
		}
		pods = append(pods, harness.RequestPod(requests, form.inits))
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
	wrong, err := reports.CountWrong(history, reports.ByOrder)
	env.Note = fmt.Sprintf("%d pods, %d containers on %d cards; by order %d would have another's", len(pods), len(all),
		reports.Cards(), wrong)
	if err == nil && wrong == 0 {
		err = errors.New("control: they began in the order in which they asked: nothing is shown")
	}
	return err
}
