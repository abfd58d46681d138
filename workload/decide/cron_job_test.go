package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// clockOf returns a CronJob that starts each five minutes.
func clockOf(changes ...func(*batchv1.CronJobSpec)) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metaOf("tick"), Spec: batchv1.CronJobSpec{Schedule: "*/5 * * * *", ConcurrencyPolicy: batchv1.AllowConcurrent}}
	c.Spec.JobTemplate.Labels = map[string]string{"by": "clock"}
	c.Spec.JobTemplate.Spec = batchv1.JobSpec{
		Parallelism: new(int32(1)), Completions: new(int32(1)), Template: templateOf("tick"), Selector: &metav1.LabelSelector{MatchLabels: app("tick")},
	}
	c.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	for _, change := range changes {
		change(&c.Spec)
	}
	return c
}

func (s *site) clock() *batchv1.CronJob {
	return s.objects[node.ObjectRef{Kind: node.CronJob, Namespace: "default", Name: "tick"}].(*batchv1.CronJob)
}

// jobNames returns the times of the jobs, as minutes after noon of the first day.
func (s *site) jobTimes() (all []int) {
	for _, j := range s.look().Jobs {
		at, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
		if err != nil || j.Name != fmt.Sprintf("tick-%d", at.Unix()/60) {
			s.t.Errorf("%s was made for %s: %v", j.Name, at, err)
		}
		all = append(all, int(at.Sub(noon)/time.Minute))
	}
	slices.Sort(all)
	return all
}

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// until settles at each moment that the plans name, until a number of minutes after noon.
func (s *site) until(minutes int) {
	s.t.Helper()
	end := noon.Add(time.Duration(minutes) * time.Minute)
	for {
		s.settle()
		again := Next(s.look()).Again
		if again.IsZero() || again.After(end) {
			s.now = end
			s.settle()
			s.now = end
			return
		}
		if again.After(s.now) {
			s.now = again
		}
	}
}

func (s *site) endPods(phase corev1.PodPhase) {
	for _, p := range s.activePods() {
		s.end(p, phase)
	}
	s.settle()
}

func TestAJobIsMadeAtEachTime(t *testing.T) {
	s := newSite(t)
	s.post(clockOf())
	s.until(4)
	if got := s.jobTimes(); len(got) != 0 {
		t.Errorf("too early: %v", got)
	}
	if again := Next(s.look()).Again; !again.Equal(noon.Add(5 * time.Minute)) {
		t.Errorf("again at %s", again)
	}
	s.until(11)
	if got := s.jobTimes(); !slices.Equal(got, []int{5, 10}) {
		t.Errorf("there are %v", got)
	}
	job := s.look().Jobs[0]
	if !ownedBy(job, s.clock().UID) || job.Labels["by"] != "clock" || len(s.activePods()) != 2 {
		t.Errorf("a job is %+v, and there are %d pods", job.ObjectMeta, len(s.activePods()))
	}
	if status := s.clock().Status; len(status.Active) != 2 || !status.LastScheduleTime.Time.Equal(noon.Add(10*time.Minute)) {
		t.Errorf("the status is %+v", status)
	}
	s.endPods(corev1.PodSucceeded)
	if status := s.clock().Status; len(status.Active) != 0 || status.LastSuccessfulTime == nil {
		t.Errorf("after the end the status is %+v", status)
	}
}

func TestAnIntervalRunsOnWhileTheNodeIsLookedAt(t *testing.T) {
	s := newSite(t)
	s.post(clockOf(func(spec *batchv1.CronJobSpec) { spec.Schedule = "@every 7m" }))
	for _, minute := range []int{1, 4, 6, 8, 13, 15, 20} {
		s.now = noon.Add(time.Duration(minute) * time.Minute)
		s.settle()
		want := noon.Add(time.Duration(minute/7+1) * 7 * time.Minute)
		if again := Next(s.look()).Again; !again.Equal(want) {
			t.Errorf("after %d minutes the next look is at %s, want %s", minute, again, want)
		}
	}
	if got := s.jobTimes(); !slices.Equal(got, []int{7, 14}) {
		t.Errorf("there are %v", got)
	}
}

func TestWhatWasMissedIsMadeOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*batchv1.CronJobSpec)
		after  int // minutes of absence
		want   []int
	}{
		{"the last one alone", func(*batchv1.CronJobSpec) {}, 63, []int{60}},
		{"in its time", func(s *batchv1.CronJobSpec) { s.StartingDeadlineSeconds = new(int64(200)) }, 63, []int{60}},
		{"too late", func(s *batchv1.CronJobSpec) { s.StartingDeadlineSeconds = new(int64(100)) }, 63, nil},
		{"suspended", func(s *batchv1.CronJobSpec) { s.Suspend = new(true) }, 63, nil},
		{"after a year", func(*batchv1.CronJobSpec) {}, 365 * 24 * 60, []int{365 * 24 * 60}},
		{"at intervals", func(s *batchv1.CronJobSpec) { s.Schedule = "@every 7m" }, 30, []int{28}},
		{"never", func(s *batchv1.CronJobSpec) { s.Schedule = "0 0 30 2 *" }, 63, nil},
		{"in another zone", func(s *batchv1.CronJobSpec) { s.Schedule, s.TimeZone = "30 21 * * *", new("Asia/Tokyo") }, 63, []int{30}},
		{"in a zone that is gone", func(s *batchv1.CronJobSpec) { s.TimeZone = new("Mars/Base") }, 63, nil},
	} {
		s := newSite(t)
		s.post(clockOf(c.change))
		s.settle()
		s.now = noon.Add(time.Duration(c.after) * time.Minute)
		s.settle()
		if got := s.jobTimes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: there are %v, want %v", c.name, got, c.want)
		}
	}
}

