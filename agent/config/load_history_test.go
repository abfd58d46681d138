package config

import (
	"strings"
	"testing"
)

func TestUsageHistoryHasASizeOrNone(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int64
	}{
		{nil, 8 << 20}, {[]string{"--usage-history-size=0"}, 0}, {[]string{"--usage-history-size=2Gi"}, 2 << 30}, {[]string{"--usage-history-size=1048576"}, 1 << 20},
	} {
		if got := load(t, c.args...).UsageHistory; got != c.want {
			t.Errorf("%q: got %d, want %d", c.args, got, c.want)
		}
	}
	for _, text := range []string{"", "much", "1Ki", "-8Mi", "2Ti"} {
		if _, err := Load([]string{"--usage-history-size=" + text}); err == nil || !strings.Contains(err.Error(), "--usage-history-size") {
			t.Errorf("%q: got %v, want an error that names the flag", text, err)
		}
	}
}
