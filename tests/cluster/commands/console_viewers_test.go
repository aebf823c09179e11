package commands

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
)

func TestConsoleViewers(t *testing.T) {
	checks.Run(t,
		checks.Check{Name: "console-shows-viewers-only-what-they-may-list",
			Requirement: "divvy console --login token: ten accounts with different rights see in every answer the " +
				"namespaces, nodes and queues that the API server lets them list, and no byte of the others",
			Run: consoleViewers},
		checks.Check{Name: "console-streams-viewers-only-what-they-may-list",
			Requirement: "divvy console --login token: the streams of ten accounts with different rights have the changes of " +
				"their namespaces, and no byte of the others",
			Run: consoleViewerStreams},
		checks.Check{Name: "console-accepts-only-tokens-of-the-api-server",
			Requirement: "divvy console --login token: other tokens get 401; a bearer token needs no session; plans need a token " +
				"of the API server; no token is printed, and the console's account writes only reviews",
			Run: consoleViewerTokens},
		checks.Check{Name: "console-ends-sessions-of-deleted-accounts",
			Requirement: "divvy console --login token: session and stream of a deleted service account end within 90 s, those " +
				"of other accounts go on",
			Run: consoleViewerEnds})
}

// withViewers runs with a scene, a console, and viewers of these names (none: all) that have signed in.
func withViewers(env *harness.Env, names []string, run func(*viewerConsole, map[string]*viewer) error) error {
	return withViewerScene(env, func(s *viewerScene) error {
		c, end, err := openViewerConsole(env)
		defer end()
		if err != nil {
			return err
		}
		viewers := map[string]*viewer{}
		for _, shape := range viewerShapes() {
			if len(names) > 0 && !slices.Contains(names, shape.name) {
				continue
			}
			v, away, err := newViewer(s, shape)
			defer away()
			if err != nil {
				return err
			}
			if v.session, err = c.signIn(v.token); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			viewers[v.name] = v
		}
		if err := env.WaitFor("the console has read all", viewers["whole"].seesAll); err != nil {
			return err
		}
		return run(c, viewers)
	})
}

// seesAll: the viewer with all rights is shown every word, in each of these lists. It is the control for the others.
func (v *viewer) seesAll() error {
	for _, list := range []string{"shares", "waiting", "workloads", "teams", "models", "events"} {
		_, text, err := v.session.raw(list + "?limit=500")
		if err != nil {
			return err
		}
		for _, word := range viewerWords {
			if !strings.Contains(text, word) {
				return fmt.Errorf("%s has no %s: %.2000s", list, word, text)
			}
		}
	}
	queues, err := rows[consoleQueue](v.session, "queues")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(queues, func(one consoleQueue) bool { return one.Name == v.scene.queue })
	if at < 0 || len(queues[at].Waiting) == 0 || queues[at].Running != 1 {
		return fmt.Errorf("the queues are %+v", queues)
	}
	return nil
}

// The rights that words in an answer need.
type wordRight int

const (
	byPods   wordRight = iota // to list the pods of the namespace
	byEvents                  // to list its events
	byEither
	byQueue // the pods of the namespace, or queues: the status of a queue names a pod that waits
)

// viewerAnswers are all reads of the API, each with the right that it needs.
func viewerAnswers(s *viewerScene, device string) map[string]wordRight {
	answers := map[string]wordRight{"session": byEither, "events?limit=500": byEvents, "queues": byQueue,
		"queues/" + s.queue: byQueue}
	for _, path := range []string{"overview", "nodes", "devices", "shares", "waiting", "workloads", "pools", "teams",
		"models", "about", "usage?by=share", "usage?by=device", "usage.csv?by=share", "usage.csv?by=device",
		"series?of=overview:all&what=memory_limits_bytes,tenants,waiting",
		"series?of=device:" + device + "&what=memory_limits_bytes,tenants",
		"shares?sort=-limit_bytes&limit=1", "shares?filter=" + viewerWords[1], "waiting?filter=reason:" + viewerWords[0],
		"shares?fields=id,devices", "devices?filter=" + viewerWords[0]} {
		answers[path] = byPods
	}
	for _, word := range viewerWords {
		answers["nodes/"+s.nodes[word]] = byPods
		for _, path := range s.items(word) {
			answers[path] = byPods
		}
	}
	return answers
}

