package service

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The compiler embeds into variables only; nothing ever writes to these.
var (
	//go:embed kubelet.service
	unit []byte
	//go:embed config.yaml
	settings []byte
)

// Where everything goes; the unit names these paths too.
const (
	Program   = "/usr/local/bin/kubelet"
	Alias     = "nodal" // the second name of the program, beside it
	Settings  = "/etc/nodal/config.yaml"
	Manifests = "/etc/nodal/manifests"

	settingsDir = "/etc/nodal"
	unitName    = "kubelet.service"
	unitDir     = "/etc/systemd/system"
	wantsDir    = unitDir + "/multi-user.target.wants"
	manDir      = "/usr/local/share/man/man1"
)

// Config says what to install and where.
type Config struct {
	Program string // the file to copy
	// Root is the directory that stands for "/" if the files are for another machine. Nothing is started then.
	Root string
	// Clean removes the node that runs here. A purge runs it before it removes the program and its settings, so that it
	// can be tried again.
	Clean Step
	// Pages are the manual pages, by the names of their files. Each begins with Mark, as nothing of others does.
	Pages map[string]string
	Mark  string
}

// Install lists the steps after which the machine runs the agent, now and after each boot.
func Install(c Config) ([]Step, error) {
	if err := errors.Join(c.yieldToOthers(), c.UpdateUnderWay()); err != nil {
		return nil, err
	}
	return c.steps(), nil
}

func (c Config) steps() []Step {
	steps := []Step{
		copyFile{c.Program, c.path(Program)},
		alias{c.path(filepath.Dir(Program), Alias), filepath.Base(Program)},
		writePages{c.path(manDir), c.Pages, c.Mark},
		makeDir{c.path(Manifests)},
		writeFile{c.path(Settings), settings, true},
		writeFile{c.path(unitDir, unitName), unit, false},
		link{c.path(wantsDir, unitName), filepath.Join(unitDir, unitName)},
	}
	if c.live() {
		// A restart starts what does not run, and an upgrade ends the old agent.
		steps = append(steps, run{"systemctl", "daemon-reload"}, run{"systemctl", "restart", unitName})
	}
	return steps
}

// Uninstall lists the steps that take Install back. Pods keep running, and files that the owner may have edited stay,
// unless purge is set.
func Uninstall(c Config, purge bool) ([]Step, error) {
	if err := c.yieldToOthers(); err != nil {
		return nil, err
	}
	return c.back(purge), nil
}

func (c Config) back(purge bool) []Step {
	var steps []Step
	if c.live() && c.UpdateUnderWay() != nil {
		steps = append(steps, run{"systemctl", "stop", UpdateUnit}) // it could start the agent again
	}
	_, err := os.Lstat(c.path(unitDir, unitName))
	if installed := err == nil; installed && c.live() {
		steps = append(steps, run{"systemctl", "stop", unitName})
	}
	steps = append(steps, remove{c.path(wantsDir, UpdateUnit)}, remove{c.path(unitDir, UpdateUnit)}, remove{c.path(updates)},
		remove{c.path(next)}, remove{c.path(Previous)}, remove{c.path(finisher)},
		remove{c.path(wantsDir, unitName)}, remove{c.path(unitDir, unitName)},
		removeAlias{c.path(filepath.Dir(Program), Alias), filepath.Base(Program)}, removePages{c.path(manDir), c.Mark})
	if c.live() {
		steps = append(steps, run{"systemctl", "daemon-reload"})
	}
	if purge && c.live() {
		steps = append(steps, c.Clean)
	}
	steps = append(steps, remove{c.path(Program)})
	if purge {
		steps = append(steps, remove{c.path(settingsDir)})
	}
	return steps
}

func (c Config) live() bool { return c.Root == "" }

func (c Config) path(elements ...string) string {
	return filepath.Join("/", c.Root, filepath.Join(elements...))
}

// yieldToOthers fails if the places that we would take, or clear, belong to another program.
func (c Config) yieldToOthers() error {
	if c.live() {
		if _, err := os.Stat("/run/systemd/system"); err != nil {
			return fmt.Errorf("systemd does not run on this machine: have its service manager run %q (%w)", Program, err)
		}
	}
	if err := ours(c.path(Program)); err != nil {
		return err
	}
	for _, dir := range unitDirs() {
		if err := ourUnit(c.path(dir, unitName)); err != nil {
			return err
		}
	}
	return nil
}

// unitDirs lists the directories where systemd looks for units and their drop-ins.
func unitDirs() []string {
	return []string{unitDir, "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
}

// Unchanged fails if drop-ins change the unit: then only systemd knows how it starts the agent.
func (c Config) Unchanged() error {
	for _, dir := range unitDirs() {
		dropIns := c.path(dir, unitName+".d")
		if _, err := os.Stat(dropIns); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("files in %s change how the agent is started", dropIns)
		}
	}
	return nil
}

// ours fails if the file in the place of our program is another program. The linker writes the package that a program
// was built from into it. Package debug/buildinfo would read that, but adds a third of a megabyte to the binary.
func ours(path string) error {
	stamp := fmt.Sprintf("path\t%s\n", "nodal/cmd/kubelet") // put together late: it must be nowhere else in the binary
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look whether %s is ours: %w", path, err)
	case !bytes.Contains(text, []byte(stamp)):
		return fmt.Errorf("%s is not a program of ours: move it away first", path)
	}
	return nil
}

// ourUnit reports a unit of our name that runs another program.
func ourUnit(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the unit that is there: %w", err)
	}
	if !strings.Contains(string(text), "\nExecStart="+Program+" --config="+Settings+" ") {
		return fmt.Errorf("%s runs another kubelet: remove it first", path)
	}
	return nil
}
