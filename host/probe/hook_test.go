package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

func (w *ward) hook(kind node.HookKind, spec corev1.LifecycleHandler) node.RunHook {
	h := node.RunHook{Kind: kind, UID: "u1", Container: "app", ID: "c1", Spec: &spec, Address: "10.0.0.1"}
	if kind == node.PreStop {
		h.Until = time.Now().Add(10 * s)
	}
	return h
}

func does(command ...string) corev1.LifecycleHandler {
	return corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
}

func sleeps(seconds int64) corev1.LifecycleHandler {
	return corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}
}

// outcome is an error in a word: its reason, or that nothing is known.
func outcome(err error) string {
	var failure *node.Failure
	switch {
	case err == nil:
		return "well"
	case errors.As(err, &failure):
		return failure.Reason + ": " + err.Error()
	case errors.Is(err, context.Canceled):
		return "given up"
	}
	return "not known"
}

func TestHooksThatRunACommandOrSleep(t *testing.T) {
	failed := func(err error) func(int) (int32, error) { return func(int) (int32, error) { return 0, err } }
	for _, c := range []struct {
		name  string
		kind  node.HookKind
		spec  corev1.LifecycleHandler
		ask   func(int) (int32, error)
		takes time.Duration
		want  string
		after time.Duration
	}{
		{"a command that succeeds", node.PostStart, does("x"), answers(0), s, "well", s},
		{"one may take as long as it likes", node.PostStart, does("x"), answers(0), time.Hour, "well", time.Hour},
		{"one that fails, with nothing of what it says", node.PostStart, does("x"), answers(3), 0,
			"FailedPostStartHook: run the postStart hook of container app: the command ended with exit code 3", 0},
		{"one that cannot be run", node.PreStop, does("x"), failed(errors.New("no such file")), 0,
			"FailedPreStopHook: run the preStop hook of container app: no such file", 0},
		{"a runtime that is away", node.PreStop, does("x"), failed(fmt.Errorf("exec: %w", node.ErrUnavailable)), 0, "not known", 0},
		{"a reply that is lost", node.PreStop, does("x"), failed(fmt.Errorf("exec: %w", node.ErrUnknown)), 0, "not known", 0},
		{"a container that is gone", node.PreStop, does("x"), failed(fmt.Errorf("exec: %w", node.ErrNotFound)), 0, "not known", 0},
		{"a command that hangs", node.PreStop, does("x"), answers(0), time.Hour,
			"FailedPreStopHook: run the preStop hook of container app: it did not end within the grace period", 10 * s},
		{"one that the runtime breaks off a moment before", node.PreStop, does("x"), failed(fmt.Errorf("exec: %w", node.ErrUnavailable)), 10*s - time.Millisecond,
			"FailedPreStopHook: run the preStop hook of container app: it did not end within the grace period", 10*s - time.Millisecond},
		{"a runtime that goes away well before", node.PreStop, does("x"), failed(fmt.Errorf("exec: %w", node.ErrUnavailable)), 9 * s, "not known", 9 * s},
		{"a sleep", node.PreStop, sleeps(4), nil, 0, "well", 4 * s},
		{"a sleep of no time", node.PostStart, sleeps(0), nil, 0, "well", 0},
		{"a sleep beyond the grace period", node.PreStop, sleeps(40), nil, 0,
			"FailedPreStopHook: run the preStop hook of container app: it did not end within the grace period", 10 * s},
		{"what Kubernetes has given up", node.PostStart, corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{}}, nil, 0,
			"FailedPostStartHook: run the postStart hook of container app: " + errNoHook.Error(), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w *ward) {
				w.ask, w.takes = c.ask, always(c.takes)
				if got := outcome(w.Run(w.t.Context(), key, w.hook(c.kind, c.spec))); got != c.want {
					t.Errorf("\ngot  %s\nwant %s", got, c.want)
				}
				if got := time.Since(w.began); got != c.after {
					t.Errorf("it took %s, want %s", got, c.after)
				}
			})
		})
	}
}

