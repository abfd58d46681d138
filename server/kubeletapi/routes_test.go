package kubeletapi

import (
	"cmp"
	"slices"
	"testing"
)

func TestThePathsOfAKubeletAreSorted(t *testing.T) {
	bySort := func(a, b Route) int {
		return cmp.Or(cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Method, b.Method))
	}
	if !slices.IsSortedFunc(Routes(Config{}), bySort) {
		t.Error("the table in Routes is not sorted by pattern and method")
	}
}

func TestPathsThatEnterPodsAreDebuggingHandlers(t *testing.T) {
	for _, r := range Routes(Config{}) {
		if r.Right == "exec" && !IsDebugging(r.Pattern) {
			t.Errorf("%s enters pods and stays on while debugging handlers are off", r.Pattern)
		}
	}
	for _, pattern := range []string{"/pods", "/metrics", "/debug/flags/v", "/healthz"} {
		if IsDebugging(pattern) {
			t.Errorf("%s is off with the debugging handlers; upstream's is on", pattern)
		}
	}
}
