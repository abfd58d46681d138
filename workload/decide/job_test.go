package decide

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func jobOf(completions, parallelism int32, change ...func(*batchv1.JobSpec)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metaOf("work"), Spec: batchv1.JobSpec{
		Completions: &completions, Parallelism: &parallelism, BackoffLimit: new(int32(6)), CompletionMode: new(batchv1.NonIndexedCompletion),
		Selector: &metav1.LabelSelector{MatchLabels: app("work")}, Template: templateOf("work"),
	}}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	for _, c := range change {
		c(&j.Spec)
	}
	return j
}

func (s *site) job() *batchv1.Job {
	v, _ := s.objects[node.ObjectRef{Kind: node.Job, Namespace: "default", Name: "work"}].(*batchv1.Job)
	return v
}

func (s *site) jobConditions() string {
	var all []string
	for _, c := range s.job().Status.Conditions {
		all = append(all, string(c.Type)+"="+string(c.Status)+":"+c.Reason)
	}
	return strings.Join(all, " ")
}

// endAll has all pods that run end.
func (s *site) endAll(phase corev1.PodPhase) (n int) {
	for _, p := range s.activePods() {
		s.end(p, phase)
		n++
	}
	return n
}

func TestAJobRunsUntilEnoughPodsHaveSucceeded(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(5, 2))
	var beside []int
	for range 10 {
		s.settle()
		if n := s.endAll(corev1.PodSucceeded); n > 0 {
			beside = append(beside, n)
		}
	}
	if want := []int{2, 2, 1}; !slices.Equal(beside, want) {
		t.Errorf("pods ran side by side %v, want %v", beside, want)
	}
	if got, want := s.jobConditions(), "SuccessCriteriaMet=True:CompletionsReached Complete=True:CompletionsReached"; got != want {
		t.Errorf("the conditions are %s, want %s", got, want)
	}
	if st := s.job().Status; st.Succeeded != 5 || st.Failed != 0 || st.Active != 0 || st.CompletionTime == nil || st.StartTime == nil {
		t.Errorf("the status is %+v", st)
	}
}

func TestAJobFailsAfterTooManyFailures(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(1, 1, func(spec *batchv1.JobSpec) { spec.BackoffLimit = new(int32(2)) }))
	s.settle()
	var pauses []time.Duration
	for s.endAll(corev1.PodFailed) > 0 {
		s.settle()
		if again := Next(s.look()).Again; !again.IsZero() {
			pauses = append(pauses, again.Sub(endedAt(s.lastEnded())))
			s.now = again
		}
		s.settle()
	}
	if want := []time.Duration{10 * time.Second, 20 * time.Second}; !slices.Equal(pauses, want) {
		t.Errorf("the pauses are %v, want %v", pauses, want)
	}
	if got, want := s.jobConditions(), "FailureTarget=True:BackoffLimitExceeded Failed=True:BackoffLimitExceeded"; got != want {
		t.Errorf("the conditions are %s, want %s", got, want)
	}
	if st := s.job().Status; st.Failed != 3 || st.CompletionTime != nil {
		t.Errorf("the status is %+v", st)
	}
}

func (s *site) lastEnded() *corev1.Pod {
	return slices.MaxFunc(where(s.sorted(), ended), func(a, b *corev1.Pod) int { return endedAt(a).Compare(endedAt(b)) })
}

func TestAJobEndsAtItsDeadline(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(1, 1, func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = new(int64(60)) }))
	s.settle()
	s.now = Next(s.look()).Again
	s.settle()
	if got, want := s.jobConditions(), "FailureTarget=True:DeadlineExceeded Failed=True:DeadlineExceeded"; got != want || len(s.pods) != 0 {
		t.Errorf("the conditions are %s with %d pods, want %s", got, len(s.pods), want)
	}
}

func TestAnEndedJobGoesAfterItsTime(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(1, 1, func(spec *batchv1.JobSpec) { spec.TTLSecondsAfterFinished = new(int32(30)) }))
	s.settle()
	s.endAll(corev1.PodSucceeded)
	s.settle()
	if s.job() == nil || !strings.Contains(s.jobConditions(), "Complete=True") {
		t.Fatal("the job is gone, or goes on")
	}
	s.now = Next(s.look()).Again
	s.settle()
	if s.job() != nil {
		t.Error("the job is still there")
	}
}

