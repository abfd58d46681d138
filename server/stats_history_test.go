package server

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/history"
)

// withPast is a node that has recorded itself, and two pods of the name web that are gone.
func withPast(t *testing.T) (*node1, *[]history.Question) {
	var asked []history.Question
	past := func(uid types.UID, key node.Key, limit uint64) history.Past {
		return history.Past{
			Series: history.Series{UID: uid, Key: key, MemoryLimit: limit, CPULimit: limit >> 10},
			Points: []history.Point{{At: 1000, Figures: history.Figures{CPU: history.UnknownCPU, Pages: 1, Tasks: 2}}, {At: 1015, Figures: history.Figures{CPU: 2500, Pages: 3, Tasks: 4}}},
		}
	}
	web := node.Key{Namespace: "default", Name: "web"}
	return newNode(t, func(cfg *Config) {
		cfg.Machine.Past = func(q history.Question) ([]history.Past, error) {
			asked = append(asked, q)
			switch q.Key {
			case web:
				return []history.Past{past("old", web, 0), past("late", web, 1<<20)}, errors.New("a file is damaged")
			case node.Key{}:
				return []history.Past{past("", q.Key, 0)}, nil
			}
			return nil, nil
		}
	}), &asked
}

func TestWhatWasUsedIsShown(t *testing.T) {
	n, _ := withPast(t)
	n.apply(t, manifestOf("db"))
	for _, c := range []struct {
		name, path   string
		code         int
		has, without string
	}{
		{"of the node", "/v1/node/history", 200, `{"points":[{"time":"1970-01-01T00:16:40Z","workingSetBytes":"4096","tasks":"2"},{"time":"1970-01-01T00:16:55Z","cores":0.25,"workingSetBytes":"12288","tasks":"4"}]}`, "missing"},
		{"one figure", "/v1/node/history?metrics=USAGE_METRIC_CPU", 200, `{"time":"1970-01-01T00:16:55Z","cores":0.25}`, "tasks"},
		{"of the latest pod of a name that is gone", "/v1/namespaces/default/pods/web/history", 200, `"memoryLimitBytes":"1048576","cpuLimitCores":1.024,"uids":["old","late"]`, "nothing"},
		{"with what is missing", "/v1/namespaces/default/pods/web/history", 200, `"missing":"a file is damaged"`, "nothing"},
		{"of the pod of a uid", "/v1/namespaces/default/pods/web/history?uid=old", 200, `{"uid":"old","points":[{`, "memoryLimitBytes"},
		{"of a uid that was never there", "/v1/namespaces/default/pods/web/history?uid=never", 404, `uid \"never\"`, "points"},
		{"of a pod that has not been recorded yet", "/v1/namespaces/default/pods/db/history", 200, `"uids":["`, "points"},
		{"of no pod", "/v1/namespaces/default/pods/none/history", 404, "default/none", "points"},
		{"in too small steps", "/v1/node/history?step=0.5s", 400, "the least is a second", "points"},
		{"until before since", "/v1/node/history?since=2024-01-02T00:00:00Z&until=2024-01-01T00:00:00Z", 400, "2024-01-02T00:00:00Z: it is later than until", "points"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.do(t, "GET", c.path, "")
			body := strings.ReplaceAll(got.body, ", ", ",")
			if got.status != c.code || !strings.Contains(body, c.has) || strings.Contains(body, c.without) {
				t.Errorf("got %d %s, want %d with %s and without %s", got.status, body, c.code, c.has, c.without)
			}
		})
	}
}

func TestAQuestionAboutThePastIsAskedAsItWasPut(t *testing.T) {
	n, asked := withPast(t)
	n.do(t, "GET", "/v1/namespaces/default/pods/web/history?since=1970-01-01T00:10:00Z&until=1970-01-01T00:20:00Z&step=60s", "")
	n.do(t, "GET", "/v1/node/history", "")
	want := []history.Question{
		{Key: node.Key{Namespace: "default", Name: "web"}, Since: 600, Until: 1200, Step: 60}, {Until: testNow.Unix()},
	}
	if len(*asked) != 2 || (*asked)[0] != want[0] || (*asked)[1] != want[1] {
		t.Errorf("got %+v, want %+v", *asked, want)
	}
}

func TestANodeThatRecordsNothingSaysSo(t *testing.T) {
	n := newNode(t)
	for _, path := range []string{"/v1/node/history", "/v1/namespaces/default/pods/web/history"} {
		if got := n.do(t, "GET", path, ""); got.status != 501 || !strings.Contains(got.body, "--usage-history-size") {
			t.Errorf("%s: got %d %s, want 501 and the remedy", path, got.status, got.body)
		}
	}
}
