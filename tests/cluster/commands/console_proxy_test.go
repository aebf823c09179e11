package commands

import (
	"bufio"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"divvy.dev/tests/cluster/checks"
	"divvy.dev/tests/cluster/harness"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConsoleBehindProxy(t *testing.T) {
	checks.Run(t, checks.Check{Name: "console-behind-oauth2-proxy",
		Requirement: "divvy console --login token or headers behind oauth2-proxy: a viewer of an OIDC issuer sees the " +
			"objects of its own rights, live, and pages of other sites make no request in its name",
		Run: behindOAuth2Proxy})
}

const (
	proxyClient = "divvy-console"
	proxyPerson = "ada@example.com"
)

// An issuer is an OpenID provider that signs in one person without a question.
type issuer struct {
	server *httptest.Server
	key    *rsa.PrivateKey
	mutex  sync.Mutex
	nonces map[string]string // by code
}

func newIssuer() (*issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	i := &issuer{key: key, nonces: map[string]string{}}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /.well-known/openid-configuration", i.configuration)
	routes.HandleFunc("GET /keys", i.keys)
	routes.HandleFunc("GET /authorize", i.authorize)
	routes.HandleFunc("POST /token", i.token)
	i.server = httptest.NewTLSServer(routes)
	return i, nil
}

func answerJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// As OpenID Connect Discovery 1.0, section 3.
func (i *issuer) configuration(w http.ResponseWriter, _ *http.Request) {
	base := i.server.URL
	answerJSON(w, map[string]any{"issuer": base, "authorization_endpoint": base + "/authorize",
		"token_endpoint": base + "/token", "jwks_uri": base + "/keys", "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}})
}

func (i *issuer) keys(w http.ResponseWriter, _ *http.Request) {
	encode := base64.RawURLEncoding.EncodeToString
	answerJSON(w, map[string]any{"keys": []any{map[string]string{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
		"n": encode(i.key.N.Bytes()), "e": encode(big.NewInt(int64(i.key.E)).Bytes())}}})
}

func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	words := r.URL.Query()
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	code := hex.EncodeToString(random)
	i.mutex.Lock()
	i.nonces[code] = words.Get("nonce")
	i.mutex.Unlock()
	back := words.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {words.Get("state")}}.Encode()
	http.Redirect(w, r, back, http.StatusFound)
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	code := r.FormValue("code")
	i.mutex.Lock()
	nonce, found := i.nonces[code]
	delete(i.nonces, code)
	i.mutex.Unlock()
	if !found {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	now := time.Now()
	text, err := i.signed(map[string]any{"iss": i.server.URL, "aud": proxyClient, "sub": "1", "email": proxyPerson,
		"email_verified": true, "nonce": nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answerJSON(w, map[string]any{"access_token": "unused", "token_type": "Bearer", "expires_in": 3600, "id_token": text})
}

// signed is a JSON Web Token with RS256 (RFC 7515, 7518).
func (i *issuer) signed(claims map[string]any) (string, error) {
	encode := base64.RawURLEncoding.EncodeToString
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := encode([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + encode(body)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, digest[:])
	return text + "." + encode(signature), err
}

// certificate is the issuer's own, which also signs it, in PEM.
func (i *issuer) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw})
}

// trustedByServer has the API server accept the issuer's tokens while run runs.
func (i *issuer) trustedByServer(env *harness.Env, run func() error) error {
	configuration := map[string]any{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
		"jwt": []any{map[string]any{
			"issuer": map[string]any{"url": i.server.URL, "audiences": []string{proxyClient},
				"certificateAuthority": string(i.certificate())},
			"claimMappings": map[string]any{"username": map[string]any{"claim": "email", "prefix": "oidc:"}}}}}
	text, err := json.Marshal(configuration)
	if err != nil {
		return err
	}
	if err := env.SetAuthentication(text); err != nil {
		return err
	}
	return errors.Join(run(), env.SetAuthentication(nil))
}

// freePort is one that no server listens on now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// startProxy starts oauth2-proxy in front of the console, and returns its address and a function that ends it.
func startProxy(env *harness.Env, i *issuer, upstream, option string) (string, func(), error) {
	nothing := func() {}
	port, err := freePort()
	if err != nil {
		return "", nothing, err
	}
	folder, err := os.MkdirTemp("", "divvy-proxy")
	if err != nil {
		return "", nothing, err
	}
	clean := func() { _ = os.RemoveAll(folder) }
	file := filepath.Join(folder, "issuer.crt")
	if err := os.WriteFile(file, i.certificate(), 0o644); err != nil {
		return "", clean, err
	}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret)
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	ctx, cancel := context.WithCancel(env.Ctx)
	command := exec.CommandContext(ctx, env.OAuth2Proxy, "--provider=oidc", "--oidc-issuer-url="+i.server.URL,
		"--provider-ca-file="+file, "--client-id="+proxyClient, "--client-secret=unused",
		"--redirect-url="+base+"/oauth2/callback", "--cookie-secret="+hex.EncodeToString(secret), "--cookie-secure=false",
		"--email-domain=*", "--skip-provider-button", option, "--upstream="+upstream,
		fmt.Sprintf("--http-address=127.0.0.1:%d", port))
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = harness.StopBound
	said := &keptText{}
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		cancel()
		return "", clean, err
	}
	end := func() {
		cancel()
		_ = command.Wait()
		clean()
	}
	return base, end, env.WaitFor("oauth2-proxy serves", func() error {
		reply, err := http.Get(base + "/ping")
		if err != nil {
			return fmt.Errorf("%w: %s", err, said.String())
		}
		return reply.Body.Close()
	})
}