// items are the addresses of what is in a namespace.
func (s *viewerScene) items(word string) []string {
	space := s.spaces[word].Namespace
	return []string{"shares/" + space + "/" + word + "-share/container-" + word, "waiting/" + space + "/" + word + "-waits",
		"waiting/" + space + "/" + word + "-waits/explain", "waiting/" + space + "/" + word + "-share/explain",
		"workloads/" + space + "/Pod/" + word + "-share", "teams/team-" + word, "models/model-" + word}
}

// mayNot: the answer has no word and no node that the viewer may not see.
func (v *viewer) mayNot(path, text string, right wordRight) error {
	for _, word := range viewerWords {
		pods, events := v.seesPods(word), v.seesEvents(word)
		allowed := map[wordRight]bool{byPods: pods, byEvents: events, byEither: pods || events,
			byQueue: pods || v.want.queues}[right]
		if !allowed && strings.Contains(text, word) {
			return fmt.Errorf("%s is shown %q in %s: %.2000s", v.name, word, path, text)
		}
		if !allowed && !v.want.nodes && strings.Contains(text, v.scene.nodes[word]) {
			return fmt.Errorf("%s is shown node %s in %s: %.2000s", v.name, v.scene.nodes[word], path, text)
		}
	}
	// Events name it.
	if !v.seesQueue() && !v.seesEvents(viewerWords[0]) && !v.seesEvents(viewerWords[1]) &&
		strings.Contains(text, queueWord) {
		return fmt.Errorf("%s is shown the queue in %s: %.2000s", v.name, path, text)
	}
	return nil
}

func consoleViewers(env *harness.Env) error {
	answers, bytes := 0, 0
	err := withViewers(env, nil, func(_ *viewerConsole, viewers map[string]*viewer) error {
		whole := viewers["whole"]
		held, err := whole.heldDevices()
		if err != nil {
			return err
		}
		paths := viewerAnswers(whole.scene, held[viewerWords[1]][0])
		for _, name := range slices.Sorted(maps.Keys(viewers)) {
			v := viewers[name]
			if err := errors.Join(v.checkRights(), v.checkSession()); err != nil {
				return err
			}
			for _, path := range slices.Sorted(maps.Keys(paths)) {
				status, text, err := v.session.raw(path)
				if err != nil {
					return err
				}
				answers, bytes = answers+1, bytes+len(text)
				if want := v.wantStatus(path); status != want {
					return fmt.Errorf("%s gets %d for %s, and not %d: %.1000s", v.name, status, path, want, text)
				}
				if err := v.mayNot(path, text, paths[path]); err != nil {
					return err
				}
			}
			if err := errors.Join(v.checkNamespaces(), v.checkDevices(held), v.checkQueue()); err != nil {
				return err
			}
		}
		return nil
	})
	env.Note = fmt.Sprintf("%d answers of %d bytes in all", answers, bytes)
	return err
}

// wantStatus: a list is answered. An item that the viewer may not see is not found, as if it did not exist.
func (v *viewer) wantStatus(path string) int {
	for _, word := range viewerWords {
		if slices.Contains(v.scene.items(word), path) && !v.seesPods(word) ||
			path == "nodes/"+v.scene.nodes[word] && !v.want.nodes {
			return http.StatusNotFound
		}
	}
	switch {
	case path == "queues/"+v.scene.queue && !v.seesQueue():
		return http.StatusNotFound
	case strings.HasPrefix(path, "series?of=device:") && !v.want.nodes && !v.seesPods(viewerWords[1]),
		// Sums of the whole cluster.
		strings.HasPrefix(path, "series?of=overview:") && !(v.want.nodes && v.want.pods == everyNamespace):
		return http.StatusForbidden
	}
	return http.StatusOK
}

