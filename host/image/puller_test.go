package image

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestEnsure(t *testing.T) {
	const (
		pulling = `Pulling: Pulling image "web:1"`
		pulled  = `Pulled: Successfully pulled image "web:1" in 1.2s (1.2s including waiting). Image size: 5 bytes.`
		present = `Pulled: Container image "web:1" already present on machine and can be accessed by the pod`
	)
	for _, test := range []struct {
		name    string
		machine *machine
		need    node.EnsureImage
		reason  string // empty: it succeeds
		events  []string
	}{
		{"what is there is not pulled", newMachine("web:1"), need("web:1", corev1.PullIfNotPresent), "", []string{present}},
		{"never pulled, but there", newMachine("web:1"), need("web:1", corev1.PullNever), "", []string{present}},
		{"what is not there is pulled", newMachine(), need("web:1", corev1.PullIfNotPresent), "", []string{pulling, pulled}},
		{"always pulled, though it is there", newMachine("web:1"), need("web:1", corev1.PullAlways), "", []string{pulling, pulled}},
		{"never pulled and not there", newMachine(), need("web:1", corev1.PullNever), node.ErrImageNeverPull, []string{
			`warning ErrImageNeverPull: Container image "web:1" is not present with pull policy of Never`,
			"warning Failed: Error: ErrImageNeverPull"}},
		{"no reference", newMachine(), need("No Such", corev1.PullAlways), node.InvalidImageName, []string{
			`warning InspectFailed: Failed to apply default image tag "No Such": ` +
				`image reference "No Such" is not of the form [registry/]path[:tag][@digest] (it holds a space): invalid`,
			"warning Failed: Error: InvalidImageName"}},
		{"a runtime that cannot say", &machine{inspect: &node.Failure{Reason: node.ImageInspectError, Err: errors.New("it broke")}},
			need("web:1", corev1.PullIfNotPresent), node.ImageInspectError, []string{
				`warning InspectFailed: Failed to inspect image "web:1": it broke`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				owner := &owner{}
				test.machine.pull = takes(1200 * time.Millisecond)
				got, err := New(Config{Runtime: test.machine, Tell: owner.tell}).Ensure(t.Context(), testPod("1"), test.need)
				var failure *node.Failure
				switch {
				case test.reason == "" && (err != nil || got.ID != "id of web:1"):
					t.Errorf("got %q, %v, want the image's id", got.ID, err)
				case test.reason != "" && (!errors.As(err, &failure) || failure.Reason != test.reason):
					t.Errorf("got %v, want %s", err, test.reason)
				}
				owner.want(t, test.events...)
			})
		})
	}
}

func TestAShortNameMeansLatest(t *testing.T) {
	m := newMachine("web:latest")
	got, err := New(Config{Runtime: m, Tell: (&owner{}).tell}).Ensure(t.Context(), testPod("1"), need("web", corev1.PullIfNotPresent))
	if err != nil || got.ID != "id of web:latest" {
		t.Errorf("got %q, %v, want web:latest", got.ID, err)
	}
}

func TestPodsShareOnePull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.pull = takes(time.Minute)
		p := New(Config{Runtime: m, Parallel: 1, Tell: (&owner{}).tell})
		done := make(chan error)
		for i := range 20 {
			go func() {
				_, err := p.Ensure(t.Context(), testPod(fmt.Sprint(i)), need("web:1", corev1.PullIfNotPresent))
				done <- err
			}()
		}
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if m.pulled() != 1 {
			t.Errorf("%d pulls, want one", m.pulled())
		}
	})
}

// wantHeld asks, and expects that the image rests for so long.
func wantHeld(t *testing.T, p *Puller, uid, reason string, rest time.Duration) {
	t.Helper()
	_, err := p.Ensure(t.Context(), testPod(uid), need("web:1", corev1.PullIfNotPresent))
	var failure *node.Failure
	if !errors.As(err, &failure) || failure.Reason != reason || time.Until(failure.Retry) != rest {
		t.Errorf("pod %s: got %+v, want %s for %s", uid, err, reason, rest)
	}
}

func TestACallersPullIsThatOfPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.pull = takes(time.Second)
		p := New(Config{Runtime: m, Tell: (&owner{}).tell})
		waiting := make(chan error, 1)
		go func() {
			_, err := p.Ensure(t.Context(), testPod("1"), need("web:1", corev1.PullIfNotPresent))
			waiting <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := p.Fetch(ctx, "web:1")
			gone <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has gone: got %v", err)
		}
		image, err := p.Fetch(t.Context(), "web:1")
		if err := errors.Join(err, <-waiting); err != nil || image.ID != "id of web:1" || m.pulled() != 1 {
			t.Errorf("got %q, %v after %d pulls, want one pull for both", image.ID, err, m.pulled())
		}
		if _, err := p.Fetch(t.Context(), "web:1"); err != nil || m.pulled() != 2 {
			t.Errorf("again: got %v after %d pulls, want that the registry is asked", err, m.pulled())
		}
		m.pull = fails
		if _, err := p.Fetch(t.Context(), "web:2"); !errors.Is(err, node.ErrConflict) || err.Error() != "ErrImagePull: no such image: conflict" {
			t.Errorf("a registry that refuses: got %v", err)
		}
		if _, err := p.Fetch(t.Context(), "No Such"); !errors.Is(err, node.ErrInvalid) {
			t.Errorf("no reference: got %v", err)
		}
	})
}

func TestAPullThatFailsRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, owner := newMachine(), &owner{}
		m.pull = fails
		p := New(Config{Runtime: m, Tell: owner.tell})
		for _, rest := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
			wantHeld(t, p, "1", node.ErrImagePull, rest*time.Second)
			owner.want(t,
				`Pulling: Pulling image "web:1"`,
				`warning Failed: Failed to pull image "web:1": no such image`,
				"warning Failed: Error: ErrImagePull",
				`BackOff: Back-off pulling image "web:1"`,
				"warning Failed: Error: ImagePullBackOff")
			wantHeld(t, p, "1", node.ImagePullBackOff, rest*time.Second)
			owner.want(t, `BackOff: Back-off pulling image "web:1"`, "warning Failed: Error: ImagePullBackOff")
			time.Sleep(rest * time.Second)
		}
		asked := m.pulled()
		wantHeld(t, p, "2", node.ErrImagePull, 300*time.Second) // its first try
		wantHeld(t, p, "2", node.ImagePullBackOff, 300*time.Second)
		if got := m.pulled() - asked; got != 1 {
			t.Errorf("a pod that asks anew made %d pulls, want one", got)
		}
		time.Sleep(300 * time.Second)
		m.pull = nil
		if _, err := p.Ensure(t.Context(), testPod("1"), need("web:1", corev1.PullIfNotPresent)); err != nil {
			t.Errorf("once the cause is gone: %v", err)
		}
		m.pull, m.local = fails, map[string]node.LocalImage{}
		wantHeld(t, p, "1", node.ErrImagePull, 10*time.Second)
	})
}

func TestAPullWithoutAnswerIsNoFailure(t *testing.T) {
	m, owner := newMachine(), &owner{}
	m.pull = func(context.Context, string, *node.Credential) error { return node.ErrUnknown }
	_, err := New(Config{Runtime: m, Tell: owner.tell}).Ensure(t.Context(), testPod("1"), need("web:1", corev1.PullIfNotPresent))
	var failure *node.Failure
	if errors.As(err, &failure) || !errors.Is(err, node.ErrUnknown) {
		t.Errorf("got %v, want an outcome that is not known", err)
	}
	owner.want(t, `Pulling: Pulling image "web:1"`)
}

func TestWhatPodsNeedIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		ref    string
		policy corev1.PullPolicy
		want   string
	}{
		"it is there":               {"here:1", corev1.PullIfNotPresent, "IfNotPresent true false"},
		"it is there, and is asked": {"here:1", corev1.PullAlways, "Always  true"},
		"it is not there":           {"web:1", corev1.PullIfNotPresent, "IfNotPresent false true"},
		"it may not be pulled":      {"web:1", corev1.PullNever, "Never false "},
		"it has no name":            {"///", corev1.PullIfNotPresent, "IfNotPresent  "},
	} {
		t.Run(name, func(t *testing.T) {
			m, owner, got := newMachine("here:1"), &owner{}, ""
			p := New(Config{Runtime: m, Tell: owner.tell, Asked: func(policy corev1.PullPolicy, present, pull string) {
				got = fmt.Sprintf("%s %s %s", policy, present, pull)
			}})
			_, _ = p.Ensure(t.Context(), testPod("1"), need(c.ref, c.policy))
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
