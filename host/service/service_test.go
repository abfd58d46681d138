package service

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestInstallWritesTheProgramUnitAndSettings(t *testing.T) {
	c := machine(t)
	c.install(t)
	want := map[string]string{
		"etc/nodal/config.yaml":                                      string(settings),
		"etc/systemd/system/kubelet.service":                         string(unit),
		"etc/systemd/system/multi-user.target.wants/kubelet.service": "-> /etc/systemd/system/kubelet.service",
		"usr/local/bin/kubelet":                                      c.content(t, c.Program),
		"usr/local/bin/nodal":                                        "-> kubelet",
		"usr/local/share/man/man1/kubelet.1":                         mark + "all",
		"usr/local/share/man/man1/kubelet-get.1":                     mark + "one",
	}
	c.wantFiles(t, want)
	if info, err := os.Stat(c.path(Program)); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program: got %v, %v, want mode 755", info, err)
	}
	for _, path := range []string{c.path(Settings), c.path(unitDir, unitName)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 600", path, info, err)
		}
	}
	if info, err := os.Stat(c.path(Manifests)); err != nil || !info.IsDir() {
		t.Errorf("no directory for manifests: %v", err)
	}
}

func TestInstallAgainKeepsTheOwnersSettings(t *testing.T) {
	c := machine(t)
	c.install(t)
	c.write(t, Settings, "mine")
	c.write(t, filepath.Join(unitDir, unitName), string(unit)+"# edited, which a drop-in is for")
	c.install(t)
	if got := c.content(t, c.path(Settings)); got != "mine" {
		t.Errorf("settings are %q now", got)
	}
	if got := c.content(t, c.path(unitDir, unitName)); got != string(unit) {
		t.Errorf("the unit is not the program's own: %q", got)
	}
}

func TestUninstallLeavesSettingsUnlessItPurges(t *testing.T) {
	c := machine(t)
	c.install(t)
	c.do(t, c.back(false))
	c.wantFiles(t, map[string]string{"etc/nodal/config.yaml": string(settings)})
	c.do(t, c.back(false)) // all of it is gone already
	c.do(t, c.back(true))
	c.wantFiles(t, map[string]string{})
}

func TestAnotherProgramKeepsTheSecondName(t *testing.T) {
	c := machine(t)
	c.write(t, "/usr/local/bin/nodal", "theirs")
	c.install(t)
	c.do(t, c.back(true))
	c.wantFiles(t, map[string]string{"usr/local/bin/nodal": "theirs"})
}

func TestManualPagesOfOthersStay(t *testing.T) {
	c := machine(t)
	c.write(t, "/usr/local/share/man/man1/kubelet.1", "theirs")
	c.write(t, "/usr/local/share/man/man1/kubelet-gone.1", mark+"of an older version")
	c.write(t, "/usr/local/share/man/man1/ours.7", mark+"in another section")
	c.install(t)
	if got := c.content(t, c.path(manDir, "kubelet.1")); got != "theirs" {
		t.Errorf("a page of another program is %q now", got)
	}
	c.do(t, c.back(true))
	c.wantFiles(t, map[string]string{"usr/local/share/man/man1/kubelet.1": "theirs", "usr/local/share/man/man1/ours.7": mark + "in another section"})
}

func TestAPurgeLeavesProgramAndSettingsForAnotherTry(t *testing.T) {
	clean := run{"clean"}
	steps := Config{Clean: clean}.back(true)
	if n := len(steps); n < 3 || steps[n-3].String() != "clean" || steps[n-2].String() != "remove "+Program || steps[n-1].String() != "remove /etc/nodal" {
		t.Errorf("got %v, want the node cleaned before program and settings go", steps)
	}
	if steps := (Config{Clean: clean}).back(false); slices.ContainsFunc(steps, func(s Step) bool { return s.String() == "clean" }) {
		t.Errorf("got %v without a purge", steps)
	}
}