func TestASuspendedJobHasNoPods(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(2, 2))
	s.settle()
	s.post(jobOf(2, 2, func(spec *batchv1.JobSpec) { spec.Suspend = new(true) }))
	s.settle()
	if len(s.pods) != 0 || s.job().Status.StartTime != nil || !strings.Contains(s.jobConditions(), "Suspended=True:JobSuspended") {
		t.Errorf("%d pods with %s", len(s.pods), s.jobConditions())
	}
	if n := s.job().Status.Failed; n != 0 {
		t.Errorf("%d pods have failed", n)
	}
	s.post(jobOf(2, 2))
	s.settle()
	if len(s.pods) != 2 || !strings.Contains(s.jobConditions(), "Suspended=False") {
		t.Errorf("then %d pods with %s", len(s.pods), s.jobConditions())
	}
}

func TestTheFirstSuccessEndsAJobWithoutCompletions(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(0, 3, func(spec *batchv1.JobSpec) { spec.Completions = nil }))
	s.settle()
	s.end(s.activePods()[0], corev1.PodSucceeded)
	s.settle()
	if n := len(s.activePods()); n != 2 {
		t.Fatalf("%d pods go on, want 2", n)
	}
	s.endAll(corev1.PodSucceeded)
	s.settle()
	if !strings.Contains(s.jobConditions(), "Complete=True") || s.job().Status.Succeeded != 3 {
		t.Errorf("%s with %d", s.jobConditions(), s.job().Status.Succeeded)
	}
}

func TestAnIndexedJobRunsEachIndexUntilItSucceeds(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(4, 4, indexed))
	s.settle()
	for _, p := range s.activePods() {
		i := indexOf(p)
		if want := "work-" + string(rune('0'+i)); !strings.HasPrefix(p.Name, want+"-") || p.Spec.Hostname != want || p.Spec.Containers[0].Env[0].Name != indexVariable {
			t.Errorf("the pod of index %d is %s with host name %s", i, p.Name, p.Spec.Hostname)
		}
		if i == 1 {
			s.end(p, corev1.PodFailed)
		} else {
			s.end(p, corev1.PodSucceeded)
		}
	}
	s.settle()
	if st := s.job().Status; st.CompletedIndexes != "0,2-3" || st.Succeeded != 3 || st.Failed != 1 {
		t.Errorf("the status is %+v", st)
	}
	s.now = s.now.Add(time.Minute)
	s.settle()
	if pods := s.activePods(); len(pods) != 1 || indexOf(pods[0]) != 1 {
		t.Fatalf("then run %v", pods)
	}
	s.endAll(corev1.PodSucceeded)
	s.settle()
	if st := s.job().Status; st.CompletedIndexes != "0-3" || !strings.Contains(s.jobConditions(), "Complete=True") {
		t.Errorf("at the end it is %+v", st)
	}
}

func TestPodsThatAJobHasTooManyOfAreNoFailures(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(20, 10))
	s.settle()
	s.post(jobOf(20, 1))
	s.settle()
	if st := s.job().Status; st.Failed != 0 || st.Active != 1 || len(st.Conditions) != 0 {
		t.Errorf("the status is %+v", st)
	}
	s.endAll(corev1.PodSucceeded)
	s.settle()
	if len(s.activePods()) != 1 {
		t.Error("the next pod waits")
	}
}

func indexed(spec *batchv1.JobSpec) { spec.CompletionMode = new(batchv1.IndexedCompletion) }

func TestIndexesThatAnyoneMayHaveWrittenAreCutAtTheCompletions(t *testing.T) {
	for _, c := range []struct {
		text        string
		completions int
		want        string
		size        int
	}{
		{"0,2-3", 5, "0,2-3", 3},
		{"0-3000000000", 4, "0-3", 4},
		{"0-9223372036854775807", 4, "0-3", 4},
		{"0-2147483646", 2147483647, "0-2147483646", 2147483647},
		{"5-9", 5, "", 0},
		{"3-8,1,2,0-0,x,-4,7-5,99999999999999999999", 8, "0-7", 8},
		{"1", 0, "", 0},
	} {
		if got := indexesIn(c.text, c.completions); got.text() != c.want || got.size() != c.size {
			t.Errorf("%s of %d is %s, %d of them, want %s", c.text, c.completions, got.text(), got.size(), c.want)
		}
	}
	s := newSite(t)
	j := jobOf(1, 1)
	j.Status.CompletedIndexes = "0-9223372036854775807"
	s.post(j)
	s.settle()
	if len(s.activePods()) != 1 {
		t.Errorf("a job without indexes has %d pods", len(s.activePods()))
	}
}

