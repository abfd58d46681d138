package server

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// loudness is a verbosity without a logger.
type loudness struct{ atomic.Int32 }

var _ Verbosity = (*loudness)(nil)

func (l *loudness) Level() int32    { return l.Load() }
func (l *loudness) Set(level int32) { l.Store(level) }

func TestAnAdminSetsTheLevelOfTheLog(t *testing.T) {
	var level loudness
	n := newNode(t, func(c *Config) {
		c.Front.Auth = newAuth(t, false)
		c.Debug = Debug{Verbosity: &level}
	})
	for _, c := range []struct {
		name, role, method, path, body string
		code                           int
		holds                          string
	}{
		{"none for others", "operator", "GET", "/debug/pprof/goroutine", "", 403, "Forbidden"},
		{"a level of the log", "admin", "PUT", "/debug/flags/v", "5", 200, "successfully set klog.logging.verbosity to 5"},
		{"none from others", "operator", "PUT", "/debug/flags/v", "9", 403, "Forbidden"},
		{"a level that is asked for", "admin", "GET", "/debug/flags/v", "", 405, ""},
		{"the level by the node's own API", "admin", "GET", "/v1/node/loglevel", "", 200, `{"verbosity":5}`},
		{"another", "admin", "PUT", "/v1/node/loglevel", `{"verbosity": 0}`, 200, `{"previous":5}`},
		{"which is then the one", "admin", "GET", "/v1/node/loglevel", "", 200, `{"verbosity":0}`},
		{"one that there is not", "admin", "PUT", "/v1/node/loglevel", `{"verbosity": -1}`, 400, "must be at least 0"},
		{"none at all", "admin", "PUT", "/v1/node/loglevel", "{}", 400, "verbosity is required"},
		{"what is no number", "admin", "PUT", "/v1/node/loglevel", `{"verbosity": "loud"}`, 400, "invalid value for int32 field verbosity"},
		{"a word that it does not have", "admin", "PUT", "/v1/node/loglevel", `{"level": 4}`, 400, "level"},
		{"nor the level for others", "operator", "GET", "/v1/node/loglevel", "", 403, `"operator\" may not administer the node: that needs the role admin`},
		{"nor another from them", "operator", "PUT", "/v1/node/loglevel", `{"verbosity": 4}`, 403, `"operator\" may not administer the node: that needs the role admin`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, c.method, c.path, c.body, "Authorization", tokenOf(t, c.role))
			if got.status != c.code || !strings.Contains(got.body, c.holds) {
				t.Errorf("got %d %q, want %d with %q", got.status, got.body, c.code, c.holds)
			}
		})
	}
	if got := level.Level(); got != 0 {
		t.Errorf("the level is %d, want 0", got)
	}
}

func TestTheLevelOfTheLogIsFixedWithoutTheHandlerOfFlags(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Debug = Debug{NoFlags: true, Verbosity: &loudness{}} })
	if got := n.do(t, "PUT", "/v1/node/loglevel", `{"verbosity":4}`); got.status != http.StatusForbidden || !strings.Contains(got.body, "enableDebugFlagsHandler is off") {
		t.Errorf("got %d %s, want 403 with the setting", got.status, got.body)
	}
}
