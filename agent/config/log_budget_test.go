package config

import (
	"math"
	"strings"
	"testing"
)

func TestTheBudgetOfLogsIsTheLessOfAShareAndANumberOfBytes(t *testing.T) {
	const disk = 100 << 30
	for _, c := range []struct {
		flag string
		want int64
	}{
		{"", 4 << 30}, // the default
		{"10%", 10 << 30},
		{"2Gi", 2 << 30},
		{"1%,2Gi", 1 << 30},
		{"2Gi, 1%", 1 << 30},
		{"100%", disk},
		{"9999Gi", disk},
		{"0", 0},
		{"0%", 0},
		{"0,10%", 0},
	} {
		var args []string
		if c.flag != "" {
			args = []string{"--container-log-budget=" + c.flag}
		}
		got := load(t, args...).Pods.Logs.Budget
		if bytes := got.Of(disk); bytes/disk > 1 || math.Abs(float64(bytes-c.want)) > 100 || got.None() != (c.want == 0) {
			t.Errorf("%q: got %+v, %d bytes of the disk, want %d", c.flag, got, bytes, c.want)
		}
	}
	for _, bad := range []string{"much", "-1", "101%", "-1%", "%", "1Gi,much", ","} {
		_, err := Load([]string{"--container-log-budget=" + bad})
		if err == nil || !strings.Contains(err.Error(), "--container-log-budget") {
			t.Errorf("%q: got %v, want the flag named", bad, err)
		}
	}
}
