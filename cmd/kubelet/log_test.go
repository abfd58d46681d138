package main

import (
	"encoding/json"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"nodal/agent/config"
)

func logged(t *testing.T, p config.Process, level int32, write func(*slog.Logger)) (stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	v := &verbosity{}
	v.Set(level)
	write(newLog(p, &v.of, &out, &err))
	return out.String(), err.String()
}

func TestMoreIsLoggedOfCertainFiles(t *testing.T) {
	some := func(log *slog.Logger) {
		log.Debug("detail")
		log.With("pod", "web").WithGroup("step").Debug("step by step")
		log.Info("news")
	}
	_, file, _, _ := runtime.Caller(0)
	for _, c := range []struct {
		name  string
		level int32
		files []config.FileLevel
		want  int // lines
	}{
		{"all alike", 0, nil, 1},
		{"more of all", 4, nil, 3},
		{"more of this file", 0, []config.FileLevel{{Pattern: "log_test", Level: 4}}, 3},
		{"more of files like this", 0, []config.FileLevel{{Pattern: "other", Level: 9}, {Pattern: "*_test", Level: 5}}, 3},
		{"more of this directory", 0, []config.FileLevel{{Pattern: strings.TrimSuffix(file, "_test.go") + "*", Level: 4}}, 3},
		{"more of another file", 0, []config.FileLevel{{Pattern: "main", Level: 9}}, 1},
		{"not enough", 0, []config.FileLevel{{Pattern: "log_test", Level: 3}}, 1},
		{"the first pattern decides", 0, []config.FileLevel{{Pattern: "log_test", Level: 0}, {Pattern: "*", Level: 4}}, 1},
	} {
		if _, got := logged(t, config.Process{Files: c.files}, c.level, some); strings.Count(got, "\n") != c.want {
			t.Errorf("%s: got %q, want %d lines", c.name, got, c.want)
		}
	}
}

func TestClientLibrariesLogMoreOfCertainFiles(t *testing.T) {
	t.Cleanup(func() {
		klog.ClearLogger()
		followKlog(slog.New(slog.DiscardHandler), nil)
	})
	for pattern, want := range map[string]bool{"log_test": true, "reflector": false} {
		files := []config.FileLevel{{Pattern: pattern, Level: 6}}
		_, got := logged(t, config.Process{Files: files}, 0, func(log *slog.Logger) {
			followKlog(log, files)
			klog.V(6).InfoS("listed", "count", 3)
		})
		if strings.Contains(got, "listed") != want {
			t.Errorf("%s=6: got %q, want the line: %t", pattern, got, want)
		}
	}
}

func TestALogIsSplitByTheWeightOfItsLines(t *testing.T) {
	write := func(log *slog.Logger) {
		log = log.With("a", 1)
		log.Info("news")
		log.Warn("careful")
		log.Error("bad")
	}
	for _, format := range []string{"text", "json"} {
		stdout, stderr := logged(t, config.Process{LogFormat: format, LogSplit: true}, 0, write)
		if strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "news") || strings.Count(stderr, "\n") != 2 {
			t.Errorf("%s, split: stdout has %q and stderr %q, want one line and two", format, stdout, stderr)
		}
		stdout, stderr = logged(t, config.Process{LogFormat: format}, 0, write)
		if stdout != "" || strings.Count(stderr, "\n") != 3 {
			t.Errorf("%s: stdout has %q and stderr %q, want all in stderr", format, stdout, stderr)
		}
	}
}

func TestALogInJSONHasAnObjectALine(t *testing.T) {
	_, got := logged(t, config.Process{LogFormat: "json"}, 0, func(log *slog.Logger) { log.Info("news", "pod", "a \"b\"") })
	var line struct{ Level, Msg, Pod string }
	if err := json.Unmarshal([]byte(got), &line); err != nil || line.Msg != "news" || line.Pod != `a "b"` || line.Level != "INFO" {
		t.Errorf("got %q (%v), want an object with the line", got, err)
	}
}