// A viewerRow has the namespaces of a row of any list.
type viewerRow struct {
	ID, Namespace, Name string

	Namespaces []string
}

// checkNamespaces: each list has the namespaces that the viewer may list, no more and no fewer.
func (v *viewer) checkNamespaces() error {
	for list, want := range map[string]string{"shares": v.want.pods, "waiting": v.want.pods, "workloads": v.want.pods,
		"teams": v.want.pods, "models": v.want.pods, "events": v.want.events} {
		if want == everyNamespace {
			want = strings.Join(viewerWords, " ")
		}
		shown, err := rows[viewerRow](v.session, list)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, row := range shown {
			for _, space := range append(row.Namespaces, row.Namespace, strings.Split(row.Name, "/")[0]) {
				for _, word := range viewerWords {
					if space == v.scene.spaces[word].Namespace {
						seen[space] = true
					}
				}
			}
		}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, v.scene.namespaces(want)) {
			return fmt.Errorf("%s of %s are of %v, and not of %v", list, v.name, got, v.scene.namespaces(want))
		}
		// Other lists may have rows of namespaces outside of the scene only for viewers of all.
		if want == "" && len(shown) != 0 {
			return fmt.Errorf("%s of %s are %+v, and not empty", list, v.name, shown)
		}
	}
	return nil
}

// heldDevices are identifiers of the devices of each namespace's shares, as the viewer sees them.
func (v *viewer) heldDevices() (map[string][]string, error) {
	shares, err := rows[consoleShare](v.session, "shares")
	if err != nil {
		return nil, err
	}
	held := map[string][]string{}
	for _, one := range shares {
		for _, word := range viewerWords {
			if one.Namespace != v.scene.spaces[word].Namespace {
				continue
			}
			for _, part := range one.Devices {
				held[word] = append(held[word], part.ID)
			}
		}
	}
	if len(held) != len(viewerWords) {
		return nil, fmt.Errorf("shares of %d namespaces are shown: %+v", len(held), shares)
	}
	return held, nil
}

// checkDevices: with nodes all devices, else those of the viewer's pods; the overview counts the same ones.
func (v *viewer) checkDevices(held map[string][]string) error {
	nodes, err := rows[consoleNode](v.session, "nodes")
	if err != nil {
		return err
	}
	devices, err := rows[consoleDevice](v.session, "devices")
	if err != nil {
		return err
	}
	var overview struct{ Funnel struct{ Devices int } }
	if err := v.session.get(&overview, "overview"); err != nil {
		return err
	}
	want, nodeCount := map[string]bool{}, 0
	for _, word := range viewerWords {
		if v.seesPods(word) {
			for _, id := range held[word] {
				want[id] = true
			}
		}
	}
	count := len(want)
	if v.want.nodes {
		count, nodeCount = harness.NodeCount*harness.DevicesPerNode, harness.NodeCount
	}
	for _, one := range devices {
		if !v.want.nodes && !want[one.ID] {
			return fmt.Errorf("%s is shown device %s", v.name, one.ID)
		}
	}
	if len(devices) != count || len(nodes) != nodeCount || overview.Funnel.Devices != count {
		return fmt.Errorf("%s is shown %d devices, %d in the overview, and %d nodes; %d and %d were expected", v.name,
			len(devices), overview.Funnel.Devices, len(nodes), count, nodeCount)
	}
	return nil
}

// checkQueue: with queues, or a pod in it, the queue is shown.
func (v *viewer) checkQueue() error {
	queues, err := rows[consoleQueue](v.session, "queues")
	if err != nil {
		return err
	}
	shown := slices.ContainsFunc(queues, func(one consoleQueue) bool { return one.Name == v.scene.queue })
	if want := v.seesQueue(); shown != want {
		return fmt.Errorf("%s is shown the queue: %v; expected: %v: %+v", v.name, shown, want, queues)
	}
	return nil
}