// A browser keeps cookies, and accepts the issuer's certificate.
func newBrowser(i *issuer) (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	return &http.Client{Jar: jar, Transport: i.server.Client().Transport}, err
}

func fetched(client *http.Client, request *http.Request) (int, string, error) {
	reply, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), err
}

func behindOAuth2Proxy(env *harness.Env) error {
	if env.OAuth2Proxy == "" {
		return harness.Skip{Cause: errors.New("oauth2-proxy is not built")}
	}
	i, err := newIssuer()
	if err != nil {
		return err
	}
	defer i.server.Close()
	if err := grantPods(env); err != nil {
		return err
	}
	if _, err := env.Create(harness.Pod("of-ada", harness.Container("c", harness.OneShare("1024", "10")))); err != nil {
		return err
	}
	if _, err := env.WaitBound("of-ada"); err != nil {
		return err
	}
	err = i.trustedByServer(env, func() error {
		return proxied{wayIn: "api-token", user: "oidc:" + proxyPerson, pod: "by-token",
			console: []string{"--trusted-proxies", "127.0.0.1"}, proxy: "--pass-authorization-header"}.check(env, i)
	})
	if err != nil {
		return err
	}
	// The API server does not know the issuer here.
	return proxied{wayIn: "proxy-headers", user: proxyPerson, pod: "by-name",
		console: []string{"--login", "headers", "--trust-headers-from", "127.0.0.1"},
		proxy:   "--prefer-email-to-user"}.check(env, i)
}

// A proxied console has a way in, through a proxy, for the person as this user.
type proxied struct {
	wayIn, user string
	console     []string // options
	proxy       string   // an option
	pod         string   // name of one that is created while a stream is open
}

func (p proxied) check(env *harness.Env, i *issuer) error {
	console, end, err := openViewerConsole(env, p.console...)
	defer end()
	if err != nil {
		return err
	}
	base, ended, err := startProxy(env, i, console.base, p.proxy)
	defer ended()
	if err != nil {
		return err
	}
	return p.throughProxy(env, i, console, base)
}

// grantPods lets the person list the pods of this namespace.
func grantPods(env *harness.Env) error {
	rights := env.Client.RbacV1()
	_, err := rights.Roles(env.Namespace).Create(env.Ctx, &rbac.Role{ObjectMeta: meta.ObjectMeta{Name: "ada"},
		Rules: []rbac.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}}},
		meta.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = rights.RoleBindings(env.Namespace).Create(env.Ctx, &rbac.RoleBinding{ObjectMeta: meta.ObjectMeta{Name: "ada"},
		RoleRef: rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "ada"},
		Subjects: []rbac.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "oidc:" + proxyPerson},
			{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: proxyPerson}}},
		meta.CreateOptions{})
	return err
}

