package command

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/host/service"
)

// seen is a pod as the new agent shows it.
func seen(uid string, ready corev1.ConditionStatus, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod-" + uid, UID: types.UID(uid)},
		Status:     corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func TestANewAgentIsJudgedByWhatItBringsBack(t *testing.T) {
	ready, unready := seen("a", "True", corev1.PodRunning), seen("a", "False", corev1.PodRunning)
	replaced := seen("b", "True", corev1.PodRunning)
	replaced.OwnerReferences = []metav1.OwnerReference{{UID: "set", Controller: new(true)}}
	for _, x := range []struct {
		name  string
		see   func(second int) sight
		after int // seconds until the verdict
		why   string
	}{
		{"all is as it was", func(int) sight { return sight{agent: 7, isNew: true, pods: []*corev1.Pod{ready}} }, 10, ""},
		{"another pod of its set is ready", func(int) sight { return sight{agent: 7, isNew: true, pods: []*corev1.Pod{replaced}} }, 10, ""},
		{"the pod takes a while", func(s int) sight {
			if s < 20 {
				return sight{agent: 7, isNew: true, pods: []*corev1.Pod{unready}}
			}
			return sight{agent: 7, isNew: true, pods: []*corev1.Pod{ready}}
		}, 30, ""},
		{"the pod never gets ready", func(int) sight { return sight{agent: 7, isNew: true, pods: []*corev1.Pod{unready}} }, 60, "pod default/pod-a is not ready"},
		{"the pod is forgotten", func(int) sight { return sight{agent: 7, isNew: true} }, 60, "pod default/pod-a is gone"},
		{"another pod has its name", func(int) sight {
			other := seen("b", "True", corev1.PodRunning)
			other.Name = "pod-a"
			return sight{agent: 7, isNew: true, pods: []*corev1.Pod{other}}
		}, 60, "is gone"},
		{"the agent does not answer", func(int) sight { return sight{agent: 7, isNew: true, fault: errors.New("refused")} }, 60, "refused"},
		{"the agent does not run", func(int) sight { return sight{} }, 60, "does not run"},
		{"the old agent goes on", func(int) sight { return sight{agent: 6, pods: []*corev1.Pod{ready}} }, 60, "another program"},
		{"the agent ends every five seconds", func(s int) sight { return sight{agent: 7 + s/5, isNew: true, pods: []*corev1.Pod{ready}} }, 60, "for long enough"},
	} {
		t.Run(x.name, func(t *testing.T) {
			start := time.Unix(1000, 0)
			judge := trial{wanted: []service.ReadyPod{{UID: "a", Namespace: "default", Name: "pod-a", Owner: "set"}}, deadline: start.Add(time.Minute)}
			for second := 0; second <= 61; second++ {
				s := x.see(second)
				s.at = start.Add(time.Duration(second) * time.Second)
				over, why := judge.judge(s)
				if !over {
					continue
				}
				if second != x.after || (why == nil) != (x.why == "") || why != nil && !strings.Contains(why.Error(), x.why) {
					t.Errorf("after %d s: got %v, want %q after %d s", second, why, x.why, x.after)
				}
				return
			}
			t.Error("there is no verdict")
		})
	}
}

func TestAnUpdateNeedsOneFile(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"--finish", "a"}} {
		var out, failed strings.Builder
		if code := runUpdate(args, Console{In: strings.NewReader(""), Out: &out, Err: &failed}); code != 2 || failed.Len() == 0 {
			t.Errorf("%q: got %d, %s", args, code, failed.String())
		}
	}
}

func TestPodsThatEndByThemselvesAreNotWaitedFor(t *testing.T) {
	forGood, once, leaving := seen("a", "True", corev1.PodRunning), seen("b", "True", corev1.PodRunning), seen("c", "True", corev1.PodRunning)
	once.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if !stays(forGood) || stays(once) || stays(leaving) {
		t.Errorf("got %t %t %t, want true false false", stays(forGood), stays(once), stays(leaving))
	}
}
