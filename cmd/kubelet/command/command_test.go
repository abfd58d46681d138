package command

import (
	"bytes"
	"strings"
	"testing"
)

func TestMisuseNamesTheFaultAndShowsTheUsage(t *testing.T) {
	for _, c := range []struct{ command, word, want string }{
		{"install", "now", `kubelet install: unexpected argument "now"`},
		{"install", "--dryrun", "kubelet install: unknown flag: --dryrun"},
		{"uninstall", "all", `kubelet uninstall: unexpected argument "all"`},
		{"ui", "open", `kubelet ui: unexpected argument "open"`},
	} {
		var out, failed bytes.Buffer
		// Should it be taken after all, nothing on the machine is touched.
		args := []string{c.word, "--socket=/no/such/socket"}
		if c.command != "ui" {
			args = []string{c.word, "--dry-run", "--root=" + t.TempDir()}
		}
		code, _ := Run(append([]string{c.command}, args...), Console{Out: &out, Err: &failed})
		if code != 2 || !strings.Contains(failed.String(), c.want) || !strings.Contains(failed.String(), "Usage:") {
			t.Errorf("%s %s: got code %d, %q, want 2, %q and how it is used", c.command, c.word, code, failed.String(), c.want)
		}
	}
}

func TestEachVerbExplainsItselfAndNamesTheNearestFlag(t *testing.T) {
	for _, v := range verbs() {
		if v.Hidden {
			continue
		}
		var out, failed bytes.Buffer
		code, _ := Run([]string{v.Name, "--help"}, Console{Out: &out, Err: &failed})
		if code != 0 || failed.Len() > 0 || !strings.Contains(out.String(), "Usage:") || !strings.Contains(out.String(), "Example:\n  kubelet "+v.Name) {
			t.Errorf("%s --help: got %d, %q\n%s", v.Name, code, &failed, &out)
		}
		failed.Reset()
		if code, _ := Run([]string{v.Name, "--no-such-flag"}, Console{Out: &out, Err: &failed}); code != 2 || !strings.Contains(failed.String(), "unknown flag: --no-such-flag") {
			t.Errorf("%s with a wrong flag: got %d, %q", v.Name, code, &failed)
		}
	}
	var failed bytes.Buffer
	if code, _ := Run([]string{"audit", "--sicne=1h"}, Console{Err: &failed}); code != 2 || !strings.Contains(failed.String(), "did you mean --since?") {
		t.Errorf("got %d, %q, want the nearest flag", code, &failed)
	}
}

func TestTheAgentsOwnFlagsAreNoVerb(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"--v", "4"}} {
		if code, found := Run(args, Console{}); found {
			t.Errorf("%q: got a verb that returned %d, want none", args, code)
		}
	}
	var failed bytes.Buffer
	if code, found := Run([]string{"start"}, Console{Err: &failed}); !found || code != 2 || !strings.Contains(failed.String(), `unknown verb "start"`) {
		t.Errorf("a word that is no verb: got %t, %d, %q", found, code, &failed)
	}
}
