package kubeadm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"nodal/test/machine"
	"nodal/test/rig"
)

const foreignLink = "unix:///run/containerd/containerd.sock"

//go:embed containerd.toml
var containerdConfig string

//go:embed containerd_net.json
var containerdNet string

// InitForeign is Init with Debian's containerd.
func (c *Cluster) InitForeign(ctx context.Context) error {
	images, err := c.configure(ctx, foreignLink)
	if err == nil {
		err = c.beginForeign(ctx, c.First, images)
	}
	if err != nil {
		return err
	}
	return c.init(ctx)
}

// JoinForeign has the second machine join with Debian's containerd.
func (c *Cluster) JoinForeign(ctx context.Context) error {
	if err := c.beginForeign(ctx, c.Second, c.addons); err != nil {
		return err
	}
	return c.join(ctx, foreignLink)
}

// beginForeign starts Debian's containerd on a machine, with images. It knows no subnet for its pods until the kubelet
// tells it one.
func (c *Cluster) beginForeign(ctx context.Context, m *machine.Machine, images []string) error {
	err := errors.Join(
		m.Write("/run/containerd/config.toml", containerdConfig, 0o600), m.Write("/run/containerd/net.json", containerdNet, 0o600),
	)
	if err == nil {
		_, err = m.Run(ctx, "sh", "-c", `setsid containerd --config /run/containerd/config.toml </dev/null >/var/log/containerd.log 2>&1 &
echo $! >/run/containerd.pid; until ctr version >/dev/null 2>&1; do kill -0 $(cat /run/containerd.pid) || { cat /var/log/containerd.log; exit 1; }; sleep 0.1; done`)
	}
	for _, image := range []string{"busybox", "pause"} {
		if err == nil {
			err = give(ctx, m, func(w io.Writer) error { return rig.Save(w, image) })
		}
	}
	for program, names := range programs(images) {
		if err == nil {
			err = give(ctx, m, func(w io.Writer) error { return c.save(w, program, names) })
		}
	}
	if c.foreign == nil {
		c.foreign = map[*machine.Machine]bool{}
	}
	c.foreign[m] = true
	return err
}

// give imports images that save writes into the containerd of a machine.
func give(ctx context.Context, m *machine.Machine, save func(io.Writer) error) error {
	out, in := io.Pipe()
	go func() { in.CloseWithError(save(in)) }()
	defer out.Close()
	command := m.Command(ctx, "ctr", "--namespace", "k8s.io", "images", "import", "-")
	command.Stdin = out
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("import an image on machine %s: %w\n%s", m.Name, err, said)
	}
	return nil
}

// EndForeign takes Debian's containerd off a machine. kubeadm's reset has ended what ran there, and left the cgroups of pods, as
// after any kubelet.
func (c *Cluster) EndForeign(ctx context.Context, m *machine.Machine) error {
	containers, err := m.Run(ctx, "ctr", "--namespace", "k8s.io", "containers", "list", "--quiet")
	if err == nil && strings.TrimSpace(containers) != "" {
		err = fmt.Errorf("kubeadm's reset has left containers on machine %s: %s", m.Name, containers)
	}
	_, err2 := m.Run(ctx, "sh", "-c", `kill $(cat /run/containerd.pid)
while kill -0 $(cat /run/containerd.pid) 2>/dev/null; do sleep 0.05; done
ip link delete cni0
find /sys/fs/cgroup -depth -type d -path '*/kubepods*' -exec rmdir {} +
rm -r /run/containerd /run/containerd.pid /var/lib/cni /etc/cni/net.d/10-containerd-net.conflist`)
	return errors.Join(err, err2)
}
