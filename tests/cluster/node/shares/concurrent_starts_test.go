package main

import (
	"errors"
	"fmt"

	core "k8s.io/api/core/v1"
)

func init() {
	checks = append(checks,
		check{"kubelet-pods-that-start-at-once-get-what-is-theirs",
			"a dozen pods at the same instant, on several cards, with one device for each container: nobody gets " +
				"another's limit or card; by the order in which they begin they would",
			enforcedAtOnce})
}

// Each other's limits differ, so that a mix-up shows, and numbers of devices do not, so that nobody
// is told by them.
func enforcedAtOnce(w *world) error {
	if err := w.onKubelet(); err != nil {
		return err
	}
	var pods []*core.Pod
	var all []claim
	for at := range 12 {
		form := []struct {
			inits int
			names []string
		}{{0, []string{"probe"}}, {0, []string{"probe", "beside"}}, {1, []string{"before", "probe"}}}[at%3]
		var claims []claim
		for place, name := range form.names {
			claims = append(claims, claim{fmt.Sprintf("at-once-%d", at), name, place, 1000 + 300*at + 100*place, 1})
		}
		pods = append(pods, claimed(claims, form.inits))
		all = append(all, claims...)
	}
	heard, err := w.testify(pods, all)
	if err == nil {
		err = heard.right()
	}
	if err != nil {
		return err
	}
	history, err := w.beginnings()
	if err != nil {
		return err
	}
	wrong, err := heard.wrongBy(history, heard.byOrder)
	w.note = fmt.Sprintf("%d pods, %d containers on %d cards; by order %d would have another's", len(pods), len(all),
		heard.cards(), wrong)
	if err == nil && wrong == 0 {
		err = errors.New("control: they began in the order in which they asked: nothing is shown")
	}
	return err
}