func TestJobsOfOneClockSideBySide(t *testing.T) {
	for _, c := range []struct {
		policy     batchv1.ConcurrencyPolicy
		want, then []int // at two times, and after the first pods have ended
	}{
		{batchv1.AllowConcurrent, []int{5, 10}, []int{5, 10}},
		{batchv1.ForbidConcurrent, []int{5}, []int{5, 10}},
		{batchv1.ReplaceConcurrent, []int{10}, []int{10}},
	} {
		s := newSite(t)
		s.post(clockOf(func(spec *batchv1.CronJobSpec) { spec.ConcurrencyPolicy = c.policy }))
		s.until(12)
		if got := s.jobTimes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: there are %v, want %v", c.policy, got, c.want)
		}
		s.endPods(corev1.PodSucceeded)
		if got := s.jobTimes(); !slices.Equal(got, c.then) {
			t.Errorf("%s: then there are %v, want %v", c.policy, got, c.then)
		}
	}
}

func TestAJobThatIsDeletedStillRunsForItsClock(t *testing.T) {
	s := newSite(t)
	s.post(clockOf(func(spec *batchv1.CronJobSpec) { spec.ConcurrencyPolicy = batchv1.ForbidConcurrent }))
	s.until(6)
	job := s.look().Jobs[0]
	marked := s.objects[node.NewObject(job).Ref()]
	marked.SetDeletionTimestamp(new(metav1.NewTime(s.now))) // in the foreground: its pod still runs
	s.stamp(marked)
	s.now = noon.Add(11 * time.Minute)
	for _, c := range Next(s.look()).Changes {
		if c.Do == MakeObject {
			t.Errorf("%s is made beside it", c.Value.GetName())
		}
	}
}

func TestOldJobsOfAClockGo(t *testing.T) {
	s := newSite(t)
	s.post(clockOf(func(spec *batchv1.CronJobSpec) {
		spec.SuccessfulJobsHistoryLimit, spec.FailedJobsHistoryLimit = new(int32(2)), new(int32(0))
		spec.JobTemplate.Spec.BackoffLimit = new(int32(0))
	}))
	for i := range 6 {
		s.until(5*(i+1) + 1)
		phase := corev1.PodSucceeded
		if i == 3 {
			phase = corev1.PodFailed
		}
		s.endPods(phase)
	}
	if got := s.jobTimes(); !slices.Equal(got, []int{25, 30}) {
		t.Errorf("there are %v", got)
	}
}

func TestAJobByHandCountsForItsClock(t *testing.T) {
	s := newSite(t)
	s.post(clockOf(func(spec *batchv1.CronJobSpec) {
		spec.ConcurrencyPolicy, spec.SuccessfulJobsHistoryLimit = batchv1.ForbidConcurrent, new(int32(0))
	}))
	made := clockOf()
	byHand := &batchv1.Job{ObjectMeta: metaOf("now"), Spec: made.Spec.JobTemplate.Spec}
	byHand.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.clock(), gvkOf(node.CronJob))}
	s.post(byHand)
	s.until(6)
	if got := s.look().Jobs; len(got) != 1 || len(s.clock().Status.Active) != 1 {
		t.Errorf("there are %d jobs", len(got))
	}
	s.endPods(corev1.PodSucceeded)
	if got := s.jobTimes(); !slices.Equal(got, []int{5}) {
		t.Errorf("after it there are %v", got)
	}
}

// A job that ends at once and has no time to stay must not be made again for the same time, wherever the agent is killed.
func TestNoTimeIsServedTwice(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := newSite(t)
		s.post(clockOf(func(spec *batchv1.CronJobSpec) {
			spec.SuccessfulJobsHistoryLimit = new(int32(0))
			spec.JobTemplate.Spec.TTLSecondsAfterFinished = new(int32(0))
		}))
		made := map[string]int{}
		for range 150 {
			plan := Next(s.look())
			if random.IntN(4) == 0 {
				s.stamp(s.clock()) // a client changes it after the look
			}
			cut := len(plan.Changes)
			if random.IntN(2) == 0 {
				cut = random.IntN(cut + 1)
			}
			for _, c := range plan.Changes[:cut] {
				if done := s.take(c); done && c.Do == MakeObject {
					made[c.Value.GetName()]++
				}
			}
			for _, p := range s.activePods() {
				if random.IntN(2) == 0 {
					s.end(p, corev1.PodSucceeded)
				}
			}
			s.now = s.now.Add(time.Duration(random.IntN(60)) * time.Second)
		}
		for name, n := range made {
			if n != 1 {
				t.Fatalf("seed %d: %s was made %d times", seed, name, n)
			}
		}
		if len(made) < 10 {
			t.Fatalf("seed %d: %d jobs were made in %s", seed, len(made), s.now.Sub(noon))
		}
	}
}

// The latest time is found by halves; here one after the other.
func TestTheLatestTimeIsFound(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{"* * * * *", "*/15 * * * *", "30 2 * * *", "0 3 29 2 *", "15 10 * * 1-5", "@hourly", "0 0 1 1 *"} {
		parsed, err := cron.ParseStandard(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			from := time.Date(2026, 3, 28, 0, 0, 0, 0, zone).Add(time.Duration(random.IntN(400_000)) * time.Second)
			until := from.Add(time.Duration(random.IntN(200_000)) * time.Second)
			want := time.Time{}
			for at := parsed.Next(from); !at.IsZero() && !at.After(until); at = parsed.Next(at) {
				want = at
			}
			if got := (times{parsed, zone}).last(from, until); !got.Equal(want) {
				t.Errorf("%s from %s until %s: got %s, want %s", text, from, until, got, want)
			}
		}
	}
}
