package reconciler_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// garbage asks the reconciler, and returns a line for each piece: kind, pod or name, and why it stays.
func (b *bench) garbage() (lines []string) {
	b.Helper()
	all, err := b.listed(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, g := range all {
		of := g.Key.Name
		if of == "" {
			of = g.Name
		}
		if g.Why == "" || (g.Goes.IsZero() && g.Kept == "" && g.Kind == node.GarbageFiles) {
			b.Errorf("%+v does not say why and when", g)
		}
		lines = append(lines, strings.Join([]string{string(g.Kind), of, g.Kept}, " "))
	}
	return lines
}

func (b *bench) wantGarbage(want ...string) {
	b.Helper()
	if got := strings.Join(b.garbage(), "\n"); got != strings.Join(want, "\n") {
		b.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

const (
	newest = "it is the newest run of its container: its exit code and its log are the container's"
	older  = "clients ask for the exit codes and the logs of some runs before the newest"
)

func TestGarbageIsListedWithItsReasonUntilTheSweep(t *testing.T) {
	inBubble(t, true, func(b *bench) {
		b.volumes.put("gone")
		b.rest(time.Second)
		b.wantGarbage("files gone these sources of pods have not delivered yet, and may want it: [file]")
		b.sources.Delivered(node.SourceFile, time.Now(), nil)
		b.rest(time.Second)
		b.wantGarbage() // the first sweep comes with the last source
		b.volumes.put("gone")
		b.wantGarbage("files gone ")
		b.rest(6 * time.Minute)
		b.wantGarbage()
	})
}

func TestRunsThatHaveEndedSayWhyTheyStay(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("crashing", "exit", "1", "after", "1s"))
		job := pod("job", "exit", "0")
		job.Spec.RestartPolicy = corev1.RestartPolicyNever
		b.apply(job)
		b.rest(20 * time.Second)
		b.wantGarbage("container crashing "+newest, "container crashing "+older, "container job "+newest)
	})
}

// put lays out the remains of a pod.
func (v *volumes) put(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pods[uid] = true
}
