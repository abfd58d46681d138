package client

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestWhatFitsTheLastWord(t *testing.T) {
	verbs := append(Verbs(), Verb{Name: "token", Words: "create|list|revoke", Raw: func([]string, Console) int { return 0 }})
	ask := func(k kind, s *session, namespace string) []string {
		if s.reach.socket.given && s.reach.socket.value == "/away" {
			return nil
		}
		return []string{namespace + "-" + k.name, "web"}
	}
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"ge"}, []string{"get"}},
		{[]string{"help", "lo"}, []string{"logs"}},
		{[]string{"images", "p"}, []string{"pull", "pulls", "prune"}},
		{[]string{"images", "rm", "image"}, nil},
		{[]string{"images", "rm", "w"}, []string{"web"}},
		{[]string{"token", "r"}, []string{"revoke"}},
		{[]string{"logs", "--ti"}, []string{"--timestamps"}},
		{[]string{"logs", "-n", "shop", ""}, []string{"shop-pods", "web"}},
		{[]string{"logs", "--socket", "/away", ""}, nil},
		{[]string{"get", "networkp"}, []string{"networkpolicies"}},
		{[]string{"get", "w"}, []string{"web"}},
		{[]string{"get", "secrets", "def"}, []string{"default-secrets"}},
		{[]string{"get", "pods", "-o", "j"}, []string{"json", "jsonpath="}},
		{[]string{"wait", "--for", ""}, []string{"ready", "deleted", "succeeded"}},
		{[]string{"apply", "-f", "w"}, nil},
		{[]string{"exec", "web", "--", "w"}, nil},
		{[]string{"context", "u"}, []string{"use"}},
		{[]string{"completion", "z"}, []string{"zsh"}},
		{[]string{"nope", ""}, nil},
	} {
		if got := candidates(verbs, c.words, ask); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.words, got, c.want)
		}
	}
}

func TestBashTakesItsScript(t *testing.T) {
	script, _, code := runVerb("completion", "bash")
	bash, err := exec.LookPath("bash")
	if err != nil || code != 0 {
		t.Skipf("bash: %v; the verb ended with %d", err, code)
	}
	// A function stands for the binary.
	test := `kubelet() { printf '%s\n' "asked:$1 $2 $3" other; }` + "\n" + script + `COMP_WORDS=(kubelet logs we); COMP_CWORD=2; _nodal_complete; printf '%s\n' "${COMPREPLY[@]}"`
	out, err := exec.Command(bash, "-c", test).CombinedOutput()
	if want := "asked:__complete logs we\nother\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	for _, shell := range []string{"zsh", "fish"} {
		if out, _, code := runVerb("completion", shell); code != 0 || !strings.Contains(out, "__complete") {
			t.Errorf("%s: got %d, %q", shell, code, out)
		}
	}
	if _, failed, code := runVerb("completion", "csh"); code != 2 || !strings.Contains(failed, "want one of bash, zsh and fish") {
		t.Errorf("csh: got %d, %q", code, failed)
	}
}
