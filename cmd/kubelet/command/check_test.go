package command

import (
	"bytes"
	"strings"
	"testing"
)

func TestCheckJudgesTheRuntimeThatIsNamed(t *testing.T) {
	var out, says bytes.Buffer
	code := runCheck([]string{"--container-runtime-endpoint=unix://" + t.TempDir() + "/none.sock"}, Console{nil, &out, &says})
	if got := out.String(); code != 1 || !strings.HasPrefix(got, "FAILED  runtime  ") || strings.Count(got, "\n") != 1 {
		t.Errorf("got code %d and %q (%s), want one line: the runtime does not answer", code, got, &says)
	}
}

func TestCheckNamesSettingsThatAreNotHonoured(t *testing.T) {
	var out, says bytes.Buffer
	runCheck([]string{
		"--container-runtime-endpoint=unix://" + t.TempDir() + "/none.sock", "--oom-score-adj=-5",
		"--anonymous-auth", "--authorization-mode=AlwaysAllow",
	}, Console{nil, &out, &says})
	for _, want := range []string{
		"warning  oomScoreAdj  has no effect: the agent keeps the oom_score_adj with which it was started; leave it out",
		"warning  access       every caller that reaches the port is admin",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s(%s), want a line %q", &out, &says, want)
		}
	}
}
