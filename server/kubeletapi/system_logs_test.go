package kubeletapi

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"nodal/node"
)

// services remembers the query and writes a line for each service.
type services struct {
	query *node.ServiceLogQuery
	err   error // of the writer
	more  int   // bytes
}

func (s *services) Copy(_ context.Context, q node.ServiceLogQuery, w io.Writer) error {
	s.query = &q
	for _, name := range q.Services {
		if _, err := io.WriteString(w, "of "+name+"\n"); err != nil {
			return err
		}
	}
	for part := strings.Repeat("x", 1<<20); s.more > 0 && s.err == nil; s.more -= len(part) {
		_, s.err = io.WriteString(w, part)
	}
	return s.err
}

func machineFiles() fstest.MapFS {
	return fstest.MapFS{
		"sys.log":      {Data: []byte("of sys\n")},
		"app/page.htm": {Data: []byte("<script>alert(1)</script>")},
	}
}

func TestFilesOfTheMachineAreServedAsByAFileServer(t *testing.T) {
	h := serve(needs(func(cfg *Config) { cfg.System = SystemLogs{Files: machineFiles()} }))
	cases := []struct {
		path string
		code int
		want string
	}{
		{"/logs/", 200, `<a href="app/">app/</a>`},
		{"/logs/app/", 200, `<a href="page.htm">page.htm</a>`},
		{"/logs/sys.log", 200, "of sys\n"},
		{"/logs/sys.log?query=kubelet", 200, "of sys\n"}, // without enableSystemLogQuery a query has no effect
		{"/logs/none.log", 404, "404 page not found"},
		{"/logs/app", 301, ""},
		{"/logs", 307, ""},
		{"/logs/../etc/passwd", 404, ""},
		{"/logs/%2e%2e/etc/passwd", 404, ""},
	}
	for _, c := range cases {
		r := httptest.NewRequestWithContext(t.Context(), "GET", c.path, nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: got %d %q, want %d %q", c.path, w.Code, w.Body.String(), c.code, c.want)
		}
		if strings.HasPrefix(c.path, "/logs/") && !strings.Contains(w.Header().Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: a page could run with the session of the dashboard", c.path)
		}
	}
}

func TestAPartOfAFileIsServed(t *testing.T) {
	h := serve(needs(func(cfg *Config) { cfg.System = SystemLogs{Files: machineFiles()} }))
	if code, body := ask(t, h, "GET", "/logs/sys.log", "", "Range", "bytes=-4"); code != http.StatusPartialContent || body != "sys\n" {
		t.Errorf("got %d %q, want the last four bytes", code, body)
	}
}

func TestLogsOfTheMachineMayBeOff(t *testing.T) {
	h := serve(needs(func(cfg *Config) { cfg.System = SystemLogs{Files: machineFiles(), Off: true, Query: true} }))
	for _, path := range []string{"/logs/", "/logs/sys.log", "/logs/?query=kubelet"} {
		if code, body := ask(t, h, "GET", path, ""); code != 405 || body != "logs endpoint is disabled.\n" {
			t.Errorf("%s: got %d %q, want 405 in upstream's words", path, code, body)
		}
	}
}

