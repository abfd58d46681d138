package server

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// loudness is a verbosity without a logger.
type loudness struct{ atomic.Int32 }

var _ Verbosity = (*loudness)(nil)

func (l *loudness) Level() int32    { return l.Load() }
func (l *loudness) Set(level int32) { l.Store(level) }

func TestAnAdminLooksIntoTheProcess(t *testing.T) {
	var level loudness
	n := newNode(t, func(c *Config) {
		c.Auth = newAuth(t, false)
		c.Facts.Started = testNow.Add(-time.Hour - 2*time.Minute - 3*time.Second)
		c.Debug = Debug{Flags: map[string]string{"v": "2", "port": "10250"}, Verbosity: &level}
	})
	for _, c := range []struct {
		name, role, method, path, body, accept string
		code                                   int
		holds                                  string
	}{
		{"flags as text", "viewer", "GET", "/flagz", "", "", 200, "\nkubelet flagz\nWarning: This endpoint is not meant"},
		{"each on a line, by name", "viewer", "GET", "/flagz", "", "*/*", 200, "\nport=10250\nv=2\n"},
		{"flags for programs", "viewer", "GET", "/flagz", "", "application/json;v=v1alpha1;g=config.k8s.io;as=Flagz", 200,
			`{"kind":"Flagz","apiVersion":"config.k8s.io/v1alpha1","metadata":{"name":"kubelet"},"flags":{"port":"10250","v":"2"}}`},
		{"what is no form of them", "viewer", "GET", "/flagz", "", "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz", 406, "as=Flagz"},
		{"its state as text", "viewer", "GET", "/statusz", "", "text/html, text/plain;q=0.5", 200, "\nUp: 1 hr 02 min 03 sec\nGo version: go1."},
		{"and what it serves", "viewer", "GET", "/statusz", "", "", 200, "Paths: /attach /configz /containerLogs /debug/flags/v /debug/pprof /exec "},
		{"its state for programs", "viewer", "GET", "/statusz", "", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz", 200, `"uptimeSeconds":3723,`},
		{"profiles", "admin", "GET", "/debug/pprof/", "", "", 200, "goroutine"},
		{"one of them", "admin", "GET", "/debug/pprof/goroutine?debug=1", "", "", 200, "goroutine profile: total"},
		{"the command line", "admin", "GET", "/debug/pprof/cmdline", "", "", 200, "test"},
		{"none for others", "operator", "GET", "/debug/pprof/goroutine", "", "", 403, "Forbidden"},
		{"a level of the log", "admin", "PUT", "/debug/flags/v", "5", "", 200, "successfully set klog.logging.verbosity to 5"},
		{"what is no level", "admin", "PUT", "/debug/flags/v", "loud", "", 400, `failed set klog.logging.verbosity loud: strconv.ParseUint: parsing "loud": invalid syntax`},
		{"none from others", "operator", "PUT", "/debug/flags/v", "9", "", 403, "Forbidden"},
		{"a level that is asked for", "admin", "GET", "/debug/flags/v", "", "", 405, ""},
		{"the level by the node's own API", "admin", "GET", "/v1/node/loglevel", "", "", 200, `{"verbosity":5}`},
		{"another", "admin", "PUT", "/v1/node/loglevel", `{"verbosity": 0}`, "", 200, `{"previous":5}`},
		{"which is then the one", "admin", "GET", "/v1/node/loglevel", "", "", 200, `{"verbosity":0}`},
		{"one that there is not", "admin", "PUT", "/v1/node/loglevel", `{"verbosity": -1}`, "", 400, "must be at least 0"},
		{"none at all", "admin", "PUT", "/v1/node/loglevel", "{}", "", 400, "verbosity is required"},
		{"what is no number", "admin", "PUT", "/v1/node/loglevel", `{"verbosity": "loud"}`, "", 400, "invalid value for int32 field verbosity"},
		{"a word that it does not have", "admin", "PUT", "/v1/node/loglevel", `{"level": 4}`, "", 400, "level"},
		{"nor the level for others", "operator", "GET", "/v1/node/loglevel", "", "", 403, `"operator\" may not admin`},
		{"nor another from them", "operator", "PUT", "/v1/node/loglevel", `{"verbosity": 4}`, "", 403, `"operator\" may not admin`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, c.method, c.path, c.body, "Authorization", tokenOf(t, c.role), "Accept", c.accept)
			if got.status != c.code || !strings.Contains(got.body, c.holds) {
				t.Errorf("got %d %q, want %d with %q", got.status, got.body, c.code, c.holds)
			}
		})
	}
	if got := level.Level(); got != 0 {
		t.Errorf("the level is %d, want 0", got)
	}
}

func TestTheOwnerTurnsDebuggingOff(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Debug = Debug{NoProfiles: true, NoFlags: true, Verbosity: &loudness{}} })
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/debug/pprof/heap", "profiling endpoint is disabled.\n"},
		{"PUT", "/debug/flags/v", "flags endpoint is disabled.\n"},
	} {
		if got := n.do(t, c.method, c.path, "5"); got.status != http.StatusMethodNotAllowed || got.body != c.want {
			t.Errorf("%s: got %d %q, want 405 %q", c.path, got.status, got.body, c.want)
		}
	}
	if got := n.do(t, "PUT", "/v1/node/loglevel", `{"verbosity":4}`); got.status != http.StatusForbidden || !strings.Contains(got.body, "enableDebugFlagsHandler is off") {
		t.Errorf("a level of the log: got %d %s, want 403 with the setting", got.status, got.body)
	}
}
