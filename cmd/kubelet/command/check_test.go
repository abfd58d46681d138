package command

import (
	"bytes"
	"strings"
	"testing"
)

func TestCheckJudgesTheRuntimeThatIsNamed(t *testing.T) {
	var out, says bytes.Buffer
	code := runCheck([]string{"--container-runtime-endpoint=unix://" + t.TempDir() + "/none.sock"}, Console{Out: &out, Err: &says})
	lines := strings.Split(out.String(), "\n")
	if code != 1 || len(lines) != 3 || !strings.HasPrefix(lines[1], "FAILED  runtime  ") {
		t.Errorf("got code %d and %q (%s), want a line that the runtime does not answer", code, lines, &says)
	}
}

func TestCheckSaysWhereTheKeyOfSecretsLives(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ flag, want string }{
		{"--secrets-key=beside", "ok      key of Secrets: beside (" + dir + "/secrets.key)"},
		{"--secrets-key=file:" + dir + "/key", "FAILED  key of Secrets: file:" + dir + "/key  key file " + dir + "/key is missing; mount"},
		{"--secrets-key=kms:unix://" + dir + "/kms", "FAILED  key of Secrets: kms:unix://" + dir + "/kms  KMS plugin at " + dir + "/kms: Status"},
		{"--secrets-key=credential:secrets", "warning  key of Secrets: credential:secrets  systemd hands it to the agent alone"},
	} {
		var out, says bytes.Buffer
		runCheck([]string{"--container-runtime-endpoint=unix://" + dir + "/none.sock", "--root-dir=" + dir, c.flag}, Console{Out: &out, Err: &says})
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: got\n%s(%s), want a line %q", c.flag, &out, &says, c.want)
		}
	}
}

func TestCheckNamesSettingsThatAreNotHonoured(t *testing.T) {
	var out, says bytes.Buffer
	runCheck([]string{
		"--container-runtime-endpoint=unix://" + t.TempDir() + "/none.sock", "--hairpin-mode=none",
		"--anonymous-auth", "--authorization-mode=AlwaysAllow",
	}, Console{Out: &out, Err: &says})
	for _, want := range []string{
		"warning  hairpinMode  has no effect: on the node's own network pods reach themselves",
		"warning  access       every caller that reaches the port is admin",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s(%s), want a line %q", &out, &says, want)
		}
	}
}
