package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"divvy.dev/tests/cluster/harness"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long streams are read after all changes were sent.
const viewerStreamTime = 3 * time.Second

// consoleViewerStreams opens a stream of each viewer, and then creates a pod in each namespace.
func consoleViewerStreams(env *harness.Env) error {
	return withViewers(env, nil, func(_ *viewerConsole, viewers map[string]*viewer) error {
		ctx, cancel := context.WithCancel(env.Ctx)
		defer cancel()
		streams := map[string]*viewerStream{}
		for name, v := range viewers {
			s, err := v.follow(ctx)
			if err != nil {
				return err
			}
			streams[name] = s
		}
		scene := viewers["whole"].scene
		for _, word := range viewerWords {
			late := scene.pod(word, "late", harness.OneShare("1024", "10"))
			if _, err := scene.spaces[word].Create(late); err != nil {
				return err
			}
		}
		for name, v := range viewers {
			if err := v.waitLate(streams[name]); err != nil {
				return err
			}
		}
		for _, word := range viewerWords {
			if err := scene.spaces[word].Delete(word + "-late"); err != nil {
				return err
			}
		}
		total := 0
		for end := time.Now().Add(viewerStreamTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			total = 0
			for name, v := range viewers {
				text := streams[name].text.String()
				total += len(text)
				if err := v.mayNotStream(text); err != nil {
					return err
				}
			}
		}
		env.Note = fmt.Sprintf("%d streams of %d bytes in all", len(streams), total)
		return nil
	})
}

// waitLate: the new pods of the viewer's namespaces are in its stream.
func (v *viewer) waitLate(s *viewerStream) error {
	return v.env.WaitFor("the stream of "+v.name+" has the new pods", func() error {
		for _, word := range viewerWords {
			if v.seesPods(word) && !s.has(v.scene.spaces[word].Namespace+"/"+word+"-late/container-"+word) {
				return fmt.Errorf("no share of %s", word)
			}
		}
		return nil
	})
}

// mayNotStream checks each message by the right that its topic needs.
func (v *viewer) mayNotStream(text string) error {
	for _, message := range strings.Split(text, "\n\n") {
		right := byPods
		switch {
		case strings.Contains(message, `"topic":"events"`):
			right = byEvents
		case strings.Contains(message, `"topic":"queues"`):
			right = byQueue
		}
		if err := v.mayNot("the stream", message, right); err != nil {
			return err
		}
	}
	return nil
}

// wrongTokens are none that the API server accepts.
func wrongTokens(good string) []string {
	parts := strings.Split(good, ".")
	return []string{"", "none", good[:len(good)-4] + "AAAA", parts[0] + "." + parts[1] + ".", good + "A", " " + good,
		strings.Repeat("a", 8<<10)}
}

func unauthenticated(what string, status int, text string, err error) error {
	if err == nil && (status != http.StatusUnauthorized || !strings.Contains(text, `"unauthenticated"`)) {
		err = fmt.Errorf("%s: %d %s", what, status, text)
	}
	return err
}

func consoleViewerTokens(env *harness.Env) error {
	log, err := harness.OpenAudit(env.Path("audit.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	return withViewers(env, []string{"whole", "one", "two"}, func(c *viewerConsole, viewers map[string]*viewer) error {
		one, two := viewers["one"], viewers["two"] // with a token of the API server, and of the console
		for at, token := range wrongTokens(two.token) {
			status, text, err := c.answer(http.MethodPost, "session", "", tokenBody(token))
			if err := unauthenticated(fmt.Sprintf("token %d", at), status, text, err); err != nil {
				return err
			}
		}
		other, err := one.createToken("another-audience")
		if err != nil {
			return err
		}
		for what, token := range map[string]string{"no token": "", "a wrong one": "none", "another audience": other} {
			status, text, err := c.answer(http.MethodGet, "shares", token, nil)
			if err := unauthenticated(what, status, text, err); err != nil {
				return err
			}
		}
		if err := c.checkLogin(); err != nil {
			return err
		}
		for _, v := range []*viewer{one, two} {
			status, text, err := c.answer(http.MethodGet, "shares", v.token, nil)
			if err == nil && (status != http.StatusOK || !strings.Contains(text, viewerWords[0]+"-share")) {
				err = fmt.Errorf("with a bearer token %s gets %d %s", v.name, status, text)
			}
			if err := errors.Join(err, v.mayNot("shares", text, byPods)); err != nil {
				return err
			}
		}
		if err := c.checkPlans(one, two); err != nil {
			return err
		}
		for _, secret := range []string{one.token, two.token, other} {
			if strings.Contains(c.said.String(), secret) {
				return errors.New("the console prints a token")
			}
		}
		return c.onlyReviews(log)
	})
}