func TestQueriesAreJudgedAsUpstreamJudgesThem(t *testing.T) {
	since, until := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 5, 1, 13, 0, 0, 0, time.UTC)
	seven, before := 7, -1
	of := func(names ...string) node.ServiceLogQuery { return node.ServiceLogQuery{Services: names} }
	part := of("kubelet")
	part.Since, part.Until, part.Tail, part.Boot, part.Pattern = since, until, &seven, &before, "a|b"
	cases := map[string]struct {
		query string
		code  int
		body  string
		want  *node.ServiceLogQuery
	}{
		"a service":         {"query=kubelet", 200, "of kubelet\n", new(of("kubelet"))},
		"two services":      {"query=kubelet&query=sshd", 200, "of kubelet\nof sshd\n", new(of("kubelet", "sshd"))},
		"a blank beside":    {"query=kubelet&query=+", 200, "of kubelet\n", new(of("kubelet"))},
		"a part":            {"query=kubelet&sinceTime=2026-05-01T12:00:00Z&untilTime=2026-05-01T13:00:00Z&tailLines=7&boot=-1&pattern=a%7Cb", 200, "of kubelet\n", &part},
		"a file":            {"query=/sys.log", 200, "of sys\n", nil},
		"a file of Windows": {`query=%5Csys.log`, 200, "of sys\n", nil},
		"a file deeper":     {"query=app/page.htm", 200, "<script>", nil},
		"a directory":       {"query=app/", 301, "", nil},
		"nothing":           {"", 200, `<a href="sys.log">`, nil},
		"what is unknown":   {"what=ever", 200, `<a href="sys.log">`, nil},

		"an empty query":     {"query=", 400, `query: Invalid value: [""]: may not be empty`, nil},
		"a blank":            {"query=++", 400, "may not be empty", nil},
		"a time in words":    {"query=a&sinceTime=yesterday", 400, `sinceTime: Invalid value: "yesterday": invalid time format`, nil},
		"an end in words":    {"query=a&untilTime=now", 400, `untilTime: Invalid value: "now": invalid time format`, nil},
		"lines in words":     {"query=a&tailLines=x", 400, `tailLines: Invalid value: "x": strconv.Atoi`, nil},
		"a boot in words":    {"query=a&boot=last", 400, `boot: Invalid value: "last": strconv.Atoi`, nil},
		"options alone":      {"tailLines=1", 406, "query: Required value: cannot be empty with options", nil},
		"a file and service": {"query=/sys.log&query=a", 406, "cannot specify a file and service", nil},
		"two files":          {"query=/sys.log&query=/b", 406, "cannot specify more than one file", nil},
		"a part of a file":   {"query=/sys.log&tailLines=1", 406, "cannot specify file with options", nil},
		"a missing file":     {"query=/none", 406, "query: Invalid value: [\"/none\"]: ", nil},
		"a file outside":     {"query=../../etc/passwd", 406, "query: Invalid value: ", nil},
		"five services":      {"query=a&query=b&query=c&query=d&query=e", 406, "query: Too many: 5: must have at most 4 items", nil},
		"a shell":            {"query=a;reboot", 200, `<a href="sys.log">`, nil}, // net/url takes no semicolon
		"a shell, escaped":   {"query=a%3Breboot", 406, "input contains unsupported characters", nil},
		"an option's value":  {"query=a%20--file%3Dx", 406, "input contains unsupported characters", nil},
		"a long name":        {"query=" + strings.Repeat("a", 257), 406, "length must be less than 256", nil},
		"times in reverse":   {"query=a&sinceTime=2026-05-01T13:00:00Z&untilTime=2026-05-01T12:00:00Z", 406, "must be after `sinceTime`", nil},
		"a boot to come":     {"query=a&boot=1", 406, "boot: Invalid value: 1: must be less than 1", nil},
		"too many lines":     {"query=a&tailLines=100001", 406, "tailLines: Invalid value: 100001: must be between 0 and 100000", nil},
		"fewer than none":    {"query=a&tailLines=-1", 406, "tailLines: Invalid value: -1", nil},
		"a broken pattern":   {"query=a&pattern=(", 406, "pattern: Invalid value: \"(\": error parsing regexp", nil},
		"a pattern with NUL": {"query=a&pattern=%00", 406, "input contains unsupported characters", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var asked services
			h := serve(needs(func(cfg *Config) { cfg.System = SystemLogs{Files: machineFiles(), Services: &asked, Query: true} }))
			code, body := ask(t, h, "GET", "/logs/?"+c.query, "")
			if code != c.code || !strings.Contains(body, c.body) {
				t.Errorf("got %d %q, want %d %q", code, body, c.code, c.body)
			}
			if !reflect.DeepEqual(asked.query, c.want) {
				t.Errorf("got %+v, want %+v", asked.query, c.want)
			}
		})
	}
	h := serve(needs(func(cfg *Config) { cfg.System = SystemLogs{Files: machineFiles(), Query: true} }))
	if code, body := ask(t, h, "GET", "/logs/sys.log?query=kubelet", ""); code != 406 || body != "path not allowed in query mode\n" {
		t.Errorf("a query below a path: got %d %q, want 406 in upstream's words", code, body)
	}
}

func TestAnswersToQueriesArePackedAndBounded(t *testing.T) {
	asked := services{more: QueryBytes + 1<<20}
	h := serve(needs(func(cfg *Config) { cfg.System = SystemLogs{Services: &asked, Query: true} }))
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/logs/?query=kubelet", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	packed, err := gzip.NewReader(w.Body)
	if err != nil || w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("the answer is not packed: %v", err)
	}
	end := strings.Builder{}
	n, err := io.Copy(&lastOf{&end}, packed)
	if err != nil || n != int64(QueryBytes+len(CutNote)) || !strings.HasSuffix(end.String(), "x"+CutNote) {
		t.Errorf("got %d bytes that end with %q (%v), want %d and a note", n, end.String(), err, QueryBytes)
	}
	if asked.err == nil {
		t.Error("the service is read on after the bound")
	}
}

// lastOf keeps the last bytes of what is written.
type lastOf struct{ *strings.Builder }

func (l *lastOf) Write(p []byte) (int, error) {
	all := l.String() + string(p)
	l.Reset()
	l.WriteString(all[max(0, len(all)-200):])
	return len(p), nil
}

// FuzzQueriesReachNoProgramUnchecked checks what a query may hold at most once it was accepted.
func FuzzQueriesReachNoProgramUnchecked(f *testing.F) {
	for _, seed := range []string{
		"query=kubelet", "query=a&query=b&tailLines=5", "query=%2fetc%2fpasswd", "query=a%00b", "query=a&pattern=%28", "boot=0", "query=a&boot=-99999999999999999999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		values, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		q, errs := parseServiceQuery(values)
		if q == nil || len(errs) > 0 || len(q.check(machineFiles())) > 0 {
			return
		}
		if len(q.Services) > 4 || len(q.files) > 1 || len(q.Services) > 0 == (len(q.files) > 0) {
			t.Errorf("%q: accepted for %d services and %d files", raw, len(q.Services), len(q.files))
		}
		for _, name := range q.Services {
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@") != "" || len(name) > 256 {
				t.Errorf("%q: accepted the service %q", raw, name)
			}
		}
		if q.Tail != nil && (*q.Tail < 0 || *q.Tail > 100000) || q.Boot != nil && *q.Boot > 0 || strings.ContainsRune(q.Pattern, 0) {
			t.Errorf("%q: accepted %+v", raw, q.ServiceLogQuery)
		}
	})
}
