package service

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The compiler embeds into a variable only; nothing ever writes to it.
//
//go:embed update.service
var updateUnit []byte

// All programs of an update lie beside the present one: to put one in its place is to rename it, which takes no room on the disk.
const (
	UpdateUnit = "kubelet-update.service"

	// Previous is the program before an update: the way back.
	Previous = Program + ".previous"

	next     = Program + ".next"   // the program that is to be put in place
	finisher = Program + ".update" // the one that the unit runs
	updates  = "/var/lib/nodal-update"
	record   = updates + "/update.json"
	lock     = updates + "/lock"
)

// Stage says how far an update is.
type Stage string

const (
	Trying   Stage = "Trying" // the new program runs, or is about to
	Updated  Stage = "Updated"
	WentBack Stage = "WentBack"
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
type ReadyPod struct {
	UID, Namespace, Name string
	Owner                string // UID of the object that looks after it and makes others in its place; empty if there is none
}

// BringUpdate copies a new program beside the present one, and returns the copy, which stays as it is when the file is written
// again. Only one process at a time can prepare an update: it has to close what keeps the others out.
func (c Config) BringUpdate(file string) (copied string, prepared io.Closer, err error) {
	held, err := c.alone()
	if err != nil {
		return "", nil, err
	}
	if err := c.updatable(file); err != nil {
		return "", nil, errors.Join(err, held.Close())
	}
	if err := (copyFile{file, c.path(next)}).Do(context.Background()); err != nil {
		return "", nil, errors.Join(err, held.Close())
	}
	return c.path(next), held, nil
}

// alone keeps other processes from preparing an update until what it returns is closed.
func (c Config) alone() (io.Closer, error) {
	if err := os.MkdirAll(c.path(updates), 0o700); err != nil {
		return nil, err
	}
	held, err := os.OpenFile(c.path(lock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another update is being prepared: wait for it (%w)", err), held.Close())
	}
	return held, nil
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
	if c.sameAs(file) {
		return fmt.Errorf("%s would judge itself: have the installed program do it, %s self-update %s", file, Program, file)
	}
	if err := ours(file); err != nil {
		return fmt.Errorf("%s is not a program of ours", file)
	}
	return nil
}

// sameAs reports whether the program that updates is the new one.
func (c Config) sameAs(file string) bool {
	self, err := os.Stat(c.Program)
	if err != nil {
		return false
	}
	other, err := os.Stat(file)
	return err == nil && os.SameFile(self, other)
}

// UpdateUnderWay fails while an update is neither finished nor taken back.
func (c Config) UpdateUnderWay() error {
	if _, err := os.Lstat(c.path(unitDir, UpdateUnit)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("an update is under way: wait for it (systemctl start %s)", UpdateUnit)
}

// BeginUpdate lists the steps up to the start of the unit, which puts the new program in place: whatever happens then, the unit
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

// PlaceUpdate is the step that puts the new program in place.
func (c Config) PlaceUpdate() Step { return place{c.path(next), c.path(Program)} }

// GoBack is the step that puts the previous program in place.
func (c Config) GoBack() Step { return place{c.path(Previous), c.path(Program)} }

// IsBack reports whether that step was taken, which a full disk may keep from the record.
func (c Config) IsBack() bool {
	_, err := os.Lstat(c.path(Previous))
	return errors.Is(err, fs.ErrNotExist)
}

// DropUpdate is the step that removes a new program which is not put in place.
func (c Config) DropUpdate() Step { return remove{c.path(next)} }

// Restart is the step that has systemd start the program that is in place now.
func Restart() Step { return run{"systemctl", "restart", unitName} }

// EndUpdate lists the steps after an update. The previous program stays, as the way back by hand. The program of the unit goes
// last: a unit without it would fail at each boot.
func (c Config) EndUpdate() []Step {
	return c.onlyLive([]Step{
		remove{c.path(wantsDir, UpdateUnit)}, remove{c.path(unitDir, UpdateUnit)}, remove{c.path(next)}, remove{c.path(finisher)},
		run{"systemctl", "daemon-reload"},
	})
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
	runs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return 0, false, nil // it has ended
	}
	placed, err := os.Stat(Program)
	return pid, err == nil && os.SameFile(runs, placed), err
}
