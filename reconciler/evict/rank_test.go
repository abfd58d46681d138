package evict

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/health"
	"nodal/node/store"
)

// asking returns a candidate with a priority that requests an amount and uses another. Both are empty for none; a use
// of ? is not known.
func asking(name string, priority int32, request, use string) Candidate {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	object.Spec.Priority = &priority
	object.Spec.Containers = []corev1.Container{{Name: "main"}}
	if request != "" {
		object.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse(request), corev1.ResourceEphemeralStorage: resource.MustParse(request),
		}
	}
	c := Candidate{Pod: &node.Pod{Object: object, Source: node.SourceAPI}}
	if use != "?" {
		amount := resource.MustParse(use)
		c.Use = &node.PodUse{Total: amount.Value(), Containers: map[string]int64{"main": amount.Value()}}
	}
	return c
}

func TestPodsAreRankedAsKubernetesRanksThem(t *testing.T) {
	const memory, disk = corev1.ResourceMemory, corev1.ResourceEphemeralStorage
	for _, c := range []struct {
		name string
		of   corev1.ResourceName
		pods []Candidate
		want string
	}{
		{"more than requested goes before a lower priority", memory,
			[]Candidate{asking("low", -5, "2Gi", "1Gi"), asking("over", 10, "1Mi", "2Mi")}, "over low"},
		{"of those over their requests the lower priority goes first", memory,
			[]Candidate{asking("high", 10, "1Mi", "9Gi"), asking("low", 0, "1Mi", "2Mi")}, "low high"},
		{"then the one that exceeds its requests by most, not the largest", memory,
			[]Candidate{asking("large", 0, "8Gi", "9Gi"), asking("greedy", 0, "", "2Gi")}, "greedy large"},
		{"as much as requested is not over", memory,
			[]Candidate{asking("exact", -5, "1Gi", "1Gi"), asking("over", 0, "1Gi", "1025Mi")}, "over exact"},
		{"within their requests the one closest to them goes first", memory,
			[]Candidate{asking("spare", 0, "2Gi", "1Gi"), asking("tight", 0, "2Gi", "2047Mi")}, "tight spare"},
		{"what is not known goes last", memory,
			[]Candidate{asking("unknown", -5, "", "?"), asking("sparing", 10, "1Gi", "1Mi")}, "sparing unknown"},
		{"all the same go by name", memory,
			[]Candidate{asking("b", 0, "", "1Mi"), asking("a", 0, "", "1Mi")}, "a b"},
		{"disks as memory", disk,
			[]Candidate{asking("within", -5, "2Gi", "1Gi"), asking("some", 0, "", "1Gi"), asking("more", 0, "1Gi", "3Gi")}, "more some within"},
		{"requests do not count for inodes", health.Inodes,
			[]Candidate{asking("few", 0, "1Gi", "10"), asking("many", 0, "1Gi", "20")}, "many few"},
		{"processes by priority, then by number", health.PIDs,
			[]Candidate{asking("many", 10, "", "900"), asking("few", 0, "", "9"), asking("some", 0, "", "90")}, "some few many"},
	} {
		var got []string
		for _, r := range Rank(c.of, c.pods) {
			got = append(got, r.Object.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

func TestWordsSayWhatDecidesAboutARank(t *testing.T) {
	for _, c := range []struct {
		of   corev1.ResourceName
		pod  Candidate
		want string
	}{
		{corev1.ResourceMemory, asking("a", 0, "100Mi", "300Mi"), "uses 300Mi, which is 200Mi more than it requests; priority 0"},
		{corev1.ResourceMemory, asking("a", 7, "", "1Mi"), "uses 1Mi and requests nothing; priority 7"},
		{corev1.ResourceMemory, asking("a", 0, "2Mi", "1Mi"), "uses 1Mi of the 2Mi that it requests; priority 0"},
		{corev1.ResourceMemory, asking("a", 0, "", "?"), "what it uses is not known; priority 0"},
		{health.PIDs, asking("a", 0, "", "80"), "runs 80 tasks; priority 0"},
		{health.Inodes, asking("a", 0, "", "5000"), "has 5k inodes; priority 0"},
	} {
		if got := c.pod.Why(c.of); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestCriticalAndEndingPodsAreNoCandidates(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*node.Slot)
		want   bool
	}{
		{"a pod", func(*node.Slot) {}, true},
		{"one of a high priority that is not critical", func(s *node.Slot) { *s.Pod.Object.Spec.Priority = 1_000_000_000 }, true},
		{"system-cluster-critical", func(s *node.Slot) { *s.Pod.Object.Spec.Priority = 2_000_000_000 }, false},
		{"system-node-critical", func(s *node.Slot) { *s.Pod.Object.Spec.Priority = 2_000_001_000 }, false},
		{"a static one", func(s *node.Slot) { s.Pod.Source = node.SourceFile }, false},
		{"one of a URL", func(s *node.Slot) { s.Pod.Source = node.SourceURL }, false},
		{"one without a record", func(s *node.Slot) { s.Pod.Source = node.SourceRuntime }, false},
		{"one that is deleted", func(s *node.Slot) { s.Pod.Deletion = &node.Deletion{} }, false},
		{"one that was evicted", func(s *node.Slot) { s.Termination = &node.Termination{Reason: node.Evicted} }, false},
		{"one that has finished", func(s *node.Slot) { s.Result = &corev1.PodStatus{} }, false},
		{"one whose record is of a newer agent", func(s *node.Slot) { s.Newer = true }, false},
	} {
		slot := &node.Slot{Pod: asking("a", 0, "", "?").Pod}
		c.change(slot)
		if got := Candidates([]store.View{{Slot: slot}}); (len(got) == 1) != c.want {
			t.Errorf("%s: got %t, want %t", c.name, !c.want, c.want)
		}
	}
}

func TestAPodThatUsesNothingIsNoCandidate(t *testing.T) {
	pods := []*node.Pod{asking("idle", 0, "", "?").Pod, asking("busy", 0, "", "?").Pod, asking("unknown", 0, "", "?").Pod}
	got := With(pods, map[types.UID]node.PodUse{"idle": {}, "busy": {Total: 1}})
	if len(got) != 2 || got[0].Object.Name != "busy" || got[0].Use.Total != 1 || got[1].Use != nil {
		t.Errorf("got %+v, want the busy and the unknown", got)
	}
}

func TestTheMessageIsKubernetesOwn(t *testing.T) {
	crossing := func(signal, least string, left int64) health.Crossing {
		return health.Crossing{
			Rule:   health.Rule{Signal: signal, Least: health.Threshold{Quantity: resource.MustParse(least)}},
			Signal: health.Signal{Name: signal, Left: left, Capacity: 1 << 30},
		}
	}
	whole := asking("web", 0, "10Mi", "300Mi")
	whole.Object.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}
	for _, c := range []struct {
		crossing health.Crossing
		pod      Candidate
		want     string
	}{
		{crossing("memory.available", "100Mi", 50<<20), asking("web", 0, "100Mi", "300Mi"),
			"The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
				"Container main was using 300Mi, request is 100Mi, has larger consumption of memory. "},
		{crossing("memory.available", "100Mi", 50<<20), asking("web", 0, "", "4Ki"),
			"The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
				"Container main was using 4Ki, request is 0, has larger consumption of memory. "},
		{crossing("memory.available", "100Mi", 50<<20), whole,
			"The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. " +
				"Pod web was using 300Mi, request is 64Mi, has larger consumption of memory. " +
				"Container main was using 300Mi, request is 10Mi, has larger consumption of memory. "},
		{crossing("nodefs.available", "1Gi", 1<<20), asking("web", 0, "1Gi", "300Mi"),
			"The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 1Mi. "},
		{crossing("imagefs.inodesFree", "5k", 400), asking("web", 0, "", "900"),
			"The node was low on resource: inodes. Threshold quantity: 5k, available: 400. "},
		{crossing("pid.available", "1k", 400), asking("web", 0, "", "?"),
			"The node was low on resource: pids. Threshold quantity: 1k, available: 400. "},
	} {
		if got := message(c.crossing, c.pod); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestGraceFollowsTheThreshold(t *testing.T) {
	pod := asking("web", 0, "", "?").Pod
	pod.Object.Spec.TerminationGracePeriodSeconds = new(int64(30))
	for _, c := range []struct {
		name string
		soft bool
		most time.Duration
		want time.Duration
	}{
		{"a hard threshold leaves a second", false, time.Hour, time.Second},
		{"a soft one the pod's own time", true, time.Hour, 30 * time.Second},
		{"up to the maximum", true, 10 * time.Second, 10 * time.Second},
		{"which is zero by default", true, 0, time.Second},
		{"and may be none", true, -time.Second, 30 * time.Second},
	} {
		crossing := health.Crossing{}
		if c.soft {
			crossing.Grace = time.Minute
		}
		if got := grace(crossing, pod, c.most); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
