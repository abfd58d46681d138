package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"nodal/agent/config"
)

func TestTheAgentsProcessGetsItsScore(t *testing.T) {
	score := filepath.Join(t.TempDir(), "oom_score_adj")
	if err := os.WriteFile(score, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load([]string{"--max-open-files=100"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Process.OpenFiles = 1 << 10
	adjust(cfg, score, slog.New(slog.DiscardHandler))
	if got, err := os.ReadFile(score); err != nil || string(got) != "-999" {
		t.Errorf("the score is %q, %v, want -999", got, err)
	}
}

// What the machine does not allow is said of a setting that was given, and nothing is said of a default.
func TestAScoreThatTheMachineDoesNotAllowIsNamed(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none", "oom_score_adj")
	for _, c := range []struct {
		args []string
		want int
	}{{nil, 0}, {[]string{"--oom-score-adj=-450"}, 1}} {
		cfg, err := config.Load(c.args)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Process.OpenFiles = 1 << 10
		got := adjust(cfg, none, slog.New(slog.DiscardHandler))
		if len(got) != c.want || c.want == 1 && (got[0].Setting != "oomScoreAdj" || !strings.Contains(got[0].Remedy, "CAP_SYS_RESOURCE")) {
			t.Errorf("%v: got %+v, want %d warnings of the score", c.args, got, c.want)
		}
	}
}

func TestWaitsForLocksAreRecordedOnRequest(t *testing.T) {
	cfg, err := config.Load([]string{"--contention-profiling"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Process.OpenFiles = 1 << 10
	defer goruntime.SetBlockProfileRate(0)
	adjust(cfg, filepath.Join(t.TempDir(), "oom_score_adj"), slog.New(slog.DiscardHandler))
	handed := make(chan struct{})
	go func() { <-time.After(time.Millisecond); close(handed) }()
	<-handed
	if pprof.Lookup("block").Count() == 0 {
		t.Error("no wait was recorded")
	}
}
