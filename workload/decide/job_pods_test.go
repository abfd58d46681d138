package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestAJobWaitsUntilTheNodeTakesItsPods(t *testing.T) {
	for _, c := range []struct {
		reason  string
		indexed bool
	}{{"OutOfpods", false}, {"OutOfcpu", true}, {"Evicted", false}, {"NodeShutdown", false}} {
		t.Run(fmt.Sprint(c.reason, " indexed: ", c.indexed), func(t *testing.T) {
			s := newSite(t)
			j := jobOf(10, 10, func(spec *batchv1.JobSpec) { spec.BackoffLimit = new(int32(0)) })
			if c.indexed {
				j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
			}
			s.refuses = c.reason
			s.post(j)
			for _, want := range []int{10, 1, 1, 1} {
				tried := s.uids
				s.settle()
				if n := s.uids - tried; n != want {
					t.Fatalf("%d pods are made, want %d", n, want)
				}
				next := Next(s.look()).Again
				if !next.After(s.now) {
					t.Fatalf("the job tries again at %v, want after %v", next, s.now)
				}
				s.now = next
			}
			s.refuses = ""
			s.settle()
			if n := s.endAll(corev1.PodSucceeded); n != 10 {
				t.Errorf("%d pods run once there is room, want 10", n)
			}
			s.settle()
			if st := s.job().Status; st.Succeeded != 10 || st.Failed != 0 || !strings.Contains(s.jobConditions(), "Complete=True") {
				t.Errorf("the status is %+v", st)
			}
		})
	}
}

func TestAJobFailsForWhatNeverPasses(t *testing.T) {
	s := newSite(t)
	s.refuses = "NodeAffinity"
	s.post(jobOf(1, 1, func(spec *batchv1.JobSpec) { spec.BackoffLimit = new(int32(0)) }))
	s.settle()
	if got := s.jobConditions(); !strings.Contains(got, "Failed=True:BackoffLimitExceeded") {
		t.Errorf("the conditions are %s, want a job that has failed", got)
	}
}

func TestAnEndedJobKeepsNoRefusedPods(t *testing.T) {
	s := newSite(t)
	s.refuses = "OutOfpods"
	s.post(jobOf(2, 2, func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = new(int64(60)) }))
	s.settle()
	s.now = s.now.Add(time.Minute)
	s.settle()
	if got := s.jobConditions(); len(s.pods) != 0 || !strings.Contains(got, "Failed=True:DeadlineExceeded") {
		t.Errorf("the conditions are %s with %d pods, want a deadline that is over and none", got, len(s.pods))
	}
}

// jobNamed returns a job with pods of its own.
func jobNamed(name string, completions, parallelism int32) *batchv1.Job {
	j := jobOf(completions, parallelism)
	j.ObjectMeta = metaOf(name)
	j.Spec.Selector, j.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: app(name)}, app(name)
	return j
}

func (s *site) activeOf(name string) []*corev1.Pod {
	return where(s.activePods(), func(p *corev1.Pod) bool { return p.Labels["app"] == name })
}

func TestAFullNodeRefusesFewPodsOfManyJobs(t *testing.T) {
	const jobs = 23
	s := newSite(t)
	s.refuses = "OutOfpods"
	for i := range jobs {
		s.post(jobNamed(fmt.Sprint("job", i), 50, 50))
	}
	tried := map[string]bool{}
	for at := range 60 {
		s.round()
		for _, p := range s.sorted() {
			tried[p.Labels["app"]] = true
		}
		if n := len(s.pods); n > burst+jobs {
			t.Fatalf("round %d: the node has refused %d pods", at, n)
		}
	}
	if len(tried) != jobs {
		t.Errorf("%d jobs have tried to make a pod, want %d", len(tried), jobs)
	}
	s.refuses = ""
	s.settle()
	if n := len(s.activePods()); n != jobs*50 {
		t.Errorf("%d pods run once there is room, want %d", n, jobs*50)
	}
}

