package kubeadm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"nodal/node"
	"nodal/test/machine"
)

const (
	network  = "192.0.2" // of the machines; the first has address 1
	services = "10.96.0.0/16"
	pods     = "10.244.0.0/16"
	criLink  = "unix:///run/nodal/cri.sock"
	socket   = "/run/nodal/node.sock"
)

// The programs of the addons, in the parts and in names of images.
const (
	proxy = "kube-proxy"
	dns   = "coredns"
)

//go:embed systemctl.sh
var systemctl string

//go:embed init.yaml
var initConfig string

// Config holds the paths of a cluster.
type Config struct {
	Dir      string // for the machines' disks
	Kubelet  string
	Parts    string            // the directory of the control plane's programs and kubeadm
	Programs map[string]string // that the machines have besides, as in machine.Config
}

// Cluster is two machines, on which there may be a cluster of kubeadm's.
type Cluster struct {
	Config
	First, Second *machine.Machine

	version string   // of kubeadm
	addons  []string // references of images that each node needs
	// foreign are the machines with Debian's containerd, whose network the kubelet only tells of its subnet.
	foreign map[*machine.Machine]bool
}

// Start starts two machines, and on each the kubelet's runtime with the images that nodes need. After an error, Stop ends
// what has started.
func Start(ctx context.Context, c Config) (*Cluster, error) {
	k := &Cluster{Config: c}
	var err error
	if k.First, err = k.machine("node-a"); err != nil {
		return k, err
	}
	if k.Second, err = k.machine("node-b"); err != nil {
		return k, err
	}
	if err := machine.Connect(ctx, k.First, k.Second, network); err != nil {
		return k, err
	}
	k.version, err = k.First.Run(ctx, "kubeadm", "version", "-o", "short")
	k.version = strings.TrimSpace(k.version)
	return k, err
}

func (c *Cluster) machine(name string) (*machine.Machine, error) {
	programs := map[string]string{
		"kubelet": c.Kubelet, "kubeadm": filepath.Join(c.Parts, "kubeadm"), "kubectl": filepath.Join(c.Parts, "kubernetes"),
	}
	maps.Copy(programs, c.Programs)
	m, err := machine.Start(machine.Config{Name: name, Dir: filepath.Join(c.Dir, filepath.Base(c.Dir)+"-"+name), Programs: programs})
	if err != nil {
		return nil, err
	}
	hosts := fmt.Sprintf("127.0.0.1 localhost\n%s.1 node-a\n%s.2 node-b\n", network, network)
	// Nothing answers there. CoreDNS refuses to ask itself.
	resolver := fmt.Sprintf("nameserver %s.1\n", network)
	err = errors.Join(
		m.Write("/etc/hosts", hosts, 0o644), m.Write("/etc/resolv.conf", resolver, 0o644),
		m.Write("/usr/local/bin/systemctl", systemctl, 0o755),
	)
	return m, err
}

// Stop ends both machines, and all that runs on them.
func (c *Cluster) Stop() error {
	var errs []error
	for _, m := range []*machine.Machine{c.Second, c.First} {
		if m != nil {
			errs = append(errs, m.Stop())
		}
	}
	return errors.Join(errs...)
}

// Init makes the cluster, with the first machine as its control plane.
func (c *Cluster) Init(ctx context.Context) error {
	images, err := c.configure(ctx, criLink)
	if err == nil {
		err = c.prepare(ctx, c.First, images)
	}
	if err != nil {
		return err
	}
	return c.init(ctx)
}

// configure writes the first machine's configuration for kubeadm, and returns the images that it names.
func (c *Cluster) configure(ctx context.Context, socket string) (images []string, err error) {
	config := strings.NewReplacer("@VERSION@", c.version, "@ADDRESS@", network+".1", "@CRI@", socket, "@PODS@", pods, "@SERVICES@", services).Replace(initConfig)
	if err := c.First.Write("/root/init.yaml", config, 0o600); err != nil {
		return nil, err
	}
	listed, err := c.First.Run(ctx, "kubeadm", "config", "images", "list", "--config", "/root/init.yaml")
	images = strings.Fields(listed)
	c.addons = slices.DeleteFunc(slices.Clone(images), func(image string) bool {
		return !strings.Contains(image, "/"+proxy+":") && !strings.Contains(image, "/"+dns+":")
	})
	return images, err
}