func TestACountBelowNothingLeavesAJobItsPods(t *testing.T) {
	for _, succeeded := range []int32{math.MinInt32, -1} {
		s := newSite(t)
		j := jobOf(5, 2)
		j.Status.Succeeded = succeeded
		s.post(j)
		s.settle()
		if n := len(s.activePods()); n != 2 {
			t.Errorf("after %d successes %d pods run, want 2", succeeded, n)
		}
	}
}

func TestAnIndexedJobThatShrinksNeedsItsOwnIndexes(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(10, 10, indexed))
	s.settle()
	for _, p := range s.activePods() {
		if indexOf(p) >= 6 {
			s.end(p, corev1.PodSucceeded)
		}
	}
	s.settle()
	s.post(jobOf(5, 3, indexed))
	s.settle()
	if got := s.jobConditions(); got != "" {
		t.Fatalf("the job is %s", got)
	}
	for _, p := range s.activePods() {
		if indexOf(p) >= 5 {
			t.Errorf("a pod of index %d goes on", indexOf(p))
		}
	}
	if got := len(s.activePods()); got != 3 {
		t.Errorf("%d pods go on, want 3", got)
	}
	for range 2 {
		s.endAll(corev1.PodSucceeded)
		s.settle()
	}
	if st := s.job().Status; st.CompletedIndexes != "0-4" || st.Succeeded != 5 || !strings.Contains(s.jobConditions(), "Complete=True") {
		t.Errorf("at the end it is %+v", st)
	}
}

func TestAnEndedPodThatIsDeletedStaysCounted(t *testing.T) {
	s := newSite(t)
	s.post(jobOf(3, 1))
	for range 3 {
		s.settle()
		s.endAll(corev1.PodSucceeded)
		s.settle()
		for _, name := range slices.Collect(maps.Keys(s.pods)) {
			if ended(s.pods[name]) {
				delete(s.pods, name)
			}
		}
	}
	s.settle()
	if st := s.job().Status; st.Succeeded != 3 || !strings.Contains(s.jobConditions(), "Complete=True") {
		t.Errorf("the status is %+v", st)
	}
	if got := s.job().Annotations[node.NoteCounted]; got != "" {
		t.Errorf("still counted are %q", got)
	}
}

func TestAJobKeepsNotAllOfItsEndedPods(t *testing.T) {
	for _, change := range []func(*batchv1.JobSpec){func(*batchv1.JobSpec) {}, indexed} {
		s := newSite(t)
		s.post(jobOf(450, 60, change))
		random := rand.New(rand.NewPCG(4, 4))
		for range 300 {
			plan := Next(s.look())
			for _, c := range plan.Changes[:random.IntN(len(plan.Changes)+1)] {
				if c.Do == DeletePod && !strings.Contains(s.job().Annotations[node.NoteCounted], string(c.Pod.UID)) {
					t.Fatalf("pod %s is deleted before it counts", c.Pod.Name)
				}
				s.take(c)
			}
			s.endAll(corev1.PodSucceeded)
			s.now = s.now.Add(time.Second)
		}
		s.settle()
		if n := len(s.pods); n != mostEnded {
			t.Errorf("%d pods are kept, want %d", n, mostEnded)
		}
		if st := s.job().Status; st.Succeeded != 450 || !strings.Contains(s.jobConditions(), "Complete=True") {
			t.Errorf("the status is %+v", st)
		}
	}
}

func TestNoCrashMakesAJobCountTwice(t *testing.T) {
	for seed := range uint64(25) {
		random := rand.New(rand.NewPCG(seed, 3))
		s := newSite(t)
		s.post(jobOf(4, 2, func(spec *batchv1.JobSpec) { spec.BackoffLimit = new(int32(1000)) }))
		ends := 0
		for range 400 {
			plan := Next(s.look())
			for _, c := range plan.Changes[:random.IntN(len(plan.Changes)+1)] {
				s.take(c)
			}
			if n := len(s.activePods()); n > 2 {
				t.Fatalf("seed %d: %d pods", seed, n)
			}
			for _, p := range s.activePods() {
				if random.IntN(5) == 0 {
					s.end(p, []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}[random.IntN(2)])
				}
			}
			s.now = s.now.Add(time.Minute)
		}
		s.settle()
		failed := 0
		for _, p := range s.pods {
			ends += int(count(p.Status.Phase == corev1.PodSucceeded))
			failed += int(count(p.Status.Phase == corev1.PodFailed))
		}
		if st := s.job().Status; int(st.Succeeded) != ends || int(st.Failed) != failed || ends < 4 || !strings.Contains(s.jobConditions(), "Complete=True") {
			t.Fatalf("seed %d: %+v, but %d pods succeeded and %d failed", seed, st, ends, failed)
		}
	}
}
