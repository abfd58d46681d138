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
