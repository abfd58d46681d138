package command

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"nodal/cmd/kubelet/command/client"
)

func TestEveryVerbHasAManualPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var out bytes.Buffer
	if code, _ := Run([]string{"man", dir}, Console{Out: &out, Err: &out}); code != 0 {
		t.Fatalf("got code %d: %s", code, &out)
	}
	pages := map[string]string{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[f.Name()] = string(text)
	}
	for _, v := range verbs() {
		page, ok := pages["kubelet-"+v.Name+".1"]
		if ok == v.Hidden {
			t.Errorf("%s: hidden is %t, and it has a page: %t", v.Name, v.Hidden, ok)
		}
		if v.Hidden {
			continue
		}
		plain := strings.NewReplacer(`\-`, "-", `\e`, `\`, `\&`, "").Replace(page)
		if !strings.Contains(plain, v.Short) || !strings.Contains(plain, strings.Split(v.Example, "\n")[0]) {
			t.Errorf("the page of %s lacks what it does, or its example:\n%s", v.Name, page)
		}
		if v.Bind == nil {
			continue
		}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		v.Bind(flags)
		flags.VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(plain, "--"+f.Name+`\fR`) {
				t.Errorf("the page of %s lacks --%s", v.Name, f.Name)
			}
		})
	}
	if !strings.Contains(pages["kubelet.1"], "port\\-forward") || !strings.Contains(pages["nodal.1"], ".so man1/kubelet.1") {
		t.Errorf("the page of the program: got %s", pages["kubelet.1"])
	}
}

// TestManualPagesAreSoundRoff looks at each command of roff, and has groff judge the pages if it is on the machine.
func TestManualPagesAreSoundRoff(t *testing.T) {
	known := regexp.MustCompile(`^\.(\\"|TH|SH|TP|PP|B|BR|br|nf|fi|nh|ad|so)( |$)`)
	groff, err := exec.LookPath("groff")
	judged := err == nil
	pages := client.ManPages(verbs())
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if !strings.HasPrefix(pages[name], client.ManMark) {
			t.Errorf("%s does not say where it comes from", name)
		}
		for line := range strings.Lines(pages[name]) {
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !known.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s: %q is taken for a command", name, line)
			}
		}
		if !judged || name == "nodal.1" {
			continue
		}
		check := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z")
		check.Stdin = strings.NewReader(pages[name])
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
