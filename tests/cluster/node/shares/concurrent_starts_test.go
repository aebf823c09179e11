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
	var all []harness.Claim
	for at := range 12 {
		form := []struct {
			inits int
			names []string
		}{{0, []string{"probe"}}, {0, []string{"probe", "beside"}}, {1, []string{"before", "probe"}}}[at%3]
		var claims []harness.Claim
		for place, name := range form.names {
			claims = append(claims, harness.Claim{Pod: fmt.Sprintf("at-once-%d", at), Container: name, Place: place,
				Mebibytes: 1000 + 300*at + 100*place, Devices: 1})
		}
		pods = append(pods, harness.ClaimPod(claims, form.inits))
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
	wrong, err := heard.CountWrong(history, heard.ByOrder)
	env.Note = fmt.Sprintf("%d pods, %d containers on %d cards; by order %d would have another's", len(pods), len(all),
		heard.Cards(), wrong)
	if err == nil && wrong == 0 {
		err = errors.New("control: they began in the order in which they asked: nothing is shown")
	}
	return err
}