func TestNothingOfOthersIsReplaced(t *testing.T) {
	for _, x := range []struct{ name, path, content, want string }{
		{"a program of another build", Program, "#!/bin/sh\n", "not a program of ours"},
		{"a unit that runs another kubelet", "/usr/lib/systemd/system/kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet\n", "runs another kubelet"},
		{"a unit in our own place", "/etc/systemd/system/kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet\n", "runs another kubelet"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := machine(t)
			c.write(t, x.path, x.content)
			if _, err := Install(c.Config); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("install: got %v, want %q", err, x.want)
			}
			if _, err := Uninstall(c.Config, true); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("uninstall: got %v, want %q", err, x.want)
			}
		})
	}
}

func TestAnotherProgramIsNotTakenForOurs(t *testing.T) {
	c := machine(t)
	self, err := os.Executable() // which is a Go program, and not the agent
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, Program, c.content(t, self))
	if _, err := Install(c.Config); err == nil || !strings.Contains(err.Error(), "is not a program of ours") {
		t.Errorf("got %v, want that it is not ours", err)
	}
}

func TestInstallStartsTheAgentOnARunningMachine(t *testing.T) {
	steps := Config{Program: "/tmp/kubelet"}.steps()
	got := make([]string, len(steps))
	for i, s := range steps {
		got[i] = s.String()
	}
	want := []string{
		"copy /tmp/kubelet to /usr/local/bin/kubelet",
		"link /usr/local/bin/nodal to kubelet, unless something else is there",
		"write 0 manual pages to /usr/local/share/man/man1, unless others are there",
		"make /etc/nodal/manifests",
		"write /etc/nodal/config.yaml, unless it is there",
		"write /etc/systemd/system/kubelet.service",
		"link /etc/systemd/system/multi-user.target.wants/kubelet.service to /etc/systemd/system/kubelet.service",
		"systemctl daemon-reload",
		"systemctl restart kubelet.service",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestAFailedStepLeavesTheOldFile(t *testing.T) {
	c := machine(t)
	c.write(t, Program, "old")
	s := copyFile{filepath.Join(c.Root, "gone"), c.path(Program)}
	if err := s.Do(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("copy a file that is gone: %v", err)
	}
	if err := put(c.path(Program), failing{}, 0o755); !errors.Is(err, errBroken) {
		t.Errorf("copy from a broken disk: %v", err)
	}
	c.wantFiles(t, map[string]string{"usr/local/bin/kubelet": "old"})
}

var errBroken = errors.New("broken disk")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

const mark = "a mark\n"

// prepared is a directory that stands for a machine.
type prepared struct{ Config }

func machine(t *testing.T) prepared {
	t.Helper()
	pages := map[string]string{"kubelet.1": mark + "all", "kubelet-get.1": mark + "one"}
	return prepared{Config{Program: "/proc/self/exe", Root: t.TempDir(), Pages: pages, Mark: mark}}
}

// install takes the steps without a look at the machine: the program in these
// tests is not the agent, so a second look would refuse it.
func (p prepared) install(t *testing.T) {
	t.Helper()
	p.do(t, p.steps())
}

func (p prepared) do(t *testing.T, steps []Step) {
	t.Helper()
	for _, s := range steps {
		if err := s.Do(t.Context()); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func (p prepared) write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.path(path), []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (p prepared) content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantFiles compares every file of the machine.
func (p prepared) wantFiles(t *testing.T, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(p.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(p.Root, path)
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(path)
			got[name] = "-> " + target
			return err
		}
		got[name] = p.content(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s: got %.80q, want %.80q", name, got[name], content)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s should not be there", name)
	}
}

func TestADropInChangesTheUnit(t *testing.T) {
	c := machine(t)
	c.install(t)
	if err := c.Unchanged(); err != nil {
		t.Errorf("as it was installed: %v", err)
	}
	c.write(t, filepath.Join(unitDir, unitName+".d", "override.conf"), "[Service]\n")
	if err := c.Unchanged(); err == nil {
		t.Error("with a drop-in: want an error")
	}
}
