package machine

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

//go:embed boot.sh
var boot string

//go:embed enter.sh
var enter string

// Config says what a machine is made of.
type Config struct {
	Name     string            // the host name
	Dir      string            // used by this machine alone, on a disk
	Programs map[string]string // paths of programs on this machine, by their names in the other's /usr/bin
}

// Machine is a running machine.
type Machine struct {
	Config
	Pid int // of its first process, as this machine counts

	boot *exec.Cmd
}

// Start makes a machine and returns when commands can run on it. It ends with this process.
func Start(c Config) (*Machine, error) {
	m := &Machine{Config: c}
	if err := m.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start machine %s: %w", c.Name, err), m.Stop())
	}
	return m, nil
}

func (m *Machine) start() error {
	for _, dir := range []string{m.disk(), m.file("root")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	err := os.WriteFile(m.file("boot.sh"), []byte(boot), 0o600)
	if err2 := os.WriteFile(m.file("enter.sh"), []byte(enter), 0o600); err != nil || err2 != nil {
		return errors.Join(err, err2)
	}
	log, err := os.Create(m.file("boot.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{m.file("boot.sh"), "cgroup", m.Name, m.group(), m.file("root"), m.disk()}
	for name, path := range m.Programs {
		args = append(args, name+"="+path)
	}
	m.boot = exec.Command("bash", args...)
	m.boot.Stderr = log
	m.boot.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	out, err := m.boot.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.boot.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("it ended early: %s", m.bootLog())
	}
	if err != nil {
		return err
	}
	m.Pid, err = strconv.Atoi(strings.TrimSpace(line))
	return err
}

func (m *Machine) bootLog() string {
	text, err := os.ReadFile(m.file("boot.log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (m *Machine) file(name string) string { return filepath.Join(m.Dir, name) }

func (m *Machine) disk() string { return m.file("disk") }

// group returns the name of the machine's cgroup in each hierarchy.
func (m *Machine) group() string { return filepath.Base(m.Dir) }

// Path returns the path at which this machine sees a file of the other.
func (m *Machine) Path(path string) string {
	return filepath.Join("/proc", strconv.Itoa(m.Pid), "root", path)
}

// Write writes a file of the machine, with its directory.
func (m *Machine) Write(path, text string, mode os.FileMode) error {
	err := os.MkdirAll(m.Path(filepath.Dir(path)), 0o755)
	if err == nil {
		err = os.RemoveAll(m.Path(path)) // a link there could lead to a file of this machine
	}
	if err == nil {
		err = os.WriteFile(m.Path(path), []byte(text), mode)
	}
	if err != nil {
		return fmt.Errorf("write %s of machine %s: %w", path, m.Name, err)
	}
	return nil
}

// Command returns a command that runs on the machine. A process that it leaves in the background runs on there.
func (m *Machine) Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", append([]string{m.file("enter.sh"), strconv.Itoa(m.Pid), m.group()}, args...)...)
	c.Dir = "/"
	c.Env = append(os.Environ(), "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root")
	return c
}

// Run runs a command on the machine, and returns its output. The error has that as well, and what it says of its faults.
func (m *Machine) Run(ctx context.Context, args ...string) (string, error) {
	var faults strings.Builder
	c := m.Command(ctx, args...)
	c.Stderr = &faults
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s on machine %s: %w\n%s%s", strings.Join(args, " "), m.Name, err, out, faults.String())
	}
	return string(out), err
}

// Connect lays a cable between two machines. Their addresses in the network, such as "192.0.2", end in 1 and 2, and their
// default routes lead to an address that neither has.
func Connect(ctx context.Context, first, second *Machine, network string) error {
	// From outside of both, as the IDs of processes are this machine's.
	lay := exec.CommandContext(ctx, "nsenter", "--target", strconv.Itoa(first.Pid), "--net", "--",
		"ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(second.Pid))
	if out, err := lay.CombinedOutput(); err != nil {
		return fmt.Errorf("connect machines %s and %s: %w: %s", first.Name, second.Name, err, out)
	}
	for i, m := range []*Machine{first, second} {
		for _, args := range []string{
			fmt.Sprintf("addr add %s.%d/24 dev eth0", network, i+1), "link set eth0 up", fmt.Sprintf("route add default via %s.254", network),
		} {
			if _, err := m.Run(ctx, append([]string{"ip"}, strings.Fields(args)...)...); err != nil {
				return err
			}
		}
	}
	return nil
}