func TestAJobWhosePodsCannotBeMadeOrNeverFitDoesNotStopOthers(t *testing.T) {
	s := newSite(t)
	for i := range 2 * burst {
		j := s.post(jobNamed(fmt.Sprint("bad", i), 50, 50))
		s.trouble[j.GetUID()] = "a field is wrong"
	}
	s.post(jobNamed("good", 50, 50))
	made := map[string]int{}
	for _, c := range Next(s.look()).Changes {
		if c.Do == MakePod {
			made[c.Pod.Labels["app"]]++
		}
	}
	if made["good"] != 50 || made["bad0"] != 1 {
		t.Errorf("the good job makes %d pods and a bad one %d, want 50 and 1", made["good"], made["bad0"])
	}

	s = newSite(t)
	s.refuses = "OutOfcpu"
	for i := range 2 * burst {
		s.post(jobNamed(fmt.Sprint("large", i), 1, 1))
	}
	s.round()
	if n := len(s.pods); n != burst {
		t.Errorf("one plan makes %d pods, want %d", n, burst)
	}
	s.refuses = ""
	s.post(jobNamed("fits", 50, 50))
	if one := where(Next(s.look()).Changes, func(c Change) bool { return c.Do == MakePod }); len(one) != 1 || one[0].Pod.Labels["app"] != "fits" {
		t.Errorf("beside a burst of refused pods the plan makes %d, want one of the job that has none", len(one))
	}
}

// runBeside has some jobs run more pods than are kept of all jobs, within a few seconds.
func (s *site) runBeside(name string) {
	for i := range 2 * mostEndedOfAll / mostEnded {
		s.post(jobNamed(fmt.Sprint("beside-", name, i), mostEnded, mostEnded))
		for range 3 {
			s.round()
			for _, p := range s.activePods() {
				if strings.HasPrefix(p.Labels["app"], "beside-") {
					s.end(p, corev1.PodSucceeded)
				}
			}
		}
	}
}

func TestAJobPausesAfterFailuresHoweverManyPodsOfOthersEnd(t *testing.T) {
	s := newSite(t)
	j := jobNamed("fails", 2, 1)
	j.Spec.BackoffLimit = new(int32(20))
	s.post(j)
	s.settle()
	for failures := range 9 {
		at := s.now
		s.end(s.activeOf("fails")[0], corev1.PodFailed)
		if failures >= 3 {
			s.runBeside(fmt.Sprint(failures))
		}
		for len(s.activeOf("fails")) == 0 {
			if plan := s.round(); len(plan.Changes) == 0 && plan.Again.After(s.now) {
				s.now = plan.Again
			}
		}
		made := s.activeOf("fails")[0].CreationTimestamp.Time
		if want := min(mostPause, firstPause<<failures); made.Sub(at) != want {
			t.Errorf("after %d failures the next pod is made in %s, want %s", failures+1, made.Sub(at), want)
		}
	}
	s.end(s.activeOf("fails")[0], corev1.PodSucceeded)
	s.runBeside("at-last")
	s.settle()
	if n := len(where(s.sorted(), ended)); n != mostEndedOfAll {
		t.Errorf("%d pods are kept after the success, want %d", n, mostEndedOfAll)
	}
	if n := len(s.activeOf("fails")); n != 1 {
		t.Errorf("after the success %d pods run, want 1", n)
	}
}

func TestAllJobsTogetherKeepSomeEndedPods(t *testing.T) {
	s := newSite(t)
	const jobs, each = 30, 10
	for i := range jobs {
		s.post(jobNamed(fmt.Sprint("job", i), each, each))
		s.settle()
		s.endAll(corev1.PodSucceeded)
		s.now = s.now.Add(time.Second)
	}
	s.settle()
	if n := len(s.pods); n != mostEndedOfAll {
		t.Errorf("%d pods are kept, want %d", n, mostEndedOfAll)
	}
	for i := range jobs {
		name := fmt.Sprint("job", i)
		j := s.objects[node.ObjectRef{Kind: node.Job, Namespace: "default", Name: name}].(*batchv1.Job)
		left := len(where(s.sorted(), func(p *corev1.Pod) bool { return p.Labels["app"] == name }))
		want := each
		if i < jobs-mostEndedOfAll/each {
			want = 0 // the oldest go first
		}
		if j.Status.Succeeded != each || left != want {
			t.Errorf("%s: %d pods have succeeded and %d are left, want %d and %d", name, j.Status.Succeeded, left, each, want)
		}
	}
}
