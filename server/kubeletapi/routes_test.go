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

func TestPathsOfUpstreamsRouterEndWithASlashToo(t *testing.T) {
	has := map[string]bool{}
	for _, r := range Routes(Config{}) {
		has[r.Method+" "+r.Pattern] = true
	}
	for _, with := range []string{
		"GET /pods/", "GET /runningpods/", "GET /stats/summary/", "GET /containerLogs/{namespace}/{pod}/{container}/", "POST " + runPath + "/",
		"GET " + execPath + "/", "POST " + execPathUID + "/", "GET " + attachPath + "/", "POST " + forwardPathUID + "/",
	} {
		if !has[with] {
			t.Errorf("there is no %s", with)
		}
	}
	for _, without := range []string{"GET /metrics/", "GET /metrics/cadvisor/", "* /healthz/", "GET /configz/"} {
		if has[without] {
			t.Errorf("there is %s, which upstream does not have", without)
		}
	}
}