// checkLogin: without a session, the console says how to sign in.
func (c *viewerConsole) checkLogin() error {
	status, text, err := c.answer(http.MethodGet, "login", "", nil)
	var login struct{ Login, Cluster, Command string }
	if err == nil {
		err = json.Unmarshal([]byte(text), &login)
	}
	if err == nil && (status != http.StatusOK || login.Login != "token" || login.Cluster != "the-cluster" ||
		login.Command != "kubectl create token NAME --audience divvy-console") {
		err = fmt.Errorf("login is %d %s", status, text)
	}
	return err
}

// checkPlans: plans are made with the viewer's own token. It may not create pods, so each pod of the plan is refused.
func (c *viewerConsole) checkPlans(api, narrow *viewer) error {
	body, err := json.Marshal(map[string]string{"manifest": plannedPods,
		"namespace": api.scene.spaces[viewerWords[0]].Namespace})
	if err != nil {
		return err
	}
	status, text, err := c.answer(http.MethodPost, "plan", narrow.token, body)
	if err == nil && (status != http.StatusForbidden || !strings.Contains(text, `"forbidden"`)) {
		err = fmt.Errorf("a plan with the console's token is %d %s", status, text)
	}
	if err != nil {
		return err
	}
	status, text, err = c.answer(http.MethodPost, "plan", api.token, body)
	if err != nil {
		return err
	}
	// The account may not list nodes: nothing is planned with the console's rights.
	if status == http.StatusOK && strings.Contains(text, `"fits":true`) {
		return fmt.Errorf("a plan of an account that may not create pods is %s", text)
	}
	return api.mayNot("the plan", text, byPods)
}

// onlyReviews: the console's account has created reviews, and written nothing else.
func (c *viewerConsole) onlyReviews(log *harness.Audit) error {
	account := "system:serviceaccount:" + c.env.Namespace + ":" + viewerConsoleAccount
	var other []string
	err := log.Read(func(one *harness.AuditedWrite) {
		review := one.Object.Resource == "tokenreviews" || one.Object.Resource == "subjectaccessreviews"
		if one.User.Username == account && !(review && one.Verb == "create") {
			other = append(other, one.Verb+" "+one.Object.Resource+" "+one.Object.Name)
		}
	})
	if err == nil && len(other) != 0 {
		err = fmt.Errorf("the console's account writes %v", other)
	}
	return err
}

// How long a session may outlive its account.
const viewerEndBound = 90 * time.Second

func consoleViewerEnds(env *harness.Env) error {
	return withViewers(env, []string{"whole", "one", "two"}, func(c *viewerConsole, viewers map[string]*viewer) error {
		ctx, cancel := context.WithCancel(env.Ctx)
		defer cancel()
		streams := map[string]*viewerStream{}
		for name, v := range viewers {
			s, err := v.follow(ctx)
			if err != nil {
				return err
			}
			streams[name] = s
		}
		begin := time.Now()
		gone := []string{"one", "two"}
		for _, name := range gone {
			err := env.Client.CoreV1().ServiceAccounts(env.Namespace).Delete(env.Ctx, name, meta.DeleteOptions{})
			if err != nil {
				return err
			}
		}
		for _, name := range gone {
			if err := viewers[name].waitEnd(streams[name], begin); err != nil {
				return err
			}
			status, text, err := c.answer(http.MethodGet, "shares", viewers[name].token, nil)
			if err := unauthenticated("the token of "+name, status, text, err); err != nil {
				return err
			}
		}
		env.Note = fmt.Sprintf("both sessions have ended after %.0f s", time.Since(begin).Seconds())
		select {
		case <-streams["whole"].ended:
			return errors.New("the stream of whole has ended, too")
		default:
			return viewers["whole"].seesAll()
		}
	})
}

// waitEnd: session and stream end, the stream with its last event.
func (v *viewer) waitEnd(s *viewerStream, begin time.Time) error {
	for {
		status, text, err := v.session.raw("shares")
		if err != nil {
			return err
		}
		if status == http.StatusUnauthorized {
			break
		}
		if time.Since(begin) > viewerEndBound {
			return fmt.Errorf("the session of %s has not ended after %v: %d %.500s", v.name, viewerEndBound, status, text)
		}
		time.Sleep(200 * time.Millisecond)
	}
	select {
	case <-s.ended:
	case <-time.After(max(0, viewerEndBound-time.Since(begin))):
		return fmt.Errorf("the stream of %s has not ended after %v", v.name, viewerEndBound)
	}
	if !s.has("event: end") {
		return fmt.Errorf("the stream of %s has no last event: %.500s", v.name, s.text.String())
	}
	return nil
}