func (p proxied) throughProxy(env *harness.Env, i *issuer, console *viewerConsole, base string) error {
	browser, err := newBrowser(i)
	if err != nil {
		return err
	}
	get := func(path string) (int, string, error) {
		request, err := http.NewRequestWithContext(env.Ctx, http.MethodGet, base+path, nil)
		if err != nil {
			return 0, "", err
		}
		// The proxy replaces them.
		request.Header.Set("X-Forwarded-User", "another")
		request.Header.Set("X-Forwarded-Groups", "system:masters")
		return fetched(browser, request)
	}
	// From the proxy to the issuer and back to the page.
	status, text, err := get("/")
	if err != nil || status != http.StatusOK || !strings.Contains(text, "<title>") {
		return fmt.Errorf("the page is %d %.200q: %w; the console says %s", status, text, err, console.said.String())
	}
	err = env.WaitFor("the person is known to the API server", func() error {
		status, text, err := get("/api/v1/session")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("the session is %d %s: %w", status, text, err)
		}
		var session struct {
			User  string
			WayIn string `json:"way_in"`
			Scope struct {
				Nodes bool
				Pods  []string
			}
		}
		if err := json.Unmarshal([]byte(text), &session); err != nil {
			return err
		}
		if session.User != p.user || session.WayIn != p.wayIn || session.Scope.Nodes ||
			len(session.Scope.Pods) != 1 || session.Scope.Pods[0] != env.Namespace {
			return fmt.Errorf("the session is %s", text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := seesOwnPods(env, get); err != nil {
		return err
	}
	if err := streamsThroughProxy(env, browser, base, p.pod); err != nil {
		return err
	}
	return refusesOtherSites(env, browser, base)
}

func seesOwnPods(env *harness.Env, get func(string) (int, string, error)) error {
	return env.WaitFor("the share is shown", func() error {
		status, text, err := get("/api/v1/shares")
		own := strings.Count(text, `"namespace":"`+env.Namespace+`"`)
		if err != nil || status != http.StatusOK || strings.Count(text, `"namespace":`) != own ||
			!strings.Contains(text, env.Namespace+"/of-ada/c") {
			return fmt.Errorf("the shares are %d %s: %w", status, text, err)
		}
		return nil
	})
}

// streamsThroughProxy expects the new pod on an open stream: the proxy must not keep it back.
func streamsThroughProxy(env *harness.Env, browser *http.Client, base, pod string) error {
	ctx, cancel := context.WithTimeout(env.Ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/stream?topics=shares", nil)
	if err != nil {
		return err
	}
	reply, err := browser.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream is %d", reply.StatusCode)
	}
	if _, err := env.Create(harness.Pod(pod, harness.Container("c", harness.OneShare("1024", "10")))); err != nil {
		return err
	}
	lines := bufio.NewScanner(reply.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), env.Namespace+"/"+pod+"/c") {
			return nil
		}
	}
	return fmt.Errorf("the stream ended without the new pod: %w", lines.Err())
}

// refusesOtherSites sends what a page of another site could: the proxy adds the person's token to it.
func refusesOtherSites(env *harness.Env, browser *http.Client, base string) error {
	body := `{"manifest": "{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}"}`
	for _, one := range []struct {
		field, value string
	}{{"Origin", "https://example.org"}, {"Sec-Fetch-Site", "cross-site"}} {
		request, err := http.NewRequestWithContext(env.Ctx, http.MethodPost, base+"/api/v1/plan", strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set(one.field, one.value)
		status, text, err := fetched(browser, request)
		if err != nil || status != http.StatusForbidden {
			return fmt.Errorf("a request with %s: %s is answered with %d %s: %w", one.field, one.value, status, text, err)
		}
	}
	return nil
}
