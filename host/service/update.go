package service

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The compiler embeds into a variable only; nothing ever writes to it.
//
//go:embed update.service
var updateUnit []byte

const (
	updates    = "/var/lib/nodal-update"
	UpdateUnit = "kubelet-update.service"

	// Previous is the program before an update: the way back.
	Previous = updates + "/kubelet"

	next     = updates + "/next"   // the program that is to be put in place
	finisher = updates + "/finish" // the one that the unit runs
	record   = updates + "/update.json"
)

// Stage says how far an update is.
type Stage string

const (
	Trying    Stage = "Trying"    // the new program runs, or is about to
	GoingBack Stage = "GoingBack" // the previous program is put in its place
	Updated   Stage = "Updated"
	WentBack  Stage = "WentBack"
)

// Update is an update of the program, in a record that outlives a loss of power.
type Update struct {
	From, To string // versions
	Socket   string // of the node
	Pods     []ReadyPod
	Within   time.Duration // the new agent and these pods have to be ready
	Stage    Stage
	Reason   string // why it went back
}

// ReadyPod is a pod that was ready before an update.
type ReadyPod struct{ UID, Namespace, Name string }

// BringUpdate copies a new program beside the present one, and returns the copy, which stays as it is when the file is written again.
func (c Config) BringUpdate(file string) (string, error) {
	if err := c.updatable(file); err != nil {
		return "", err
	}
	copied := c.path(next)
	if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
		return "", err
	}
	return copied, copyFile{file, copied}.Do(context.Background())
}

// updatable fails if there is nothing to update, or nothing to update it with.
func (c Config) updatable(file string) error {
	if err := c.yieldToOthers(); err != nil {
		return err
	}
	if _, err := os.Stat(c.path(unitDir, unitName)); err != nil {
		return fmt.Errorf("no service of this program is installed: kubelet install installs it (%w)", err)
	}
	if err := c.UpdateUnderWay(); err != nil {
		return err
	}
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if err := ours(file); err != nil {
		return fmt.Errorf("%s is not a program of ours", file)
	}
	return nil
}

// UpdateUnderWay fails while an update is neither finished nor taken back.
func (c Config) UpdateUnderWay() error {
	if _, err := os.Lstat(c.path(unitDir, UpdateUnit)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("an update is under way: wait for it (systemctl start %s)", UpdateUnit)
}

// BeginUpdate lists the steps that put the new program in place. The unit is there first: whatever happens then, it
// finishes the update or takes it back.
func (c Config) BeginUpdate(u Update) ([]Step, error) {
	text, err := json.MarshalIndent(u, "", "  ")
	if err != nil {
		return nil, err
	}
	return c.onlyLive([]Step{
		copyFile{c.path(Program), c.path(Previous)},
		copyFile{c.Program, c.path(finisher)},
		writeFile{c.path(record), text, false},
		writeFile{c.path(unitDir, UpdateUnit), updateUnit, false},
		link{c.path(wantsDir, UpdateUnit), filepath.Join(unitDir, UpdateUnit)},
		run{"systemctl", "daemon-reload"},
		copyFile{c.path(next), c.path(Program)},
		run{"systemctl", "start", UpdateUnit}, // it returns when the update is over
	}), nil
}

// onlyLive leaves out what can be done on a running machine alone, if the files are for another one.
func (c Config) onlyLive(steps []Step) []Step {
	return slices.DeleteFunc(steps, func(s Step) bool {
		_, runs := s.(run)
		return runs && !c.live()
	})
}

// Restart is the step that has systemd start the program that is in place now.
func Restart() Step { return run{"systemctl", "restart", unitName} }

// GoBack lists the steps that put the previous program in place.
func (c Config) GoBack() []Step {
	return c.onlyLive([]Step{copyFile{c.path(Previous), c.path(Program)}, Restart()})
}

// EndUpdate lists the steps after an update. The previous program stays: it is the way back by hand.
func (c Config) EndUpdate() []Step {
	return c.onlyLive([]Step{
		remove{c.path(wantsDir, UpdateUnit)}, remove{c.path(unitDir, UpdateUnit)}, remove{c.path(next)}, remove{c.path(finisher)},
		run{"systemctl", "daemon-reload"},
	})
}

// UpdateBegan reports whether the new program was put in place.
func (c Config) UpdateBegan() (bool, error) {
	placed, err := os.ReadFile(c.path(Program))
	if err != nil {
		return false, err
	}
	brought, err := os.ReadFile(c.path(next))
	return bytes.Equal(placed, brought), err
}

// Update reads the record of the last update.
func (c Config) Update() (u Update, err error) {
	text, err := os.ReadFile(c.path(record))
	if err == nil {
		err = json.Unmarshal(text, &u)
	}
	if err != nil {
		return u, fmt.Errorf("read the record of the update: %w", err)
	}
	return u, nil
}

// Record writes how far an update is.
func (c Config) Record(u Update) error {
	text, err := json.MarshalIndent(u, "", "  ")
	if err != nil {
		return err
	}
	return put(c.path(record), bytes.NewReader(text), 0o600)
}

// Agent returns the process that systemd runs as the agent, and whether it runs the program that is in place now.
func Agent(ctx context.Context) (pid int, present bool, err error) {
	out, err := exec.CommandContext(ctx, "systemctl", "show", "--property=MainPID", "--value", unitName).Output()
	if err != nil {
		return 0, false, fmt.Errorf("ask systemd for the agent: %w", err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil || pid == 0 {
		return 0, false, err
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // of a file that was replaced it says so
	return pid, program == Program, err
}