func TestAHookThatIsGivenUp(t *testing.T) {
	inBubble(t, func(w *ward) {
		ctx, cancel := context.WithCancel(w.t.Context())
		time.AfterFunc(s, cancel)
		w.takes = always(time.Hour)
		if got := outcome(w.Run(ctx, key, w.hook(node.PostStart, does("x")))); got != "given up" || w.ended != 1 {
			t.Errorf("got %s with %d commands cancelled, want it given up with its command", got, w.ended)
		}
	})
}

// asks is a hook that asks a server on this machine.
func asks(t *testing.T, server *httptest.Server, scheme corev1.URIScheme, change ...func(*corev1.HTTPGetAction)) node.RunHook {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	get := &corev1.HTTPGetAction{Path: "/hook", Port: intstr.FromString("web"), Scheme: scheme}
	for _, c := range change {
		c(get)
	}
	return node.RunHook{
		Kind: node.PreStop, UID: "u1", Container: "app", ID: "c1", Spec: &corev1.LifecycleHandler{HTTPGet: get},
		Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(port)}}, Address: "127.0.0.1", HostNetwork: true,
	}
}

func TestHooksThatAskOverHTTP(t *testing.T) {
	var asked []string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprintf("%s %s %s", r.URL.Path, r.UserAgent(), r.Header.Get("Authorization")))
		http.Error(w, "secret", http.StatusInternalServerError)
	})
	plain, secure := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	secure.TLS = &tls.Config{}
	secure.StartTLS()
	defer plain.Close()
	defer secure.Close()
	token := func(get *corev1.HTTPGetAction) {
		get.HTTPHeaders = []corev1.HTTPHeader{{Name: "Authorization", Value: "Bearer x"}}
	}
	noPort := func(get *corev1.HTTPGetAction) { get.Port = intstr.FromString("gone") }
	metadata := func(get *corev1.HTTPGetAction) { get.Host = "169.254.169.254" }
	nowhere := asks(t, plain, "HTTP")
	nowhere.Address = ""
	for _, c := range []struct {
		name     string
		hook     node.RunHook
		want     string // the outcome begins so
		asked    string
		fellBack bool
	}{
		{"any answer is a success", asks(t, plain, "HTTP"), "well", "/hook kube-lifecycle/1.37 ", false},
		{"over TLS nobody is trusted, and nobody distrusted", asks(t, secure, "HTTPS", token), "well", "/hook kube-lifecycle/1.37 Bearer x", false},
		{"who does not speak TLS is asked in plain text, without secrets", asks(t, plain, "HTTPS", token), "well", "/hook kube-lifecycle/1.37 ", true},
		{"a port that does not exist fails", asks(t, plain, "HTTP", noPort), "FailedPreStopHook: run the preStop hook of container app: find port", "", false},
		{"without an address nobody is asked", nowhere, "FailedPreStopHook: run the preStop hook of container app: " + errNoAddress.Error(), "", false},
		{"what probes may not ask hooks may not either", asks(t, plain, "HTTP", metadata), "FailedPreStopHook: ", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked = nil
			var events []node.Event
			p := New(Config{Tell: func(e node.Event) { events = append(events, e) }})
			defer p.Close()
			if got := outcome(p.Run(t.Context(), key, c.hook)); !strings.HasPrefix(got, c.want) {
				t.Errorf("\ngot  %s\nwant %s...", got, c.want)
			}
			if got := strings.Join(asked, ", "); got != c.asked {
				t.Errorf("asked was %q, want %q", got, c.asked)
			}
			if fellBack := len(events) == 1 && events[0].Reason == "LifecycleHTTPFallback" && events[0].Key == key; fellBack != c.fellBack || len(events) > 1 {
				t.Errorf("the events are %+v, want a fallback: %t", events, c.fellBack)
			}
		})
	}
}