func (c *Cluster) init(ctx context.Context) error {
	_, err := c.First.Run(ctx, append([]string{"kubeadm", "init", "--config", "/root/init.yaml"}, c.ignoring()...)...)
	return err
}

// ignoring has kubeadm ignore what it has against any kubelet here: it is against cgroups of version 1, and a control
// plane must not be older than the kubelet's API.
func (c *Cluster) ignoring() (args []string) {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		args = append(args, "--ignore-preflight-errors=SystemVerification")
	}
	if version.MustParseSemantic(c.version).Minor() < version.MustParseSemantic(node.KubernetesVersion).Minor() {
		args = append(args, "--ignore-preflight-errors=KubeletVersion")
	}
	return args
}

// Join has the second machine join by a token. It returns when its kubelet has a certificate of the cluster.
func (c *Cluster) Join(ctx context.Context) error {
	if err := c.prepare(ctx, c.Second, c.addons); err != nil {
		return err
	}
	return c.join(ctx, criLink)
}

// join has the second machine join with the runtime at a socket.
func (c *Cluster) join(ctx context.Context, socket string) error {
	said, err := c.First.Run(ctx, "kubeadm", "token", "create", "--print-join-command")
	if err != nil {
		return err
	}
	_, err = c.Second.Run(ctx, slices.Concat(strings.Fields(said), []string{"--cri-socket", socket}, c.ignoring())...)
	return err
}

// Reset takes a machine's node away, as docs/KUBEADM.md says.
func (c *Cluster) Reset(ctx context.Context, m *machine.Machine) error {
	for _, command := range []string{"systemctl stop kubelet", "kubelet clean", "kubeadm reset --force"} {
		if _, err := m.Run(ctx, strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}

// Kubectl returns a command that runs kubectl as the cluster's admin.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return c.First.Command(ctx, append([]string{"kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf"}, args...)...)
}

// Route lets the pods of the machines reach each other, as a cluster's network does it: pods have addresses of their
// node's subnet in the cluster. It returns when both nodes use theirs.
func (c *Cluster) Route(ctx context.Context) error {
	for i, m := range []*machine.Machine{c.First, c.Second} {
		subnet, err := c.subnet(ctx, m)
		if err != nil {
			return err
		}
		other, way := []*machine.Machine{c.Second, c.First}[i], fmt.Sprintf("%s.%d", network, i+1)
		if _, err := other.Run(ctx, "ip", "route", "replace", subnet, "via", way); err != nil {
			return err
		}
	}
	return nil
}

// subnet waits until a node uses the subnet that the cluster gives it, and returns that.
func (c *Cluster) subnet(ctx context.Context, m *machine.Machine) (string, error) {
	for {
		given, err := c.Kubectl(ctx, "get", "node", m.Name, "-o", "jsonpath={.spec.podCIDR}").Output()
		if err == nil && len(given) > 0 {
			if c.foreign[m] {
				return string(given), nil
			}
			used, err := subnetsOf(ctx, m)
			if err == nil && len(used) > 0 && used[0] == string(given) {
				return used[0], nil
			}
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("wait for the subnet of node %s, which is given %q: %w", m.Name, given, errors.Join(ctx.Err(), err))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Logs returns the ends of the kubelets' logs.
func (c *Cluster) Logs() (text string) {
	for _, m := range []*machine.Machine{c.First, c.Second} {
		if m == nil {
			continue
		}
		const most = 8000
		log, err := os.ReadFile(m.Path("/var/log/kubelet.log"))
		if err != nil {
			log = []byte(err.Error())
		}
		text += fmt.Sprintf("the kubelet's log on %s ends with\n%s\n", m.Name, log[max(0, len(log)-most):])
	}
	return text
}
