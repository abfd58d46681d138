package cri_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/cri"
	"nodal/host/cri/spec"
	sim "nodal/sim/cri"
)

func TestLastWordsOfARun(t *testing.T) {
	const fallback = corev1.TerminationMessageFallbackToLogsOnError
	for _, test := range []struct {
		name   string
		path   string
		policy corev1.TerminationMessagePolicy
		args   []string
		words  string
		err    error
		ending cri.Ending // but for its container
		want   string
	}{
		{"a file to read", "/dev/termination-log", corev1.TerminationMessageReadFile, []string{"exit", "1"}, "gone", nil,
			cri.Ending{MessageFile: true}, "gone"},
		{"the log of a run that failed", "/dev/termination-log", fallback, []string{"exit", "1"}, "gone", nil,
			cri.Ending{MessageFile: true, LogInstead: true}, "gone"},
		{"success needs no log", "/dev/termination-log", fallback, []string{"exit", "0"}, "", nil,
			cri.Ending{MessageFile: true}, ""},
		{"nowhere to write to", "", corev1.TerminationMessageReadFile, []string{"exit", "1"}, "", nil, cri.Ending{}, ""},
		{"words that cannot be read do not hide how it ended", "/dev/termination-log", corev1.TerminationMessageReadFile,
			[]string{"exit", "1"}, "", errors.New("no such disk"), cri.Ending{MessageFile: true}, "no such disk"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []cri.Ending
			config := testConfig(t)
			config.LastWords = func(_ context.Context, e cri.Ending) (string, error) {
				got = append(got, e)
				return test.words, test.err
			}
			onSimWith(t, sim.Config{}, config, func(f *fixture, _ *sim.Server) {
				c := &f.pod.Object.Spec.Containers[0]
				c.Args = append(test.args, "after", "1s")
				c.TerminationMessagePath, c.TerminationMessagePolicy = test.path, test.policy
				_, container := f.start()
				if running := f.inspect(container); running.Message != "" || len(got) != 0 {
					t.Errorf("a running container says %q", running.Message)
				}
				time.Sleep(2 * time.Second)
				if ended := f.inspect(container); ended.Message != test.want {
					t.Errorf("the message is %q, want %q", ended.Message, test.want)
				}
				if len(got) != 1 || got[0].Container.Name != "main" || got[0].MessageFile != test.ending.MessageFile || got[0].LogInstead != test.ending.LogInstead {
					t.Errorf("asked for the last words of %+v, want %+v", got, test.ending)
				}
			})
		})
	}
}

func TestExtrasAreAskedForOnceForEachRun(t *testing.T) {
	var got []spec.Run
	config := testConfig(t)
	config.Extras = []spec.Contributor{func(run spec.Run) (spec.Extras, error) {
		got = append(got, run)
		return spec.Extras{}, nil
	}}
	onSimWith(t, sim.Config{}, config, func(f *fixture, _ *sim.Server) {
		f.pod.Object.Spec.Hostname, f.pod.Object.Spec.Subdomain = "given", "sub"
		f.create()
		if len(got) != 1 || got[0].Name != (spec.PodName{Short: "given", Domain: "sub.default.svc"}) || len(got[0].IPs) != 1 || got[0].Container.Name != "main" {
			t.Errorf("extras were asked for %+v, want once, with the pod's name and address", got)
		}
	})
}
